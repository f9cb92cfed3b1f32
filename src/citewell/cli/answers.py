"""`citewell answers`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click
from rich.console import Console
from rich.markup import escape

from citewell.cli.options import data_option, settings_from
from citewell.conversation import ANY_OWNER, AnswerEntry
from citewell.domain import AnswerState
from citewell.settings import Settings
from citewell.wiring import build_threads


@click.command()
@click.option(
    "--state", type=click.Choice(get_args(AnswerState)), help="Only answers in this state."
)
@click.option("--flagged", is_flag=True, help="The same as --state flagged.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 100))
@data_option
def command(state: AnswerState | None, flagged: bool, limit: int, data_dir: Path | None) -> None:
    """List answers, newest first, with the claims that the book does not support."""
    entries = asyncio.run(_read(settings_from(data_dir), "flagged" if flagged else state, limit))
    console = Console()
    for entry in entries:
        console.print(
            f"[bold]{escape(entry.question)}[/bold]\n"
            f"  [dim]{entry.state}, {escape(entry.book)}, {entry.created_at:%Y-%m-%d %H:%M}, "
            f"answer {entry.id} of conversation {entry.thread_id}[/dim]",
            highlight=False,
            soft_wrap=True,
        )
        for claim in entry.unsupported:
            text = escape(" ".join(claim.split()))
            console.print(f"  not in the book: {text}", highlight=False, soft_wrap=True)
    if not entries:
        click.echo("There are none.", err=True)


async def _read(settings: Settings, state: AnswerState | None, limit: int) -> Sequence[AnswerEntry]:
    threads = build_threads(settings)
    await threads.open()
    try:
        return await threads.answers(state=state, limit=limit, offset=0, owner=ANY_OWNER)
    finally:
        await threads.close()
