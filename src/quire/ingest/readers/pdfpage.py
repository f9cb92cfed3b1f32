"""What stands where on a page of a PDF: runs of letters with their place, size and face."""

import ctypes
import re
from dataclasses import dataclass, field
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
    """Give the runs of letters on a page, in the order in which the file has them."""
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
        """Give where a letter begins, ends and stands, on the page as it is shown."""
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
