"""Convert HTML to sections of Markdown blocks."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from citewell.domain import Block, Section
from citewell.ingest.formats.html.inline import MATH, InlineRenderer
from citewell.ingest.formats.html.tree import Element, class_attribute, tag_name, text_of
from citewell.ingest.formats.markdown_writer import join_blocks, write_table
from citewell.text.plain_text import strip_inline_markup

_HEADINGS = {f"h{n}": n for n in range(1, 7)}
BLOCKS = frozenset(
    re.findall(
        r"\S+",
        "address article aside blockquote body center dd details dir div dl dt fieldset figcaption"
        " figure footer header hgroup hr html legend li main menu ol p pre section summary table"
        " tbody td tfoot th thead tr ul caption h1 h2 h3 h4 h5 h6",
    )
)
_ADMONITION_KINDS = re.findall(
    r"\S+",
    "note tip info warning danger caution important hint attention error seealso success question"
    " example abstract todo failure bug quote secondary primary",
)
_ADMONITION = re.compile(
    r"(?:^|\s)(?:[\w-]*-)?(?:admonition|callout|alert|markdown-alert|blockquote-tag"
    r"|note|warning|tip|caution|important|danger|hint|attention)(?:[-_][\w-]*)?(?=\s|$)"
)
_TITLE = re.compile(r"\b\w*(?:[aA]dmonition|callout|alert|tag)-?_?(?:[tT]itle|[hH]eading)")
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight)-([\w+#.-]+)|sourceCode\s+([\w+#-]+)")
_NO_LANGUAGE = frozenset(("default", "none", "text", "plaintext", "source", "copy", "block"))


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the page, with the id that leads to it."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class ParsedHtml:
    """The content of an HTML page."""

    title: str
    sections: tuple[Section, ...]


def read_sections(
    content: Element, *, title: str, base: str, keep_title: bool = False, one_chapter: bool = True
) -> ParsedHtml:
    """Split a page's content into sections.

    With `keep_title`, the title takes precedence over the page's first heading. A page that is not
    `one_chapter` contains several, and its first heading is that of one of them.
    """
    items = list(_BlockRenderer(InlineRenderer(base)).items_of(content))
    page_heading = _page_heading(items) if one_chapter else None
    name = page_heading.text if page_heading and not keep_title else title
    open_headings: list[tuple[int, str]] = []
    sections: list[tuple[tuple[str, ...], str, list[Block]]] = [((), "", [])]
    for item in items:
        if isinstance(item, Block):
            sections[-1][2].append(item)
            continue
        if item is page_heading:
            open_headings, anchor = [], ""
        else:
            open_headings = [(n, h) for n, h in open_headings if n < item.level]
            open_headings.append((item.level, item.text))
            anchor = item.anchor
        sections.append((tuple(h for _, h in open_headings), anchor, []))
    return ParsedHtml(
        title=name,
        sections=tuple(
            Section(path=(name, *path) if name else path, anchor=anchor, blocks=tuple(blocks))
            for path, anchor, blocks in sections
            if blocks
        ),
    )


def _page_heading(items: list[Block | Heading]) -> Heading | None:
    headings = [item for item in items if isinstance(item, Heading)]
    if first := next((h for h in headings if h.level == 1), None):
        return first
    # The first heading of an EPUB chapter is often of the second level.
    starts_page = bool(headings) and items[0] is headings[0]
    is_highest = starts_page and all(h.level > headings[0].level for h in headings[1:])
    return headings[0] if is_highest else None


class _BlockRenderer:
    def __init__(self, inline: InlineRenderer) -> None:
        self._inline = inline
        self._writers: dict[str, Callable[[Element], Iterator[Block | Heading]]] = {
            "pre": self._code,
            "ul": self._list,
            "ol": self._list,
            "menu": self._list,
            "dl": self._definitions,
            "table": self._table,
            "blockquote": self._quote,
            "figcaption": self._caption,
            "hr": lambda _: iter(()),
            MATH: self._formula,
            **dict.fromkeys(_HEADINGS, self._heading),
        }

    def items_of(self, element: Element) -> Iterator[Block | Heading]:
        """Yield the blocks and headings in an element."""
        pending = [self._inline.text(element.text)]
        for child in element:
            if self._is_block(child):
                yield from self._paragraph(pending)
                yield from self._block(child)
                pending = []
            else:
                pending.append(self._inline.element(child))
            pending.append(self._inline.text(child.tail))
        yield from self._paragraph(pending)

    def blocks(self, element: Element) -> list[Block]:
        """Return the blocks in an element, with headings as strong text."""
        return [
            item if isinstance(item, Block) else Block(kind="prose", text=f"**{item.text}**")
            for item in self.items_of(element)
        ]

    def _is_block(self, element: Element) -> bool:
        tag = tag_name(element)
        if tag in BLOCKS or (tag == MATH and element.get("display") == "block"):
            return True
        return any(
            tag_name(e) in BLOCKS or e.get("display") == "block" for e in element.iterdescendants()
        )

    def _block(self, element: Element) -> Iterator[Block | Heading]:
        writer = self._writers.get(tag_name(element))
        if _ADMONITION.search(class_attribute(element)) and tag_name(element) not in _HEADINGS:
            writer = self._admonition
        return (writer or self.items_of)(element)

    def _paragraph(self, pending: list[str]) -> Iterator[Block]:
        if text := self._inline.paragraph("".join(pending)):
            yield Block(kind="prose", text=text)

    def _heading(self, element: Element) -> Iterator[Heading]:
        text = strip_inline_markup(
            self._inline.line(self._inline.inside(element)).replace("\n", " ")
        )
        if text:
            level = _HEADINGS[tag_name(element)]
            yield Heading(level, text, heading_id(element))

    def _code(self, element: Element) -> Iterator[Block]:
        for newline in list(element.iter("br")):
            newline.tail = "\n" + (newline.tail or "")
        text = "".join(element.itertext()).replace("\r\n", "\n").replace("\xa0", " ")
        text = re.sub("[\x00-\x08\x0b\x0c]", "", text.replace("\u200b", ""))
        body = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
        if body:
            longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
            fence = "`" * (longest + 1)
            yield Block(kind="code", text=f"{fence}{_language(element)}\n{body}\n{fence}")

    def _formula(self, element: Element) -> Iterator[Block]:
        if element.text:
            yield Block(kind="math", text=f"$$\n{element.text}\n$$")

    def _quote(self, element: Element) -> Iterator[Block]:
        if text := join_blocks(self.blocks(element)):
            quoted = "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
            yield Block(kind="quote", text=quoted)

    def _admonition(self, element: Element) -> Iterator[Block]:
        classes = class_attribute(element)
        kind = next(
            (k for k in _ADMONITION_KINDS if re.search(rf"(?:^|[\s-]){k}(?=[\s_-]|$)", classes)),
            "note",
        )
        kind = "note" if kind in ("secondary", "primary") else kind
        title = ""
        titles = [e for e in element.iterdescendants() if _TITLE.search(class_attribute(e))]
        if tag_name(element) == "details":
            titles = [e for e in element if tag_name(e) == "summary"]
        for heading in titles[:1]:
            title = text_of(heading)
            tail = heading.tail
            heading.clear()
            heading.tail = tail
        if text := join_blocks(self.blocks(element)):
            longest = max((len(run) for run in re.findall("^:{3,}", text, re.M)), default=2)
            fence = ":" * (longest + 1)
            has_title = title and title.lower() != kind
            label = f"[{re.sub(r'[][]', '', title)}]" if has_title else ""
            yield Block(kind="admonition", text=f"{fence}{kind}{label}\n\n{text}\n\n{fence}")

    def _table(self, element: Element) -> Iterator[Block | Heading]:
        if is_layout(element):
            yield from self.items_of(element)
            return
        for caption in element.iter("caption"):
            yield from self._paragraph([self._inline.inside(caption)])
        rows = rows_of(element, lambda cell: self._inline.line(self._inline.inside(cell)))
        if text := write_table(rows):
            yield Block(kind="table", text=text)

    def _list(self, element: Element) -> Iterator[Block]:
        number = _parse_int(element.get("start"), 1)
        ordered = tag_name(element) == "ol"
        items: list[str] = []
        for child in element:
            tag = tag_name(child)
            if tag in ("ul", "ol") and items:
                items[-1] += "\n" + _indented(join_blocks(list(self._list(child))), 2)
            elif text := join_blocks(self.blocks(child), tight=True) if tag else "":
                number = _parse_int(child.get("value"), number)
                mark = f"{number}. " if ordered else "- "
                items.append(mark + _indented(text, len(mark)).lstrip(" "))
                number += 1
        if items:
            yield Block(kind="list", text="\n".join(items))

    def _definitions(self, element: Element) -> Iterator[Block | Heading]:
        parts = [e for e in element.iter("dt", "dd") if _parent_list(e) is element]
        if any(self._is_long(part) for part in parts):
            for part in parts:
                if tag_name(part) == "dt":
                    yield from self._strong_paragraph(part)
                else:
                    yield from self.items_of(part)
            return
        items: list[str] = []
        for part in parts:
            text = self._inline.line(self._inline.inside(part)).replace("\n", " ")
            if text and (tag_name(part) == "dt" or not items):
                items.append(f"- **{text}**" if "**" not in text else f"- {text}")
            elif text:
                items[-1] += f": {text}" if items[-1].endswith("**") else f" {text}"
        if items:
            yield Block(kind="list", text="\n".join(items))

    def _caption(self, element: Element) -> Iterator[Block | Heading]:
        for item in self.items_of(element):
            is_prose = isinstance(item, Block) and item.kind == "prose"
            yield Block(kind="caption", text=item.text) if is_prose else item

    def _strong_paragraph(self, element: Element) -> Iterator[Block]:
        if text := self._inline.line(self._inline.inside(element)).replace("\n", " "):
            yield Block(kind="prose", text=text if "**" in text else f"**{text}**")

    def _is_long(self, element: Element) -> bool:
        inner_blocks = [e for e in element.iterdescendants() if tag_name(e) in BLOCKS]
        return len(inner_blocks) > 1 or any(tag_name(e) != "p" for e in inner_blocks)


def heading_id(heading: Element) -> str:
    """Return the id of a heading: its own, one inside, or that of its section or anchor."""
    for element in heading.iter():
        name = element.get("name") if tag_name(element) == "a" else None
        if anchor := element.get("id") or name:
            return anchor
    containers = ("header", "hgroup", "div", "section", "article")
    parent = heading.getparent()
    while parent is not None and tag_name(parent) in containers:
        first_heading = next((e for e in parent.iter(*_HEADINGS)), None)
        if first_heading is not heading:
            break
        if anchor := parent.get("id"):
            return anchor
        parent = parent.getparent()
    previous = heading.getprevious()
    if previous is not None and tag_name(previous) in ("a", "span") and not text_of(previous):
        return previous.get("id") or previous.get("name") or ""
    return ""


def _indented(text: str, width: int) -> str:
    return "\n".join(f"{' ' * width}{line}" if line else "" for line in text.split("\n"))


def _parse_int(value: str | None, default: int) -> int:
    return int(value) if value and re.fullmatch(r"\d{1,6}", value) else default


def _parent_list(element: Element) -> Element | None:
    return next((e for e in element.iterancestors() if tag_name(e) == "dl"), None)


def _language(pre: Element) -> str:
    elements = [pre, *(e for e in pre if tag_name(e) == "code"), *islice(pre.iterancestors(), 2)]
    for element in elements:
        for match in _LANGUAGE.finditer(class_attribute(element)):
            name = (match[1] or match[2]).lower()
            if name not in _NO_LANGUAGE:
                return name
    return ""


_MAX_COLUMNS = 60
_MAX_ROWS = 2_000
_BLOCK_CONTENT = frozenset(
    ("pre", "table", "ul", "ol", "dl", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6")
)


def is_layout(table: Element) -> bool:
    """Return whether a table is for layout: it has one column, or many of its cells hold blocks."""
    if table.get("role") in ("presentation", "none") or "highlighttable" in class_attribute(table):
        return True
    rows = list(table.iter("tr"))
    if all(sum(tag_name(c) in ("td", "th") for c in row) <= 1 for row in rows):
        return True
    # Data tables may have lists in some cells, but not in most.
    block_count = sum(tag_name(e) in _BLOCK_CONTENT for e in table.iterdescendants())
    nested = any(tag_name(e) in ("table", "pre", "h1", "h2") for e in table.iterdescendants())
    return nested or block_count > len(rows)


def rows_of(table: Element, write: Callable[[Element], str]) -> list[list[str]]:
    """Return the cells of each row as text; a spanning cell is repeated."""
    rows: list[list[str]] = []
    row_spans: dict[int, tuple[int, str]] = {}
    for row in list(table.iter("tr"))[:_MAX_ROWS]:
        cells: list[str] = []
        for cell in row:
            if tag_name(cell) not in ("td", "th"):
                continue
            _fill_spanned_cells(cells, row_spans)
            text = " ".join(write(cell).split()).replace("\\|", "|").replace("|", "\\|")
            rowspan = _span(cell.get("rowspan"))
            for _ in range(_span(cell.get("colspan"))):
                if rowspan > 1:
                    row_spans[len(cells)] = (rowspan - 1, text)
                cells.append(text)
        _fill_spanned_cells(cells, row_spans)
        if any(cells):
            rows.append(cells[:_MAX_COLUMNS])
    return rows


def _fill_spanned_cells(cells: list[str], row_spans: dict[int, tuple[int, str]]) -> None:
    while (column := len(cells)) in row_spans and column < _MAX_COLUMNS:
        remaining, text = row_spans.pop(column)
        if remaining > 1:
            row_spans[column] = (remaining - 1, text)
        cells.append(text)


def _span(value: str | None) -> int:
    return (
        max(1, min(int(value), _MAX_COLUMNS)) if value and re.fullmatch(r"[0-9]{1,6}", value) else 1
    )
