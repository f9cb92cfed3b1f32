"""Reading answers by the paths that the data models write, and telling what fits a type."""

import re
from collections.abc import Iterator
from datetime import timedelta
from statistics import mean
from typing import Any
from uuid import UUID

from tests.conformance.serving import Body, instant

_STEP = re.compile(r"\w+|\[\]")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MARK = re.compile(r"\[(\d+)\]")


def at(body: Any, path: str) -> list[Any]:
    """Return every value under a path such as `sources[].chapter`."""
    found = [body]
    for step in _STEP.findall(path):
        if step == "[]":
            found = [one for many in found for one in many]
        else:
            assert all(step in one for one in found), f"{step} is missing in {found}"
            found = [one[step] for one in found]
    assert found, f"nothing at {path}"
    return found


def is_uuid(value: Any) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def is_uuid4(value: Any) -> bool:
    return is_uuid(value) and UUID(value).version == 4


def is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""


def is_text_or_null(value: Any) -> bool:
    return value is None or is_text(value)


def is_utc(value: Any) -> bool:
    """Whether a text is a moment of ISO 8601 with a zone, which is UTC."""
    return isinstance(value, str) and "T" in value and instant(value).utcoffset() == timedelta()


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_object(value: Any) -> bool:
    return isinstance(value, dict)


def is_list(value: Any) -> bool:
    return isinstance(value, list)


def is_score(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value <= 1


def is_role(value: Any) -> bool:
    return value in ("user", "assistant")


def is_address(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("https://", "http://", "/"))


def is_sha256(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def marks(text: str) -> list[int]:
    """Return the citations in a text, each once, in their order."""
    return list(dict.fromkeys(int(number) for number in _MARK.findall(text)))


def event_of(events: list[tuple[str, Any]], name: str) -> Any:
    """Return the data of the only event of a name."""
    (data,) = [data for event, data in events if event == name]
    return data


def sentences(events: list[tuple[str, Any]]) -> str:
    """Return what a stream showed of the answer while it was made."""
    return " ".join(data["text"] for event, data in events if event == "sentence")


def level_of(average: float, count: int, top_k: int = 5) -> str:
    """Return the confidence level by the rule of 003; the counts are against what was asked for.

    One passage is enough for `low`, which is kept on purpose.
    """
    for level, least, chunks in (("high", 0.85, 5), ("medium", 0.75, 3), ("low", 0.6, 1)):
        if average >= least and count >= min(chunks, top_k):
            return level
    return "insufficient"


def assert_coherent(answer: Body, top_k: int = 5) -> None:
    """See that the measures of an answer of 003 follow from each other as its rules say."""
    metrics = answer["metrics"]
    low, middle, high = (metrics[f"{name}_similarity"] for name in ("min", "average", "max"))
    count = metrics["num_chunks"]
    assert low - 1e-9 <= middle <= high + 1e-9
    assert answer["confidence"] == metrics["average_similarity"]
    assert answer["confidence_level"] == metrics["confidence_level"]
    assert answer["confidence_level"] == level_of(middle, count, top_k)
    assert answer["should_answer"] is metrics["should_answer"]
    assert answer["should_answer"] is (answer["confidence_level"] != "insufficient")
    assert bool(answer["sources"]) or not answer["should_answer"]
    assert len(answer["sources"]) <= top_k or answer["model"] == "contents"


def assert_says_nothing_of_the_book(answer: Body) -> None:
    """See that an answer that cites nothing measures nothing."""
    assert answer["confidence"] == 0.0
    assert answer["confidence_level"] == "insufficient"
    assert answer["should_answer"] is False
    assert answer["sources"] == []
    assert answer["metrics"]["num_chunks"] == 0
    assert answer["metrics"]["average_similarity"] == 0.0


def passing(answer: Body, threshold: float = 0.7) -> list[Body]:
    """Return what was retrieved and is similar enough."""
    return [one for one in answer["retrieved"] if one["similarity_score"] >= threshold]


def mean_score(passages: list[Body]) -> float:
    return mean(one["similarity_score"] for one in passages)


def pairs(said: list[Body]) -> Iterator[tuple[Body, Body]]:
    """Yield questions with their answers."""
    assert len(said) % 2 == 0
    return zip(said[::2], said[1::2], strict=True)
