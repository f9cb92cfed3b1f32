"""The blocks of a passage: paragraphs, lists, tables, code and formulas, with their lead-ins.

Without the sentence that introduces it, a block may mean the opposite, so each block keeps it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from citewell.text.memo import memoize_text
from citewell.text.plain_text import ADMONITION, strip_inline_markup
from citewell.text.sentences import Span, split_spans

LeafKind = Literal["paragraph", "table", "code", "math", "title"]
BlockKind = Literal["paragraph", "list", "table", "code", "math"]

_LEAVES: dict[str, LeafKind] = {
    "paragraph_open": "paragraph",
    "heading_open": "paragraph",
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
    "math_block": "math",
    "math_block_label": "math",
}
_CONTAINERS = {
    "bullet_list": "list",
    "ordered_list": "list",
    "list_item": "item",
    "blockquote": "quote",
    "container_admonition": "admonition",
}
_LINE_END = re.compile(r"\r\n?|\n")
_TITLE = re.compile(ADMONITION.pattern.removeprefix("^"), re.MULTILINE)
_BOLD_LINE = re.compile(r"(\*\*|__)[^*_\n]+\1")
_SENTENCE_END = re.compile(r"[.!…][\"'”’)\]*_`]*(?:\[\^?[\w, -]+\])*$")
_LINE_PREFIX = re.compile(r"[ \t]*(?:(?:>|[-*+]|\d+[.)])[ \t]+|>)*")
_IMAGE_ONLY = re.compile(
    r"[\s>]*(?:\[?!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?(?:\]\([^)]*\))?[\s>]*)+"
)
_DENIAL = re.compile(
    r"\W*(?:no|nope|never|wrong|false|untrue|nonsense|not (?:so|true|at all)|far from it"
    r"|(?:this|that|it|they|these|those|all|both|none)(?: of (?:this|these|them))?"
    r"(?: is| are|['’]s|['’]re) (?:all )?(?:wrong|false|untrue|nonsense"
    r"|not (?:so|true|the case)|an? myths?|myths?))\b",
    re.I,
)
ANAPHORIC_START = re.compile(
    r"^(?:it|its|this|that|these|those|they|their|he|she|such|here|both|the (?:former|latter|same)"
    r"|otherwise|however|therefore|hence|thus|instead|consequently|accordingly|then|so|but|and|also"
    r"|for (?:this|that|these|those) reasons?|because of (?:this|that)|as a (?:result|consequence)"
    r"|in (?:this|that|such a|these|those) (?:case|way|manner|situation)s?)\b",
    re.I,
)
"""The beginning of a sentence that refers to the previous one."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A paragraph, table, code block or formula, at any level of nesting."""

    kind: LeafKind
    start: int
    end: int
    sentences: tuple[Span, ...]
    """The sentences of a paragraph; a single span for other kinds."""
    marker: str = ""
    """The bullet or number, if the leaf is the first of a list item."""
    indent: int = 0
    """The columns of indentation from the enclosing list items."""
    items: tuple[int, ...] = ()
    """The start of each enclosing list item, outermost first."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a whole list, a table, a code block or a formula."""

    kind: BlockKind
    leaves: tuple[Leaf, ...]
    containers: tuple[int, ...] = ()
    """The start of each enclosing quote and admonition, outermost first."""
    titles: tuple[Span, ...] = ()
    """The titles of those admonitions."""
    lead: tuple[Span, ...] = ()
    """The sentences right before the block that introduce it."""
    announced: bool = False
    """Whether the lead is incomplete without the block, as before a colon."""
    continues_previous: bool = False
    """Whether the block continues the previous one and is incomplete without that."""

    @property
    def start(self) -> int:
        """The block's start offset in the passage."""
        return self.leaves[0].start

    @property
    def end(self) -> int:
        """The block's end offset in the passage."""
        return self.leaves[-1].end


@memoize_text(2048)
def blocks_of(text: str) -> tuple[Block, ...]:
    """Return the blocks of a passage in reading order."""
    try:
        leaves = list(_LeafParser(text).leaves())
    except RecursionError:  # nested too deeply
        leaves = []
    groups: list[_OpenBlock] = []
    for leaf, containers, titles, list_start in leaves:
        if list_start is not None and groups and groups[-1].list_start == list_start:
            groups[-1].leaves.append(leaf)
        else:
            groups.append(_OpenBlock(list_start, [leaf], containers, titles))
    blocks: list[Block] = []
    for group in groups:
        kind = "list" if group.list_start is not None else group.leaves[0].kind
        assert kind != "title"
        block = Block(kind, tuple(group.leaves), group.containers, group.titles)
        blocks.append(_attach_lead(text, blocks, block))
    return tuple(blocks)


