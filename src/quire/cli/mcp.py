"""`quire mcp`."""

import asyncio
from pathlib import Path

import click

from quire.cli.options import book_option, data_option, settings_from
from quire.settings import Settings


@click.command()
@book_option
@data_option
def command(book: str | None, data_dir: Path | None) -> None:
    """Offer the books as tools to an agent that speaks MCP, on standard input and output.

    Over HTTP the same tools are at `/mcp` of `quire serve`.
    """
    asyncio.run(_serve(settings_from(data_dir, book=book)))


async def _serve(settings: Settings) -> None:
    # Imported here: the agent stack takes seconds, and bad settings should be told at once.
    from quire.api.app import placed
    from quire.api.mcp import mcp_server
    from quire.compose import build

    async with build(settings, cached=True) as services:
        services.library.books()
        await mcp_server(services, placed(services, services.answerer)).run_stdio_async()
