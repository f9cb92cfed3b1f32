"""`citewell db upgrade|current`."""

import asyncio
from pathlib import Path

import click

from citewell.cli.options import data_option, settings_from
from citewell.settings import Settings
from citewell.wiring import build_databases


@click.group()
def command() -> None:
    """Look after the tables in the database; the service migrates them when it starts."""


@command.command()
@data_option
def upgrade(data_dir: Path | None) -> None:
    """Bring the tables up to date."""
    settings = settings_from(data_dir)
    asyncio.run(upgrade_all(settings))
    click.echo(asyncio.run(_current(settings)))


@command.command()
@data_option
def current(data_dir: Path | None) -> None:
    """Show how far the tables have been migrated."""
    click.echo(asyncio.run(_current(settings_from(data_dir))))


async def upgrade_all(settings: Settings) -> None:
    """Bring every database up to date."""
    from citewell.storage.migrate import upgrade

    for database in build_databases(settings):
        await upgrade(database)


async def _current(settings: Settings) -> str:
    from citewell.storage.migrate import REVISIONS, current_revision

    lines = []
    for database in build_databases(settings):
        revision = await current_revision(database)
        newest = revision == REVISIONS[-1]
        more = " (the newest)" if newest else f"; the newest is {REVISIONS[-1]}"
        lines.append(f"{database}: schema {revision or 'none'}{more}")
    return "\n".join(lines)
