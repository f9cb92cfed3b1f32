"""`citewell search "…"`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from citewell.cli.options import (
    book_option,
    data_option,
    filter_option,
    parse_filters,
    settings_from,
)
from citewell.cli.terminal import print_indented
from citewell.domain import Chunk, Filters, Hit
from citewell.settings import Settings
from citewell.text.plain_text import preview
from citewell.wiring import wire_services

PREVIEW_LENGTH = 240


@click.command()
@click.argument("question")
@click.option("--top-k", default=5, show_default=True, type=click.IntRange(1, 10))
@click.option("--chapter", multiple=True, help="Search only this chapter; may be repeated.")
@click.option("--section", multiple=True, help="Search only this section; may be repeated.")
@click.option("--verbose", "-v", is_flag=True, help="Also show the scores of each passage.")
@click.option(
    "--around",
    default=0,
    show_default=True,
    type=click.IntRange(0, 20),
    help="Also show this many passages before and after each one.",
)
@filter_option
@book_option
@data_option
def command(  # noqa: PLR0913 - one parameter per option
    question: str,
    *,
    top_k: int,
    chapter: tuple[str, ...],
    section: tuple[str, ...],
    around: int,
    verbose: bool,
    filters: tuple[str, ...],
    book: str | None,
    data_dir: Path | None,
) -> None:
    """Show the passages of the book about QUESTION."""
    scope = parse_filters(filters, chapter=chapter, section=section)
    hits, context = asyncio.run(
        _search(settings_from(data_dir), question, book, scope, (top_k, around))
    )
    console = Console()
    if not hits:
        console.print("Nothing in the book is about that.")
    for hit in hits:
        path = " › ".join(hit.chunk.path)
        details = _describe_hit(hit, verbose=verbose)
        console.print(
            f"[bold]{hit.rank}. {escape(path)}[/bold]"
            + (f"  [dim]{details}[/dim]" if details else ""),
            highlight=False,
        )
        console.print(f"   {escape(hit.chunk.url)}", style="dim", highlight=False, soft_wrap=True)
        for chunk in context.get(hit.chunk.id, [hit.chunk]):
            print_indented(
                console,
                preview(chunk.text, PREVIEW_LENGTH),
                indent=3,
                style="" if chunk.id == hit.chunk.id else "dim",
            )


def _describe_hit(hit: Hit, *, verbose: bool) -> str:
    scores = (f"similarity {hit.similarity:.2f}", f"cosine {hit.cosine:.2f}") if verbose else ()
    role = "" if hit.chunk.role == "text" else hit.chunk.role
    piece = f"piece {hit.chunk.piece}" if hit.chunk.piece else ""
    return ", ".join(filter(None, (*scores, role, piece)))


async def _search(
    settings: Settings, question: str, book: str | None, filters: Filters, limits: tuple[int, int]
) -> tuple[tuple[Hit, ...], dict[str, Sequence[Chunk]]]:
    """Return the hits and, by hit, the passages to show: the hit and its neighbours."""
    top_k, around = limits
    async with wire_services(settings) as services:
        index = services.library.open(book)
        result = await services.searcher.search(index, question, filters=filters, top_k=top_k)
        ids = [hit.chunk.id for hit in result.relevant] if around else []
        return result.relevant, {chunk_id: index.neighbours(chunk_id, around) for chunk_id in ids}
