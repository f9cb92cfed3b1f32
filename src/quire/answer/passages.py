"""Passages as the model reads them: numbered, fenced as data."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from quire.domain import Hit
from quire.prose.plain import INVISIBLE
from quire.retrieve.evidence import Passage

READER_LENGTH = 2_000
"""Characters of what a client says about a reader that a model is shown."""


def passages_to_json(hits: Sequence[Hit], first: int = 1) -> str:
    """Write hits as the tool's output, numbered from `first`."""
    return numbered_to_json(list(enumerate(hits, start=first)))


def numbered_to_json(numbered: Sequence[tuple[int, Hit]], **more: object) -> str:
    """Write hits that have their numbers already as the tool's output."""
    return json.dumps(
        {
            "passages": [
                {
                    "number": number,
                    "chapter": hit.chunk.chapter,
                    "section": " › ".join(hit.chunk.path),
                    "similarity": round(hit.similarity, 3),
                    "text": _seen(hit.chunk.text),
                    **({"reader_is_here": True} if hit.here else {}),
                    **({"part": hit.chunk.piece.replace("/", " of ")} if hit.chunk.piece else {}),
                }
                for number, hit in numbered
            ],
            **more,
        },
        ensure_ascii=False,
    )


def passages_to_prompt(hits: Sequence[Hit], question: str) -> str:
    """Write hits and the question as one message, for models that call no tools.

    The fence is named after all that stands in it, so that no passage can close it.
    """
    written = "\n\n".join(
        f"[{number}] {' › '.join(hit.chunk.path)}\n{_seen(hit.chunk.text)}"
        for number, hit in enumerate(hits, start=1)
    )
    fence = f"passages-{sha256(written.encode()).hexdigest()[:8]}"
    return f"<{fence}>\n{written}\n</{fence}>\n\nQuestion: {question}"


def reader_to_prompt(context: str, told: str) -> str:
    """Write what a client says about the reader, behind what the model is told about that.

    Like passages, it stands in a fence that it cannot close; what is too long is cut.
    """
    said = _seen(context)[:READER_LENGTH]
    fence = f"reader-{sha256(said.encode()).hexdigest()[:8]}"
    return f"{told}\n\n<{fence}>\n{said}\n</{fence}>"


def _seen(text: str) -> str:
    """Give what a reader of the page sees: a model should not be told more."""
    return INVISIBLE.sub("", text)


def place_in(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where a place of the text that a model reads stands in the passage itself."""
    for found in INVISIBLE.finditer(text):
        if found.start() < end:
            end += 1
        if found.start() <= start:
            start += 1
    return start, end


def passages_from_json(text: str) -> list[Passage]:
    """Read them back; anything else gives no passages."""
    try:
        data: Any = json.loads(text)
        return [
            Passage(
                number=int(entry["number"]),
                text=str(entry["text"]),
                heading=str(entry["section"]),
                similarity=float(entry["similarity"]),
                here=bool(entry.get("reader_is_here")),
                part=str(entry.get("part", "")),
            )
            for entry in data["passages"]
        ]
    except (ValueError, TypeError, KeyError):
        return []