def block_at(blocks: Sequence[Block], offset: int) -> int | None:
    """Return the index of the block at an offset."""
    index = bisect_right([block.start for block in blocks], offset) - 1
    return index if index >= 0 and offset < blocks[index].end else None


def ends_in_colon(text: str, block: Block) -> bool:
    """Return whether a paragraph or list ends in a colon."""
    last = block.leaves[-1]
    words = last.sentences[-1].of(text)
    return last.kind == "paragraph" and words.rstrip("*_ ").endswith(":")


def is_anaphoric(sentence: str) -> bool:
    """Return whether a sentence cannot be understood without the previous one."""
    return bool(ANAPHORIC_START.match(strip_inline_markup(sentence)))


def is_picture(sentence: str) -> bool:
    """Return whether a sentence is an image and nothing else."""
    return bool(_IMAGE_ONLY.fullmatch(sentence))


def is_denial(sentence: str) -> bool:
    """Return whether a sentence denies the previous one."""
    return bool(_DENIAL.match(strip_inline_markup(sentence)))


@dataclass(slots=True)
class _OpenBlock:
    list_start: int | None
    leaves: list[Leaf]
    containers: tuple[int, ...]
    titles: tuple[Span, ...]


@dataclass(slots=True)
class _Container:
    kind: str
    start: int
    title: Span | None = None
    marker: str = ""
    marker_used: bool = False


_LeafInContext = tuple[Leaf, tuple[int, ...], tuple[Span, ...], int | None]
"""A leaf, the starts and titles of its containers, and the start of its list."""


class _LeafParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
        self._containers: list[_Container] = []

    def leaves(self) -> Iterator[_LeafInContext]:
        for token in _PARSER.parse(self._text):
            name, _, side = token.type.rpartition("_")
            if name in _CONTAINERS and side == "open":
                self._containers.append(self._container(token, _CONTAINERS[name]))
                yield from self._list_title()
            elif name in _CONTAINERS and side == "close":
                self._containers.pop()
            elif token.type in _LEAVES and token.map:
                start, end = self._token_range(token)
                start = self._skip_prefix(token, start, end)
                yield from self._leaf(_LEAVES[token.type], start, end)

    def _skip_prefix(self, token: Token, start: int, end: int) -> int:
        """Skip the bullets and quote markers before a fence or a table."""
        if token.type in ("fence", "math_block", "math_block_label"):
            return max(start, self._text.find(token.markup or "$$", start, end))
        if token.type == "table_open":
            return start + len(_LINE_PREFIX.match(self._text, start)[0])  # type: ignore[index]
        return start

    def _token_range(self, token: Token) -> tuple[int, int]:
        first_line, end_line = token.map or (0, 0)
        start, end = self._starts[first_line], self._starts[min(end_line, len(self._starts) - 1)]
        return start, start + len(self._text[start:end].rstrip())

    def _container(self, token: Token, kind: str) -> _Container:
        start, _ = self._token_range(token)
        container = _Container(kind, start)
        if kind == "item":
            container.marker = f"{token.info}{token.markup}" if token.info else "-"
        if kind == "admonition" and (match := _TITLE.search(self._text, start)):
            group = 2 if match[2] else 3
            if (match[group] or "").strip():
                container.title = _trimmed(self._text, *match.span(group))
        return container

    def _outermost_list(self) -> int | None:
        return next((c.start for c in self._containers if c.kind == "list"), None)

    def _list_title(self) -> Iterator[_LeafInContext]:
        title = self._containers[-1].title
        if title and self._outermost_list() is not None:
            yield from self._leaf("title", title.start, title.end)

    def _leaf(self, kind: LeafKind, start: int, end: int) -> Iterator[_LeafInContext]:
        if start >= end:
            return
        items = [c for c in self._containers if c.kind == "item"]
        markers = [item.marker for item in items if not item.marker_used]
        for item in items:
            item.marker_used = True
        marker_width = len(" ".join(markers)) + 1 if markers else 0
        leaf = Leaf(
            kind,
            start,
            end,
            _sentences(self._text, kind, start, end),
            " ".join(markers),
            sum(len(item.marker) + 1 for item in items) - marker_width,
            tuple(item.start for item in items),
        )
        outside_list = takewhile(lambda c: not items or c is not items[0], self._containers)
        outer_containers = [c for c in outside_list if c.kind in ("quote", "admonition")]
        titles = tuple(c.title for c in outer_containers if c.title)
        if leaf.sentences:
            yield leaf, tuple(c.start for c in outer_containers), titles, self._outermost_list()


