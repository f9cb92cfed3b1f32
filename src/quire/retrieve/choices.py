"""“The second one”, “the latter”: what a question chooses from, in the question before it."""

import re
from collections.abc import Sequence

from quire.retrieve.phrases import parse

_PLACES = {
    "first": 0,
    "former": 0,
    "second": 1,
    "latter": -1,
    "third": 2,
    "fourth": 3,
    "fifth": 4,
    "last": -1,
}
_ORDINAL = "first|second|third|fourth|fifth|last"
CHOSEN = re.compile(
    r"\bthe (?:(?P<side>former|latter)"
    rf"|(?P<place>{_ORDINAL})(?: (?:one|option|kind|type|of (?:them|these|those))\b"
    r"|(?=\W*$|[,;?]| (?:is|are|was|were|do|does|did|has|have|can|will|would)\b)))",
    re.I,
)
_JOINT = re.compile(
    r"\s*(?:differs?\s+|different\s+|compared?\s+)?"
    r"(?:,|,?\s*(?:and|or)|versus|vs\.?|from|with|to|than)\s+(?:an?|the)?\s*",
    re.I,
)
_ITEM = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+(.+)$", re.M)
_ITEM_WORDS = 8
_NAME_WORDS = 4
"""What is longer says something, and is no name."""
_SERIES = re.compile(
    r"(?:\b(?:are|include|includes|namely|as)|:)\s+"
    r"((?:[^\s,.;:]+\s){0,3}[^\s,.;:]+(?:,\s+(?:[^\s,.;:]+\s){0,3}[^\s,.;:]+)*"
    r",?\s+(?:and|or)\s+(?:[^\s,.;:]+\s?){1,4})(?=[.;]|$)",
    re.M,
)


def options_of(question: str, answer: str = "") -> tuple[str, ...]:
    """Give the things a question sets side by side; else those that its answer lists."""
    named: list[str] = []
    end = -1
    for thing in parse(question).things:
        gap = question[end : thing.start] if end >= 0 else ""
        if named and not _JOINT.fullmatch(gap):
            if len(named) > 1:
                break
            named = []
        named.append(thing.full)
        end = thing.end
    return tuple(named) if len(named) > 1 else _listed(answer)


def _listed(answer: str) -> tuple[str, ...]:
    """Give the items of a list, or of a series such as “are one, two and three”."""
    items = [re.split(r"[:–—]\s", item)[0] for item in _ITEM.findall(answer)]
    if len(items) > 1:
        return tuple(" ".join(item.split()[:_ITEM_WORDS]).rstrip(".") for item in items)
    found = _SERIES.search(re.sub(r"\s*\[[\d, ]+\]", "", answer))
    return tuple(re.split(r",\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+", found[1])) if found else ()


def with_choice(asked: str, options: Sequence[str]) -> str | None:
    """Name what “the second one” is; nothing if the question chooses nothing of the options."""
    found = CHOSEN.search(asked)
    place = _PLACES[(found["side"] or found["place"]).lower()] if found else 0
    if not found or not options or place >= len(options):
        return None
    option = options[place].strip()
    if len(option.split()) > _NAME_WORDS:
        return f"{asked.rstrip('?. ')} ({option})?"
    return asked[: found.start()] + option + asked[found.end() :]
