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

PREVIEW = 240


@click.command()
@click.argument("question")
@click.option("--top-k", default=5, show_default=True, type=click.IntRange(1, 10))
@click.option("--chapter", multiple=True, help="Search only this chapter; may be repeated.")
@click.option("--section", multiple=True, help="Search only this section; may be repeated.")
@click.option("--verbose", "-v", is_flag=True, help="Show the scores of each passage, too.")
@click.option(
    "--around",
    default=0,
    show_default=True,
    type=click.IntRange(0, 20),
    help="Show this many passages before and after each, too.",
)
@filter_option
@book_option
@data_option
def command(  # noqa: PLR0913 - one for each option
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
    where = parse_filters(filters, chapter=chapter, section=section)
    hits, context = asyncio.run(
        _search(settings_from(data_dir), question, book, where, (top_k, around))
    )
    console = Console()
    if not hits:
        console.print("Nothing in the book is about that.")
    for hit in hits:
        place = " › ".join(hit.chunk.path)
        about = _about(hit, verbose=verbose)
        console.print(
            f"[bold]{hit.rank}. {escape(place)}[/bold]"
            + (f"  [dim]{about}[/dim]" if about else ""),
            highlight=False,
        )
        console.print(f"   {escape(hit.chunk.url)}", style="dim", highlight=False, soft_wrap=True)
        for chunk in context.get(hit.chunk.id, [hit.chunk]):
            print_indented(
                console,
                preview(chunk.text, PREVIEW),
                indent=3,
                style="" if chunk.id == hit.chunk.id else "dim",
            )


def _about(hit: Hit, *, verbose: bool) -> str:
    scores = (f"similarity {hit.similarity:.2f}", f"cosine {hit.cosine:.2f}") if verbose else ()
    role = "" if hit.chunk.role == "text" else hit.chunk.role
    piece = f"piece {hit.chunk.piece}" if hit.chunk.piece else ""
    return ", ".join(filter(None, (*scores, role, piece)))


async def _search(
    settings: Settings, question: str, book: str | None, filters: Filters, reach: tuple[int, int]
) -> tuple[tuple[Hit, ...], dict[str, Sequence[Chunk]]]:
    """Return the hits, and the passages to show for each: itself and those around it."""
    top_k, around = reach
    async with wire_services(settings) as services:
        index = services.library.open(book)
        found = await services.searcher.search(index, question, filters=filters, top_k=top_k)
        ids = [hit.chunk.id for hit in found.relevant] if around else []
        return found.relevant, {identity: index.neighbours(identity, around) for identity in ids}
