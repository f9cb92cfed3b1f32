"""`quire ingest PATH --watch`."""

from collections.abc import Iterator

import click
from rich.console import Console
from watchfiles import DefaultFilter, watch

from quire.cli.ingest import Job, ingest_once
from quire.cli.reporting import print_report
from quire.compose import build_embedder
from quire.errors import QuireError
from quire.ingest.source import find_reader, list_files
from quire.ports import Embedder

PATIENCE = 800
"""Milliseconds in which changes are gathered: an editor writes a page in several steps."""
FIRST_LOOK = 1000
"""Milliseconds after which it is looked whether the book changed before it was watched."""


def watch_book(job: Job, console: Console) -> None:
    """Ingest, and again whenever the book changes, until Ctrl-C."""
    embedder = build_embedder(job.settings, say=console.print)
    try:
        # A path that holds no book at all ends it: there is nothing to watch.
        find_reader(job.path, job.kind)
        said = _try(job, embedder, console, None)
        _say(console, f"Watching {job.path} (Ctrl-C to stop).")
        for _ in _changes(job):
            said = _try(job, embedder, console, said)
    except KeyboardInterrupt:
        _say(console, "Stopped watching; the index is as of the last report.")


def _changes(job: Job) -> Iterator[None]:
    """Come back whenever files of the book changed, and once soon after the beginning."""
    root = job.path if job.path.is_dir() else job.path.parent
    files = list_files(find_reader(job.path, job.kind), job.path, job.settings.ingest)
    # A site's configuration or pages may lie beside the folder that was named.
    folders = {root.resolve(), *(f.path.resolve().parent for f in files if f.path.exists())}
    outermost = [f for f in folders if not any(other in f.parents for other in folders)]
    ignored = DefaultFilter(ignore_paths=[job.settings.data_dir.expanduser().resolve()])
    looked = False
    for changed in watch(
        *outermost,
        watch_filter=ignored,
        debounce=PATIENCE,
        rust_timeout=FIRST_LOOK,
        yield_on_timeout=True,
    ):
        if changed or not looked:
            looked = True
            yield


def _try(job: Job, embedder: Embedder, console: Console, before: str | None) -> str:
    """Ingest once; what goes wrong is said, once, and is no reason to stop."""
    try:
        kind = find_reader(job.path, job.kind).kind
        report = ingest_once(job, kind, embedder, console)
    except QuireError as error:
        if str(error) != before:
            click.echo(f"quire: {error}", err=True)
        return str(error)
    if report.changed or before is None or before:
        print_report(report, console, verbose=job.verbose)
    return ""


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
