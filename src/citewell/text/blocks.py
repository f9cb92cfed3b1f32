"""The blocks of a passage: paragraphs, lists, tables, listings, formulas, and what announces them.

A block is what its author wrote as one thing. Its words may mean the opposite without the line that
announces it, so each block knows that line.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
_TITLED = re.compile(r"(\*\*|__)[^*_\n]+\1")
_FINISHED = re.compile(r"[.!…][\"'”’)\]*_`]*(?:\[\^?[\w, -]+\])*$")
_BEFORE_TABLE = re.compile(r"[ \t]*(?:(?:>|[-*+]|\d+[.)])[ \t]+|>)*")
_PICTURE = re.compile(r"[\s>]*(?:\[?!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?(?:\]\([^)]*\))?[\s>]*)+")
_DENIES = re.compile(
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
"""How a sentence begins that refers to the one before it."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """The smallest block: a paragraph, table, listing or formula, wherever it stands."""

    kind: LeafKind
    start: int
    end: int
    sentences: tuple[Span, ...]
    """Those of a paragraph; one for the whole of anything else."""
    marker: str = ""
    """The bullet or number of the list item that it begins."""
    indent: int = 0
    """Columns that the items around it take."""
    items: tuple[int, ...] = ()
    """Where each list item around it begins, outermost first."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a whole list, a table, a listing or a formula."""

    kind: BlockKind
    leaves: tuple[Leaf, ...]
    inside: tuple[int, ...] = ()
    """Which quotes and admonitions it stands in, outermost first."""
    titles: tuple[Span, ...] = ()
    """The titles of those admonitions."""
    lead: tuple[Span, ...] = ()
    """The sentences right before it that announce it."""
    announced: bool = False
    """Whether those sentences say nothing without it."""
    follows: bool = False
    """Whether it goes on from the block before it, and cannot be read without."""

    @property
    def start(self) -> int:
        """Where it begins in the passage."""
        return self.leaves[0].start

    @property
    def end(self) -> int:
        """Where it ends in the passage."""
        return self.leaves[-1].end


@memoize_text(2048)
def blocks_of(text: str) -> tuple[Block, ...]:
    """Return the blocks of a passage in reading order."""
    try:
        leaves = list(_Walk(text).leaves())
    except RecursionError:  # nested too deeply to have a form
        leaves = []
    gathered: list[_OpenBlock] = []
    for leaf, inside, titles, listed in leaves:
        if listed is not None and gathered and gathered[-1].listed == listed:
            gathered[-1].leaves.append(leaf)
        else:
            gathered.append(_OpenBlock(listed, [leaf], inside, titles))
    blocks: list[Block] = []
    for one in gathered:
        kind = "list" if one.listed is not None else one.leaves[0].kind
        assert kind != "title"
        block = Block(kind, tuple(one.leaves), one.inside, one.titles)
        blocks.append(_attach_lead(text, blocks, block))
    return tuple(blocks)


def block_at(blocks: Sequence[Block], place: int) -> int | None:
    """Return which block the text at `place` belongs to."""
    found = bisect_right([block.start for block in blocks], place) - 1
    return found if found >= 0 and place < blocks[found].end else None


def ends_in_colon(text: str, block: Block) -> bool:
    """Whether a paragraph or list ends by announcing what should follow it."""
    last = block.leaves[-1]
    words = last.sentences[-1].of(text)
    return last.kind == "paragraph" and words.rstrip("*_ ").endswith(":")


def is_anaphoric(sentence: str) -> bool:
    """Whether a sentence needs the one before it to be understood."""
    return bool(ANAPHORIC_START.match(strip_inline_markup(sentence)))


def is_picture(sentence: str) -> bool:
    """Whether a sentence is a picture and nothing else."""
    return bool(_PICTURE.fullmatch(sentence))


def is_denial(sentence: str) -> bool:
    """Whether a sentence says of the one before it that it is not so."""
    return bool(_DENIES.match(strip_inline_markup(sentence)))


@dataclass(slots=True)
class _OpenBlock:
    listed: int | None
    leaves: list[Leaf]
    inside: tuple[int, ...]
    titles: tuple[Span, ...]


@dataclass(slots=True)
class _Container:
    kind: str
    start: int
    title: Span | None = None
    marker: str = ""
    begun: bool = False


