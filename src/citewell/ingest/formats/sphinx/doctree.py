"""docutils' tree to the sections and Markdown blocks every reader gives."""

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

from docutils import nodes

from citewell.domain import Block, BlockKind, Section
from citewell.errors import UnreadableFile
from citewell.ingest.formats.markdown_writer import fenced
from citewell.ingest.formats.sphinx.doctree_inline import (
    InlineText,
    ReferenceTargets,
    code,
    escape,
    escape_start,
)
from citewell.ingest.formats.sphinx.include_context import IncludeContext
from citewell.ingest.formats.sphinx.myst import parse_myst
from citewell.ingest.formats.sphinx.rst import parse_rst
from citewell.ingest.formats.sphinx.rst_directives import (
    Aside,
    Highlight,
    Labelled,
    Markdown,
    TocTree,
)
from citewell.text.plain_text import strip_inline_markup

_SILENT = (
    nodes.comment,
    nodes.target,
    nodes.substitution_definition,
    nodes.raw,
    nodes.transition,
    nodes.pending,
    nodes.meta,
    nodes.decoration,
    nodes.docinfo,
    nodes.title,
    TocTree,
)
_RULE = re.compile(r"([!-/:-@[-`{-~])\1{2,}\s*")
_ERROR = 3
"""docutils' level for what it could not place in the tree."""


@dataclass(slots=True)
class _Open:
    path: tuple[str, ...]
    anchor: str
    blocks: list[Block] = field(default_factory=list)


def title_of(node: nodes.Element) -> str:
    """Return the words of the title or caption that stands at the head of a node."""
    heads = (nodes.title, nodes.caption)
    found = next((child for child in node.children if isinstance(child, heads)), None)
    return " ".join(found.astext().split()) if found else ""


def document_title(document: nodes.document) -> str:
    """Return the title of a page: that of its first section."""
    return next((title_of(section) for section in document.findall(nodes.section)), "")


def labels_of(document: nodes.document) -> dict[str, str]:
    """Return the labels of a page with the titles they stand before."""
    found: dict[str, str] = {}
    for node in document.findall(nodes.Element):
        if not isinstance(node, nodes.section | nodes.figure | nodes.table | Labelled):
            continue
        words = title_of(node) or str(node.get("label", ""))
        for name in node["names"]:
            if words and document.nametypes.get(name):
                found[name] = words
    return found


def read_sections(
    document: nodes.document, names: ReferenceTargets, docname: str, title: str
) -> tuple[Section, ...]:
    """Cut a page into sections, with the ids that Sphinx gives them."""
    page = _Blocks(InlineText(names, docname))
    opened = [_Open(path=(title,), anchor="")]
    page.walk(document, opened, ())
    return tuple(
        Section(path=o.path, anchor=o.anchor, blocks=tuple(o.blocks)) for o in opened if o.blocks
    )


def _anchor(ids: list[str]) -> str:
    """Choose the id that Sphinx puts first: one that was only counted, as `id3`, comes last."""
    counted = len(ids) > 1 and ids[0].startswith("id")
    return next(iter(ids[1:] if counted else ids), "")


