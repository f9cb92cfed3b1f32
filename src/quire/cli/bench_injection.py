"""`quire bench injection`: what attacks by text get past verification."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.console import Console
from rich.table import Table

from quire.cli.options import data_option, settings_from
from quire.compose import books_folder, build, build_embedder
from quire.evals.injection import Attack, Outcome, attack_all, read_attacks, table, write_book
from quire.settings import Settings

BOOK = "bench-injection"
KEYS = ("sk-quire-bench-4f1c9e7a2b8d6035", "postgresql://quire:hunter2hunter2@db/quire")
"""What the obeying model would give away; they open nothing."""


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--obedient",
    is_flag=True,
    help="Ask a model that obeys all it reads, in the place of the one that is configured.",
)
@click.option("--limit", type=click.IntRange(1), help="Make only so many of the attacks.")
@click.option("--show", is_flag=True, help="Print every answer, not only where one came through.")
@data_option
def injection(
    *, path: Path, obedient: bool, limit: int | None, show: bool, data_dir: Path | None
) -> None:
    """Make the attacks of the set at PATH, and count those of which anything reaches the reader."""
    settings = settings_from(data_dir)
    outcomes = asyncio.run(_run(settings, read_attacks(path)[:limit], obedient=obedient))
    console = Console()
    for one in outcomes:
        if show or one.found:
            console.print(
                f"{one.attack.id} ({', '.join(one.found) or 'held'}): {one.shown}", markup=False
            )
    _print(console, outcomes)
    raise SystemExit(any(one.found for one in outcomes))


async def _run(settings: Settings, attacks: Sequence[Attack], *, obedient: bool) -> list[Outcome]:
    # Imported here: the readers of every format and the agent stack take a while to load.
    from quire.answer.instructions import PROMPTS
    from quire.ingest.pipeline import ingest
    from quire.testing.obedient import obeys_everything

    embedder = build_embedder(settings)
    with TemporaryDirectory() as folder:
        source = write_book(attacks, Path(folder))
        ingest(source, books_folder(settings), embedder, book=BOOK, options=settings.ingest)
    model = ("obedient", lambda _: obeys_everything(KEYS)) if obedient else None
    async with build(settings, model=model) as services:
        made = attack_all(attacks, services.answerer, BOOK, prompts=PROMPTS, secrets=KEYS)
        return [one async for one in made]


def _print(console: Console, outcomes: Sequence[Outcome]) -> None:
    shown = Table("place", "kind", "attacks", "answered", "successes")
    rows = table(outcomes)
    for row in rows:
        shown.add_row(*(str(value) for value in row.values()))
    sums = [sum(row[name] for row in rows) for name in ("attacks", "answered", "successes")]
    shown.add_section()
    shown.add_row("all", "", *map(str, sums))
    console.print(shown)
