"""Lines of a PDF to paragraphs, lists, tables and code."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from citewell.domain import Block
from citewell.ingest.formats.markdown_writer import escape_block, escape_words, write_table
from citewell.ingest.formats.pdf.layout import Line

_LARGER = 1.15
_LONGEST = 150
_LONGEST_BOLD = 80
_MOST_LEVELS = 4
_MOST_LINES = 3
_FEWEST_LETTERS = 3
_LABEL = re.compile(r"(?:chapter|part|appendix|section|kapitel|teil)?\s*(?:\d+|[ivxlc]+)\.?", re.I)
_NUMBERING = re.compile(r"(?:chapter|part|appendix|section)?[\divxlc]*")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A line of the outline, and the place that it leads to."""

    level: int
    title: str
    page: int
    y: float | None


@dataclass(frozen=True, slots=True)
class HeadingMark:
    """A heading in the stream of lines."""

    level: int
    title: str
    page: int


Item = Line | HeadingMark


def with_headings(pages: Sequence[list[Line]], outline: Sequence[Bookmark]) -> list[Item]:
    """Return the lines of all pages in one stream, headings in the place of the lines they were."""
    if len(outline) > 1:
        by_page: dict[int, list[Bookmark]] = {}
        for bookmark in outline:
            by_page.setdefault(bookmark.page, []).append(bookmark)
        return [
            item
            for number, lines in enumerate(pages, start=1)
            for item in _by_outline(lines, by_page.get(number, []))
        ]
    return _by_size([line for lines in pages for line in lines])


def _by_outline(lines: list[Line], bookmarks: list[Bookmark]) -> list[Item]:
    items: list[Item] = list(lines)
    start = 0
    for bookmark in bookmarks:
        first, last = _place(items, start, bookmark)
        items[first:last] = [HeadingMark(bookmark.level, bookmark.title, bookmark.page)]
        start = first + 1
        before = items[first - 1] if first else None
        if last > first and isinstance(before, Line) and _LABEL.fullmatch(before.text):
            # "Chapter 3" above the chapter's name.
            del items[first - 1]
            start -= 1
    return items


def _place(items: list[Item], start: int, bookmark: Bookmark) -> tuple[int, int]:
    """Find the lines that show a bookmark's title, or the place where it leads."""
    wanted = _bare(bookmark.title)
    for first in range(start, len(items)):
        shown = ""
        for last in range(first, min(first + _MOST_LINES, len(items))):
            item = items[last]
            if not isinstance(item, Line):
                break
            shown += _bare(item.text)
            if _same(shown, wanted):
                return first, last + 1
    for place in range(start, len(items)):
        item = items[place]
        if bookmark.y is not None and isinstance(item, Line) and item.y <= bookmark.y:
            return place, place
    return (start, start) if bookmark.y is None else (len(items), len(items))


