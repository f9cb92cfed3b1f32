"""Whole blocks of a passage as the pieces of an answer, each with what announces it."""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from citewell.citations.quotes import render_quote
from citewell.retrieve.rerank import Passage
from citewell.text.blocks import Block, Leaf, block_at, blocks_of, ends_in_colon, is_picture
from citewell.text.blocks import is_anaphoric as leans
from citewell.text.plain_text import TABLE_RULE, strip_inline_markup
from citewell.text.sentences import Kind, Span
from citewell.text.terms import terms
from citewell.verify.claims import Piece, Quoted
from citewell.verify.context import denies_its_section
from citewell.verify.safety import addresses_llm

MAX_PARTS = 12
"""A table of more rows, or a list of more items, is shown in part, and says so."""


@dataclass(frozen=True, slots=True)
class _QuotedBlock:
    """A sentence, table, listing or formula that is quoted, or a line about one."""

    spans: tuple[Span, ...]
    kind: Kind
    leaf: Leaf | None = None
    block: int = -1
    note: str = ""

    @property
    def place(self) -> tuple[int, int]:
        return self.spans[0].start, self.spans[-1].end


def quote_blocks(
    passage: Passage, wanted: Sequence[Span], asked: Set[str] = frozenset()
) -> list[Piece]:
    """Return the blocks of a passage that hold the wanted sentences, as pieces of an answer.

    `asked` are the terms of the question: of a long table, they tell which rows are asked for.
    """
    quoting = _BlockQuoter(passage, wanted, asked)
    found = {one.place: one for span in wanted for one in quoting.unit(span)}
    pieces = list(quoting.pieces([found[place] for place in sorted(found)]))
    while pieces and pieces[-1].needs_continuation:
        pieces.pop()  # what it announces was left out
    return pieces


def render_piece(piece: Piece) -> str:
    """Return a piece as a model writes it, with the mark of its passage."""
    marks = "".join(f"[{number}]" for number in piece.marks if piece.kind != "heading")
    return f"{piece.lead}{piece.text}{piece.glue if marks else ''}{marks}"


