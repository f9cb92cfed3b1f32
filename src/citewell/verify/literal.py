"""Literal verification: code, formulas and tables must be copied from the book."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.citations.quotes import code_lines, fence_info, find_quote
from citewell.domain import Verdict
from citewell.text.plain_text import TABLE_RULE, strip_inline_markup
from citewell.text.sentences import Span, split_spans

_CELL_BORDER = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Table:
    """A table's header and rows, with their spans."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    spans: tuple[Span, ...]
    """The span of the header, then one per row."""


def parse_tables(text: str) -> Iterator[Table]:
    """Yield the tables in Markdown; without a delimiter row, a table has no header."""
    lines: list[Span] = []
    for span in (*split_spans(text), None):
        if span and span.kind == "row" and (not lines or _is_adjacent(text, lines[-1], span)):
            lines.append(span)
            continue
        if lines:
            yield _table(text, lines)
        lines = [span] if span and span.kind == "row" else []


def find_table(claimed: Table, text: str) -> tuple[Span, ...]:
    """Return the spans of the header and rows that support a table; `()` if none do.

    Columns may be omitted or reordered, but each cell must be in the same row and under the same
    heading as in the book.
    """
    for table in parse_tables(text):
        columns = _columns(claimed.header, table.header)
        if columns is None:
            continue
        matches = [_find_row(row, columns, table.rows) for row in claimed.rows]
        rows = [index for index in matches if index is not None]
        if rows and len(rows) == len(matches):
            header = table.spans[:1] if table.header else ()
            return (*header, *(table.spans[len(header) + index] for index in rows))
    return ()


def _is_adjacent(text: str, above: Span, below: Span) -> bool:
    """Return whether only a line break and a delimiter row separate two rows."""
    between = text[above.end : below.start]
    return not TABLE_RULE.sub("", between).strip() and "\n\n" not in between


def _table(text: str, lines: Sequence[Span]) -> Table:
    cells = [_cells(span.of(text)) for span in lines]
    between = text[lines[0].end : lines[1].start] if len(lines) > 1 else text[lines[0].end :]
    has_header = TABLE_RULE.match(between.lstrip("\n")) is not None
    header, rows = (cells[0], cells[1:]) if has_header else ((), cells)
    return Table(header, tuple(rows), tuple(lines))


def _cells(row: str) -> tuple[str, ...]:
    inner = row.strip().removeprefix("|")
    inner = inner[:-1] if re.search(r"(?<!\\)\|\Z", inner) else inner
    return tuple(strip_inline_markup(cell) for cell in _CELL_BORDER.split(inner))


def _columns(names: Sequence[str], header: Sequence[str]) -> list[int] | None:
    """Return the column of each name; `None` if one is missing or ambiguous."""
    if not names or any(list(header).count(name) != 1 for name in names):
        return None
    return [list(header).index(name) for name in names]


def _find_row(
    row: Sequence[str], columns: Sequence[int], rows: Sequence[Sequence[str]]
) -> int | None:
    for index, book_row in enumerate(rows):
        cells = [book_row[column] if column < len(book_row) else "" for column in columns]
        if list(row) == cells:
            return index
    return None


EvidenceSpans = tuple[tuple[int, int, int], ...]
"""Passage number, start and end of each piece of evidence."""


def is_literal(claim: str) -> bool:
    """Return whether a claim is a code block, block formula or table."""
    return claim.lstrip().startswith(("```", "~~~", "$$", "|"))


def judge_literal(claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
    """Support code, a formula or a table only if a passage contains it."""
    evidence = _find(claim.strip(), passages, cited_first(len(passages), cited))
    if not evidence:
        return Verdict(kind="unsupported", probability=0.0)
    return Verdict(kind="supported", probability=1.0, evidence=evidence)


def cited_first(count: int, cited: Sequence[int]) -> list[int]:
    """Return the indices of all passages, the cited ones first."""
    order = [*dict.fromkeys(index for index in cited if 0 <= index < count)]
    return order + [index for index in range(count) if index not in order]


def code_block_info(passage: str, offset: int) -> str:
    """Return the language and title of the fenced code block at an offset."""
    for span in split_spans(passage):
        if span.kind == "code" and span.start <= offset < span.end:
            opening = span.of(passage).split("\n", 1)[0]
            return fence_info(opening.lstrip("`~"))
    return ""


def _find(claim: str, passages: Sequence[str], order: Sequence[int]) -> EvidenceSpans:
    if claim.startswith("|"):
        return _find_tables(claim, passages, order)
    text = code_lines(claim) if claim[0] in "`~" else claim
    if not text.strip():
        return ()
    for index in order:
        offsets = find_quote(passages[index], text)
        if offsets:
            return ((index + 1, *offsets),)
    return ()


def _find_tables(claim: str, passages: Sequence[str], order: Sequence[int]) -> EvidenceSpans:
    evidence = [_find_table(table, claim, passages, order) for table in parse_tables(claim)]
    return tuple(span for spans in evidence for span in spans) if all(evidence) else ()


def _find_table(
    table: Table, claim: str, passages: Sequence[str], order: Sequence[int]
) -> EvidenceSpans:
    for index in order:
        spans = find_table(table, passages[index])
        if spans:
            return tuple((index + 1, span.start, span.end) for span in spans)
    for index in order:
        # A long table is split into passages, so that the header may be in another one.
        matches = [find_quote(passages[index], span.of(claim)) for span in table.spans]
        rows = [offsets for offsets in matches if offsets]
        if len(rows) == len(matches) and len(list(parse_tables(passages[index]))) == 1:
            return tuple((index + 1, *offsets) for offsets in rows)
    return ()
