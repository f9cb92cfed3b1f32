"""`citewell replay ID`."""

import asyncio
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from citewell.answer.replay import PassageChange, Replay
from citewell.cli.options import data_option, settings_from
from citewell.conversation import ANY_OWNER
from citewell.errors import CitewellError
from citewell.settings import Settings
from citewell.wiring import wire_services


class ReplayFailed(click.ClickException):
    """It cannot be told whether something differs; 1 is taken, as with `diff`."""

    exit_code = 2


@click.command()
@click.argument("answer_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print it for machines, as the service does.")
@data_option
def command(answer_id: str, as_json: bool, data_dir: Path | None) -> None:
    """Search and check again for the answer ID, against the book as it is now.

    Exits with 0 if nothing differs, 1 if something does, and 2 if it cannot be told.
    """
    try:
        replay = asyncio.run(_replay(settings_from(data_dir), answer_id))
    except CitewellError as error:
        raise ReplayFailed(f"{error} {error.advice}") from error
    if as_json:
        from citewell.api.routes.answers import replay_to_wire

        click.echo(replay_to_wire(replay).model_dump_json(indent=1))
    else:
        print_replay(replay, Console())
    sys.exit(1 if replay.differs else 0)


async def _replay(settings: Settings, answer_id: str) -> Replay:
    async with wire_services(settings) as services:
        return await services.receipts.replay(answer_id, owner=ANY_OWNER)


def print_replay(replay: Replay, console: Console) -> None:
    """Print what differs, for a reader."""

    def say(line: str, style: str = "") -> None:
        console.print(Text(line, style=style), soft_wrap=True)

    say("Something differs." if replay.differs else "Nothing differs.", "bold")
    now = (
        f"{replay.revision_before} then, {replay.revision_after} now"
        if replay.revision_changed
        else f"{replay.revision_after}, unchanged"
    )
    say(f"  book {replay.book}, revision {now}")
    for change in replay.passages:
        say(f"  passage {change.kind}: {change.chapter} › {change.section}{_figures(change)}")
    for quote in replay.lost_quotes:
        say(f"  no longer in the book: “{' '.join(quote.quote.split())}”", "red")
    for verdict in replay.verdicts:
        words = " ".join(verdict.claim.split())
        say(f"  {verdict.before} then, {verdict.after} now: {words}", "red")
    said = {True: "answered", False: "refused"}
    if replay.answered_before != replay.answered_after:
        say(
            f"  {said[replay.answered_before]} then, would be {said[replay.answered_after]} now",
            "red",
        )
    else:
        say(f"  {said[replay.answered_before]} then, and would be now")
    if replay.level_before != replay.level_after:
        say(f"  confidence {replay.level_before} then, {replay.level_after} now")


def _figures(change: PassageChange) -> str:
    def one(rank: int | None, similarity: float | None) -> str:
        return f"{rank}. with {similarity:.3f}" if rank and similarity is not None else "none"

    before = one(change.rank_before, change.similarity_before)
    return f" ({before} → {one(change.rank_after, change.similarity_after)})"
