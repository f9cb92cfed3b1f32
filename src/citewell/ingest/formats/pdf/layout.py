"""Extract text from PDF pages as lines in reading order, without running heads."""

import ctypes
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import pypdfium2.raw as pdfium

_MAX_CHARS = 200_000
_FIXED_PITCH, _FORCE_BOLD, _BOLD_WEIGHT = 1, 1 << 18, 600
_MONO_NAME = re.compile(r"(?i)courier|mono|consol|menlo|typewriter|cmtt|sourcecode|inconsolata")
_BOLD_NAME = re.compile(r"(?i)bold|black|heavy|semib|cmbx")
_HYPHENS = {0x02: "-", 0xAD: "-", 0xFFFE: "-", 0x2010: "-"}
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_MAX_COORDINATE = 30_000
"""Characters farther from the origin, or at NaN, are dropped: the file is damaged there."""
_MIN_FONT_SIZE, _MAX_FONT_SIZE = 0.1, 2_000
_MIN_COLUMN_GAP = 1.5
"""A larger gap, relative to the font size, separates columns and cells."""


@dataclass(frozen=True, slots=True)
class Font:
    """The font of a run of characters."""

    size: float
    bold: bool
    mono: bool


@dataclass(slots=True)
class Run:
    """Adjacent characters on one line."""

    text: str
    x0: float
    x1: float
    y: float
    """The height of the line above the bottom of the page."""
    size: float
    bold: bool
    mono: bool


@dataclass(slots=True)
class _RunBuilder:
    chars: list[str] = field(default_factory=list)
    fonts: list[Font] = field(default_factory=list)
    x0: float = 0.0
    x1: float = 0.0
    y: float = 0.0


def read_runs(page: Any) -> list[Run]:
    """Return the runs of characters on a page, in file order."""
    textpage = page.get_textpage()
    try:
        return _RunReader(textpage, page.get_rotation()).runs()
    finally:
        textpage.close()


