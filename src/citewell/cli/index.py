"""`citewell index migrate`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.options import data_option, settings_from
from citewell.errors import BadSettings
from citewell.settings import Settings
from citewell.wiring import books_folder, build_embedder, build_index_server

if TYPE_CHECKING:
    from citewell.index.qdrant_server import QdrantServer


@click.group()
def command() -> None:
    """Copy books between the data folder and a Qdrant server (CITEWELL_INDEX_URL)."""


@command.command()
@click.argument("books", nargs=-1)
@click.option(
    "--to",
    type=click.Choice(["server", "embedded"]),
    required=True,
    help="The destination: the server, or the embedded engine in the data folder.",
)
@data_option
def migrate(books: tuple[str, ...], to: str, data_dir: Path | None) -> None:
    """Copy BOOKS, or all books, and verify the checksum of each copy.

    Nothing is embedded again. The source is kept, and a book that is identical in both places is
    not copied. Readers see the previous revision until a copy is complete.
    """
    from citewell.ingest.sync import pull_book, push_book

    settings = settings_from(data_dir)
    server = build_index_server(settings)
    if server is None:
        raise BadSettings(
            "CITEWELL_INDEX_URL is not set: there is no server to copy books to or from."
        )
    embedder = build_embedder(settings).id
    library = books_folder(settings)
    try:
        for name in books or _book_names(settings, server, to):
            if to == "server":
                copied = push_book(library, name, server)
            else:
                copied = pull_book(server, library, name, embedder)
            click.echo(
                f"{copied.book}: revision {copied.revision}, {copied.passages:,} passages, "
                f"checksum {copied.checksum[:16]} on both sides."
            )
    finally:
        server.close()


def _book_names(settings: Settings, server: "QdrantServer", to: str) -> list[str]:
    from citewell.index.qdrant_server import RevisionCatalog

    if to == "embedded":
        return sorted(RevisionCatalog(server).current())
    return sorted(pointer.parent.name for pointer in books_folder(settings).glob("*/current"))
