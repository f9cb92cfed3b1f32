"""HTML to the sections and Markdown blocks that every reader gives."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from citewell.domain import Block, Section
from citewell.ingest.formats.html.inline import MATH, Inline
from citewell.ingest.formats.html.tree import Element, class_attribute, tag_name, text_of
from citewell.ingest.formats.markdown_writer import write_table
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
_KINDS = re.findall(
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
    """What one page of HTML says."""

    title: str
    sections: tuple[Section, ...]


def read_sections(
    content: Element, *, title: str, base: str, certain: bool = False, single: bool = True
) -> ParsedHtml:
    """Turn a page's content into sections.

    A `certain` title stands above them whatever the page's own heading says; a page that is not
    `single` holds several chapters, and its first heading is one of them.
    """
    items = list(_Flow(Inline(base)).top(content))
    own = _own_heading(items) if single else None
    name = own.text if own and not certain else title
    trail: list[tuple[int, str]] = []
    sections: list[tuple[tuple[str, ...], str, list[Block]]] = [((), "", [])]
    for item in items:
        if isinstance(item, Block):
            sections[-1][2].append(item)
            continue
        if item is own:
            trail, anchor = [], ""
        else:
            trail = [(n, h) for n, h in trail if n < item.level] + [(item.level, item.text)]
            anchor = item.anchor
        sections.append((tuple(h for _, h in trail), anchor, []))
    return ParsedHtml(
        title=name,
        sections=tuple(
            Section(path=(name, *path) if name else path, anchor=anchor, blocks=tuple(blocks))
            for path, anchor, blocks in sections
            if blocks
        ),
    )


def _own_heading(items: list[Block | Heading]) -> Heading | None:
    headings = [item for item in items if isinstance(item, Heading)]
    if first := next((h for h in headings if h.level == 1), None):
        return first
    # A chapter of an EPUB often starts at the second level.
    alone = bool(headings) and items[0] is headings[0]
    higher = alone and all(h.level > headings[0].level for h in headings[1:])
    return headings[0] if higher else None


class _Flow:
    """Walks down the elements of a page and gives its blocks and headings in order."""

    def __init__(self, inline: Inline) -> None:
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

    def top(self, element: Element) -> Iterator[Block | Heading]:
        """Yield everything in an element."""
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
        """Return everything in an element, its headings as strong words."""
        return [
            item if isinstance(item, Block) else Block(kind="prose", text=f"**{item.text}**")
            for item in self.top(element)
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
        return (writer or self.top)(element)

    def _paragraph(self, pending: list[str]) -> Iterator[Block]:
        if text := self._inline.paragraph("".join(pending)):
            yield Block(kind="prose", text=text)

    def _heading(self, element: Element) -> Iterator[Heading]:
        words = strip_inline_markup(
            self._inline.line(self._inline.inside(element)).replace("\n", " ")
        )
        if words:
            level = _HEADINGS[tag_name(element)]
            yield Heading(level, words, heading_id(element))

    def _code(self, element: Element) -> Iterator[Block]:
        for newline in list(element.iter("br")):
            newline.tail = "\n" + (newline.tail or "")
        text = "".join(element.itertext()).replace("\r\n", "\n").replace("\xa0", " ")
        text = re.sub("[\x00-\x08\x0b\x0c]", "", text.replace("\u200b", ""))
        lines = [line.rstrip() for line in text.split("\n")]
        while lines and not lines[0]:
            del lines[0]
        while lines and not lines[-1]:
            del lines[-1]
        if lines:
            longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
            fence = "`" * (longest + 1)
            body = "\n".join(lines)
            yield Block(kind="code", text=f"{fence}{_language(element)}\n{body}\n{fence}")

    def _formula(self, element: Element) -> Iterator[Block]:
        if element.text:
            yield Block(kind="math", text=f"$$\n{element.text}\n$$")

    def _quote(self, element: Element) -> Iterator[Block]:
        if text := joined(self.blocks(element)):
            quoted = "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
            yield Block(kind="quote", text=quoted)

    def _admonition(self, element: Element) -> Iterator[Block]:
        names = class_attribute(element)
        kind = next((k for k in _KINDS if re.search(rf"(?:^|[\s-]){k}(?=[\s_-]|$)", names)), "note")
        kind = "note" if kind in ("secondary", "primary") else kind
        title = ""
        named = [e for e in element.iterdescendants() if _TITLE.search(class_attribute(e))]
        if tag_name(element) == "details":
            named = [e for e in element if tag_name(e) == "summary"]
        for heading in named[:1]:
            title = text_of(heading)
            tail = heading.tail
            heading.clear()
            heading.tail = tail
        if text := joined(self.blocks(element)):
            inner = max((len(run) for run in re.findall("^:{3,}", text, re.M)), default=2)
            fence = ":" * (inner + 1)
            own = title and title.lower() != kind
            label = f"[{re.sub(r'[][]', '', title)}]" if own else ""
            yield Block(kind="admonition", text=f"{fence}{kind}{label}\n\n{text}\n\n{fence}")

    def _table(self, element: Element) -> Iterator[Block | Heading]:
        if is_layout(element, BLOCKS):
            yield from self.top(element)
            return
        for caption in element.iter("caption"):
            yield from self._paragraph([self._inline.inside(caption)])
        rows = rows_of(element, lambda cell: self._inline.line(self._inline.inside(cell)))
        if text := write_table(rows):
            yield Block(kind="table", text=text)

    def _list(self, element: Element) -> Iterator[Block]:
        number = _whole(element.get("start"), 1)
        ordered = tag_name(element) == "ol"
        items: list[str] = []
        for child in element:
            tag = tag_name(child)
            if tag in ("ul", "ol") and items:
                items[-1] += "\n" + _indented(joined(list(self._list(child))), 2)
            elif text := joined(self.blocks(child), tight=True) if tag else "":
                number = _whole(child.get("value"), number)
                mark = f"{number}. " if ordered else "- "
                items.append(mark + _indented(text, len(mark)).lstrip(" "))
                number += 1
        if items:
            yield Block(kind="list", text="\n".join(items))

    def _definitions(self, element: Element) -> Iterator[Block | Heading]:
        parts = [e for e in element.iter("dt", "dd") if _owner(e) is element]
        if any(self._is_long(part) for part in parts):
            for part in parts:
                if tag_name(part) == "dt":
                    yield from self._strong(part)
                else:
                    yield from self.top(part)
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
        for item in self.top(element):
            prose = isinstance(item, Block) and item.kind == "prose"
            yield Block(kind="caption", text=item.text) if prose else item

    def _strong(self, element: Element) -> Iterator[Block]:
        if text := self._inline.line(self._inline.inside(element)).replace("\n", " "):
            yield Block(kind="prose", text=text if "**" in text else f"**{text}**")

    def _is_long(self, element: Element) -> bool:
        inner = [e for e in element.iterdescendants() if tag_name(e) in BLOCKS]
        return len(inner) > 1 or any(tag_name(e) != "p" for e in inner)


def heading_id(heading: Element) -> str:
    """Return the id that leads to a heading: its own, one inside, or the enclosing section's."""
    for element in heading.iter():
        if found := element.get("id") or (
            element.get("name") if tag_name(element) == "a" else None
        ):
            return found
    above = heading.getparent()
    while above is not None and tag_name(above) in (
        "header",
        "hgroup",
        "div",
        "section",
        "article",
    ):
        first = next((e for e in above.iter(*_HEADINGS)), None)
        if first is not heading:
            break
        if found := above.get("id"):
            return found
        above = above.getparent()
    before = heading.getprevious()
    if before is not None and tag_name(before) in ("a", "span") and not text_of(before):
        return before.get("id") or before.get("name") or ""
    return ""


