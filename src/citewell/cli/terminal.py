"""How text is laid out on a terminal."""

import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from citewell.ingest.report import IngestReport

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


MAX_SHOWN = 5
"""How many of a kind are named, unless all are asked for."""


def print_report(
    report: IngestReport, console: Console, *, state: str = "", verbose: bool = False
) -> None:
    """Print the counts in one line, then what the author may want to mend."""
    state = state or (f"{report.embedded:,} embedded" if report.changed else "nothing changed")
    _say(
        console,
        f"{report.title} ({report.kind}, as {report.book!r}): {report.pages:,} pages, "
        f"{report.sections:,} sections, {report.chunks:,} chunks, {report.tokens:,} tokens; "
        f"{state}, {report.seconds:.1f} s.",
    )
    shown = None if verbose else MAX_SHOWN
    _print_changes(report, console, shown)
    # What failed first: of a long list only the beginning is read.
    for failed, style in ((True, "red"), (False, "dim")):
        chosen = [skip for skip in report.skipped if skip.failed is failed]
        lines = [f"left out {skip.source}: {skip.reason}" for skip in chosen]
        _some(console, lines, shown, style)
    _some(console, report.notes, shown, "yellow")
    links = [f"{link.source} → {link.target}: {link.reason}" for link in report.broken_links]
    _some(console, links, shown, "yellow", "broken links")
    _some(console, report.empty_pages, shown, "yellow", "pages without text")
    repeats = (f"“{d.text}…” in {', '.join(d.places)}" for d in report.duplicates)
    _some(console, list(repeats), shown, "dim", "passages that stand in several places")


def _print_changes(report: IngestReport, console: Console, shown: int | None) -> None:
    changes = report.changes
    known = report.pages - len(changes.added) - len(report.empty_pages)
    if known <= 0 and not changes.removed:
        return  # the first time, everything is new
    for word, pages in (
        ("added", changes.added),
        ("changed", changes.changed),
        ("removed", changes.removed),
    ):
        _some(console, [f"{word} {page}" for page in pages], shown, "green")


def _some(
    console: Console, lines: Sequence[str], shown: int | None, style: str, title: str = ""
) -> None:
    if lines and title:
        _say(console, f"  {len(lines)} {title}", style)
    for line in lines[:shown]:
        _say(console, f"  {'  ' if title else ''}{line}", style)
    if shown is not None and len(lines) > shown:
        _say(console, f"    and {len(lines) - shown} more (--verbose)", style)


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style), soft_wrap=True)
