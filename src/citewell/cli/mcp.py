"""`citewell mcp`."""

import asyncio
from pathlib import Path

import click

from citewell.cli.options import book_option, data_option, settings_from
from citewell.settings import Settings


@click.command()
@book_option
@data_option
def command(book: str | None, data_dir: Path | None) -> None:
    """Offer the books as tools to an agent that speaks MCP, on standard input and output.

    Over HTTP the same tools are at `/mcp` of `citewell serve`.
    """
    asyncio.run(_serve(settings_from(data_dir, book=book)))


async def _serve(settings: Settings) -> None:
    # Imported here: the agent stack takes seconds, and bad settings should be told at once.
    from citewell.api.app import wrap_answerer
    from citewell.api.routes.mcp import mcp_server
    from citewell.wiring import wire_services

    async with wire_services(settings, cached=True) as services:
        services.library.books()
        await mcp_server(services, wrap_answerer(services, services.answerer)).run_stdio_async()
