"""Tables of docutils' tree, as Markdown."""

import re
from collections.abc import Callable

from docutils import nodes

Cell = Callable[[nodes.Element], str]


def render_table(node: nodes.Element, cell: Cell) -> str:
    """Give a table as Markdown, one line a row; without a head, its first row is taken for one."""
    rows: list[list[str]] = []
    for group in node.children:
        if not isinstance(group, nodes.tgroup):
            continue
        spanned: dict[int, int] = {}
        for part in (p for p in group.children if isinstance(p, nodes.thead | nodes.tbody)):
            rows += [
                _row(row, spanned, cell) for row in part.children if isinstance(row, nodes.row)
            ]
    rows = [row for row in rows if any(row)]
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]])


def _row(row: nodes.row, spanned: dict[int, int], cell: Cell) -> list[str]:
    """Give the cells of one row, with empty ones where another cell reaches in."""
    found: list[str] = []

    def fill() -> None:
        while spanned.get(len(found), 0) > 0:
            spanned[len(found)] -= 1
            found.append("")

    for entry in row.children:
        if not isinstance(entry, nodes.entry):
            continue
        fill()
        wide = int(entry.get("morecols", 0)) + 1
        for column in range(len(found), len(found) + wide):
            spanned[column] = int(entry.get("morerows", 0))
        found += [protect(cell(entry)), *[""] * (wide - 1)]
    fill()
    return found


def protect(text: str) -> str:
    """Keep a cell's text from ending its cell."""
    return re.sub(r"(?<!\\)\|", r"\\|", re.sub(r"\s*\n\s*", " ", text).strip())
