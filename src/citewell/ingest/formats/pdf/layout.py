"""Runs of letters to lines in reading order: column by column, without running heads."""

import ctypes
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import pypdfium2.raw as pdfium

_MOST_LETTERS = 200_000
_FIXED_PITCH, _FORCE_BOLD, _BOLD = 1, 1 << 18, 600
_MONO_NAME = re.compile(r"(?i)courier|mono|consol|menlo|typewriter|cmtt|sourcecode|inconsolata")
_BOLD_NAME = re.compile(r"(?i)bold|black|heavy|semib|cmbx")
_HYPHENS = {0x02: "-", 0xAD: "-", 0xFFFE: "-", 0x2010: "-"}
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_FARTHEST = 30_000
"""No page is larger; what a damaged file puts beyond it, and what is no number, is not shown."""
_SMALLEST, _LARGEST = 0.1, 2_000
_GAP = 1.5
"""A gap of more letter heights than this parts columns and cells; words stand closer."""


@dataclass(frozen=True, slots=True)
class Face:
    """How a run of letters looks."""

    size: float
    bold: bool
    mono: bool


@dataclass(slots=True)
class Run:
    """Letters that stand side by side on one line."""

    text: str
    x0: float
    x1: float
    y: float
    """Where the line stands, from the bottom of the page."""
    size: float
    bold: bool
    mono: bool


@dataclass(slots=True)
class _Open:
    letters: list[str] = field(default_factory=list)
    faces: list[Face] = field(default_factory=list)
    x0: float = 0.0
    x1: float = 0.0
    y: float = 0.0


def read_runs(page: Any) -> list[Run]:
    """Return the runs of letters on a page, in the order in which the file has them."""
    textpage = page.get_textpage()
    try:
        return _Letters(textpage, page.get_rotation()).runs()
    finally:
        textpage.close()


