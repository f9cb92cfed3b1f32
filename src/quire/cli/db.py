"""`quire db upgrade|current`."""

import asyncio
from pathlib import Path

import click

from quire.cli.options import data_option, settings_from
from quire.compose import build_threads
from quire.settings import Settings


@click.group()
def command() -> None:
    """Look after the database of conversations; the service migrates it when it starts."""


@command.command()
@data_option
def upgrade(data_dir: Path | None) -> None:
    """Bring the tables up to date."""
    click.echo(asyncio.run(_upgrade(settings_from(data_dir))))


@command.command()
@data_option
def current(data_dir: Path | None) -> None:
    """Show how far the tables have been migrated."""
    click.echo(asyncio.run(_current(settings_from(data_dir))))


async def _upgrade(settings: Settings) -> str:
    threads = build_threads(settings)
    try:
        await threads.open()
    finally:
        await threads.close()
    return await _current(settings)


async def _current(settings: Settings) -> str:
    from quire.threads.migrate import REVISIONS, current_revision

    threads = build_threads(settings)
    try:
        revision = await current_revision(threads.database)
    finally:
        await threads.close()
    newest = " (the newest)" if revision == REVISIONS[-1] else f"; the newest is {REVISIONS[-1]}"
    return f"{threads.database}: schema {revision or 'none'}{newest}"
