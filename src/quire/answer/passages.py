"""Passages as the model reads them: numbered, fenced as data, in one JSON text."""

import json
from collections.abc import Sequence
from typing import Any

from quire.domain import Hit
from quire.retrieve.evidence import Passage


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
                    "text": hit.chunk.text,
                }
                for number, hit in numbered
            ],
            **more,
        },
        ensure_ascii=False,
    )


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
            )
            for entry in data["passages"]
        ]
    except (ValueError, TypeError, KeyError):
        return []
