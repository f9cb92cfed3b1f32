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
    """Serve the books as MCP tools on standard input and output.

    `citewell serve` has the same tools over HTTP at `/mcp`.
    """
    asyncio.run(_serve(settings_from(data_dir, book=book)))


async def _serve(settings: Settings) -> None:
    # Imported here: the agent stack takes seconds to load, and bad settings must fail at once.
    from citewell.api.app import wrap_answerer
    from citewell.api.routes.mcp import mcp_server
    from citewell.wiring import wire_services

    async with wire_services(settings, use_caches=True) as services:
        services.library.books()
        await mcp_server(services, wrap_answerer(services, services.answerer)).run_stdio_async()
