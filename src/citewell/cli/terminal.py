"""Helpers for printing text to a terminal."""

import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from citewell.ingest.report import IngestReport

_TOKEN = re.compile(r"\n|[^\S\n]+|\S+")
_LIST_MARKER = re.compile(r"[-*+]|\d+[.)]")


def print_line(console: Console, line: str, style: str = "") -> None:
    """Print a line without wrapping, markup or highlighting."""
    console.print(Text(line, style=style), soft_wrap=True)


def print_indented(console: Console, text: str, *, indent: int, style: str = "") -> None:
    """Print word-wrapped text with every line indented; in a pipe, on one line."""
    if console.is_terminal:
        console.print(Padding(Text(text, style=style), (0, 0, 0, indent)))
    else:
        console.print(Text(" " * indent + text, style=style), soft_wrap=True)


class WordWrapper:
    """Word-wraps streamed text; code blocks, and text in a pipe, are written unchanged."""

    def __init__(self, console: Console) -> None:
        """Write to a console whose cursor is at the start of a line."""
        self._console = console
        self._column = 0
        self._pending_space = ""
        self._indent = 0
        self._in_code = False

    def write(self, text: str) -> None:
        """Write the next part of the text, which may start and end between any two words."""
        if not self._console.is_terminal:
            self._print(text)
            return
        for piece in _TOKEN.findall(text):
            if piece == "\n":
                self._break_line(0)
            elif piece.isspace():
                self._pending_space = piece if self._in_code or not self._column else " "
            else:
                self._write_word(piece)

    def _write_word(self, word: str) -> None:
        if not self._column and word.startswith(("```", "~~~")):
            self._in_code = not self._in_code
        if not self._column:
            self._indent = len(word) + 1 if _LIST_MARKER.fullmatch(word) else 0
        width = cell_len(self._pending_space) + cell_len(word)
        if self._column and not self._in_code and self._column + width > self._console.width:
            self._break_line(self._indent)
        self._print(self._pending_space + word)
        self._column += cell_len(self._pending_space) + cell_len(word)
        self._pending_space = ""

    def _break_line(self, indent: int) -> None:
        self._print("\n" + " " * indent)
        self._column, self._pending_space = indent, ""

    def _print(self, text: str) -> None:
        self._console.print(Text(text), end="", soft_wrap=True)


MAX_SHOWN = 5
"""How many entries of each category are printed without `--verbose`."""


def print_report(
    report: IngestReport, console: Console, *, state: str = "", verbose: bool = False
) -> None:
    """Print the counts in one line, then what the author may want to fix."""
    state = state or (f"{report.embedded:,} embedded" if report.changed else "nothing changed")
    print_line(
        console,
        f"{report.title} ({report.kind}, as {report.book!r}): {report.pages:,} pages, "
        f"{report.sections:,} sections, {report.chunks:,} chunks, {report.tokens:,} tokens; "
        f"{state}, {report.seconds:.1f} s.",
    )
    limit = None if verbose else MAX_SHOWN
    _print_changes(report, console, limit)
    # Failures first: of a long list only the beginning is read.
    for failed, style in ((True, "red"), (False, "dim")):
        skips = [skip for skip in report.skipped if skip.failed is failed]
        lines = [f"skipped {skip.source}: {skip.reason}" for skip in skips]
        _print_some(console, lines, limit, style)
    _print_some(console, report.notes, limit, "yellow")
    links = [f"{link.source} → {link.target}: {link.reason}" for link in report.broken_links]
    _print_some(console, links, limit, "yellow", "broken links")
    _print_some(console, report.empty_pages, limit, "yellow", "pages without text")
    repeats = (f"“{d.text}…” in {', '.join(d.places)}" for d in report.duplicates)
    _print_some(console, list(repeats), limit, "dim", "passages that occur in several places")


def _print_changes(report: IngestReport, console: Console, limit: int | None) -> None:
    changes = report.changes
    previous_pages = report.pages - len(changes.added) - len(report.empty_pages)
    if previous_pages <= 0 and not changes.removed:
        return  # on the first ingest, every page is new
    for word, pages in (
        ("added", changes.added),
        ("changed", changes.changed),
        ("removed", changes.removed),
    ):
        _print_some(console, [f"{word} {page}" for page in pages], limit, "green")


def _print_some(
    console: Console, lines: Sequence[str], limit: int | None, style: str, title: str = ""
) -> None:
    if lines and title:
        print_line(console, f"  {len(lines)} {title}", style)
    for line in lines[:limit]:
        print_line(console, f"  {'  ' if title else ''}{line}", style)
    if limit is not None and len(lines) > limit:
        print_line(console, f"    and {len(lines) - limit} more (--verbose)", style)
