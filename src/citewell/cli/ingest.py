"""`citewell ingest PATH`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from watchfiles import DefaultFilter, watch

from citewell.cli.options import book_option, data_option, settings_from, verbose_option
from citewell.cli.terminal import print_line, print_report
from citewell.errors import CitewellError
from citewell.ingest.detect import FORMAT_NAMES, detect_format, list_source_files
from citewell.ports import Embedder
from citewell.settings import Settings
from citewell.wiring import build_embedder, ingest_book

if TYPE_CHECKING:
    from citewell.ingest.pipeline import Progress
    from citewell.ingest.report import IngestReport


EXIT_PARTIAL = 3
"""Exit code of an ingest that skipped pages because of errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestArguments:
    """What to ingest and how."""

    path: Path
    book: str | None
    format_name: str | None
    settings: Settings
    verbose: bool = False


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@book_option
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    help=f"Format of the book, if it is not detected correctly: {', '.join(FORMAT_NAMES)}.",
)
@click.option("--locale", help="Language of a Docusaurus site (CITEWELL_INGEST__LOCALE).")
@click.option(
    "--docs-version", help="Version of a Docusaurus site, or `current` (CITEWELL_INGEST__VERSION)."
)
@click.option(
    "--allow",
    "allow",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    help="A folder outside the book that may also contain its pages; may be repeated"
    " (CITEWELL_INGEST__ALLOW).",
)
@click.option("--watch", is_flag=True, help="Keep running; ingest again when the book changes.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@verbose_option
@data_option
def command(  # noqa: PLR0913 - one parameter per option
    *,
    path: Path,
    book: str | None,
    format_name: str | None,
    locale: str | None,
    docs_version: str | None,
    allow: tuple[Path, ...],
    watch: bool,
    as_json: bool,
    verbose: bool,
    data_dir: Path | None,
) -> None:
    """Read the book at PATH and bring its index up to date.

    Only changes are embedded. Readers use the old index until the new one is complete. The exit
    code is 0, or 3 if pages were skipped because of errors. Ctrl-C is safe: finished embeddings
    are kept, and the next ingest resumes from there.
    """
    console = Console(stderr=True)
    settings = settings_from(data_dir)
    options = {"locale": locale, "version": docs_version, "allow": allow or None}
    overrides = {name: value for name, value in options.items() if value is not None}
    ingest = settings.ingest.model_copy(update=overrides)
    settings = settings.model_copy(update={"ingest": ingest})
    arguments = IngestArguments(
        path=path, book=book, format_name=format_name, settings=settings, verbose=verbose
    )
    if watch:
        watch_book(arguments, console)
        return
    report = run_ingest(arguments, console)
    if as_json:
        from citewell.ingest.report import report_to_json

        click.echo(report_to_json(report))
    sys.exit(EXIT_PARTIAL if report.failed else 0)


def run_ingest(arguments: IngestArguments, console: Console) -> "IngestReport":
    """Ingest with a progress bar, and print the report."""
    # Before the model is loaded, so that a path without a book fails at once.
    format_name = detect_format(arguments.path, arguments.format_name).name
    hint = "" if arguments.format_name else " (--format chooses another)"
    console.print(f"Reading {arguments.path} as {format_name}{hint}.", markup=False, soft_wrap=True)
    embedder = build_embedder(arguments.settings, on_status=console.print)
    report = _ingest(arguments, format_name, embedder, console)
    print_report(report, console, verbose=arguments.verbose)
    return report


def _ingest(
    arguments: IngestArguments, format_name: str, embedder: Embedder, console: Console
) -> "IngestReport":
    settings, path, book = arguments.settings, arguments.path, arguments.book
    with _progress_bar(console) as progress:
        return ingest_book(
            settings, path, embedder, book=book, format_name=format_name, progress=progress
        )


@contextmanager
def _progress_bar(console: Console) -> "Iterator[Progress]":
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    stages = {"read": "Reading pages", "embed": "Embedding", "write": "Writing the index"}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        tasks = {"read": bar.add_task(stages["read"], total=None)}

        def show(stage: str, done: int, total: int) -> None:
            # One task per stage: the time that reading took does not predict embedding.
            if stage not in tasks:
                for task in tasks.values():
                    bar.update(task, visible=False)
                tasks[stage] = bar.add_task(stages[stage], total=total or 1)
            bar.update(tasks[stage], completed=done, total=total or 1)

        yield show


DEBOUNCE_MS = 800
"""Milliseconds to collect changes: an editor saves a page in several steps."""
CATCH_UP_MS = 1000
"""Milliseconds until one more ingest: changes between the first and the watch cause no event."""


def watch_book(arguments: IngestArguments, console: Console) -> None:
    """Ingest now and whenever the book changes, until Ctrl-C."""
    embedder = build_embedder(arguments.settings, on_status=console.print)
    try:
        # Without a book at the path, there is nothing to watch: this raises.
        detect_format(arguments.path, arguments.format_name)
        last_error = _ingest_and_report(arguments, embedder, console, None)
        print_line(console, f"Watching {arguments.path} (Ctrl-C to stop).")
        for _ in _wait_for_changes(arguments):
            last_error = _ingest_and_report(arguments, embedder, console, last_error)
    except KeyboardInterrupt:
        print_line(console, "Stopped watching; the index is as of the last report.")


def _wait_for_changes(arguments: IngestArguments) -> Iterator[None]:
    """Yield whenever files of the book changed, and once soon after the start."""
    path, settings = arguments.path, arguments.settings
    root = path if path.is_dir() else path.parent
    files = list_source_files(detect_format(path, arguments.format_name), path, settings.ingest)
    # A site's configuration or pages may be outside the given folder.
    folders = {root.resolve(), *(f.path.resolve().parent for f in files if f.path.exists())}
    outermost = [f for f in folders if not any(other in f.parents for other in folders)]
    caught_up = False
    for changes in watch(
        *outermost,
        watch_filter=DefaultFilter(ignore_paths=[settings.data_dir.expanduser().resolve()]),
        debounce=DEBOUNCE_MS,
        rust_timeout=CATCH_UP_MS,
        yield_on_timeout=True,
    ):
        if changes or not caught_up:
            caught_up = True
            yield


def _ingest_and_report(
    arguments: IngestArguments, embedder: Embedder, console: Console, last_error: str | None
) -> str:
    """Ingest once, and return the error, or an empty string; print only what is new.

    `last_error` is what the previous call returned, or `None` on the first call.
    """
    try:
        format_name = detect_format(arguments.path, arguments.format_name).name
        report = _ingest(arguments, format_name, embedder, console)
    except CitewellError as error:
        if str(error) != last_error:
            click.echo(f"citewell: {error}", err=True)
        return str(error)
    if report.changed or last_error != "":
        print_report(report, console, verbose=arguments.verbose)
    return ""