class _Letters:
    """Walks over the letters of one page and gathers them into runs."""

    def __init__(self, textpage: Any, rotation: int) -> None:
        self._raw = textpage.raw
        self._rotation = rotation
        self._count = min(pdfium.FPDFText_CountChars(self._raw), _MOST_LETTERS)
        self._box = pdfium.FS_RECTF()
        self._faces: dict[int, Face] = {}
        self._open = _Open()
        self._found: list[Run] = []

    def runs(self) -> list[Run]:
        for place in range(self._count):
            code = pdfium.FPDFText_GetUnicode(self._raw, place)
            if code in (10, 13):
                self._close()
            elif code in (9, 32, 160):
                if self._open.letters:
                    self._open.letters.append(" ")
            elif code:
                self._add(place, code)
        self._close()
        return self._found

    def _add(self, place: int, code: int) -> None:
        if not pdfium.FPDFText_GetLooseCharBox(self._raw, place, self._box):
            return
        left, right, y = self._upright()
        if not all(-_FARTHEST < place < _FARTHEST for place in (left, right, y)):
            return
        held = self._open
        # Letters of one word share a face, and asking is what takes the time.
        inside = bool(held.faces) and held.letters[-1] != " "
        face = held.faces[-1] if inside else self._face(place)
        if held.letters and self._is_apart(left, y, face.size):
            self._close()
            held, face = self._open, self._face(place)
        if not held.faces:
            held.letters.clear()
            held.x0, held.x1, held.y = left, right, y
        held.letters.append(_letter(code))
        held.faces.append(face)
        held.x1 = max(held.x1, right)

    def _upright(self) -> tuple[float, float, float]:
        """Return where a letter begins, ends and stands, on the page as it is shown."""
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

    def _is_apart(self, left: float, y: float, size: float) -> bool:
        held = self._open
        if not held.faces:
            return False
        height = max(size, held.faces[-1].size)
        # A raised or lowered letter stays on its line.
        return (
            abs(y - held.y) > 0.6 * height
            or left - held.x1 > _GAP * height
            or left < held.x1 - 2 * height
        )

    def _close(self) -> None:
        held, self._open = self._open, _Open()
        text = " ".join("".join(held.letters).split())
        if not text:
            return
        sizes = sorted(face.size for face in held.faces)
        half = len(held.faces) / 2
        self._found.append(
            Run(
                text=text,
                x0=held.x0,
                x1=held.x1,
                y=held.y,
                size=sizes[len(sizes) // 2],
                bold=sum(face.bold for face in held.faces) > half,
                mono=sum(face.mono for face in held.faces) > 0.9 * len(held.faces),
            )
        )

    def _face(self, place: int) -> Face:
        handle = pdfium.FPDFText_GetTextObject(self._raw, place)
        key = ctypes.cast(handle, ctypes.c_void_p).value or 0
        if key not in self._faces:
            self._faces[key] = _look(self._raw, place, handle if key else None)
        return self._faces[key]


def _letter(code: int) -> str:
    if code in _HYPHENS:
        return _HYPHENS[code]
    if code in _LIGATURES:
        return _LIGATURES[code]
    unusable = code < 0x20 or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF  # noqa: PLR2004
    return "" if unusable else chr(code)


def _look(textpage: Any, place: int, handle: Any) -> Face:
    size = abs(pdfium.FPDFText_GetFontSize(textpage, place)) or 1.0
    matrix = pdfium.FS_MATRIX()
    if pdfium.FPDFText_GetMatrix(textpage, place, matrix):
        # Many programs write every letter at size 1 and scale it.
        size *= (abs(matrix.c) ** 2 + abs(matrix.d) ** 2) ** 0.5 or 1.0
    size = size if _SMALLEST < size < _LARGEST else 1.0
    font = pdfium.FPDFTextObj_GetFont(handle) if handle is not None else None
    if not font:
        return Face(round(size, 1), bold=False, mono=False)
    buffer = ctypes.create_string_buffer(200)
    pdfium.FPDFFont_GetBaseFontName(font, buffer, 200)
    name = buffer.value.decode("utf-8", "replace")
    flags, weight = pdfium.FPDFFont_GetFlags(font), pdfium.FPDFFont_GetWeight(font)
    return Face(
        round(size, 1),
        bold=bool(_BOLD_NAME.search(name)) or weight >= _BOLD or bool(flags & _FORCE_BOLD),
        mono=bool(flags & _FIXED_PITCH) or bool(_MONO_NAME.search(name)) or _is_even(font),
    )


def _is_even(font: Any) -> bool:
    """Whether narrow and wide letters take the same room, whatever the font is called."""
    widths: list[set[float]] = []
    for letters in ("ilfjt", "mwMWo"):
        widths.append(set())
        for letter in letters:
            width = ctypes.c_float()
            if pdfium.FPDFFont_GetGlyphWidth(font, ord(letter), 100.0, width) and width.value > 0:
                widths[-1].add(round(width.value, 1))
    narrow, wide = widths
    return len(narrow) == 1 and narrow == wide


_FEW_LINES = 4
_MANY_RUNS = 2_000
_FEW_LETTERS = 15
_STEPS = 120
_MARGIN = 3.0
_EDGE_LINES = 2
_REPEATS = 3
_SAME_PLACE = 10
_APART = 1.6
_NUMBER = re.compile(r"^(?:page\s*)?[-–—\s]*#(?:\s*(?:/|of)\s*#)?[-–—\s]*$", re.I)


@dataclass(slots=True)
class Line:
    """A line of a page, and the column that it stands in."""

    cells: list[Run]
    page: int
    """The number of the page, from 1."""
    left: float = 0.0
    right: float = 0.0
    column: int = 0

    @property
    def text(self) -> str:
        """The words of the line."""
        return " ".join(cell.text for cell in self.cells)

    @property
    def x0(self) -> float:
        """Where the line begins."""
        return self.cells[0].x0

    @property
    def x1(self) -> float:
        """Where the line ends."""
        return max(cell.x1 for cell in self.cells)

    @property
    def y(self) -> float:
        """How high the line stands."""
        return self.cells[0].y

    @property
    def size(self) -> float:
        """The size of most of its letters."""
        return max(self.cells, key=lambda cell: len(cell.text)).size

    @property
    def bold(self) -> bool:
        """Whether the whole line is bold."""
        return all(cell.bold for cell in self.cells)

    @property
    def mono(self) -> bool:
        """Whether the whole line is set in a typewriter's letters."""
        return all(cell.mono for cell in self.cells)


def read_lines(runs: Sequence[Run], page: int) -> list[Line]:
    """Order what stands on one page: each column from top to bottom, left before right."""
    lines: list[Line] = []
    for column, region in enumerate(_regions(list(runs), 0)):
        found = _lines(region, page)
        left = min((line.x0 for line in found), default=0.0)
        right = max((line.x1 for line in found), default=0.0)
        for line in found:
            line.left, line.right, line.column = left, right, column
        lines += found
    return lines


def _lines(runs: Iterable[Run], page: int) -> list[Line]:
    lines: list[Line] = []
    for run in sorted(runs, key=lambda run: (-run.y, run.x0)):
        last = lines[-1] if lines else None
        if last and abs(last.y - run.y) <= 0.5 * min(run.size, last.cells[-1].size):
            last.cells.append(run)
        else:
            lines.append(Line([run], page))
    for line in lines:
        line.cells.sort(key=lambda cell: cell.x0)
    return lines


def _regions(runs: list[Run], depth: int) -> list[list[Run]]:
    gutter = _gutter(runs) if depth < 3 else None  # noqa: PLR2004 - four columns at most
    if gutter is None:
        return [runs] if runs else []
    across = sorted((r for r in runs if _crosses(r, gutter)), key=lambda run: -run.y)
    beside = [run for run in runs if not _crosses(run, gutter)]
    regions: list[list[Run]] = []
    for run in (*across, None):
        floor = run.y if run else float("-inf")
        band = [other for other in beside if other.y > floor]
        beside = [other for other in beside if other.y <= floor]
        for side in (
            [other for other in band if other.x1 <= gutter + _MARGIN],
            [other for other in band if other.x1 > gutter + _MARGIN],
        ):
            regions += _regions(side, depth + 1)
        if run and regions and not band and _crosses(regions[-1][-1], gutter):
            regions[-1].append(run)
        elif run:
            regions.append([run])
    return regions


def _crosses(run: Run, x: float) -> bool:
    return run.x0 < x - _MARGIN and run.x1 > x + _MARGIN


def _gutter(runs: list[Run]) -> float | None:
    """Return where a page parts into two columns of running text; tables have shorter pieces."""
    if not 2 * _FEW_LINES <= len(runs) <= _MANY_RUNS:
        return None
    left, right = min(run.x0 for run in runs), max(run.x1 for run in runs)
    best: tuple[int, float] | None = None
    for step in range(_STEPS):
        x = left + (right - left) * (0.25 + 0.5 * step / _STEPS)
        crossing = sum(_crosses(run, x) for run in runs)
        if (best is None or crossing < best[0]) and _parts(runs, x, (left, right)):
            best = (crossing, x)
    return best[1] if best else None


def _parts(runs: list[Run], x: float, bounds: tuple[float, float]) -> bool:
    one = [run for run in runs if run.x1 <= x + _MARGIN]
    two = [run for run in runs if run.x0 >= x - _MARGIN]
    if len(one) + len(two) < 0.7 * len(runs) or min(len(one), len(two)) < _FEW_LINES:
        return False
    if max(r.y for r in one) < min(r.y for r in two) or max(r.y for r in two) < min(
        r.y for r in one
    ):
        return False
    return _is_running_text(one, x - bounds[0]) and _is_running_text(two, bounds[1] - x)


def _is_running_text(runs: list[Run], width: float) -> bool:
    wide = median(run.x1 - run.x0 for run in runs) >= 0.5 * width
    return wide and median(len(run.text) for run in runs) >= _FEW_LETTERS


def without_running_heads(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Drop the lines at the edges that stand on many pages at the same place, and page numbers."""
    seen: dict[str, Counter[int]] = {}
    for lines in pages:
        for line in (*_edge(lines, top=True), *_edge(lines, top=False)):
            seen.setdefault(_shape(line), Counter())[int(line.y // _SAME_PLACE)] += 1
    shift = _shift(pages)
    return [_body(lines, seen, shift) for lines in pages]


def _shift(pages: Sequence[list[Line]]) -> int | None:
    """Return the difference of printed and counted page numbers, if many pages share it."""
    found = Counter(
        number - line.page
        for lines in pages
        for line in (*_edge(lines, top=True), *_edge(lines, top=False))
        for number in _outer_numbers(line)
    )
    shift, times = next(iter(found.most_common(1)), (0, 0))
    return shift if times >= max(_REPEATS, len(pages) / 3) else None


def _outer_numbers(line: Line) -> set[int]:
    words = line.text.split()
    return {int(w) for w in (words[0], words[-1]) if re.fullmatch(r"[0-9]{1,5}", w)}


def _body(lines: list[Line], seen: dict[str, Counter[int]], shift: int | None) -> list[Line]:
    dropped: set[int] = set()
    for top in (True, False):
        edge = _edge(lines, top=top)
        inner = [line.y for line in lines if line not in edge]
        beside = (max(inner) if top else min(inner)) if inner else None
        for line in reversed(edge):
            # A head stands apart from the text; the last line of a full page does not.
            apart = beside is None or abs(line.y - beside) > _APART * line.size
            numbered = shift is not None and line.page + shift in _outer_numbers(line)
            if not apart or not (numbered or _is_running(line, seen)):
                beside = line.y
                continue
            dropped.add(id(line))
    return [line for line in lines if id(line) not in dropped]


def _edge(lines: list[Line], *, top: bool) -> list[Line]:
    """Return the lines of the two outermost heights, the outermost first."""
    heights = sorted({round(line.y) for line in lines}, reverse=top)[:_EDGE_LINES]
    return sorted(
        (line for line in lines if round(line.y) in heights),
        key=lambda line: -line.y if top else line.y,
    )


def _shape(line: Line) -> str:
    text = line.text.lower()
    return "#" if re.fullmatch(r"[ivxlc]+", text) else re.sub(r"\d+", "#", text)


def _is_running(line: Line, seen: dict[str, Counter[int]]) -> bool:
    shape = _shape(line)
    places = seen[shape]
    place = int(line.y // _SAME_PLACE)
    times = max(places[place] + places[place - 1], places[place] + places[place + 1])
    return times >= (2 if _NUMBER.match(shape) else _REPEATS)
