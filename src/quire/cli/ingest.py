"""`quire ingest PATH`."""

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from quire.cli.options import book_option, data_option, settings_from
from quire.compose import books_folder, build_embedder
from quire.domain import Skipped
from quire.ingest.source import KINDS
from quire.settings import Settings

PARTLY = 3
"""Exit code of an ingest that had to leave pages out."""
SHOWN = 20
"""How many of the files left out are named."""


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@book_option
@click.option(
    "--format",
    "kind",
    metavar="KIND",
    help=f"Format of the book, where Quire takes it for another: {', '.join(KINDS)}.",
)
@click.option("--locale", help="Language of a Docusaurus site (QUIRE_INGEST__LOCALE).")
@click.option(
    "--docs-version", help="Version of a Docusaurus site, or `current` (QUIRE_INGEST__VERSION)."
)
@data_option
def command(
    path: Path,
    book: str | None,
    kind: str | None,
    locale: str | None,
    docs_version: str | None,
    data_dir: Path | None,
) -> None:
    """Read the book at PATH and bring its index up to date.

    Only what changed is embedded. Readers keep the old index until the new one is complete. The
    exit code is 0, or 3 if pages had to be left out.
    """
    settings = settings_from(data_dir)
    chosen = {k: v for k, v in (("locale", locale), ("version", docs_version)) if v is not None}
    ingest = settings.ingest.model_copy(update=chosen)
    settings = settings.model_copy(update={"ingest": ingest})
    failed = run_ingest(path, book, settings, Console(stderr=True), kind)
    sys.exit(PARTLY if failed else 0)


def run_ingest(
    path: Path, book: str | None, settings: Settings, console: Console, kind: str | None = None
) -> int:
    """Ingest with a progress bar, print the report, and give the number of pages left out."""
    # Imported here: a moment's wait that `--help` need not have.
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from quire.ingest.pipeline import Stage, ingest
    from quire.ingest.source import find_reader

    # Before the model is loaded: what is no book should be said at once.
    found = find_reader(path, kind).kind
    console.print(f"Reading {path} as {found}{'' if kind else ' (--format reads it as another)'}.")
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("Reading", total=None)
        names = {"read": "Reading pages", "embed": "Embedding", "write": "Writing the index"}

        def progress(stage: Stage, done: int, total: int) -> None:
            bar.update(task, description=names[stage], completed=done, total=total or 1)

        embedder = build_embedder(settings, say=console.print)
        report = ingest(
            path,
            books_folder(settings),
            embedder,
            book=book,
            format=found,
            options=settings.ingest,
            progress=progress,
        )
    state = f"{report.embedded} embedded" if report.changed else "nothing changed"
    console.print(
        f"[bold]{report.title}[/bold] ({report.kind}, as {report.book!r}): {report.pages} pages, "
        f"{report.chunks} chunks, {report.tokens:,} tokens; {state}."
    )
    _print_skipped(report.skipped, console)
    return sum(skip.failed for skip in report.skipped)


def _print_skipped(skipped: tuple[Skipped, ...], console: Console) -> None:
    # What failed first: of a long list only the beginning is read.
    for skip in sorted(skipped, key=lambda skip: not skip.failed)[:SHOWN]:
        colour = "red" if skip.failed else "dim"
        line = Text(f"  left out {skip.source}: {skip.reason}", style=colour)
        console.print(line)
    if len(skipped) > SHOWN:
        console.print(f"  and {len(skipped) - SHOWN} more")