def _bare(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


def _same(shown: str, wanted: str) -> bool:
    if shown == wanted:
        return bool(wanted)
    for whole, part in ((shown, wanted), (wanted, shown)):
        if len(part) >= _FEWEST_LETTERS and whole.endswith(part):
            return bool(_NUMBERING.fullmatch(whole[: -len(part)]))
    return False


def body_size(lines: Sequence[Line]) -> float:
    """Return the size of most letters of running text."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _by_size(lines: list[Line]) -> list[Item]:
    body = body_size(lines)
    sizes = sorted({_rank(line) for line in lines if _is_large(line, body)}, reverse=True)
    levels = {size: min(place, _MOST_LEVELS) for place, size in enumerate(sizes, start=1)}
    bold_share = sum(line.bold for line in lines) / max(len(lines), 1)
    lowest = min(len(sizes), _MOST_LEVELS) + 1
    items: list[Item] = []
    held: Line | None = None
    for place, line in enumerate(lines):
        level = levels.get(_rank(line)) if _is_large(line, body) else None
        following = lines[place + 1] if place + 1 < len(lines) else None
        if level is None and bold_share < 0.3 and _is_bold_heading(held, line, following):  # noqa: PLR2004
            level = lowest
        last = items[-1] if items else None
        if (
            level
            and isinstance(last, HeadingMark)
            and held
            and _goes_on(held, line, level == last.level)
        ):
            items[-1] = HeadingMark(level, f"{last.title} {line.text}", last.page)
        else:
            items.append(HeadingMark(level, line.text, line.page) if level else line)
        held = line
    return items


def _rank(line: Line) -> float:
    return round(line.size * 2) / 2


def _is_large(line: Line, body: float) -> bool:
    words = any(char.isalpha() for char in line.text)
    return line.size >= _LARGER * body and words and len(line.text) <= _LONGEST and not line.mono


def _is_bold_heading(before: Line | None, line: Line, after: Line | None) -> bool:
    """Whether a bold line stands alone: no part of a paragraph, and followed by one."""
    if not line.bold or line.mono or after is None or after.bold or len(line.cells) > 2:  # noqa: PLR2004
        return False
    if len(line.text) > _LONGEST_BOLD or line.text.endswith((".", ",", ";", ":")):
        return False
    near = before is not None and before.page == line.page and before.column == line.column
    return not near or before is None or before.y - line.y > 1.3 * line.size


def _goes_on(before: Line, line: Line, alike: bool) -> bool:
    same = before.page == line.page and before.column == line.column
    return alike and same and before.y - line.y < 1.8 * line.size


_BULLET = re.compile(r"^([•‣▪◦●○■□–—∙·*-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s+(?=\S)")
_SYMBOLS = "•‣▪◦●○■□∙"
_LEADERS = re.compile(r"(?:\s?[.·…]){4,}\s*(?:\d+|[ivxlc]+)$")
_WORD = re.compile(r"\w+(?:[-’']\w+)*")
_ENDED = re.compile(r"[.!?:…][\"'”’)\]]*$")
_WIDER = 1.3
_TABLE_ROWS = 2
_INLINE_LINES = 2
_WIDEST = 200
_ALL_MONO = 0.8


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block, and the page that it begins on."""

    page: int
    block: Block


def build_blocks(items: Sequence[Item]) -> Iterator[PlacedBlock | HeadingMark]:
    """Put lines together to what they were before they were set."""
    return _Builder([item for item in items if isinstance(item, Line)]).build(items)


class _Builder:
    def __init__(self, lines: list[Line]) -> None:
        self._words = _vocabulary(lines)
        self._leading = _leading(lines)
        letters = sum(len(line.text) for line in lines) or 1
        mono = sum(len(line.text) for line in lines if line.mono)
        # In a typescript every line is monospaced, and none of them is code.
        self._code_is_mono = mono / letters < _ALL_MONO
        self._paragraph: list[Line] = []
        self._items: list[tuple[int, str]] = []
        self._step = 0.0

    def build(self, items: Sequence[Item]) -> Iterator[PlacedBlock | HeadingMark]:
        place = 0
        while place < len(items):
            item = items[place]
            if isinstance(item, HeadingMark):
                yield from self._flush()
                yield item
                place += 1
                continue
            taken, block = self._figure(items, place)
            if block:
                yield from self._flush()
                yield PlacedBlock(item.page, block)
                place += taken
                continue
            if not _LEADERS.search(item.text[-200:]):
                yield from self._add(item)
            place += 1
        yield from self._flush()

    def _figure(self, items: Sequence[Item], place: int) -> tuple[int, Block | None]:
        """Return the code or table that begins here, and how many lines it takes."""
        run: list[Line] = []
        while isinstance(item := _at(items, place + len(run)), Line) and self._is_code(item):
            run.append(item)
        if run and not self._is_inside_sentence(run):
            return len(run), Block(kind="code", text=self._code(run))
        run = []
        while isinstance(item := _at(items, place + len(run)), Line) and _is_row(item, run):
            run.append(item)
        rows = _rows(run) if len(run) >= _TABLE_ROWS else None
        return (len(run), Block(kind="table", text=write_table(rows))) if rows else (0, None)

    def _is_code(self, line: Line) -> bool:
        return line.mono and self._code_is_mono and line.text[0] not in _SYMBOLS

    def _is_inside_sentence(self, run: list[Line]) -> bool:
        """Whether a line is all code only because a long name fills it."""
        before = self._paragraph[-1] if self._paragraph else None
        if before is None or len(run) > _INLINE_LINES or _ENDED.search(before.text):
            return False
        near = (before.page, before.column) == (run[0].page, run[0].column)
        return near and before.y - run[0].y <= _WIDER * self._leading * run[0].size

    def _code(self, lines: list[Line]) -> str:
        width = median((c.x1 - c.x0) / len(c.text) for line in lines for c in line.cells) or 1.0
        left = min(line.x0 for line in lines)
        shown: list[str] = []
        for before, line in zip([None, *lines], lines, strict=False):
            near = before is not None and (before.page, before.column) == (line.page, line.column)
            if near and before and before.y - line.y > 1.5 * self._leading * line.size:
                shown.append("")
            text = ""
            for cell in line.cells:
                column = min(round((cell.x0 - left) / width), _WIDEST)
                text += " " * max(column - len(text), 1 if text else 0) + cell.text
            shown.append(text)
        longest = max((len(run) for run in re.findall("`{3,}", "".join(shown))), default=2)
        fence = "`" * (longest + 1)
        return "\n".join((fence, *shown, fence))

    def _add(self, line: Line) -> Iterator[PlacedBlock]:
        if self._paragraph and self._breaks(self._paragraph[-1], line):
            step = self._paragraph[-1].y - line.y
            yield from self._end_paragraph(line)
            self._step = step if self._items else 0.0
        self._paragraph.append(line)

    def _breaks(self, before: Line, line: Line) -> bool:
        if _BULLET.match(line.text) and not _in_sentence(before, line):
            return True
        if abs(before.size - line.size) > 0.12 * before.size:
            return True
        item = bool(_BULLET.match(self._paragraph[0].text))
        if (before.page, before.column) != (line.page, line.column):
            return _ends_before_turn(before, line)
        gap = before.y - line.y
        if gap > _WIDER * self._leading * line.size:
            return True
        if item and 0 < _WIDER * self._step < gap:
            return True  # farther from the last item than the items are from each other
        indented = line.x0 > line.left + 0.8 * line.size and line.x0 > before.x0 + 0.8 * line.size
        short = before.x1 < before.right - 0.25 * (before.right - before.left)
        outdented = item and line.x0 < before.x0 - 0.8 * line.size
        return (indented and not item) or outdented or (short and bool(_ENDED.search(before.text)))

    def _end_paragraph(self, following: Line | None) -> Iterator[PlacedBlock]:
        lines, self._paragraph = self._paragraph, []
        if not lines:
            return
        text = self.joined(lines)
        bullet = _BULLET.match(text)
        follows = following is not None and _BULLET.match(following.text)
        if bullet and (self._items or follows or bullet[1] in _SYMBOLS):
            number = re.search(r"\d+", bullet[1])
            mark = f"{number[0]}. " if number else "- "
            if not number and bullet[1].strip("()").rstrip(".)").isalpha():
                mark = f"- {bullet[1]} "
            self._items.append((lines[0].page, mark + escape_words(text[bullet.end() :])))
            if not follows:
                yield from self._end_list()
            return
        yield from self._end_list()
        yield PlacedBlock(lines[0].page, Block(kind="prose", text=escape_block(escape_words(text))))

    def _end_list(self) -> Iterator[PlacedBlock]:
        items, self._items = self._items, []
        if items:
            text = "\n".join(text for _, text in items)
            yield PlacedBlock(items[0][0], Block(kind="list", text=text))

    def _flush(self) -> Iterator[PlacedBlock]:
        yield from self._end_paragraph(None)
        yield from self._end_list()

    def joined(self, lines: Sequence[Line]) -> str:
        """Join lines into one text; a word parted at the end of a line becomes whole again."""
        text = lines[0].text
        for line in lines[1:]:
            parted = re.search(r"(\w+(?:-\w+)*)-$", text[-80:])
            after = re.match(r"\w+", line.text)
            if parted and after:
                keep = self._keeps_hyphen(parted[1], after[0])
                text = (text if keep else text[:-1]) + line.text
            else:
                text = f"{text} {line.text}"
        return text

    def _keeps_hyphen(self, before: str, after: str) -> bool:
        if f"{before}{after}".lower() in self._words:
            return False
        if f"{before}-{after}".lower() in self._words:
            return True
        plain = before.islower() or before.istitle()
        return not after[0].islower() or not plain or "-" in before


def _ends_before_turn(before: Line, line: Line) -> bool:
    """Whether a paragraph ends with its column, as far as the lines can tell."""
    if not _ENDED.search(before.text) or line.text[0].islower():
        return False
    width, other = before.right - before.left, line.right - line.left
    short = before.x1 < before.right - 0.1 * width
    if abs(width - other) > 0.3 * max(width, other):
        return True  # from one column to the full width, or back
    return short or line.x0 > line.left + 0.8 * line.size


def _at(items: Sequence[Item], place: int) -> Item | None:
    return items[place] if place < len(items) else None


def _in_sentence(before: Line, line: Line) -> bool:
    """Whether `2. It` or `- so` only begins a line, in the middle of a sentence."""
    near = (before.page, before.column) == (line.page, line.column)
    full = before.x1 > before.right - 0.1 * (before.right - before.left)
    return near and full and not _ENDED.search(before.text) and abs(line.x0 - before.x0) < line.size


def _vocabulary(lines: Sequence[Line]) -> set[str]:
    words: set[str] = set()
    for line in lines:
        found = _WORD.findall(line.text.lower())
        words.update(found[:-1] if line.text.endswith("-") else found)
    return words


def _leading(lines: Sequence[Line]) -> float:
    """Return the usual distance of lines, in letter heights."""
    gaps = [
        (before.y - line.y) / line.size
        for before, line in pairwise(lines)
        if (before.page, before.column) == (line.page, line.column)
        and line.size > 0
        and 0.8 < (before.y - line.y) / line.size < 2.5  # noqa: PLR2004
    ]
    return median(gaps) if gaps else 1.2


def _is_row(line: Line, above: list[Line]) -> bool:
    if (
        len(line.cells) <= 1
        or _BULLET.match(f"{line.cells[0].text} x")
        or _LEADERS.search(line.text[-200:])
    ):
        return False
    if not above:
        return True
    last = above[-1]
    same = (last.page, last.column) == (line.page, line.column)
    return same and last.y - line.y < 3 * line.size


def _rows(lines: list[Line]) -> list[list[str]] | None:
    """Sort the cells into columns; `None` if they are not aligned."""
    widest = max(lines, key=lambda line: len(line.cells))
    spans = [[cell.x0, cell.x1] for cell in widest.cells]
    rows: list[list[str]] = []
    for line in lines:
        row = [""] * len(spans)
        for cell in line.cells:
            over = [i for i, (a, b) in enumerate(spans) if cell.x0 < b and cell.x1 > a]
            if len(over) != 1 or row[over[0]]:
                return None
            row[over[0]] = escape_words(cell.text).replace("\\|", "|").replace("|", "\\|")
            spans[over[0]] = [min(spans[over[0]][0], cell.x0), max(spans[over[0]][1], cell.x1)]
        rows.append(row)
    return rows
