"""`citewell import FILE`."""

from contextlib import closing
from pathlib import Path

import click
from rich.console import Console

from citewell.cli.options import data_option, settings_from
from citewell.cli.terminal import print_report
from citewell.wiring import books_folder, build_embedder, build_index_server


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@data_option
def command(file: Path, data_dir: Path | None) -> None:
    """Import the book in FILE, written by `citewell export`; replace one of the same name.

    Every checksum is verified first. If FILE is damaged, nothing is changed.
    """
    from citewell.ingest.bundle import import_book

    settings = settings_from(data_dir)
    embedder = build_embedder(settings)
    library = books_folder(settings)
    report = import_book(file, library, embedder.id)
    if server := build_index_server(settings):
        from citewell.ingest.sync import push_book

        with closing(server):
            push_book(library, report.book, server)
    print_report(report, Console(stderr=True), state="imported")
