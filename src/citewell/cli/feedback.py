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

ID_WIDTH = 36


@click.command()
@click.option("--verdict", type=click.Choice(get_args(ReaderVerdict)), help="Only this verdict.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 100))
@click.option("--json", "as_json", is_flag=True, help="Print it for machines, as the service does.")
@data_option
def command(
    verdict: ReaderVerdict | None, limit: int, as_json: bool, data_dir: Path | None
) -> None:
    """List what readers think of answers, the newest first."""
    entries = asyncio.run(_read(settings_from(data_dir), verdict, limit))
    if as_json:
        from pydantic import TypeAdapter

        from citewell.api.routes.feedback import ListedFeedback, feedback_to_wire

        lines = [feedback_to_wire(entry) for entry in entries]
        click.echo(TypeAdapter(list[ListedFeedback]).dump_json(lines, indent=1).decode())
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
    table.add_column(
        "answer", no_wrap=True, min_width=ID_WIDTH
    )  # `citewell receipt` needs all of it
    for entry in entries:
        given = entry.feedback
        why = ": ".join(said for said in (given.reason, given.comment) if said)
        cells = (
            f"{given.created_at:%Y-%m-%d %H:%M}",
            given.verdict,
            entry.question,
            why,
            given.answer_id,
        )
        # As plain text: readers write brackets too.
        table.add_row(*(Text(cell) for cell in cells))
    return table
