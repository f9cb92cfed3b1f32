"""`citewell books`."""

import sys
from contextlib import closing
from pathlib import Path

import click
from pydantic import BaseModel, TypeAdapter
from rich.console import Console
from rich.text import Text

from citewell.cli.options import data_option, settings_from
from citewell.cli.terminal import print_report
from citewell.errors import IndexUnavailable
from citewell.settings import Settings
from citewell.wiring import books_folder, build_index_server, build_library


class BookLine(BaseModel):
    """One book, as `citewell books --json` gives it."""

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
    """What it takes on this host; nothing, where it is only on the server."""


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print them for machines.")
@data_option
@click.pass_context
def command(context: click.Context, as_json: bool, data_dir: Path | None) -> None:
    """List the books of the data folder."""
    context.obj = settings_from(data_dir)
    if context.invoked_subcommand is None:
        _list(context.obj, as_json)


@command.command()
@click.argument("name")
@click.pass_obj
def remove(settings: Settings, name: str) -> None:
    """Delete the index of the book NAME: every revision and vector of it.

    Its source is not touched. Conversations about it stay; they belong to those who had them.
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
    click.echo(f"Removed {name!r}: {freed / 1e6:.1f} MB are free again.", err=True)


@command.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print it for machines.")
@click.option("--verbose", is_flag=True, help="Print all of it, not only the first few of a kind.")
@click.pass_obj
def report(settings: Settings, name: str, as_json: bool, verbose: bool) -> None:
    """Show what was noticed when the book NAME was last ingested."""
    from citewell.ingest.report import parse_report, report_to_json

    library = build_library(settings)
    library.find(name)
    said = library.report(name)
    try:
        found = parse_report(said.encode()) if said else None
    except (ValueError, KeyError, TypeError):
        found = None
    if found is None:
        raise IndexUnavailable(f"The index of {name!r} is damaged; ingest the book again.")
    if as_json:
        click.echo(report_to_json(found))
    else:
        print_report(found, Console(), verbose=verbose)


def _list(settings: Settings, as_json: bool) -> None:
    folder, library = books_folder(settings), build_library(settings)
    lines = [BookLine(bytes=_size(folder / m.book), **_fields(m)) for m in library.books()]
    if as_json:
        click.echo(TypeAdapter(list[BookLine]).dump_json(lines, indent=1).decode())
        return
    broken = [] if settings.index_url else _broken(folder, {line.book for line in lines})
    console = Console()
    for line in lines:
        _print(line, console)
    if not lines and not broken:
        click.echo(f"No book has been ingested into {library.location} yet.", err=True)
    for name in broken:
        click.echo(f"{name}: damaged or of another version; ingest it again.", err=True)
    sys.exit(1 if broken else 0)


def _size(folder: Path) -> int:
    from citewell.ingest.staging import size_on_disk

    return size_on_disk(folder) if folder.is_dir() else 0


def _fields(manifest: object) -> dict[str, object]:
    return {name: getattr(manifest, name) for name in BookLine.model_fields if name != "bytes"}


def _broken(folder: Path, whole: set[str]) -> list[str]:
    books = (pointer.parent.name for pointer in sorted(folder.glob("*/current")))
    return [name for name in books if name not in whole]


def _print(line: BookLine, console: Console) -> None:
    when = line.created_at[:16].replace("T", " ")
    for text, style in (
        (f"{line.book}: {line.title}", "bold"),
        (
            f"  {line.kind}, {line.pages:,} pages, {line.chunks:,} chunks, {line.tokens:,} tokens, "
            f"{line.bytes / 1e6:.1f} MB",
            "",
        ),
        (f"  revision {line.revision} by {line.embedder}, {when}", "dim"),
    ):
        console.print(Text(text, style=style), soft_wrap=True)
