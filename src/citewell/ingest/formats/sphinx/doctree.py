"""Convert a docutils document to sections of Markdown blocks."""

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

from docutils import nodes

from citewell.domain import Block, BlockKind, Section
from citewell.errors import UnreadableFile
from citewell.ingest.formats.markdown_writer import fenced, join_blocks, write_table
from citewell.ingest.formats.sphinx.doctree_inline import (
    InlineText,
    ReferenceTargets,
    escape,
    escape_block_start,
    inline_code,
)
from citewell.ingest.formats.sphinx.include_context import IncludeContext
from citewell.ingest.formats.sphinx.myst import parse_myst
from citewell.ingest.formats.sphinx.rst import parse_rst
from citewell.ingest.formats.sphinx.rst_directives import (
    AsideNode,
    Highlight,
    LabelledContent,
    Markdown,
    ToctreeNode,
)
from citewell.text.plain_text import strip_inline_markup

_INVISIBLE_NODES = (
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
    ToctreeNode,
)
_UNDERLINE = re.compile(r"([!-/:-@[-`{-~])\1{2,}\s*")
_ERROR_LEVEL = 3
"""docutils' level for source that it could not parse."""


@dataclass(slots=True)
class _SectionBuilder:
    path: tuple[str, ...]
    anchor: str
    blocks: list[Block] = field(default_factory=list)


def title_of(node: nodes.Element) -> str:
    """Return the text of a node's title or caption."""
    title_types = (nodes.title, nodes.caption)
    title = next((child for child in node.children if isinstance(child, title_types)), None)
    return " ".join(title.astext().split()) if title else ""


def _title_node(node: nodes.Element) -> nodes.title | None:
    return next((child for child in node.children if isinstance(child, nodes.title)), None)


def document_title(document: nodes.document) -> str:
    """Return the title of the first section."""
    return next((title_of(section) for section in document.findall(nodes.section)), "")


def labels_of(document: nodes.document) -> dict[str, str]:
    """Return the labels of a page with the titles of their targets."""
    labels: dict[str, str] = {}
    for node in document.findall(nodes.Element):
        if not isinstance(node, nodes.section | nodes.figure | nodes.table | LabelledContent):
            continue
        title = title_of(node) or str(node.get("label", ""))
        for name in node["names"]:
            if title and document.nametypes.get(name):
                labels[name] = title
    return labels


def read_sections(
    document: nodes.document, targets: ReferenceTargets, docname: str, title: str
) -> tuple[Section, ...]:
    """Split a page into sections with Sphinx's ids."""
    page = _BlockRenderer(InlineText(targets, docname))
    sections = [_SectionBuilder(path=(title,), anchor="")]
    page.walk(document, sections, ())
    return tuple(
        Section(path=s.path, anchor=s.anchor, blocks=tuple(s.blocks)) for s in sections if s.blocks
    )


def _anchor(ids: list[str]) -> str:
    """Return the id that Sphinx prefers: generated ones, such as `id3`, come last."""
    generated = len(ids) > 1 and ids[0].startswith("id")
    return next(iter(ids[1:] if generated else ids), "")