def _sentences(text: str, kind: LeafKind, start: int, end: int) -> tuple[Span, ...]:
    if kind != "paragraph":
        whole_spans: dict[LeafKind, Span] = {
            "code": Span(start, end, "code"),
            "math": Span(start, end, "math"),
            "table": Span(start, end, "row"),
        }
        return (whole_spans.get(kind) or Span(start, end, "heading"),)
    spans = split_spans(text)
    index = bisect_right([span.end for span in spans], start)
    sentences = tuple(takewhile(lambda span: span.start < end, spans[index:]))
    are_inside = all(
        start <= span.start and span.end <= end and span.kind in ("sentence", "item")
        for span in sentences
    )
    return sentences if sentences and are_inside else (_trimmed(text, start, end),)


def _trimmed(text: str, start: int, end: int) -> Span:
    chars = text[start:end]
    return Span(start + len(chars) - len(chars.lstrip()), start + len(chars.rstrip()))


def _attach_lead(text: str, earlier: Sequence[Block], block: Block) -> Block:
    """Return a block with its lead-in, and whether it continues the previous one."""
    if not earlier:
        return block
    previous = earlier[-1]
    block = replace(block, continues_previous=_continues_list(text, previous, block))
    if (
        previous.kind != "paragraph"
        or previous.containers != block.containers[: len(previous.containers)]
    ):
        return block
    announced = _announces(text, previous, block)
    enters_quote = len(block.containers) > len(previous.containers) and not block.titles
    after_question = previous.leaves[-1].sentences[-1].of(text).rstrip("*_ ").endswith("?")
    if announced or after_question or enters_quote or block.kind != "paragraph":
        return replace(block, lead=_last_sentences(text, previous), announced=announced)
    return block


def _announces(text: str, previous: Block, block: Block) -> bool:
    """Return whether a paragraph is incomplete without the next block."""
    if ends_in_colon(text, previous):
        return True
    last = previous.leaves[-1].sentences[-1].of(text).strip()
    if _SENTENCE_END.search(last) or last.rstrip("*_ ").endswith("?") or is_picture(last):
        return False
    if block.kind != "paragraph" or _BOLD_LINE.fullmatch(last):
        return True
    return block.leaves[0].sentences[0].of(text)[:1].islower()


def _continues_list(text: str, previous: Block, block: Block) -> bool:
    first_sentence = block.leaves[0].sentences[0].of(text)
    if previous.kind == "list" and ends_in_colon(text, previous):
        return True
    if block.kind == "paragraph" and previous.kind != "paragraph":
        # “where x is …” after a formula, and a comment on a quotation.
        return first_sentence[:1].islower() or (is_denial(first_sentence) and not previous.titles)
    if block.kind == "paragraph":
        # The answer “No.” belongs to the question or quotation before it.
        leaves_quote = len(previous.containers) > len(block.containers)
        return is_denial(first_sentence) and (leaves_quote or bool(previous.lead))
    # Two code blocks may share one lead-in.
    return (
        previous.kind != "paragraph"
        and bool(previous.lead)
        and previous.containers == block.containers
    )


def _last_sentences(text: str, paragraph: Block) -> tuple[Span, ...]:
    """Return the last sentence of a paragraph, with those that it refers to."""
    sentences = paragraph.leaves[-1].sentences
    index = len(sentences) - 1
    while index > 0 and is_anaphoric(sentences[index].of(text)):
        index -= 1
    lead = paragraph.lead if index == 0 else ()
    return (*lead, *sentences[index:])


def _parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table"])
    markdown.use(dollarmath_plugin, allow_space=False, allow_blank_lines=True)
    markdown.use(container_plugin, "admonition", validate=lambda params, *_: bool(params.strip()))
    # Only block boundaries are needed.
    return markdown.disable(["inline", "text_join"])


_PARSER = _parser()
