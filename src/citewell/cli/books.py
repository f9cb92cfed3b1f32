"""`citewell books`."""

import sys
from contextlib import closing
from pathlib import Path

import click
from pydantic import BaseModel, TypeAdapter
from rich.console import Console
from rich.text import Text

from citewell.cli.options import data_option, settings_from, verbose_option
from citewell.cli.terminal import print_report
from citewell.errors import IndexUnavailable
from citewell.settings import Settings
from citewell.wiring import books_folder, build_index_server, build_library


class BookRow(BaseModel):
    """One book in the output of `citewell books --json`."""

    book: str
    title: str
    kind: str
    revision: str
    pages: int
    chunks: int
    tokens: int
    embedder: str
    created_at: str
    bytes: int
    """Disk space on this host; 0 if the book is only on the server."""


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@data_option
@click.pass_context
def command(context: click.Context, as_json: bool, data_dir: Path | None) -> None:
    """List the books of the data folder."""
    context.obj = settings_from(data_dir)
    if context.invoked_subcommand is None:
        _list_books(context.obj, as_json)


@command.command()
@click.argument("name")
@click.pass_obj
def remove(settings: Settings, name: str) -> None:
    """Delete the index of the book NAME, with all its revisions and vectors.

    Its source files and the conversations about it are kept.
    """
    folder = books_folder(settings)
    if server := build_index_server(settings):
        from citewell.ingest.sync import remove_shared

        with closing(server):
            freed = remove_shared(server, folder, name)
    else:
        from citewell.ingest.staging import remove_book

        if not (folder / Path(name).name).is_dir():
            build_library(settings).find(name)
        freed = remove_book(folder, name)
    click.echo(f"Removed {name!r}; freed {freed / 1e6:.1f} MB.", err=True)


@command.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@verbose_option
@click.pass_obj
def report(settings: Settings, name: str, as_json: bool, verbose: bool) -> None:
    """Show the report of the last ingest of the book NAME."""
    from citewell.ingest.report import parse_report, report_to_json

    library = build_library(settings)
    library.find(name)
    text = library.report(name)
    try:
        parsed = parse_report(text.encode()) if text else None
    except (ValueError, KeyError, TypeError):
        parsed = None
    if parsed is None:
        raise IndexUnavailable(f"The index of {name!r} is damaged; ingest the book again.")
    if as_json:
        click.echo(report_to_json(parsed))
    else:
        print_report(parsed, Console(), verbose=verbose)


def _list_books(settings: Settings, as_json: bool) -> None:
    folder, library = books_folder(settings), build_library(settings)
    rows = [BookRow(bytes=_disk_size(folder / m.book), **_fields(m)) for m in library.books()]
    if as_json:
        click.echo(TypeAdapter(list[BookRow]).dump_json(rows, indent=1).decode())
        return
    unreadable = [] if settings.index_url else _unreadable_books(folder, {row.book for row in rows})
    console = Console()
    for row in rows:
        _print_row(row, console)
    if not rows and not unreadable:
        click.echo(f"No book has been ingested into {library.location} yet.", err=True)
    for name in unreadable:
        click.echo(f"{name}: damaged or of another version; ingest it again.", err=True)
    sys.exit(1 if unreadable else 0)


def _disk_size(folder: Path) -> int:
    from citewell.ingest.staging import size_on_disk

    return size_on_disk(folder) if folder.is_dir() else 0


def _fields(manifest: object) -> dict[str, object]:
    return {name: getattr(manifest, name) for name in BookRow.model_fields if name != "bytes"}


def _unreadable_books(folder: Path, readable: set[str]) -> list[str]:
    books = (pointer.parent.name for pointer in sorted(folder.glob("*/current")))
    return [name for name in books if name not in readable]


def _print_row(row: BookRow, console: Console) -> None:
    created = row.created_at[:16].replace("T", " ")
    for text, style in (
        (f"{row.book}: {row.title}", "bold"),
        (
            f"  {row.kind}, {row.pages:,} pages, {row.chunks:,} chunks, {row.tokens:,} tokens, "
            f"{row.bytes / 1e6:.1f} MB",
            "",
        ),
        (f"  revision {row.revision} by {row.embedder}, {created}", "dim"),
    ):
        console.print(Text(text, style=style), soft_wrap=True)