class _BlockRenderer:
    def __init__(self, inline: InlineText) -> None:
        self._inline = inline
        self._language = ""
        self._has_title = False

    def walk(
        self, node: nodes.Node, sections: list[_SectionBuilder], path: tuple[str, ...]
    ) -> None:
        """Append the sections and blocks below `node`."""
        for child in node.children:
            if isinstance(child, nodes.section):
                self.walk(child, sections, self._section(child, sections, path))
            elif isinstance(child, nodes.container | nodes.compound):
                self.walk(child, sections, path)
            else:
                sections[-1].blocks += self._render(child)

    def _section(
        self, node: nodes.section, sections: list[_SectionBuilder], path: tuple[str, ...]
    ) -> tuple[str, ...]:
        is_page_title, self._has_title = not self._has_title, True
        if is_page_title:
            # The page title: the sections of the page are nested in its node.
            sections.append(_SectionBuilder(path=sections[0].path, anchor=""))
            return ()
        title = _title_node(node)
        path = (*path, strip_inline_markup(self._inline.render(title)) if title else "")
        anchor = _anchor(node["ids"])
        sections.append(_SectionBuilder(path=(*sections[0].path, *path), anchor=anchor))
        return path

    def _children(self, node: nodes.Node) -> list[Block]:
        return [block for child in node.children for block in self._render(child)]

    def _render(self, node: nodes.Node) -> list[Block]:  # noqa: C901, PLR0911, PLR0912 - one case per node
        match node:
            case nodes.caption():
                return _block("caption", escape_block_start(self._inline.render(node)))
            case nodes.paragraph() | nodes.attribution():
                return _block("prose", escape_block_start(self._inline.render(node)))
            case nodes.bullet_list() | nodes.enumerated_list():
                return _block("list", self._list(node))
            case nodes.literal_block() | nodes.doctest_block():
                return self._code(node)
            case nodes.math_block():
                return _block("math", f"$$\n{node.astext().strip()}\n$$")
            case nodes.table():
                return [*self._table_title(node), *_block("table", render_table(node, self._cell))]
            case nodes.definition_list() | nodes.field_list() | nodes.option_list():
                return [block for item in node.children for block in self._definition(item)]
            case nodes.block_quote():
                return self._block_quote(node)
            case nodes.line_block():
                return _block("prose", "\n".join(self._lines(node)))
            case nodes.Admonition() | nodes.sidebar() | nodes.topic():
                return self._aside(node)
            case LabelledContent():
                return self._labelled(node)
            case nodes.rubric():
                return _block("prose", f"**{self._inline.render(node)}**")
            case nodes.footnote() | nodes.citation():
                return self._footnote(node)
            case Markdown():
                return _markdown_blocks(node)
            case Highlight():
                self._language = node["language"]
                return []
            case nodes.system_message():
                return _recovered_source(node)
            case _ if isinstance(node, _INVISIBLE_NODES):
                return []
            case nodes.Text() | nodes.image() | nodes.reference() | nodes.Inline():
                return _block(
                    "prose", self._inline.render(nodes.paragraph("", "", node.deepcopy()))
                )
            case _:
                return self._children(node)

    def _code(self, node: nodes.Element) -> list[Block]:
        text = node.astext().strip("\n")
        if not text.strip():
            return []
        is_doctest = isinstance(node, nodes.doctest_block)
        language = node.get("language") or ("python" if is_doctest else self._language)
        if not language:
            language = next((c for c in node["classes"] if c not in ("code", "literal-block")), "")
        return [Block(kind="code", text=fenced(text, str(language)))]

    def _list(self, node: nodes.Element) -> str:
        ordered = isinstance(node, nodes.enumerated_list)
        number = int(node.get("start", 1))
        items: list[str] = []
        for item in node.children:
            mark = f"{number}. " if ordered else "- "
            text = _indented(join_blocks(self._children(item), tight=True), len(mark))
            items.append((mark + text.lstrip()).rstrip() if text.strip() else "")
            number += 1
        return "\n".join(item for item in items if item)

    def _definition(self, item: nodes.Node) -> list[Block]:
        """Return `**term**: definition`, so that the definition contains its term."""
        *terms, body = item.children or [nodes.paragraph()]
        if not isinstance(body, nodes.definition | nodes.field_body | nodes.description):
            terms, body = [*terms, body], nodes.paragraph()
        if isinstance(item, nodes.option_list_item):
            label = ", ".join(inline_code(option.astext()) for option in terms[0].children)
        else:
            label = ", ".join(f"**{self._inline.render(h)}**" for h in terms if h.children)
        return _prefix_blocks(label, self._children(body))

    def _labelled(self, node: LabelledContent) -> list[Block]:
        if "signatures" in node:
            signatures = ", ".join(inline_code(name) for name in node["signatures"])
            return [*_block("prose", signatures), *self._children(node)]
        label = " ".join(str(node.get("label", "")).split())
        label = re.sub(r":[\w:+-]+:`([^`<]*?)(?:\s*<[^>]*>)?`", r"\1", label)
        return [*_block("prose", f"**{escape(label)}**:" if label else ""), *self._children(node)]

    def _block_quote(self, node: nodes.Element) -> list[Block]:
        blocks = self._children(node)
        if any(block.kind != "prose" for block in blocks):
            # Later stages do not recognise fences inside block quotes.
            return blocks
        lines = join_blocks(blocks).split("\n")
        return _block("quote", "\n".join(f"> {line}".rstrip() for line in lines)) if blocks else []

    def _lines(self, node: nodes.Element) -> list[str]:
        lines: list[str] = []
        for child in node.children:
            if isinstance(child, nodes.line_block):
                lines += self._lines(child)
            elif text := self._inline.render(child):
                lines.append(escape_block_start(text))
        return lines

    def _aside(self, node: nodes.Node) -> list[Block]:
        assert isinstance(node, nodes.Element)
        if "contents" in node["classes"]:
            return []
        name = (
            str(node.get("name") or node.tagname) if isinstance(node, AsideNode) else node.tagname
        )
        title = escape(str(node.get("title") or ""))
        if title_node := _title_node(node):
            title = self._inline.render(title_node)
        body = join_blocks(self._children(node))
        if not title and not body:
            return []
        label = f"[{title.replace('[', '(').replace(']', ')')}]" if title else ""
        lines = [f":::{name}{label}", *([body] if body else []), ":::"]
        return [Block(kind="admonition", text="\n".join(lines))]

    def _footnote(self, node: nodes.Element) -> list[Block]:
        label = next((c.astext() for c in node.children if isinstance(c, nodes.label)), "")
        mark = f"[^{label}]:" if isinstance(node, nodes.footnote) else f"\\[{escape(label)}\\]"
        blocks = [
            block
            for child in node.children
            if not isinstance(child, nodes.label)
            for block in self._render(child)
        ]
        return _prefix_blocks(mark, blocks, " ")

    def _table_title(self, node: nodes.Element) -> list[Block]:
        title_node = _title_node(node)
        return _block("prose", f"**{self._inline.render(title_node)}**:") if title_node else []

    def _cell(self, node: nodes.Element) -> str:
        texts: list[str] = []
        for block in self._children(node):
            text = block.text
            if block.kind == "code":
                text = inline_code("\n".join(text.split("\n")[1:-1]))
            elif block.kind == "admonition":
                text = re.sub(r"^:::.*$\n?", "", text, flags=re.M)
            elif block.kind == "list":
                text = re.sub(r"^\s*(?:-|\d+\.)\s+", "", text, flags=re.M).replace("\n", "; ")
            elif block.kind == "math":
                text = f"${text.strip('$').strip()}$"
            texts.append(text.strip())
        return " ".join(texts)