class _Blocks:
    """Renders the block nodes of one page."""

    def __init__(self, inline: InlineText) -> None:
        self._inline = inline
        self._language = ""
        self._titled = False

    def walk(self, node: nodes.Node, opened: list[_Open], path: tuple[str, ...]) -> None:
        """Add the sections and blocks below `node` to those already opened."""
        for child in node.children:
            if isinstance(child, nodes.section):
                here = self._section(child, opened, path)
                self.walk(child, opened, here)
            elif isinstance(child, nodes.container | nodes.compound):
                self.walk(child, opened, path)
            else:
                opened[-1].blocks += self._of(child)

    def _section(
        self, node: nodes.section, opened: list[_Open], path: tuple[str, ...]
    ) -> tuple[str, ...]:
        first, self._titled = not self._titled, True
        if first:
            # The page's own title: its sections stand below it, not in it.
            opened.append(_Open(path=opened[0].path, anchor=""))
            return ()
        head = next((child for child in node.children if isinstance(child, nodes.title)), None)
        here = (*path, strip_inline_markup(self._inline.render(head)) if head else "")
        opened.append(_Open(path=(*opened[0].path, *here), anchor=_anchor(node["ids"])))
        return here

    def _below(self, node: nodes.Node) -> list[Block]:
        return [block for child in node.children for block in self._of(child)]

    def _of(self, node: nodes.Node) -> list[Block]:  # noqa: C901, PLR0911, PLR0912 - one arm a node
        match node:
            case nodes.caption():
                return _some("caption", escape_start(self._inline.render(node)))
            case nodes.paragraph() | nodes.attribution():
                return _some("prose", escape_start(self._inline.render(node)))
            case nodes.bullet_list() | nodes.enumerated_list():
                return _some("list", self._list(node))
            case nodes.literal_block() | nodes.doctest_block():
                return self._code(node)
            case nodes.math_block():
                return _some("math", f"$$\n{node.astext().strip()}\n$$")
            case nodes.table():
                return [*self._caption(node), *_some("table", render_table(node, self._cell))]
            case nodes.definition_list() | nodes.field_list() | nodes.option_list():
                return [block for item in node.children for block in self._definition(item)]
            case nodes.block_quote():
                return self._quote(node)
            case nodes.line_block():
                return _some("prose", "\n".join(self._lines(node)))
            case nodes.Admonition() | nodes.sidebar() | nodes.topic():
                return self._aside(node)
            case Labelled():
                return self._labelled(node)
            case nodes.rubric():
                return _some("prose", f"**{self._inline.render(node)}**")
            case nodes.footnote() | nodes.citation():
                return self._note(node)
            case Markdown():
                return _foreign(node)
            case Highlight():
                self._language = node["language"]
                return []
            case nodes.system_message():
                return _rescued(node)
            case _ if isinstance(node, _SILENT):
                return []
            case nodes.Text() | nodes.image() | nodes.reference() | nodes.Inline():
                return _some("prose", self._inline.render(nodes.paragraph("", "", node.deepcopy())))
            case _:
                return self._below(node)

    def _code(self, node: nodes.Element) -> list[Block]:
        text = node.astext().strip("\n")
        if not text.strip():
            return []
        doctest = isinstance(node, nodes.doctest_block)
        language = node.get("language") or ("python" if doctest else self._language)
        if not language:
            language = next((c for c in node["classes"] if c not in ("code", "literal-block")), "")
        return [Block(kind="code", text=fenced(text, str(language)))]

    def _list(self, node: nodes.Element) -> str:
        ordered = isinstance(node, nodes.enumerated_list)
        number = int(node.get("start", 1))
        items: list[str] = []
        for item in node.children:
            mark = f"{number}. " if ordered else "- "
            text = _indented(_joined(self._below(item), tight=True), len(mark))
            items.append((mark + text.lstrip()).rstrip() if text.strip() else "")
            number += 1
        return "\n".join(item for item in items if item)

    def _definition(self, item: nodes.Node) -> list[Block]:
        """Return `**term**: what it means`, so that the term stands in the sentence about it."""
        *heads, body = item.children or [nodes.paragraph()]
        if not isinstance(body, nodes.definition | nodes.field_body | nodes.description):
            heads, body = [*heads, body], nodes.paragraph()
        if isinstance(item, nodes.option_list_item):
            lead = ", ".join(code(option.astext()) for option in heads[0].children)
        else:
            lead = ", ".join(f"**{self._inline.render(h)}**" for h in heads if h.children)
        return _led(lead, self._below(body))

    def _labelled(self, node: Labelled) -> list[Block]:
        if "signatures" in node:
            lead = ", ".join(code(name) for name in node["signatures"])
            return [*_some("prose", lead), *self._below(node)]
        label = " ".join(str(node.get("label", "")).split())
        label = re.sub(r":[\w:+-]+:`([^`<]*?)(?:\s*<[^>]*>)?`", r"\1", label)
        return [*_some("prose", f"**{escape(label)}**:" if label else ""), *self._below(node)]

    def _quote(self, node: nodes.Element) -> list[Block]:
        blocks = self._below(node)
        if any(block.kind != "prose" for block in blocks):
            # A fence behind `>` is no fence to what reads the text later.
            return blocks
        lines = _joined(blocks).split("\n")
        return _some("quote", "\n".join(f"> {line}".rstrip() for line in lines)) if blocks else []

    def _lines(self, node: nodes.Element) -> list[str]:
        found: list[str] = []
        for child in node.children:
            if isinstance(child, nodes.line_block):
                found += self._lines(child)
            elif text := self._inline.render(child):
                found.append(escape_start(text))
        return found

    def _aside(self, node: nodes.Node) -> list[Block]:
        assert isinstance(node, nodes.Element)
        if "contents" in node["classes"]:
            return []
        name = str(node.get("name") or node.tagname) if isinstance(node, Aside) else node.tagname
        head = next((child for child in node.children if isinstance(child, nodes.title)), None)
        title = self._inline.render(head) if head else escape(str(node.get("title") or ""))
        body = _joined(self._below(node))
        if not title and not body:
            return []
        lead = f":::{name}[{title.replace('[', '(').replace(']', ')')}]" if title else f":::{name}"
        return [Block(kind="admonition", text="\n".join([lead, *([body] if body else []), ":::"]))]

    def _note(self, node: nodes.Element) -> list[Block]:
        label = next((c.astext() for c in node.children if isinstance(c, nodes.label)), "")
        lead = f"[^{label}]:" if isinstance(node, nodes.footnote) else f"\\[{escape(label)}\\]"
        below = [c for c in node.children if not isinstance(c, nodes.label)]
        return _led(lead, [block for child in below for block in self._of(child)], " ")

    def _caption(self, node: nodes.Element) -> list[Block]:
        head = next((child for child in node.children if isinstance(child, nodes.title)), None)
        return _some("prose", f"**{self._inline.render(head)}**:") if head else []

    def _cell(self, node: nodes.Element) -> str:
        found: list[str] = []
        for block in self._below(node):
            text = block.text
            if block.kind == "code":
                text = code("\n".join(text.split("\n")[1:-1]))
            elif block.kind == "admonition":
                text = re.sub(r"^:::.*$\n?", "", text, flags=re.M)
            elif block.kind == "list":
                text = re.sub(r"^\s*(?:-|\d+\.)\s+", "", text, flags=re.M).replace("\n", "; ")
            elif block.kind == "math":
                text = f"${text.strip('$').strip()}$"
            found.append(text.strip())
        return " ".join(found)


