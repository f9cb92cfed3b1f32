"""`quire bench reading`: what becomes of a book on its way into passages."""

import sys
from pathlib import Path

import click
from rich.console import Console

from quire.cli.figures import print_figures
from quire.cli.options import data_option, settings_from
from quire.compose import build_embedder
from quire.evals.reading import Reading, read_book
from quire.ingest.source import KINDS

MOST_LOST = 0.005
_SHOWN = 12


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "kind", metavar="KIND", help=f"One of {', '.join(KINDS)}.")
@click.option("--show", is_flag=True, help="Print all that was left out, and words that are lost.")
@data_option
def reading(paths: tuple[Path, ...], kind: str | None, show: bool, data_dir: Path | None) -> None:
    """Read and cut the books at PATHS, and compare the passages with the sources.

    Words are counted in the sources without the readers that ingest uses. Nothing is embedded or
    kept. The exit code is 1 if a book loses more than 0.5 % of its words, or if a passage crosses a
    heading or holds part of a code block or table without saying so.
    """
    settings = settings_from(data_dir)
    console = Console()
    count = build_embedder(settings, say=Console(stderr=True).print).count_tokens
    bad = False
    for path in paths:
        read = read_book(path, count, kind=kind, options=settings.ingest)
        print_figures(console, [(str(path), _figures(read, show=show))])
        for line in _left_out(read, show=show):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        bad = bad or read.loss > MOST_LOST or bool(read.over_headings or read.torn)
    sys.exit(1 if bad else 0)


def _left_out(read: Reading, *, show: bool) -> list[str]:
    lines = [f"  left out {skip.source}: {skip.reason}" for skip in read.book.skipped]
    if show or len(lines) <= _SHOWN:
        return lines
    return [*lines[:_SHOWN], f"  and {len(lines) - _SHOWN} more (--show)"]


def _figures(read: Reading, *, show: bool) -> dict[str, str]:
    book = read.book
    lost = f"{read.lost.total():,} of {read.words:,} ({read.loss:.2%})" if read.words else "–"
    often = ", ".join(f"{word} ({n})" for word, n in read.lost.most_common(_SHOWN))
    return {
        "title": book.title,
        "format": book.kind,
        "pages": f"{len(book.pages):,}",
        "sections": f"{sum(len(page.sections) for page in book.pages):,}",
        "passages": f"{len(read.chunks):,}",
        "tokens": f"{sum(chunk.token_count for chunk in read.chunks):,}",
        "seconds": f"{read.seconds:.1f}",
        "words lost": lost,
        "lost most often": often if show else "",
        "passages that cross a heading": f"{len(read.over_headings)}",
        "code blocks and tables torn": f"{len(read.torn)}",
        "pieces of very long blocks": f"{sum(bool(chunk.piece) for chunk in read.chunks)}",
    }