def _block(kind: BlockKind, text: str) -> list[Block]:
    return [Block(kind=kind, text=text)] if text.strip("*: \n") else []


def _indented(text: str, width: int) -> str:
    pad = " " * width
    return "\n".join(f"{pad}{line}" if line.strip() else "" for line in text.split("\n"))


def _prefix_blocks(prefix: str, blocks: list[Block], separator: str = ": ") -> list[Block]:
    if not prefix:
        return blocks
    if blocks and blocks[0].kind == "prose":
        return [Block(kind="prose", text=f"{prefix}{separator}{blocks[0].text}"), *blocks[1:]]
    text = f"{prefix}{separator}".rstrip() if blocks else prefix
    return [Block(kind="prose", text=text), *blocks]


def _markdown_blocks(node: Markdown) -> list[Block]:
    blocks: list[Block] = []
    for section in parse_myst(node["text"]).page.sections:
        if section.path:
            blocks += _block("prose", f"**{escape(section.path[-1])}**")
        blocks += section.blocks
    return blocks


def _recovered_source(node: nodes.system_message) -> list[Block]:
    """Return source that docutils could not parse as code blocks."""
    if node["level"] < _ERROR_LEVEL:
        return []
    blocks: list[Block] = []
    for source in node.findall(nodes.literal_block):
        lines = source.astext().split("\n")
        if re.match(r"\s*\.\. ", lines[0]):
            lines = [line for line in lines[1:] if not re.match(r"\s*:[\w-]+:", line)]
        code_lines = "\n".join(line for line in lines if not _UNDERLINE.fullmatch(line.strip()))
        text = textwrap.dedent(code_lines).strip("\n")
        if text.strip():
            blocks.append(Block(kind="code", text=fenced(text, "")))
    return blocks


Cell = Callable[[nodes.Element], str]


def render_table(node: nodes.Element, cell: Cell) -> str:
    """Render a table as Markdown; without a header, the first row is the header."""
    rows: list[list[str]] = []
    for group in node.children:
        if not isinstance(group, nodes.tgroup):
            continue
        row_spans: dict[int, int] = {}
        for part in (p for p in group.children if isinstance(p, nodes.thead | nodes.tbody)):
            rows += [
                _row(row, row_spans, cell) for row in part.children if isinstance(row, nodes.row)
            ]
    return write_table([row for row in rows if any(row)])


def _row(row: nodes.row, row_spans: dict[int, int], cell: Cell) -> list[str]:
    """Return the cells of a row, with empty ones for row and column spans."""
    cells: list[str] = []

    def fill() -> None:
        while row_spans.get(len(cells), 0) > 0:
            row_spans[len(cells)] -= 1
            cells.append("")

    for entry in row.children:
        if not isinstance(entry, nodes.entry):
            continue
        fill()
        width = int(entry.get("morecols", 0)) + 1
        for column in range(len(cells), len(cells) + width):
            row_spans[column] = int(entry.get("morerows", 0))
        cells += [escape_cell(cell(entry)), *[""] * (width - 1)]
    fill()
    return cells


def escape_cell(text: str) -> str:
    """Escape pipes and join the lines of a table cell."""
    return re.sub(r"(?<!\\)\|", r"\\|", re.sub(r"\s*\n\s*", " ", text).strip())


def rst_to_markdown(text: str, context: IncludeContext) -> list[str]:
    """Convert a fragment to lines of Markdown; return it unchanged if it cannot be parsed."""
    try:
        document = parse_rst(text, context)
    except UnreadableFile:
        return text.split("\n")
    lines: list[str] = []
    for section in read_sections(document, ReferenceTargets(), "", ""):
        if section.anchor:
            lines += [f"**{section.path[-1]}**", ""]
        for block in section.blocks:
            lines += [*block.text.split("\n"), ""]
    return lines
