"""Tables of an answer against tables of the book: which cells stand under which headings."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quire.prose.plain import TABLE_RULE, inline_plain
from quire.prose.sentences import Span, split_spans

_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Table:
    """A table's header and rows, each with its place in the text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    spans: tuple[Span, ...]
    """The header's, then one for each row."""


def tables_of(text: str) -> Iterator[Table]:
    """Give the tables of Markdown; one without a rule below its first row has no header."""
    lines: list[Span] = []
    for span in (*split_spans(text), None):
        if span and span.kind == "row" and (not lines or _touch(text, lines[-1], span)):
            lines.append(span)
            continue
        if lines:
            yield _table(text, lines)
        lines = [span] if span and span.kind == "row" else []


def find_table(claimed: Table, text: str) -> tuple[Span, ...]:
    """Give the header and rows of the text that say what the claimed table says; `()` if none do.

    Columns may be left out or change places, but every cell must stand in the same row as in the
    book, under the same heading.
    """
    for table in tables_of(text):
        columns = _columns(claimed.header, table.header)
        if columns is None:
            continue
        found = [_row_like(row, columns, table.rows) for row in claimed.rows]
        places = [place for place in found if place is not None]
        if places and len(places) == len(found):
            header = table.spans[:1] if table.header else ()
            first = 1 if table.header else 0
            return (*header, *(table.spans[first + place] for place in places))
    return ()


def _touch(text: str, above: Span, below: Span) -> bool:
    """Whether nothing but a rule and one line break stand between two rows."""
    between = text[above.end : below.start]
    return not TABLE_RULE.sub("", between).strip() and "\n\n" not in between


def _table(text: str, lines: Sequence[Span]) -> Table:
    cells = [_cells(span.of(text)) for span in lines]
    between = text[lines[0].end : lines[1].start] if len(lines) > 1 else text[lines[0].end :]
    ruled = TABLE_RULE.match(between.lstrip("\n")) is not None
    header, rows = (cells[0], cells[1:]) if ruled else ((), cells)
    return Table(header, tuple(rows), tuple(lines))


def _cells(row: str) -> tuple[str, ...]:
    inner = row.strip().removeprefix("|")
    inner = inner[:-1] if re.search(r"(?<!\\)\|\Z", inner) else inner
    return tuple(inline_plain(cell) for cell in _CELL.split(inner))


def _columns(wanted: Sequence[str], header: Sequence[str]) -> list[int] | None:
    """Give where each wanted heading stands; `None` if one is missing or stands twice."""
    if not wanted or any(list(header).count(name) != 1 for name in wanted):
        return None
    return [list(header).index(name) for name in wanted]


def _row_like(
    row: Sequence[str], columns: Sequence[int], rows: Sequence[Sequence[str]]
) -> int | None:
    for place, other in enumerate(rows):
        cells = [other[column] if column < len(other) else "" for column in columns]
        if list(row) == cells:
            return place
    return None
