"""Combine the lines of a PDF to headings, paragraphs, lists, tables and code."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from citewell.domain import Block
from citewell.ingest.formats.markdown_writer import escape_block, escape_inline, write_table
from citewell.ingest.formats.pdf.layout import Line

_HEADING_SIZE_RATIO = 1.15
_MAX_HEADING_CHARS = 150
_MAX_BOLD_HEADING_CHARS = 80
_MAX_LEVELS = 4
_MAX_HEADING_LINES = 3
_MIN_TITLE_CHARS = 3
_CHAPTER_LABEL = re.compile(
    r"(?:chapter|part|appendix|section|kapitel|teil)?\s*(?:\d+|[ivxlc]+)\.?", re.I
)
_NUMBERING = re.compile(r"(?:chapter|part|appendix|section)?[\divxlc]*")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline, and its target."""

    level: int
    title: str
    page: int
    y: float | None


@dataclass(frozen=True, slots=True)
class PdfHeading:
    """A heading in the stream of lines."""

    level: int
    title: str
    page: int


Item = Line | PdfHeading


def insert_headings(pages: Sequence[list[Line]], outline: Sequence[Bookmark]) -> list[Item]:
    """Return the lines of all pages as one stream; heading lines are replaced by headings."""
    if len(outline) > 1:
        by_page: dict[int, list[Bookmark]] = {}
        for bookmark in outline:
            by_page.setdefault(bookmark.page, []).append(bookmark)
        return [
            item
            for number, lines in enumerate(pages, start=1)
            for item in _insert_bookmarks(lines, by_page.get(number, []))
        ]
    return _detect_headings_by_size([line for lines in pages for line in lines])


def _insert_bookmarks(lines: list[Line], bookmarks: list[Bookmark]) -> list[Item]:
    items: list[Item] = list(lines)
    start = 0
    for bookmark in bookmarks:
        index, end = _find_bookmark(items, start, bookmark)
        items[index:end] = [PdfHeading(bookmark.level, bookmark.title, bookmark.page)]
        start = index + 1
        previous = items[index - 1] if index else None
        if end > index and isinstance(previous, Line) and _CHAPTER_LABEL.fullmatch(previous.text):
            # "Chapter 3" above the chapter's name.
            del items[index - 1]
            start -= 1
    return items


def _find_bookmark(items: list[Item], start: int, bookmark: Bookmark) -> tuple[int, int]:
    """Return the range of lines with a bookmark's title, or an empty range at the target."""
    title = _letters_only(bookmark.title)
    for first_index in range(start, len(items)):
        text = ""
        for index in range(first_index, min(first_index + _MAX_HEADING_LINES, len(items))):
            item = items[index]
            if not isinstance(item, Line):
                break
            text += _letters_only(item.text)
            if _is_same_title(text, title):
                return first_index, index + 1
    for index in range(start, len(items)):
        item = items[index]
        if bookmark.y is not None and isinstance(item, Line) and item.y <= bookmark.y:
            return index, index
    return (start, start) if bookmark.y is None else (len(items), len(items))