class _BlockQuoter:
    """Chooses what of one passage is quoted, and writes it."""

    def __init__(self, passage: Passage, wanted: Sequence[Span], asked: Set[str]) -> None:
        self._passage = passage
        self._text = passage.text
        self._blocks = blocks_of(passage.text)
        self._wanted = {span.start for span in wanted}
        self._asked = asked

    def unit(self, span: Span) -> Iterator[_QuotedBlock]:
        """Yield what a wanted sentence is read with: its block, and what that cannot go without."""
        place = block_at(self._blocks, span.start)
        if place is None:
            yield _QuotedBlock((span,), span.kind)
            return
        first, last, finished = self._block_range(place)
        for title in self._blocks[first].titles:
            yield _QuotedBlock((title,), "heading")
        for lead in self._blocks[first].lead:
            yield self._sentence(lead)
        for number in range(first, last + 1):
            yield from self._block(number, whole=finished or number < last)

    def _block_range(self, place: int) -> tuple[int, int, bool]:
        """Return the first and last block to quote, and whether the last is quoted to its end."""
        blocks, first, last = self._blocks, place, place
        while first > 0 and (blocks[first].follows or self._is_anaphoric(first)):
            first -= 1
        while True:
            following = blocks[last + 1] if last + 1 < len(blocks) else None
            if following and following.follows:
                last += 1
                continue
            sentences = blocks[last].leaves[-1].sentences
            leading = ends_in_colon(self._text, blocks[last]) or bool(
                following and following.announced
            )
            if not leading:
                return first, last, True
            spared = (
                last == place and len(sentences) > 1 and sentences[-1].start not in self._wanted
            )
            if spared or not following or not following.announced:
                return first, last, False
            last += 1

    def _is_anaphoric(self, place: int) -> bool:
        """Whether a wanted sentence begins its paragraph and refers to the paragraph before."""
        blocks = self._blocks
        opening = blocks[place].leaves[0].sentences[0]
        above = blocks[place - 1]
        return (
            above.kind == blocks[place].kind == "paragraph"
            and above.inside == blocks[place].inside
            and opening.start in self._wanted
            and leans(opening.of(self._text))
        )

    def _sentence(self, span: Span) -> _QuotedBlock:
        place = block_at(self._blocks, span.start)
        leaves = self._blocks[place].leaves if place is not None else ()
        leaf = next((one for one in leaves if one.start <= span.start < one.end), None)
        return _QuotedBlock((span,), span.kind, leaf, -1 if place is None else place)

    def _block(self, number: int, *, whole: bool) -> Iterator[_QuotedBlock]:
        block = self._blocks[number]
        if block.kind == "table":
            yield from self._table(block.leaves[0], number)
            return
        leaves, note = (
            _select_items(block, self._wanted) if block.kind == "list" else (block.leaves, "")
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
        """Yield a table whole; of a long one its header, the rows asked for, and how many."""
        lines = _lines(self._text, leaf)
        ruled = len(lines) > 1 and TABLE_RULE.match(lines[1].of(self._text).lstrip("> "))
        head, rows = (lines[:2], lines[2:]) if ruled else (lines[:0], lines)
        if len(rows) <= MAX_PARTS:
            yield _QuotedBlock((Span(leaf.start, leaf.end, "row"),), "row", leaf, number)
            return
        kept = self._select_rows(head, rows)
        yield _QuotedBlock(tuple(_merge_adjacent([*head, *kept])), "row", leaf, number)
        note = f"Showing {len(kept)} of {len(rows)} rows."
        yield _QuotedBlock((Span(leaf.end, leaf.end),), "sentence", None, number, note)

    def _select_rows(self, head: Sequence[Span], rows: Sequence[Span]) -> list[Span]:
        """Return the rows that name what is asked for, else the first ones."""
        common = set(terms(" ".join(one.of(self._text) for one in head)))
        common |= set(terms(self._passage.heading))
        said = [set(terms(strip_inline_markup(row.of(self._text)))) for row in rows]
        # What half of the rows say is what the table is about.
        asked = {
            term
            for term in self._asked - common
            if sum(term in own for own in said) <= len(rows) // 2
        }
        kept = [row for row, own in zip(rows, said, strict=True) if own & asked]
        return (kept or list(rows))[:MAX_PARTS]

    def pieces(self, shown: Sequence[_QuotedBlock]) -> Iterator[Piece]:
        """Yield what is shown as pieces, leaving out pictures and orders to the one who answers."""
        number = self._passage.number
        before: _QuotedBlock | None = None
        headed = [h for h in self._passage.heading.split(" › ") if denies_its_section(h)][-1:]
        for one in shown:
            if one.note:
                if before:
                    yield Piece("\n\n", one.note, (), "sentence", ours=True)
                continue
            indent = one.leaf.indent + len(f"{one.leaf.marker} ".lstrip()) if one.leaf else 0
            text = "\n".join(
                render_quote(self._text, s.start, s.end, one.kind, indent=indent) for s in one.spans
            )
            if not text.strip() or self._is_left_out(one, text):
                continue
            for heading in headed if before is None else ():
                place = (Quoted(number, 0, 0, "heading"),)
                yield Piece("\n\n", f"**{heading}**", (), "heading", place)
            lead = _separator(before, one) if before or headed else f"\n\n{_bullet(one.leaf)}"
            places = tuple(Quoted(number, span.start, span.end) for span in one.spans)
            answers = any(s.start <= start < s.end for s in one.spans for start in self._wanted)
            yield Piece(lead, text, (number,), one.kind, places, answers=answers)
            before = one
        if before and self._passage.part:
            yield Piece("\n\n", f"Part {self._passage.part}.", (), "sentence", ours=True)

    def _is_left_out(self, one: _QuotedBlock, text: str) -> bool:
        if len(one.spans) == 1 and is_picture(one.spans[0].of(self._text)):
            return True
        return one.kind != "code" and addresses_llm(text)


def _select_items(block: Block, wanted: Set[int]) -> tuple[Sequence[Leaf], str]:
    """Return the items of a list to show, with all below them, and how many were left out."""
    tops = [leaf.items[0] for leaf in block.leaves]
    items = list(dict.fromkeys(tops))
    if len(items) <= MAX_PARTS:
        return block.leaves, ""
    held = {
        leaf.items[0]
        for leaf in block.leaves
        if any(span.start in wanted for span in leaf.sentences)
    }
    kept = (held or set(items[:MAX_PARTS])) & set(items)
    note = f"Showing {len(kept)} of {len(items)} items."
    return [leaf for leaf, top in zip(block.leaves, tops, strict=True) if top in kept], note


def _lines(text: str, leaf: Leaf) -> list[Span]:
    found = re.finditer(r"[^\n]+", text[leaf.start : leaf.end])
    return [Span(leaf.start + one.start(), leaf.start + one.end(), "row") for one in found]


def _merge_adjacent(lines: Sequence[Span]) -> Iterator[Span]:
    """Join lines that follow each other."""
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


def _separator(before: _QuotedBlock | None, one: _QuotedBlock) -> str:
    if before and one.leaf and one.leaf is before.leaf:
        return " "
    listed = before and one.leaf and one.leaf.marker and before.leaf and before.leaf.items
    tight = listed and before and before.block == one.block and before.kind == "item"
    return ("\n" if tight else "\n\n") + _bullet(one.leaf)
