"""How text is laid out on a terminal."""

import re

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

_PIECE = re.compile(r"\n|[^\S\n]+|\S+")
_ITEM = re.compile(r"[-*+]|\d+[.)]")


def print_indented(console: Console, text: str, *, indent: int, style: str = "") -> None:
    """Print text with every line indented, broken between words; in a pipe, on one line."""
    if console.is_terminal:
        console.print(Padding(Text(text, style=style), (0, 0, 0, indent)))
    else:
        console.print(Text(" " * indent + text, style=style), soft_wrap=True)


class WordWriter:
    """Writes text as it comes, with lines broken between words; code, and pipes, as it stands."""

    def __init__(self, console: Console) -> None:
        """Write to a console, whose cursor is at the start of a line."""
        self._console = console
        self._column = 0
        self._gap = ""
        self._indent = 0
        self._code = False

    def write(self, text: str) -> None:
        """Write the next piece, which may begin and end anywhere between two words."""
        if not self._console.is_terminal:
            self._put(text)
            return
        for piece in _PIECE.findall(text):
            if piece == "\n":
                self._break(0)
            elif piece.isspace():
                self._gap = piece if self._code or not self._column else " "
            else:
                self._word(piece)

    def _word(self, word: str) -> None:
        if not self._column and word.startswith(("```", "~~~")):
            self._code = not self._code
        if not self._column:
            self._indent = len(word) + 1 if _ITEM.fullmatch(word) else 0
        width = cell_len(self._gap) + cell_len(word)
        if self._column and not self._code and self._column + width > self._console.width:
            self._break(self._indent)
        self._put(self._gap + word)
        self._column += cell_len(self._gap) + cell_len(word)
        self._gap = ""

    def _break(self, indent: int) -> None:
        self._put("\n" + " " * indent)
        self._column, self._gap = indent, ""

    def _put(self, text: str) -> None:
        self._console.print(Text(text), end="", soft_wrap=True)
