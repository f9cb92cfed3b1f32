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
    """Move books between the data folder and a Qdrant server (CITEWELL_INDEX_URL)."""


@command.command()
@click.argument("books", nargs=-1)
@click.option(
    "--to",
    type=click.Choice(["server", "embedded"]),
    required=True,
    help="Where to: the server, or the data folder with the embedded engine.",
)
@data_option
def migrate(books: tuple[str, ...], to: str, data_dir: Path | None) -> None:
    """Copy BOOKS, or all there are, and compare what arrived with what was sent.

    Nothing is embedded again. What was there stays where it was; a book that is the same in both
    places is not copied. Readers keep what they have until a book is complete.
    """
    from citewell.ingest.sync import pull_book, push_book

    settings = settings_from(data_dir)
    server = build_index_server(settings)
    if server is None:
        raise BadSettings(
            "CITEWELL_INDEX_URL is not set: there is no server to move books to or from."
        )
    embedder = build_embedder(settings).id
    library = books_folder(settings)
    try:
        for name in books or _all(settings, server, to):
            if to == "server":
                moved = push_book(library, name, server)
            else:
                moved = pull_book(server, library, name, embedder)
            click.echo(
                f"{moved.book}: revision {moved.revision}, {moved.passages:,} passages, "
                f"checksum {moved.checksum[:16]} on both sides."
            )
    finally:
        server.close()


def _all(settings: Settings, server: "QdrantServer", to: str) -> list[str]:
    from citewell.index.qdrant_server import RevisionCatalog

    if to == "embedded":
        return sorted(RevisionCatalog(server).current())
    return sorted(pointer.parent.name for pointer in books_folder(settings).glob("*/current"))
