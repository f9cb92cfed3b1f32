"""Quoting: whole blocks of a passage as pieces of an answer, with the lines that introduce them."""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from citewell.citations.quotes import render_quote
from citewell.retrieve.rerank import Passage
from citewell.text.blocks import (
    Block,
    Leaf,
    block_at,
    blocks_of,
    ends_in_colon,
    is_anaphoric,
    is_picture,
)
from citewell.text.plain_text import TABLE_RULE, strip_inline_markup
from citewell.text.sentences import Kind, Span
from citewell.text.terms import terms, words
from citewell.verify.claims import Piece, QuotedSpan
from citewell.verify.context import denies_its_section, denying_line
from citewell.verify.safety import addresses_llm

_QUOTED = re.compile(r"“[^”]+”|\"[^\"]+\"|«[^»]+»")
MAX_ROWS = 12
"""Longer tables and lists are quoted in part, with a note."""


@dataclass(frozen=True, slots=True)
class _QuotedBlock:
    """A sentence, table, code block or formula to quote, or a note about one."""

    spans: tuple[Span, ...]
    kind: Kind
    leaf: Leaf | None = None
    block: int = -1
    note: str = ""

    @property
    def offsets(self) -> tuple[int, int]:
        return self.spans[0].start, self.spans[-1].end


def quote_blocks(passage: Passage, selected: Sequence[Span], question: str = "") -> list[Piece]:
    """Return the blocks that contain the selected sentences, as pieces of an answer.

    The terms of the question select the rows to quote of a long table. Instructions to a language
    model are left out unless the question quotes them.
    """
    quoter = _BlockQuoter(passage, selected, question)
    blocks = {block.offsets: block for span in selected for block in quoter.expand(span)}
    pieces = list(quoter.pieces([blocks[offsets] for offsets in sorted(blocks)]))
    while pieces and pieces[-1].needs_continuation:
        pieces.pop()  # it introduces a block that was left out
    return pieces


def render_piece(piece: Piece) -> str:
    """Return a piece as model output, with its citation marks."""
    marks = "".join(f"[{number}]" for number in piece.cited if piece.kind != "heading")
    return f"{piece.lead}{piece.text}{piece.separator if marks else ''}{marks}"