def _letters_only(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


def _is_same_title(text: str, title: str) -> bool:
    if text == title:
        return bool(title)
    for long_title, short_title in ((text, title), (title, text)):
        if len(short_title) >= _MIN_TITLE_CHARS and long_title.endswith(short_title):
            return bool(_NUMBERING.fullmatch(long_title[: -len(short_title)]))
    return False


def body_size(lines: Sequence[Line]) -> float:
    """Return the most common font size, by characters."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _detect_headings_by_size(lines: list[Line]) -> list[Item]:
    body = body_size(lines)
    sizes = sorted({_rounded_size(line) for line in lines if _is_large(line, body)}, reverse=True)
    levels = {size: min(level, _MAX_LEVELS) for level, size in enumerate(sizes, start=1)}
    bold_share = sum(line.bold for line in lines) / max(len(lines), 1)
    bold_level = min(len(sizes), _MAX_LEVELS) + 1
    items: list[Item] = []
    previous: Line | None = None
    for index, line in enumerate(lines):
        level = levels.get(_rounded_size(line)) if _is_large(line, body) else None
        following = lines[index + 1] if index + 1 < len(lines) else None
        if level is None and bold_share < 0.3 and _is_bold_heading(previous, line, following):  # noqa: PLR2004
            level = bold_level
        last_item = items[-1] if items else None
        if (
            isinstance(last_item, PdfHeading)
            and previous
            and level == last_item.level
            and _continues_heading(previous, line)
        ):
            items[-1] = PdfHeading(level, f"{last_item.title} {line.text}", last_item.page)
        else:
            items.append(PdfHeading(level, line.text, line.page) if level else line)
        previous = line
    return items


def _rounded_size(line: Line) -> float:
    return round(line.size * 2) / 2


def _is_large(line: Line, body: float) -> bool:
    if line.mono or len(line.text) > _MAX_HEADING_CHARS:
        return False
    return line.size >= _HEADING_SIZE_RATIO * body and any(char.isalpha() for char in line.text)


def _is_bold_heading(previous: Line | None, line: Line, following: Line | None) -> bool:
    """Return whether a bold line is apart from the lines before it and precedes a normal line."""
    if not line.bold or line.mono or following is None or following.bold or len(line.cells) > 2:  # noqa: PLR2004
        return False
    if len(line.text) > _MAX_BOLD_HEADING_CHARS or line.text.endswith((".", ",", ";", ":")):
        return False
    if previous is None or not _are_in_same_column(previous, line):
        return True
    return previous.y - line.y > 1.3 * line.size


def _continues_heading(previous: Line, line: Line) -> bool:
    return _are_in_same_column(previous, line) and previous.y - line.y < 1.8 * line.size


def _are_in_same_column(line_1: Line, line_2: Line) -> bool:
    return (line_1.page, line_1.column) == (line_2.page, line_2.column)


_BULLET = re.compile(r"^([•‣▪◦●○■□–—∙·*-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s+(?=\S)")
_BULLET_SYMBOLS = "•‣▪◦●○■□∙"
_DOT_LEADERS = re.compile(r"(?:\s?[.·…]){4,}\s*(?:\d+|[ivxlc]+)$")
_WORD = re.compile(r"\w+(?:[-’']\w+)*")
_SENTENCE_END = re.compile(r"[.!?:…][\"'”’)\]]*$")
_PARAGRAPH_GAP = 1.3
_MIN_TABLE_ROWS = 2
_MAX_INLINE_CODE_LINES = 2
_MAX_CODE_COLUMNS = 200
_MONOSPACED_DOCUMENT = 0.8


@dataclass(frozen=True, slots=True)
class PageBlock:
    """A block, and the page on which it begins."""

    page: int
    block: Block


def build_blocks(items: Sequence[Item]) -> Iterator[PageBlock | PdfHeading]:
    """Combine the lines of a document to blocks."""
    return _BlockBuilder([item for item in items if isinstance(item, Line)]).build(items)


class _BlockBuilder:
    def __init__(self, lines: list[Line]) -> None:
        self._words = _words_of(lines)
        self._line_spacing = _line_spacing(lines)
        letters = sum(len(line.text) for line in lines) or 1
        mono = sum(len(line.text) for line in lines if line.mono)
        # In a document set entirely in a monospaced font, the font does not indicate code.
        self._code_is_mono = mono / letters < _MONOSPACED_DOCUMENT
        self._paragraph: list[Line] = []
        self._items: list[tuple[int, str]] = []
        self._item_gap = 0.0

    def build(self, items: Sequence[Item]) -> Iterator[PageBlock | PdfHeading]:
        index = 0
        while index < len(items):
            item = items[index]
            if isinstance(item, PdfHeading):
                yield from self._flush()
                yield item
                index += 1
                continue
            line_count, block = self._code_or_table(items, index)
            if block:
                yield from self._flush()
                yield PageBlock(item.page, block)
                index += line_count
                continue
            if not _DOT_LEADERS.search(item.text[-200:]):
                yield from self._add_line(item)
            index += 1
        yield from self._flush()

    def _code_or_table(self, items: Sequence[Item], start: int) -> tuple[int, Block | None]:
        """Return the number of lines and the block of code or a table that starts here."""
        run: list[Line] = []
        while isinstance(item := _get(items, start + len(run)), Line) and self._is_code(item):
            run.append(item)
        if run and not self._is_inside_sentence(run):
            return len(run), Block(kind="code", text=self._code(run))
        run = []
        while isinstance(item := _get(items, start + len(run)), Line) and _is_table_row(item, run):
            run.append(item)
        rows = _align_columns(run) if len(run) >= _MIN_TABLE_ROWS else None
        return (len(run), Block(kind="table", text=write_table(rows))) if rows else (0, None)

    def _is_code(self, line: Line) -> bool:
        return line.mono and self._code_is_mono and line.text[0] not in _BULLET_SYMBOLS

    def _is_inside_sentence(self, run: list[Line]) -> bool:
        """Return whether monospaced lines are inline code that fills them."""
        previous = self._paragraph[-1] if self._paragraph else None
        if (
            previous is None
            or len(run) > _MAX_INLINE_CODE_LINES
            or _SENTENCE_END.search(previous.text)
        ):
            return False
        gap = previous.y - run[0].y
        max_gap = _PARAGRAPH_GAP * self._line_spacing * run[0].size
        return _are_in_same_column(previous, run[0]) and gap <= max_gap

    def _code(self, lines: list[Line]) -> str:
        width = median((c.x1 - c.x0) / len(c.text) for line in lines for c in line.cells) or 1.0
        left = min(line.x0 for line in lines)
        code: list[str] = []
        for previous, line in zip([None, *lines], lines, strict=False):
            if (
                previous
                and _are_in_same_column(previous, line)
                and previous.y - line.y > 1.5 * self._line_spacing * line.size
            ):
                code.append("")
            text = ""
            for cell in line.cells:
                column = min(round((cell.x0 - left) / width), _MAX_CODE_COLUMNS)
                text += " " * max(column - len(text), 1 if text else 0) + cell.text
            code.append(text)
        longest = max((len(run) for run in re.findall("`{3,}", "".join(code))), default=2)
        fence = "`" * (longest + 1)
        return "\n".join((fence, *code, fence))

    def _add_line(self, line: Line) -> Iterator[PageBlock]:
        if self._paragraph and self._starts_paragraph(self._paragraph[-1], line):
            step = self._paragraph[-1].y - line.y
            yield from self._end_paragraph(line)
            self._item_gap = step if self._items else 0.0
        self._paragraph.append(line)

    def _starts_paragraph(self, previous: Line, line: Line) -> bool:
        if _BULLET.match(line.text) and not _continues_sentence(previous, line):
            return True
        if abs(previous.size - line.size) > 0.12 * previous.size:
            return True
        in_item = bool(_BULLET.match(self._paragraph[0].text))
        if not _are_in_same_column(previous, line):
            return _ends_at_column_break(previous, line)
        gap = previous.y - line.y
        if gap > _PARAGRAPH_GAP * self._line_spacing * line.size:
            return True
        if in_item and 0 < _PARAGRAPH_GAP * self._item_gap < gap:
            return True  # the gap is larger than between the items of the list
        indented = line.x0 > line.left + 0.8 * line.size and line.x0 > previous.x0 + 0.8 * line.size
        ends_early = previous.x1 < previous.right - 0.25 * (previous.right - previous.left)
        outdented = in_item and line.x0 < previous.x0 - 0.8 * line.size
        return (
            (indented and not in_item)
            or outdented
            or (ends_early and bool(_SENTENCE_END.search(previous.text)))
        )

    def _end_paragraph(self, following: Line | None) -> Iterator[PageBlock]:
        lines, self._paragraph = self._paragraph, []
        if not lines:
            return
        text = self._join_lines(lines)
        bullet = _BULLET.match(text)
        follows = following is not None and _BULLET.match(following.text)
        if bullet and (self._items or follows or bullet[1] in _BULLET_SYMBOLS):
            number = re.search(r"\d+", bullet[1])
            mark = f"{number[0]}. " if number else "- "
            if not number and bullet[1].strip("()").rstrip(".)").isalpha():
                mark = f"- {bullet[1]} "
            self._items.append((lines[0].page, mark + escape_inline(text[bullet.end() :])))
            if not follows:
                yield from self._end_list()
            return
        yield from self._end_list()
        yield PageBlock(lines[0].page, Block(kind="prose", text=escape_block(escape_inline(text))))

    def _end_list(self) -> Iterator[PageBlock]:
        items, self._items = self._items, []
        if items:
            text = "\n".join(text for _, text in items)
            yield PageBlock(items[0][0], Block(kind="list", text=text))

    def _flush(self) -> Iterator[PageBlock]:
        yield from self._end_paragraph(None)
        yield from self._end_list()

    def _join_lines(self, lines: Sequence[Line]) -> str:
        """Join lines, and words hyphenated at line ends."""
        text = lines[0].text
        for line in lines[1:]:
            first_half = re.search(r"(\w+(?:-\w+)*)-$", text[-80:])
            second_half = re.match(r"\w+", line.text)
            if first_half and second_half:
                keep_hyphen = self._is_hyphenated_compound(first_half[1], second_half[0])
                text = (text if keep_hyphen else text[:-1]) + line.text
            else:
                text = f"{text} {line.text}"
        return text

    def _is_hyphenated_compound(self, first_half: str, second_half: str) -> bool:
        if f"{first_half}{second_half}".lower() in self._words:
            return False
        if f"{first_half}-{second_half}".lower() in self._words:
            return True
        is_ordinary = first_half.islower() or first_half.istitle()
        return not second_half[0].islower() or not is_ordinary or "-" in first_half


def _ends_at_column_break(previous: Line, line: Line) -> bool:
    """Return whether a paragraph ends at the column or page break between two lines."""
    if not _SENTENCE_END.search(previous.text) or line.text[0].islower():
        return False
    previous_width, width = previous.right - previous.left, line.right - line.left
    ends_early = previous.x1 < previous.right - 0.1 * previous_width
    if abs(previous_width - width) > 0.3 * max(previous_width, width):
        return True  # from one column to the full width, or back
    return ends_early or line.x0 > line.left + 0.8 * line.size


def _get(items: Sequence[Item], index: int) -> Item | None:
    return items[index] if index < len(items) else None


def _continues_sentence(previous: Line, line: Line) -> bool:
    """Return whether a line that looks like a list item, `2. It`, continues a sentence."""
    fills_line = previous.x1 > previous.right - 0.1 * (previous.right - previous.left)
    is_aligned = _are_in_same_column(previous, line) and abs(line.x0 - previous.x0) < line.size
    return fills_line and is_aligned and not _SENTENCE_END.search(previous.text)


def _words_of(lines: Sequence[Line]) -> set[str]:
    words: set[str] = set()
    for line in lines:
        line_words = _WORD.findall(line.text.lower())
        words.update(line_words[:-1] if line.text.endswith("-") else line_words)
    return words


def _line_spacing(lines: Sequence[Line]) -> float:
    """Return the median line spacing, relative to the font size."""
    gaps = [
        (previous.y - line.y) / line.size
        for previous, line in pairwise(lines)
        if _are_in_same_column(previous, line)
        and line.size > 0
        and 0.8 < (previous.y - line.y) / line.size < 2.5  # noqa: PLR2004
    ]
    return median(gaps) if gaps else 1.2


def _is_table_row(line: Line, above: list[Line]) -> bool:
    if (
        len(line.cells) <= 1
        or _BULLET.match(f"{line.cells[0].text} x")
        or _DOT_LEADERS.search(line.text[-200:])
    ):
        return False
    if not above:
        return True
    last = above[-1]
    return _are_in_same_column(last, line) and last.y - line.y < 3 * line.size


def _align_columns(lines: list[Line]) -> list[list[str]] | None:
    """Arrange the cells in columns; `None` if they are not aligned."""
    widest = max(lines, key=lambda line: len(line.cells))
    spans = [[cell.x0, cell.x1] for cell in widest.cells]
    rows: list[list[str]] = []
    for line in lines:
        row = [""] * len(spans)
        for cell in line.cells:
            columns = [i for i, (a, b) in enumerate(spans) if cell.x0 < b and cell.x1 > a]
            if len(columns) != 1 or row[columns[0]]:
                return None
            n = columns[0]
            row[n] = escape_inline(cell.text).replace("\\|", "|").replace("|", "\\|")
            spans[n] = [min(spans[n][0], cell.x0), max(spans[n][1], cell.x1)]
        rows.append(row)
    return rows