def joined(blocks: list[Block], *, tight: bool = False) -> str:
    """Join blocks into one text; in a `tight` list, a list follows its announcement directly."""
    text = ""
    for block in blocks:
        glue = "\n" if tight and block.kind == "list" else "\n\n"
        text += (glue if text else "") + block.text
    return text


def _indented(text: str, width: int) -> str:
    return "\n".join(f"{' ' * width}{line}" if line else "" for line in text.split("\n"))


def _whole(value: str | None, otherwise: int) -> int:
    return int(value) if value and re.fullmatch(r"\d{1,6}", value) else otherwise


def _owner(element: Element) -> Element | None:
    return next((e for e in element.iterancestors() if tag_name(e) == "dl"), None)


def _language(pre: Element) -> str:
    near = [pre, *(e for e in pre if tag_name(e) == "code")]
    above = pre.getparent()
    for _ in range(2):
        if above is not None:
            near.append(above)
            above = above.getparent()
    for element in near:
        for found in _LANGUAGE.finditer(class_attribute(element)):
            name = (found[1] or found[2]).lower()
            if name not in _NO_LANGUAGE:
                return name
    return ""


_WIDEST = 60
_TALLEST = 2_000
_BULKY = frozenset(
    ("pre", "table", "ul", "ol", "dl", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6")
)


def is_layout(table: Element, blocks: Collection[str]) -> bool:
    """Return whether a table only arranges a page: its cells hold whole blocks, or it has one."""
    if table.get("role") in ("presentation", "none") or "highlighttable" in class_attribute(table):
        return True
    rows = list(table.iter("tr"))
    if all(sum(tag_name(c) in ("td", "th") for c in row) <= 1 for row in rows):
        return True
    bulky = sum(tag_name(e) in _BULKY and tag_name(e) in blocks for e in table.iterdescendants())
    # Lists in single cells are common in real tables; a table of nothing else is not.
    return any(tag_name(e) in ("table", "pre", "h1", "h2") for e in table.iterdescendants()) or (
        bulky > len(rows)
    )


def rows_of(table: Element, write: Callable[[Element], str]) -> list[list[str]]:
    """Return the cells of each row as text, a cell that spans several repeated in each."""
    rows: list[list[str]] = []
    waiting: dict[int, tuple[int, str]] = {}
    for row in list(table.iter("tr"))[:_TALLEST]:
        cells: list[str] = []
        for cell in row:
            if tag_name(cell) not in ("td", "th"):
                continue
            _take_waiting(cells, waiting)
            text = " ".join(write(cell).split()).replace("\\|", "|").replace("|", "\\|")
            down = _span(cell.get("rowspan"))
            for _ in range(_span(cell.get("colspan"))):
                if down > 1:
                    waiting[len(cells)] = (down - 1, text)
                cells.append(text)
        _take_waiting(cells, waiting)
        if any(cells):
            rows.append(cells[:_WIDEST])
    return rows


def _take_waiting(cells: list[str], waiting: dict[int, tuple[int, str]]) -> None:
    while (place := len(cells)) in waiting and place < _WIDEST:
        left, text = waiting.pop(place)
        if left > 1:
            waiting[place] = (left - 1, text)
        cells.append(text)


def _span(value: str | None) -> int:
    return max(1, min(int(value), _WIDEST)) if value and re.fullmatch(r"[0-9]{1,6}", value) else 1