class _BlockQuoter:
    def __init__(self, passage: Passage, selected: Sequence[Span], question: str) -> None:
        self._passage = passage
        self._text = passage.text
        self._blocks = blocks_of(passage.text)
        self._selected = {span.start for span in selected}
        self._question = question

    def expand(self, span: Span) -> Iterator[_QuotedBlock]:
        """Yield the block of a selected sentence, and the blocks that it depends on."""
        index = block_at(self._blocks, span.start)
        if index is None:
            yield _QuotedBlock((span,), span.kind)
            return
        first, last, complete = self._block_range(index)
        for title in self._blocks[first].titles:
            yield _QuotedBlock((title,), "heading")
        denying = denying_line(self._text, self._blocks, first)
        for lead in self._blocks[first].lead or filter(None, [denying]):
            yield self._sentence(lead)
        for number in range(first, last + 1):
            yield from self._block(number, whole=complete or number < last)

    def _block_range(self, index: int) -> tuple[int, int, bool]:
        """Return the first and last block to quote, and whether the last is quoted to its end."""
        blocks, first, last = self._blocks, index, index
        while first > 0 and (blocks[first].continues_previous or self._is_anaphoric(first)):
            first -= 1
        while True:
            following = blocks[last + 1] if last + 1 < len(blocks) else None
            if following and following.continues_previous:
                last += 1
                continue
            sentences = blocks[last].leaves[-1].sentences
            introduces = ends_in_colon(self._text, blocks[last]) or bool(
                following and following.announced
            )
            if not introduces:
                return first, last, True
            omit_last_sentence = (
                last == index and len(sentences) > 1 and sentences[-1].start not in self._selected
            )
            if omit_last_sentence or not following or not following.announced:
                return first, last, False
            last += 1

    def _is_anaphoric(self, index: int) -> bool:
        """Return whether a selected sentence opens its paragraph and refers to the one before."""
        block, previous = self._blocks[index], self._blocks[index - 1]
        opening = block.leaves[0].sentences[0]
        return (
            previous.kind == block.kind == "paragraph"
            and previous.containers == block.containers
            and opening.start in self._selected
            and is_anaphoric(opening.of(self._text))
        )

    def _sentence(self, span: Span) -> _QuotedBlock:
        index = block_at(self._blocks, span.start)
        leaves = self._blocks[index].leaves if index is not None else ()
        leaf = next((one for one in leaves if one.start <= span.start < one.end), None)
        return _QuotedBlock((span,), span.kind, leaf, -1 if index is None else index)

    def _block(self, number: int, *, whole: bool) -> Iterator[_QuotedBlock]:
        block = self._blocks[number]
        if block.kind == "table":
            yield from self._table(block.leaves[0], number)
            return
        leaves, note = (
            _select_items(block, self._selected) if block.kind == "list" else (block.leaves, "")
        )
        for leaf in leaves:
            if leaf.kind == "table":
                yield from self._table(leaf, number)
                continue
            last = leaf is block.leaves[-1] and not whole
            for span in leaf.sentences[: -1 if last else None]:
                kind: Kind = (
                    "item" if block.kind == "list" and span.kind == "sentence" else span.kind
                )
                yield _QuotedBlock((span,), kind, leaf, number)
        if note:
            yield _QuotedBlock((Span(block.end, block.end),), "sentence", None, number, note)

    def _table(self, leaf: Leaf, number: int) -> Iterator[_QuotedBlock]:
        """Yield a table; of a long one, its header, the relevant rows, and a note."""
        lines = _lines(self._text, leaf)
        ruled = len(lines) > 1 and TABLE_RULE.match(lines[1].of(self._text).lstrip("> "))
        header, rows = (lines[:2], lines[2:]) if ruled else (lines[:0], lines)
        if len(rows) <= MAX_ROWS:
            yield _QuotedBlock((Span(leaf.start, leaf.end, "row"),), "row", leaf, number)
            return
        selected = self._select_rows(header, rows)
        yield _QuotedBlock(tuple(_merge_adjacent([*header, *selected])), "row", leaf, number)
        note = f"Showing {len(selected)} of {len(rows)} rows."
        yield _QuotedBlock((Span(leaf.end, leaf.end),), "sentence", None, number, note)

    def _select_rows(self, header: Sequence[Span], rows: Sequence[Span]) -> list[Span]:
        """Return the rows that mention terms of the question, or else the first rows."""
        common = set(terms(" ".join(line.of(self._text) for line in header)))
        common |= set(terms(self._passage.heading))
        row_terms = [set(terms(strip_inline_markup(row.of(self._text)))) for row in rows]
        # Terms in more than half of the rows do not distinguish any.
        distinctive = {
            term
            for term in set(terms(self._question)) - common
            if sum(term in one for one in row_terms) <= len(rows) // 2
        }
        relevant = [row for row, one in zip(rows, row_terms, strict=True) if one & distinctive]
        return (relevant or list(rows))[:MAX_ROWS]

    def pieces(self, blocks: Sequence[_QuotedBlock]) -> Iterator[Piece]:
        """Yield the blocks as pieces, without images and injected instructions."""
        number = self._passage.number
        previous: _QuotedBlock | None = None
        headings = [h for h in self._passage.heading.split(" › ") if denies_its_section(h)][-1:]
        for block in blocks:
            if block.note:
                if previous:
                    yield Piece("\n\n", block.note, (), "sentence", is_own_text=True)
                continue
            leaf = block.leaf
            indent = leaf.indent + len(f"{leaf.marker} ".lstrip()) if leaf else 0
            text = "\n".join(
                render_quote(self._text, s.start, s.end, block.kind, indent=indent)
                for s in block.spans
            )
            if not text.strip() or self._is_excluded(block, text):
                continue
            for heading in headings if previous is None else ():
                title = (QuotedSpan(number, 0, 0, "heading"),)
                yield Piece("\n\n", f"**{heading}**", (), "heading", title)
            lead = _separator(previous, block) if previous or headings else f"\n\n{_bullet(leaf)}"
            spans = tuple(QuotedSpan(number, span.start, span.end) for span in block.spans)
            is_answer = any(s.start <= i < s.end for s in block.spans for i in self._selected)
            yield Piece(lead, text, (number,), block.kind, spans, is_answer=is_answer)
            previous = block
        if previous and self._passage.part:
            yield Piece("\n\n", f"Part {self._passage.part}.", (), "sentence", is_own_text=True)

    def _is_excluded(self, block: _QuotedBlock, text: str) -> bool:
        if len(block.spans) == 1 and is_picture(block.spans[0].of(self._text)):
            return True
        if block.kind == "code":
            return False
        quotes = _QUOTED.findall(self._question)
        asked_for = any(quote[1:-1] in text for quote in quotes if len(words(quote)) > 2)  # noqa: PLR2004
        return addresses_llm(text) and not asked_for


def _select_items(block: Block, selected: Set[int]) -> tuple[Sequence[Leaf], str]:
    """Return the items of a list to quote, with their children, and a note if some are left out."""
    tops = [leaf.items[0] for leaf in block.leaves]
    items = list(dict.fromkeys(tops))
    if len(items) <= MAX_ROWS:
        return block.leaves, ""
    relevant = {
        leaf.items[0]
        for leaf in block.leaves
        if any(span.start in selected for span in leaf.sentences)
    }
    quoted = (relevant or set(items[:MAX_ROWS])) & set(items)
    note = f"Showing {len(quoted)} of {len(items)} items."
    return [leaf for leaf, top in zip(block.leaves, tops, strict=True) if top in quoted], note


def _lines(text: str, leaf: Leaf) -> list[Span]:
    lines = re.finditer(r"[^\n]+", text[leaf.start : leaf.end])
    return [Span(leaf.start + m.start(), leaf.start + m.end(), "row") for m in lines]


def _merge_adjacent(lines: Sequence[Span]) -> Iterator[Span]:
    first = last = lines[0]
    for line in lines[1:]:
        if line.start > last.end + 1:
            yield Span(first.start, last.end, "row")
            first = line
        last = line
    yield Span(first.start, last.end, "row")


def _bullet(leaf: Leaf | None) -> str:
    if leaf is None:
        return ""
    return " " * leaf.indent + (f"{leaf.marker} " if leaf.marker else "")


def _separator(previous: _QuotedBlock | None, block: _QuotedBlock) -> str:
    leaf = block.leaf
    if previous and leaf and leaf is previous.leaf:
        return " "
    in_list = previous and leaf and leaf.marker and previous.leaf and previous.leaf.items
    tight = in_list and previous and previous.block == block.block and previous.kind == "item"
    return ("\n" if tight else "\n\n") + _bullet(leaf)
