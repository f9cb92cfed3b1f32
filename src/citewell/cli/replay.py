"""`citewell replay ID`."""

import asyncio
import sys
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from citewell.answer.replay import PassageChange, Replay
from citewell.cli.options import data_option, settings_from
from citewell.cli.terminal import print_line
from citewell.conversation import ANY_OWNER
from citewell.errors import CitewellError
from citewell.settings import Settings
from citewell.wiring import wire_services


class ReplayFailed(click.ClickException):
    """The answer could not be replayed."""

    exit_code = 2  # as for `diff`, 1 means that something differs


@click.command()
@click.argument("answer_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as the HTTP API returns it.")
@data_option
def command(answer_id: str, as_json: bool, data_dir: Path | None) -> None:
    """Repeat the search and verification of the answer ID against the current book.

    The exit code is 0 if nothing differs, 1 if something does, and 2 if the replay failed.
    """
    try:
        replay = asyncio.run(_replay(settings_from(data_dir), answer_id))
    except CitewellError as error:
        raise ReplayFailed(f"{error} {error.advice}") from error
    if as_json:
        from citewell.api.routes.answers import replay_to_wire

        click.echo(replay_to_wire(replay).model_dump_json(indent=1))
    else:
        _print_replay(replay, Console())
    sys.exit(1 if replay.differs else 0)


async def _replay(settings: Settings, answer_id: str) -> Replay:
    async with wire_services(settings) as services:
        return await services.receipts.replay(answer_id, owner=ANY_OWNER)


def _print_replay(replay: Replay, console: Console) -> None:
    show = partial(print_line, console)
    show("Something differs." if replay.differs else "Nothing differs.", "bold")
    revision = (
        f"{replay.revision_before} then, {replay.revision_after} now"
        if replay.revision_changed
        else f"{replay.revision_after}, unchanged"
    )
    show(f"  book {replay.book}, revision {revision}")
    for change in replay.passages:
        show(f"  passage {change.kind}: {change.chapter} › {change.section}{_rank_change(change)}")
    for quote in replay.lost_quotes:
        show(f"  no longer in the book: “{' '.join(quote.quote.split())}”", "red")
    for verdict in replay.verdicts:
        claim = " ".join(verdict.claim.split())
        show(f"  {verdict.before} then, {verdict.after} now: {claim}", "red")
    before = "answered" if replay.answered_before else "refused"
    after = "answered" if replay.answered_after else "refused"
    if before != after:
        show(f"  {before} then, would be {after} now", "red")
    else:
        show(f"  {before} then, and would be now")
    if replay.level_before != replay.level_after:
        show(f"  confidence {replay.level_before} then, {replay.level_after} now")


def _rank_change(change: PassageChange) -> str:
    def show(rank: int | None, similarity: float | None) -> str:
        return f"{rank}. with {similarity:.3f}" if rank and similarity is not None else "none"

    before = show(change.rank_before, change.similarity_before)
    return f" ({before} → {show(change.rank_after, change.similarity_after)})"
