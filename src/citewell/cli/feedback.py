"""`citewell feedback`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from citewell.cli.options import data_option, settings_from
from citewell.conversation import FeedbackEntry, ReaderVerdict
from citewell.settings import Settings
from citewell.wiring import build_feedback, build_threads

UUID_LENGTH = 36


@click.command()
@click.option("--verdict", type=click.Choice(get_args(ReaderVerdict)), help="Only this verdict.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 100))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as the HTTP API returns it.")
@data_option
def command(
    verdict: ReaderVerdict | None, limit: int, as_json: bool, data_dir: Path | None
) -> None:
    """List readers' feedback on answers, newest first."""
    entries = asyncio.run(_read(settings_from(data_dir), verdict, limit))
    if as_json:
        from pydantic import TypeAdapter

        from citewell.api.routes.feedback import FeedbackItem, feedback_to_wire

        items = [feedback_to_wire(entry) for entry in entries]
        click.echo(TypeAdapter(list[FeedbackItem]).dump_json(items, indent=1).decode())
    elif entries:
        Console().print(_table(entries))
    else:
        click.echo("There is none.", err=True)


async def _read(
    settings: Settings, verdict: ReaderVerdict | None, limit: int
) -> Sequence[FeedbackEntry]:
    threads = build_threads(settings)
    await threads.open()
    try:
        return await build_feedback(threads).list(verdict=verdict, limit=limit, offset=0)
    finally:
        await threads.close()


def _table(entries: Sequence[FeedbackEntry]) -> Table:
    table = Table("when", "verdict", "question", "why")
    # `citewell receipt` needs the whole id.
    table.add_column("answer", no_wrap=True, min_width=UUID_LENGTH)
    for entry in entries:
        feedback = entry.feedback
        cells = (
            f"{feedback.created_at:%Y-%m-%d %H:%M}",
            feedback.verdict,
            entry.question,
            ": ".join(filter(None, (feedback.reason, feedback.comment))),
            feedback.answer_id,
        )
        # `Text`, because brackets in a string are read as markup.
        table.add_row(*(Text(cell) for cell in cells))
    return table
