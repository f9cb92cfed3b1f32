"""The report of an ingest, as a reader of the terminal sees it."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from quire.ingest.report import IngestReport

FEW = 5
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
    shown = None if verbose else FEW
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
