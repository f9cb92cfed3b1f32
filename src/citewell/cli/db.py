"""`citewell db upgrade|current`."""

import asyncio
from pathlib import Path

import click

from citewell.cli.options import data_option, settings_from
from citewell.settings import Settings
from citewell.wiring import build_databases


@click.group()
def command() -> None:
    """Manage the database schema; the service also upgrades it at startup."""


@command.command()
@data_option
def upgrade(data_dir: Path | None) -> None:
    """Upgrade the schema to the newest revision."""
    settings = settings_from(data_dir)
    asyncio.run(upgrade_all(settings))
    click.echo(asyncio.run(_current(settings)))


@command.command()
@data_option
def current(data_dir: Path | None) -> None:
    """Show the schema revision of each database."""
    click.echo(asyncio.run(_current(settings_from(data_dir))))


async def upgrade_all(settings: Settings) -> None:
    """Upgrade the schema of every database."""
    from citewell.storage.migrate import upgrade

    for database in build_databases(settings):
        await upgrade(database)


async def _current(settings: Settings) -> str:
    from citewell.storage.migrate import REVISIONS, current_revision

    lines = []
    for database in build_databases(settings):
        revision = await current_revision(database)
        is_newest = revision == REVISIONS[-1]
        note = " (the newest)" if is_newest else f"; the newest is {REVISIONS[-1]}"
        lines.append(f"{database}: schema {revision or 'none'}{note}")
    return "\n".join(lines)