class _Walk:
    """Walks the tokens of a passage and gathers its leaves with the containers around them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text)), len(text)]
        self._around: list[_Container] = []

    def leaves(self) -> Iterator[tuple[Leaf, tuple[int, ...], tuple[Span, ...], int | None]]:
        """Yield each leaf, what it stands in, under which titles, and in which list."""
        for token in _PARSER.parse(self._text):
            name, _, side = token.type.rpartition("_")
            if name in _CONTAINERS and side == "open":
                self._around.append(self._container(token, _CONTAINERS[name]))
                yield from self._title_in_list()
            elif name in _CONTAINERS and side == "close":
                self._around.pop()
            elif token.type in _LEAVES and token.map:
                start, end = self._range(token)
                start = self._opening(token, start, end)
                yield from self._leaf(_LEAVES[token.type], start, end)

    def _opening(self, token: Token, start: int, end: int) -> int:
        """Skip what stands before a fence or a table on its line: bullets and signs of quotes."""
        if token.type in ("fence", "math_block", "math_block_label"):
            return max(start, self._text.find(token.markup or "$$", start, end))
        if token.type == "table_open":
            return start + len(_BEFORE_TABLE.match(self._text, start)[0])  # type: ignore[index]
        return start

    def _range(self, token: Token) -> tuple[int, int]:
        first, last = token.map or (0, 0)
        start, end = self._starts[first], self._starts[min(last, len(self._starts) - 1)]
        return start, start + len(self._text[start:end].rstrip())

    def _container(self, token: Token, kind: str) -> _Container:
        start, _ = self._range(token)
        made = _Container(kind, start)
        if kind == "item":
            made.marker = f"{token.info}{token.markup}" if token.info else "-"
        if kind == "admonition" and (found := _TITLE.search(self._text, start)):
            group = 2 if found[2] else 3
            if (found[group] or "").strip():
                made.title = _trimmed(self._text, *found.span(group))
        return made

    def _listed(self) -> int | None:
        return next((one.start for one in self._around if one.kind == "list"), None)

    def _title_in_list(
        self,
    ) -> Iterator[tuple[Leaf, tuple[int, ...], tuple[Span, ...], int | None]]:
        title = self._around[-1].title
        if title and self._listed() is not None:
            yield from self._leaf("title", title.start, title.end)

    def _leaf(
        self, kind: LeafKind, start: int, end: int
    ) -> Iterator[tuple[Leaf, tuple[int, ...], tuple[Span, ...], int | None]]:
        if start >= end:
            return
        items = [one for one in self._around if one.kind == "item"]
        markers = [one.marker for one in items if not one.begun]
        for one in items:
            one.begun = True
        own = len(" ".join(markers)) + 1 if markers else 0
        leaf = Leaf(
            kind,
            start,
            end,
            _sentences(self._text, kind, start, end),
            " ".join(markers),
            sum(len(one.marker) + 1 for one in items) - own,
            tuple(one.start for one in items),
        )
        above = [one for one in self._around if one.kind in ("quote", "admonition")]
        cut = self._around.index(items[0]) if items else len(self._around)
        outer = [one for one in self._around[:cut] if one in above]
        titles = tuple(one.title for one in outer if one.title)
        if leaf.sentences:
            yield leaf, tuple(one.start for one in outer), titles, self._listed()


def _sentences(text: str, kind: LeafKind, start: int, end: int) -> tuple[Span, ...]:
    if kind != "paragraph":
        whole: dict[LeafKind, Span] = {
            "code": Span(start, end, "code"),
            "math": Span(start, end, "math"),
            "table": Span(start, end, "row"),
        }
        return (whole.get(kind) or Span(start, end, "heading"),)
    spans = split_spans(text)
    first = bisect_right([span.end for span in spans], start)
    found = []
    for span in spans[first:]:
        if span.start >= end:
            break
        found.append(span)
    fitting = all(
        start <= one.start and one.end <= end and one.kind in ("sentence", "item") for one in found
    )
    return tuple(found) if found and fitting else (_trimmed(text, start, end),)


def _trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return Span(start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip()))


def _attach_lead(text: str, before: Sequence[Block], block: Block) -> Block:
    """Return a block with the sentences that announce it, and whether it goes on from the last."""
    if not before:
        return block
    above = before[-1]
    block = replace(block, follows=_continues_list(text, above, block))
    if above.kind != "paragraph" or above.inside != block.inside[: len(above.inside)]:
        return block
    announced = _announces(text, above, block)
    quoted = len(block.inside) > len(above.inside) and not block.titles
    asked = above.leaves[-1].sentences[-1].of(text).rstrip("*_ ").endswith("?")
    if announced or asked or quoted or block.kind != "paragraph":
        return replace(block, lead=_last_sentences(text, above), announced=announced)
    return block


def _announces(text: str, above: Block, block: Block) -> bool:
    """Whether a paragraph is not finished without the block behind it."""
    if ends_in_colon(text, above):
        return True
    last = above.leaves[-1].sentences[-1].of(text).strip()
    if _FINISHED.search(last) or last.rstrip("*_ ").endswith("?") or is_picture(last):
        return False
    if block.kind != "paragraph" or _TITLED.fullmatch(last):
        return True
    return block.leaves[0].sentences[0].of(text)[:1].islower()


def _continues_list(text: str, above: Block, block: Block) -> bool:
    first = block.leaves[0].sentences[0].of(text)
    if above.kind == "list" and ends_in_colon(text, above):
        return True
    if block.kind == "paragraph" and above.kind != "paragraph":
        # “where x is …” after a formula, and what is said of the words that were quoted.
        return first[:1].islower() or (is_denial(first) and not above.titles)
    if block.kind == "paragraph":
        # Of what a question or a quotation says, the answer “No.” is a part.
        quoted = len(above.inside) > len(block.inside)
        return is_denial(first) and (quoted or bool(above.lead))
    # Two listings behind one announcement belong to it both.
    return above.kind != "paragraph" and bool(above.lead) and above.inside == block.inside


def _last_sentences(text: str, paragraph: Block) -> tuple[Span, ...]:
    """Return the last sentence of a paragraph, with those that it leans on."""
    sentences = paragraph.leaves[-1].sentences
    first = len(sentences) - 1
    while first > 0 and is_anaphoric(sentences[first].of(text)):
        first -= 1
    own = sentences[first:]
    return (*paragraph.lead, *own) if first == 0 and paragraph.lead else own


def _parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table"])
    markdown.use(dollarmath_plugin, allow_space=False, allow_blank_lines=True)
    markdown.use(container_plugin, "admonition", validate=lambda params, *_: bool(params.strip()))
    # Only where blocks begin and end is asked.
    return markdown.disable(["inline", "text_join"])


_PARSER = _parser()
