"""Tables of HTML as tables of Markdown."""

import re
from collections.abc import Callable, Collection

from quire.ingest.readers.htmltree import Element, class_of, name_of

_WIDEST = 60
_TALLEST = 2_000
_BULKY = frozenset(
    ("pre", "table", "ul", "ol", "dl", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6")
)


def is_layout(table: Element, blocks: Collection[str]) -> bool:
    """Tell whether a table only arranges a page: its cells hold whole blocks, or it has one."""
    if table.get("role") in ("presentation", "none") or "highlighttable" in class_of(table):
        return True
    rows = list(table.iter("tr"))
    if all(sum(name_of(c) in ("td", "th") for c in row) <= 1 for row in rows):
        return True
    bulky = sum(name_of(e) in _BULKY and name_of(e) in blocks for e in table.iterdescendants())
    # Lists in single cells are common in real tables; a table of nothing else is not.
    return any(name_of(e) in ("table", "pre", "h1", "h2") for e in table.iterdescendants()) or (
        bulky > len(rows)
    )


def rows_of(table: Element, write: Callable[[Element], str]) -> list[list[str]]:
    """Give the cells of each row as text, a cell that spans several repeated in each."""
    rows: list[list[str]] = []
    waiting: dict[int, tuple[int, str]] = {}
    for row in list(table.iter("tr"))[:_TALLEST]:
        cells: list[str] = []
        for cell in row:
            if name_of(cell) not in ("td", "th"):
                continue
            _take_waiting(cells, waiting)
            text = " ".join(write(cell).split()).replace("\\|", "|").replace("|", "\\|")
            down = _span(cell.get("rowspan"))
            for _ in range(_span(cell.get("colspan"))):
                if down > 1:
                    waiting[len(cells)] = (down - 1, text)
                cells.append(text)
        _take_waiting(cells, waiting)
        if any(cells):
            rows.append(cells[:_WIDEST])
    return rows


def _take_waiting(cells: list[str], waiting: dict[int, tuple[int, str]]) -> None:
    while (place := len(cells)) in waiting and place < _WIDEST:
        left, text = waiting.pop(place)
        if left > 1:
            waiting[place] = (left - 1, text)
        cells.append(text)


def _span(value: str | None) -> int:
    return max(1, min(int(value), _WIDEST)) if value and re.fullmatch(r"[0-9]{1,6}", value) else 1
