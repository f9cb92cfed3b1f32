"""`citewell export BOOK FILE`."""

from contextlib import closing
from pathlib import Path

import click
from rich.console import Console

from citewell.cli.options import data_option, settings_from
from citewell.errors import BadRequest
from citewell.wiring import books_folder, build_embedder, build_index_server, build_library


@click.command()
@click.argument("book")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@data_option
def command(book: str, file: Path, force: bool, data_dir: Path | None) -> None:
    """Write the index of BOOK, with its text and vectors, to FILE.

    `citewell import` loads it elsewhere without embedding anything.
    """
    from citewell.ingest.bundle import export_book

    settings = settings_from(data_dir)
    build_library(settings).find(book)
    if file.exists() and not force:
        raise BadRequest(f"{file} exists; --force replaces it.")
    if server := build_index_server(settings):
        from citewell.ingest.sync import fetch_newer

        with closing(server):
            fetch_newer(server, books_folder(settings), book, build_embedder(settings).id)
    manifest = export_book(books_folder(settings), book, file)
    size = file.stat().st_size
    Console(stderr=True).print(
        f"Wrote {manifest.book!r} ({manifest.chunks:,} chunks, revision {manifest.revision}) "
        f"to {file}, {size / 1e6:.1f} MB.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
