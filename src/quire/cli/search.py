"""`quire search "…"`."""

import asyncio
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from quire.cli.options import book_option, data_option, settings_from
from quire.compose import build
from quire.domain import Filters, Hit
from quire.settings import Settings

PREVIEW = 240


@click.command()
@click.argument("question")
@click.option("--top-k", default=5, show_default=True, type=click.IntRange(1, 10))
@click.option("--chapter", multiple=True, help="Search only this chapter; may be repeated.")
@click.option("--section", multiple=True, help="Search only this section; may be repeated.")
@book_option
@data_option
def command(
    question: str,
    top_k: int,
    chapter: tuple[str, ...],
    section: tuple[str, ...],
    book: str | None,
    data_dir: Path | None,
) -> None:
    """Show the passages of the book nearest to QUESTION."""
    filters = Filters(chapter=chapter, section=section)
    hits = asyncio.run(_search(settings_from(data_dir), question, book, filters, top_k))
    console = Console()
    if not hits:
        console.print("Nothing found.")
    for hit in hits:
        place = " › ".join(hit.chunk.path)
        console.print(
            f"[bold]{hit.rank}. {escape(place)}[/bold]  "
            f"[dim]similarity {hit.similarity:.2f}, cosine {hit.cosine:.2f}[/dim]",
            highlight=False,
        )
        console.print(f"   {escape(hit.chunk.url)}", style="dim", highlight=False, soft_wrap=True)
        text = " ".join(hit.chunk.text.split())
        console.print(
            f"   {escape(text[:PREVIEW])}{'…' if len(text) > PREVIEW else ''}", highlight=False
        )


async def _search(
    settings: Settings, question: str, book: str | None, filters: Filters, top_k: int
) -> tuple[Hit, ...]:
    async with build(settings) as services:
        index = services.library.open(book)
        found = await services.searcher.search(index, question, filters=filters, top_k=top_k)
    return found.hits