def _some(kind: BlockKind, text: str) -> list[Block]:
    return [Block(kind=kind, text=text)] if text.strip("*: \n") else []


def _joined(blocks: list[Block], *, tight: bool = False) -> str:
    """Put blocks into one text; a list item keeps its parts close where Markdown allows it."""
    whole = ""
    for block in blocks:
        close = tight and block.kind == "list"
        whole += ("\n" if close else "\n\n") * bool(whole) + block.text
    return whole


def _indented(text: str, width: int) -> str:
    pad = " " * width
    return "\n".join(f"{pad}{line}" if line.strip() else "" for line in text.split("\n"))


def _led(lead: str, blocks: list[Block], glue: str = ": ") -> list[Block]:
    if not lead:
        return blocks
    if blocks and blocks[0].kind == "prose":
        first = Block(kind="prose", text=f"{lead}{glue}{blocks[0].text}")
        return [first, *blocks[1:]]
    return [Block(kind="prose", text=f"{lead}{glue}".rstrip() if blocks else lead), *blocks]


def _foreign(node: Markdown) -> list[Block]:
    found: list[Block] = []
    for section in parse_myst(node["text"]).page.sections:
        if section.path:
            found += _some("prose", f"**{escape(section.path[-1])}**")
        found += section.blocks
    return found


def _rescued(node: nodes.system_message) -> list[Block]:
    """Keep the source that docutils gave up on: its words are the author's."""
    if node["level"] < _ERROR:
        return []
    found: list[Block] = []
    for source in node.findall(nodes.literal_block):
        lines = source.astext().split("\n")
        if re.match(r"\s*\.\. ", lines[0]):
            lines = [line for line in lines[1:] if not re.match(r"\s*:[\w-]+:", line)]
        kept = "\n".join(line for line in lines if not _RULE.fullmatch(line.strip()))
        text = textwrap.dedent(kept).strip("\n")
        if text.strip():
            found.append(Block(kind="code", text=fenced(text, "")))
    return found


Cell = Callable[[nodes.Element], str]


def render_table(node: nodes.Element, cell: Cell) -> str:
    """Return a table as Markdown, one line a row; without a head, the first row is the head."""
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
    """Return the cells of one row, with empty ones where another cell reaches in."""
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


def rst_to_markdown(text: str, around: IncludeContext) -> list[str]:
    """Return a fragment as lines of Markdown, as written where it cannot be parsed."""
    try:
        document = parse_rst(text, around)
    except UnreadableFile:
        return text.split("\n")
    lines: list[str] = []
    for section in read_sections(document, ReferenceTargets(), "", ""):
        if section.anchor:
            lines += [f"**{section.path[-1]}**", ""]
        for block in section.blocks:
            lines += [*block.text.split("\n"), ""]
    return lines