class _RunReader:
    def __init__(self, textpage: Any, rotation: int) -> None:
        self._raw = textpage.raw
        self._rotation = rotation
        self._count = min(pdfium.FPDFText_CountChars(self._raw), _MAX_CHARS)
        self._box = pdfium.FS_RECTF()
        self._fonts: dict[int, Font] = {}
        self._current = _RunBuilder()
        self._runs: list[Run] = []

    def runs(self) -> list[Run]:
        for index in range(self._count):
            code = pdfium.FPDFText_GetUnicode(self._raw, index)
            if code in (10, 13):
                self._finish_run()
            elif code in (9, 32, 160):
                if self._current.chars:
                    self._current.chars.append(" ")
            elif code:
                self._add(index, code)
        self._finish_run()
        return self._runs

    def _add(self, index: int, code: int) -> None:
        if not pdfium.FPDFText_GetLooseCharBox(self._raw, index, self._box):
            return
        left, right, y = self._rotated_box()
        if not all(-_MAX_COORDINATE < index < _MAX_COORDINATE for index in (left, right, y)):
            return
        current = self._current
        # The characters of a word share a font, and looking it up is slow.
        in_word = bool(current.fonts) and current.chars[-1] != " "
        font = current.fonts[-1] if in_word else self._font_at(index)
        if current.chars and self._is_new_run(left, y, font.size):
            self._finish_run()
            current, font = self._current, self._font_at(index)
        if not current.fonts:
            current.chars.clear()
            current.x0, current.x1, current.y = left, right, y
        current.chars.append(_decode_char(code))
        current.fonts.append(font)
        current.x1 = max(current.x1, right)

    def _rotated_box(self) -> tuple[float, float, float]:
        """Return the left, right and y of a character on the rotated page."""
        box = self._box
        match self._rotation:
            case 90:
                return box.bottom, box.top, -box.right
            case 180:
                return -box.right, -box.left, -box.top
            case 270:
                return -box.top, -box.bottom, box.left
            case _:
                return box.left, box.right, box.bottom

    def _is_new_run(self, left: float, y: float, size: float) -> bool:
        current = self._current
        if not current.fonts:
            return False
        height = max(size, current.fonts[-1].size)
        # Superscripts and subscripts stay on their line.
        return (
            abs(y - current.y) > 0.6 * height
            or left - current.x1 > _MIN_COLUMN_GAP * height
            or left < current.x1 - 2 * height
        )

    def _finish_run(self) -> None:
        current, self._current = self._current, _RunBuilder()
        text = " ".join("".join(current.chars).split())
        if not text:
            return
        sizes = sorted(font.size for font in current.fonts)
        half = len(current.fonts) / 2
        self._runs.append(
            Run(
                text=text,
                x0=current.x0,
                x1=current.x1,
                y=current.y,
                size=sizes[len(sizes) // 2],
                bold=sum(font.bold for font in current.fonts) > half,
                mono=sum(font.mono for font in current.fonts) > 0.9 * len(current.fonts),
            )
        )

    def _font_at(self, index: int) -> Font:
        handle = pdfium.FPDFText_GetTextObject(self._raw, index)
        key = ctypes.cast(handle, ctypes.c_void_p).value or 0
        if key not in self._fonts:
            self._fonts[key] = _read_font(self._raw, index, handle if key else None)
        return self._fonts[key]


def _decode_char(code: int) -> str:
    if code in _HYPHENS:
        return _HYPHENS[code]
    if code in _LIGATURES:
        return _LIGATURES[code]
    is_invalid = code < 0x20 or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF  # noqa: PLR2004
    return "" if is_invalid else chr(code)


def _read_font(textpage: Any, index: int, handle: Any) -> Font:
    size = abs(pdfium.FPDFText_GetFontSize(textpage, index)) or 1.0
    matrix = pdfium.FS_MATRIX()
    if pdfium.FPDFText_GetMatrix(textpage, index, matrix):
        # Many programs write characters at size 1 and scale them.
        size *= (abs(matrix.c) ** 2 + abs(matrix.d) ** 2) ** 0.5 or 1.0
    size = size if _MIN_FONT_SIZE < size < _MAX_FONT_SIZE else 1.0
    font = pdfium.FPDFTextObj_GetFont(handle) if handle is not None else None
    if not font:
        return Font(round(size, 1), bold=False, mono=False)
    buffer = ctypes.create_string_buffer(200)
    pdfium.FPDFFont_GetBaseFontName(font, buffer, 200)
    name = buffer.value.decode("utf-8", "replace")
    flags, weight = pdfium.FPDFFont_GetFlags(font), pdfium.FPDFFont_GetWeight(font)
    return Font(
        round(size, 1),
        bold=bool(_BOLD_NAME.search(name) or weight >= _BOLD_WEIGHT or flags & _FORCE_BOLD),
        mono=bool(flags & _FIXED_PITCH) or bool(_MONO_NAME.search(name)) or _is_monospaced(font),
    )


def _is_monospaced(font: Any) -> bool:
    """Return whether narrow and wide characters have the same width."""
    widths: list[set[float]] = []
    for chars in ("ilfjt", "mwMWo"):
        widths.append(set())
        for letter in chars:
            width = ctypes.c_float()
            if pdfium.FPDFFont_GetGlyphWidth(font, ord(letter), 100.0, width) and width.value > 0:
                widths[-1].add(round(width.value, 1))
    narrow_widths, wide_widths = widths
    return len(narrow_widths) == 1 and narrow_widths == wide_widths


_MIN_COLUMN_LINES = 4
_MAX_RUNS = 2_000
_MIN_PROSE_CHARS = 15
_GUTTER_STEPS = 120
_GUTTER_MARGIN = 3.0
_EDGE_LINES = 2
_MIN_REPEATS = 3
_POSITION_STEP = 10
_MIN_HEADER_GAP = 1.6
_PAGE_NUMBER = re.compile(r"^(?:page\s*)?[-–—\s]*#(?:\s*(?:/|of)\s*#)?[-–—\s]*$", re.I)


@dataclass(slots=True)
class Line:
    """A line of a page, and its column."""

    cells: list[Run]
    page: int
    """The number of the page, from 1."""
    left: float = 0.0
    right: float = 0.0
    column: int = 0

    @property
    def text(self) -> str:
        """The text of the line."""
        return " ".join(cell.text for cell in self.cells)

    @property
    def x0(self) -> float:
        """The left edge of the line."""
        return self.cells[0].x0

    @property
    def x1(self) -> float:
        """The right edge of the line."""
        return max(cell.x1 for cell in self.cells)

    @property
    def y(self) -> float:
        """The height of the line above the bottom of the page."""
        return self.cells[0].y

    @property
    def size(self) -> float:
        """The font size of its longest run."""
        return max(self.cells, key=lambda cell: len(cell.text)).size

    @property
    def bold(self) -> bool:
        """Whether the whole line is bold."""
        return all(cell.bold for cell in self.cells)

    @property
    def mono(self) -> bool:
        """Whether the whole line is monospaced."""
        return all(cell.mono for cell in self.cells)


def read_lines(runs: Sequence[Run], page: int) -> list[Line]:
    """Return the lines of a page, column by column."""
    lines: list[Line] = []
    for column, region in enumerate(_split_columns(list(runs), 0)):
        column_lines = _group_lines(region, page)
        left = min((line.x0 for line in column_lines), default=0.0)
        right = max((line.x1 for line in column_lines), default=0.0)
        for line in column_lines:
            line.left, line.right, line.column = left, right, column
        lines += column_lines
    return lines


def _group_lines(runs: Iterable[Run], page: int) -> list[Line]:
    lines: list[Line] = []
    for run in sorted(runs, key=lambda run: (-run.y, run.x0)):
        line = lines[-1] if lines else None
        if line and abs(line.y - run.y) <= 0.5 * min(run.size, line.cells[-1].size):
            line.cells.append(run)
        else:
            lines.append(Line([run], page))
    for line in lines:
        line.cells.sort(key=lambda cell: cell.x0)
    return lines


def _split_columns(runs: list[Run], depth: int) -> list[list[Run]]:
    gutter = _find_gutter(runs) if depth < 3 else None  # noqa: PLR2004 - four columns at most
    if gutter is None:
        return [runs] if runs else []
    crossing_runs = sorted((r for r in runs if _crosses(r, gutter)), key=lambda run: -run.y)
    column_runs = [run for run in runs if not _crosses(run, gutter)]
    regions: list[list[Run]] = []
    for run in (*crossing_runs, None):
        bottom = run.y if run else float("-inf")
        runs_above = [other for other in column_runs if other.y > bottom]
        column_runs = [other for other in column_runs if other.y <= bottom]
        for column in (
            [other for other in runs_above if other.x1 <= gutter + _GUTTER_MARGIN],
            [other for other in runs_above if other.x1 > gutter + _GUTTER_MARGIN],
        ):
            regions += _split_columns(column, depth + 1)
        if run and regions and not runs_above and _crosses(regions[-1][-1], gutter):
            regions[-1].append(run)
        elif run:
            regions.append([run])
    return regions


def _crosses(run: Run, x: float) -> bool:
    return run.x0 < x - _GUTTER_MARGIN and run.x1 > x + _GUTTER_MARGIN


def _find_gutter(runs: list[Run]) -> float | None:
    """Return the x of the gap between two columns of prose; the cells of tables are shorter."""
    if not 2 * _MIN_COLUMN_LINES <= len(runs) <= _MAX_RUNS:
        return None
    left, right = min(run.x0 for run in runs), max(run.x1 for run in runs)
    best: tuple[int, float] | None = None
    for step in range(_GUTTER_STEPS):
        x = left + (right - left) * (0.25 + 0.5 * step / _GUTTER_STEPS)
        crossing = sum(_crosses(run, x) for run in runs)
        if (best is None or crossing < best[0]) and _separates_columns(runs, x, (left, right)):
            best = (crossing, x)
    return best[1] if best else None


def _separates_columns(runs: list[Run], x: float, bounds: tuple[float, float]) -> bool:
    left = [run for run in runs if run.x1 <= x + _GUTTER_MARGIN]
    right = [run for run in runs if run.x0 >= x - _GUTTER_MARGIN]
    if len(left) + len(right) < 0.7 * len(runs) or min(len(left), len(right)) < _MIN_COLUMN_LINES:
        return False
    top = min(max(run.y for run in side) for side in (left, right))
    bottom = max(min(run.y for run in side) for side in (left, right))
    if top < bottom:
        return False
    return _is_running_text(left, x - bounds[0]) and _is_running_text(right, bounds[1] - x)


def _is_running_text(runs: list[Run], width: float) -> bool:
    fills_width = median(run.x1 - run.x0 for run in runs) >= 0.5 * width
    return fills_width and median(len(run.text) for run in runs) >= _MIN_PROSE_CHARS


def drop_running_heads(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Drop page numbers, and lines repeated at the same position on many pages."""
    positions: dict[str, Counter[int]] = {}
    for lines in pages:
        for line in (*_edge_lines(lines, top=True), *_edge_lines(lines, top=False)):
            height = int(line.y // _POSITION_STEP)
            positions.setdefault(_digits_masked(line), Counter())[height] += 1
    offset = _page_number_offset(pages)
    return [_drop_edges(lines, positions, offset) for lines in pages]


def _page_number_offset(pages: Sequence[list[Line]]) -> int | None:
    """Return the difference of printed and actual page numbers, if many pages share it."""
    offsets = Counter(
        number - line.page
        for lines in pages
        for line in (*_edge_lines(lines, top=True), *_edge_lines(lines, top=False))
        for number in _numbers_at_ends(line)
    )
    offset, times = next(iter(offsets.most_common(1)), (0, 0))
    return offset if times >= max(_MIN_REPEATS, len(pages) / 3) else None


def _numbers_at_ends(line: Line) -> set[int]:
    words = line.text.split()
    return {int(w) for w in (words[0], words[-1]) if re.fullmatch(r"[0-9]{1,5}", w)}


def _drop_edges(
    lines: list[Line], positions: dict[str, Counter[int]], offset: int | None
) -> list[Line]:
    dropped: set[int] = set()
    for top in (True, False):
        edge = _edge_lines(lines, top=top)
        heights = [line.y for line in lines if line not in edge]
        neighbour_y = (max(heights) if top else min(heights)) if heights else None
        for line in reversed(edge):
            # Running heads are separate from the text; the last line of a full page is not.
            is_separate = (
                neighbour_y is None or abs(line.y - neighbour_y) > _MIN_HEADER_GAP * line.size
            )
            has_page_number = offset is not None and line.page + offset in _numbers_at_ends(line)
            if not is_separate or not (has_page_number or _is_repeated(line, positions)):
                neighbour_y = line.y
                continue
            dropped.add(id(line))
    return [line for line in lines if id(line) not in dropped]


def _edge_lines(lines: list[Line], *, top: bool) -> list[Line]:
    """Return the lines at the two outermost heights, outermost first."""
    heights = sorted({round(line.y) for line in lines}, reverse=top)[:_EDGE_LINES]
    return sorted(
        (line for line in lines if round(line.y) in heights),
        key=lambda line: -line.y if top else line.y,
    )


def _digits_masked(line: Line) -> str:
    text = line.text.lower()
    return "#" if re.fullmatch(r"[ivxlc]+", text) else re.sub(r"\d+", "#", text)


def _is_repeated(line: Line, positions: dict[str, Counter[int]]) -> bool:
    text = _digits_masked(line)
    counts = positions[text]
    y = int(line.y // _POSITION_STEP)
    repeats = max(counts[y] + counts[y - 1], counts[y] + counts[y + 1])
    return repeats >= (2 if _PAGE_NUMBER.match(text) else _MIN_REPEATS)
