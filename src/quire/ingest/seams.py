"""Where a block too long for one chunk may be cut: at the seams its author left."""

import re
from collections.abc import Callable, Iterator, Sequence

from quire.domain import Block

CountTokens = Callable[[Sequence[str]], list[int]]

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+[-:| \t]*$")
_STATEMENT = re.compile(r"\n(?=\n+[^\s)\]}])")
_PARAGRAPH = re.compile(r"\n(?=\n)")
_ITEM = re.compile(r"\n(?=(?:[-*+]|\d+[.)])[ \t])")
_LINE = re.compile(r"\n")
_HEAD_ROWS = 2


def split_block(block: Block, count: CountTokens, limit: int) -> list[str]:
    """Cut a table, list, code block, formula or admonition into pieces of about `limit` tokens.

    Every piece can be read by itself: the head of a table and the fences around code, a formula or
    an admonition are repeated. Between them, the pieces hold every line of the block once.
    """
    head, body, tail = _framed(block)
    frame = sum(count([head, tail]))
    room = max(limit - frame, limit // 2)
    units = list(_units(body, _seams(block), count, room))
    sizes = count(units)
    # Even pieces: none is only the closing brace of the one before.
    pieces = -(-sum(sizes) // room)
    goal = min(room, -(-sum(sizes) // pieces) + max(sizes, default=0) // 2)
    packed = _packed(units, sizes, goal)
    return ["\n".join(part for part in (head, text, tail) if part) for text in packed]


def _framed(block: Block) -> tuple[str, str, str]:
    """Take off what each piece needs at its head and at its end."""
    lines = block.text.split("\n")
    if block.kind == "table" and len(lines) > _HEAD_ROWS and _RULE.match(lines[1]):
        return "\n".join(lines[:_HEAD_ROWS]), "\n".join(lines[_HEAD_ROWS:]), ""
    fence = _opening(block, lines[0])
    if fence and len(lines) > _HEAD_ROWS and lines[-1].strip() == fence:
        return lines[0], "\n".join(lines[1:-1]).strip("\n"), lines[-1]
    return "", block.text, ""


def _opening(block: Block, line: str) -> str:
    """Give what closes a block that begins with this line; nothing if it is no fence."""
    if block.kind == "code" and (found := _FENCE.match(line)):
        return found[1]
    if block.kind == "math" and line.strip() == "$$":
        return "$$"
    if block.kind == "admonition" and (found := re.match(r"[ \t]*(:{3,})", line)):
        return found[1]
    return ""


def _seams(block: Block) -> tuple[re.Pattern[str], ...]:
    """Give the places to cut at, the best first."""
    match block.kind:
        case "code":
            return (_STATEMENT, _PARAGRAPH, _LINE)
        case "list":
            return (_ITEM, _LINE)
        case "admonition":
            return (_PARAGRAPH, _LINE)
        case _:
            return (_LINE,)


def _units(
    text: str, seams: Sequence[re.Pattern[str]], count: CountTokens, room: int
) -> Iterator[str]:
    """Cut at the best seams, and what is still too long at the next best."""
    if not seams or count([text])[0] <= room:
        yield text
        return
    for part in _balanced(seams[0].split(text)):
        yield from _units(part, seams[1:], count, room)


def _balanced(parts: Sequence[str]) -> Iterator[str]:
    """Join parts again where the seam runs through code inside a list or an admonition."""
    held: list[str] = []
    fences = 0
    for part in parts:
        held.append(part)
        fences += sum(1 for line in part.split("\n") if _FENCE.match(line))
        if fences % 2 == 0:
            yield "\n".join(held)
            held = []
    if held:
        yield "\n".join(held)


def _packed(units: Sequence[str], sizes: Sequence[int], goal: int) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for unit, length in zip(units, sizes, strict=True):
        if held and size + length > goal:
            if text := "\n".join(held).strip("\n").rstrip():
                yield text
            held, size = [], 0
        held.append(unit)
        size += length
    if text := "\n".join(held).strip("\n").rstrip():
        yield text
