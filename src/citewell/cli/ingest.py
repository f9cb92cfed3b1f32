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

from citewell.cli.options import book_option, data_option, settings_from
from citewell.cli.terminal import print_report
from citewell.errors import CitewellError
from citewell.ingest.detect import FORMAT_NAMES, detect_format, list_source_files
from citewell.ports import Embedder
from citewell.settings import Settings
from citewell.wiring import build_embedder, ingest_book

if TYPE_CHECKING:
    from citewell.ingest.pipeline import Progress
    from citewell.ingest.report import IngestReport


EXIT_PARTIAL = 3
"""Exit code of an ingest that had to leave pages out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestArguments:
    """What to ingest, and how."""

    path: Path
    book: str | None
    kind: str | None
    settings: Settings
    verbose: bool = False


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@book_option
@click.option(
    "--format",
    "kind",
    metavar="KIND",
    help=f"Format of the book, where Citewell takes it for another: {', '.join(FORMAT_NAMES)}.",
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
    help="A folder beside the book that its pages may also lie in; repeated for several"
    " (CITEWELL_INGEST__ALLOW).",
)
@click.option("--watch", is_flag=True, help="Go on: ingest again whenever the book changes.")
@click.option("--json", "as_json", is_flag=True, help="Print the report for machines.")
@click.option("--verbose", is_flag=True, help="Print all that was noticed, not only the first few.")
@data_option
def command(  # noqa: PLR0913 - one for each option
    *,
    path: Path,
    book: str | None,
    kind: str | None,
    locale: str | None,
    docs_version: str | None,
    allow: tuple[Path, ...],
    watch: bool,
    as_json: bool,
    verbose: bool,
    data_dir: Path | None,
) -> None:
    """Read the book at PATH and bring its index up to date.

    Only what changed is embedded. Readers keep the old index until the new one is complete. The
    exit code is 0, or 3 if pages had to be left out. Ctrl-C loses nothing: what is embedded is
    kept, and the next ingest goes on from there.
    """
    console = Console(stderr=True)
    settings = settings_from(data_dir)
    given = {"locale": locale, "version": docs_version, "allow": allow or None}
    chosen = {name: value for name, value in given.items() if value is not None}
    ingest = settings.ingest.model_copy(update=chosen)
    settings = settings.model_copy(update={"ingest": ingest})
    job = IngestArguments(path=path, book=book, kind=kind, settings=settings, verbose=verbose)
    if watch:
        # Imported here: the others do without the library.

        watch_book(job, console)
        return
    report = run_ingest(job, console)
    if as_json:
        from citewell.ingest.report import report_to_json

        click.echo(report_to_json(report))
    sys.exit(EXIT_PARTIAL if report.failed else 0)


def run_ingest(job: IngestArguments, console: Console) -> "IngestReport":
    """Ingest with a progress bar, and print the report."""
    # Before the model is loaded: what is no book should be said at once.
    found = detect_format(job.path, job.kind).kind
    more = "" if job.kind else " (--format reads it as another)"
    console.print(f"Reading {job.path} as {found}{more}.", markup=False, soft_wrap=True)
    embedder = build_embedder(job.settings, on_status=console.print)
    report = ingest_once(job, found, embedder, console)
    print_report(report, console, verbose=job.verbose)
    return report


def ingest_once(
    job: IngestArguments, kind: str, embedder: Embedder, console: Console
) -> "IngestReport":
    """Ingest with a progress bar."""
    with _progress(console) as progress:
        return ingest_book(
            job.settings, job.path, embedder, book=job.book, kind=kind, progress=progress
        )


@contextmanager
def _progress(console: Console) -> "Iterator[Progress]":
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    names = {"read": "Reading pages", "embed": "Embedding", "write": "Writing the index"}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        tasks = {"read": bar.add_task(names["read"], total=None)}

        def show(stage: str, done: int, total: int) -> None:
            # A task of its own for each: how long reading took says nothing about embedding.
            if stage not in tasks:
                for task in tasks.values():
                    bar.update(task, visible=False)
                tasks[stage] = bar.add_task(names[stage], total=total or 1)
            bar.update(tasks[stage], completed=done, total=total or 1)

        yield show


DEBOUNCE_MS = 800
"""Milliseconds in which changes are gathered: an editor writes a page in several steps."""
FIRST_CHECK_MS = 1000
"""Milliseconds after which it is looked whether the book changed before it was watched."""


def watch_book(job: IngestArguments, console: Console) -> None:
    """Ingest, and again whenever the book changes, until Ctrl-C."""
    embedder = build_embedder(job.settings, on_status=console.print)
    try:
        # A path that holds no book at all ends it: there is nothing to watch.
        detect_format(job.path, job.kind)
        said = _try(job, embedder, console, None)
        _say(console, f"Watching {job.path} (Ctrl-C to stop).")
        for _ in _changes(job):
            said = _try(job, embedder, console, said)
    except KeyboardInterrupt:
        _say(console, "Stopped watching; the index is as of the last report.")


def _changes(job: IngestArguments) -> Iterator[None]:
    """Come back whenever files of the book changed, and once soon after the beginning."""
    root = job.path if job.path.is_dir() else job.path.parent
    files = list_source_files(detect_format(job.path, job.kind), job.path, job.settings.ingest)
    # A site's configuration or pages may lie beside the folder that was named.
    folders = {root.resolve(), *(f.path.resolve().parent for f in files if f.path.exists())}
    outermost = [f for f in folders if not any(other in f.parents for other in folders)]
    ignored = DefaultFilter(ignore_paths=[job.settings.data_dir.expanduser().resolve()])
    looked = False
    for changed in watch(
        *outermost,
        watch_filter=ignored,
        debounce=DEBOUNCE_MS,
        rust_timeout=FIRST_CHECK_MS,
        yield_on_timeout=True,
    ):
        if changed or not looked:
            looked = True
            yield


def _try(job: IngestArguments, embedder: Embedder, console: Console, before: str | None) -> str:
    """Ingest once; what goes wrong is said, once, and is no reason to stop."""
    try:
        kind = detect_format(job.path, job.kind).kind
        report = ingest_once(job, kind, embedder, console)
    except CitewellError as error:
        if str(error) != before:
            click.echo(f"citewell: {error}", err=True)
        return str(error)
    if report.changed or before is None or before:
        print_report(report, console, verbose=job.verbose)
    return ""


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
