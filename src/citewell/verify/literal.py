"""Code, formulas and tables: what an answer may only copy from the book, sign by sign."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.citations.quotes import code_lines, fence_info, find_quote
from citewell.domain import Verdict
from citewell.text.plain_text import TABLE_RULE, strip_inline_markup
from citewell.text.sentences import Span, split_spans

_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Table:
    """A table's header and rows, each with its place in the text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    spans: tuple[Span, ...]
    """The header's, then one for each row."""


def parse_tables(text: str) -> Iterator[Table]:
    """Yield the tables of Markdown; one without a rule below its first row has no header."""
    lines: list[Span] = []
    for span in (*split_spans(text), None):
        if span and span.kind == "row" and (not lines or _touch(text, lines[-1], span)):
            lines.append(span)
            continue
        if lines:
            yield _table(text, lines)
        lines = [span] if span and span.kind == "row" else []


def find_table(claimed: Table, text: str) -> tuple[Span, ...]:
    """Return the header and rows of the text that say what the claimed table says; `()` if none do.

    Columns may be left out or change places, but every cell must stand in the same row as in the
    book, under the same heading.
    """
    for table in parse_tables(text):
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
    return tuple(strip_inline_markup(cell) for cell in _CELL.split(inner))


def _columns(wanted: Sequence[str], header: Sequence[str]) -> list[int] | None:
    """Return where each wanted heading stands; `None` if one is missing or stands twice."""
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


Places = tuple[tuple[int, int, int], ...]
"""(passage number, start, end) of each quote."""


def is_literal(claim: str) -> bool:
    """Whether a claim is a code block, a block formula or a table."""
    return claim.lstrip().startswith(("```", "~~~", "$$", "|"))


def judge_literal(claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
    """Support code, a formula or a table that a passage has; there is nothing to weigh."""
    places = _find(claim.strip(), passages, cited_first(len(passages), cited))
    if not places:
        return Verdict(kind="unsupported", probability=0.0)
    return Verdict(kind="supported", probability=1.0, evidence=places)


def cited_first(count: int, cited: Sequence[int]) -> list[int]:
    """Return the indices of the passages, those that a claim names before the others."""
    order = [*dict.fromkeys(index for index in cited if 0 <= index < count)]
    return order + [index for index in range(count) if index not in order]


def listing_info(passage: str, place: int) -> str:
    """Return the language and title of the fenced listing that a place of a passage stands in."""
    for span in split_spans(passage):
        if span.kind == "code" and span.start <= place < span.end:
            opening = span.of(passage).split("\n", 1)[0]
            return fence_info(opening.lstrip("`~"))
    return ""


def _find(claim: str, passages: Sequence[str], order: Sequence[int]) -> Places:
    if claim.startswith("|"):
        return _tabled(claim, passages, order)
    words = code_lines(claim) if claim[0] in "`~" else claim
    if not words.strip():
        return ()
    for index in order:
        place = find_quote(passages[index], words)
        if place:
            return ((index + 1, *place),)
    return ()


def _tabled(claim: str, passages: Sequence[str], order: Sequence[int]) -> Places:
    found = [_find_table(table, claim, passages, order) for table in parse_tables(claim)]
    return tuple(place for places in found for place in places) if all(found) else ()


def _find_table(table: Table, claim: str, passages: Sequence[str], order: Sequence[int]) -> Places:
    for index in order:
        spans = find_table(table, passages[index])
        if spans:
            return tuple((index + 1, span.start, span.end) for span in spans)
    for index in order:
        # A table may be cut between its rows, with its header in another passage.
        places = [find_quote(passages[index], span.of(claim)) for span in table.spans]
        kept = [place for place in places if place]
        if len(kept) == len(places) and len(list(parse_tables(passages[index]))) == 1:
            return tuple((index + 1, *place) for place in kept)
    return ()
