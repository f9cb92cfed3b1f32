"""Comparison of two folders of records."""

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

SHOWN = 5
LENGTH = 160
BEFORE = 40
ABSENT = "(absent)"


def differences(old: Any, new: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the differences of two JSON values, with their paths."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            there = f"{place} › {key}" if place else key
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), there)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _in_lists(old, new, place)
    elif old != new:
        yield place, old, new


def _in_lists(old: list[Any], new: list[Any], place: str) -> Iterator[tuple[str, Any, Any]]:
    """Align equal items, so that an inserted one is a single difference."""
    left_texts, right_texts = (
        [json.dumps(one, sort_keys=True) for one in side] for side in (old, new)
    )
    matcher = SequenceMatcher(None, left_texts, right_texts, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        for step in range(max(b - a, d - c)):
            left = old[a + step] if a + step < b else ABSENT
            right = new[c + step] if c + step < d else ABSENT
            yield from differences(left, right, f"{place}[{a + step}]")


def report(kept: Path, new: Path) -> list[str]:
    """Return the differing records with their first differences, as lines."""
    lines = []
    names = {path.name for folder in (kept, new) for path in folder.glob("*.json")}
    for name in sorted(names):
        old, now = (_read(folder / name) for folder in (kept, new))
        found = list(differences(old, now))
        if not found:
            continue
        lines.append(f"{name}: {len(found)} differences")
        for place, left, right in found[:SHOWN]:
            before, after = _around(_written(left), _written(right))
            lines += [f"  {place}", f"    - {before}", f"    + {after}"]
        if len(found) > SHOWN:
            lines.append(f"  and {len(found) - SHOWN} more")
    return lines


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.exists() else ABSENT


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _around(left: str, right: str) -> tuple[str, str]:
    """Return both texts from shortly before their first difference."""
    equal = next(
        (n for n, pair in enumerate(zip(left, right, strict=False)) if len({*pair}) > 1), 0
    )
    start = max(0, equal - BEFORE)
    return _cut(left, start), _cut(right, start)


def _cut(text: str, start: int) -> str:
    end = start + LENGTH
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
