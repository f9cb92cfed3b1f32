"""`quire bench confidence`: whether answers are as often right as they are said to be."""

import asyncio
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from quire.cli.bench_grounding import LIMIT, OUT
from quire.cli.figures import print_figures
from quire.cli.options import data_option, settings_from, shared_option
from quire.compose import books_folder, build, build_embedder
from quire.evals.answering import Replied, ask_set, figures, write_confidence_report
from quire.evals.retrieval import CORPUS, QuestionSet, read_set, write_book
from quire.evals.sets import find_sets
from quire.settings import Settings


@click.command()
@click.argument("sets", nargs=-1)
@click.option("--queries", default="queries.jsonl", show_default=True, help="File of questions.")
@LIMIT
@shared_option
@OUT
@data_option
def confidence(
    *,
    sets: tuple[str, ...],
    queries: str,
    limit: int | None,
    shared: Path,
    out: Path | None,
    data_dir: Path | None,
) -> None:
    """Ask every question of labelled SETS and compare what is said of each answer with the truth.

    A set is a folder with `corpus.jsonl` and `queries.jsonl`, or the name of one in the shared
    folder; without SETS all of those are taken.
    """
    settings = settings_from(data_dir)
    console = Console()
    rows = []
    for folder in find_sets(sets, shared / "data" / "retrieval", CORPUS):
        asked = read_set(folder, queries, limit)
        replies = ask_all(settings, folder, asked, console)
        seen = figures(replies)
        page = write_confidence_report(out or settings.data_dir / "reports", asked, replies, seen)
        console.print(str(page), markup=False, highlight=False, soft_wrap=True)
        shown = {name: str(value) for name, value in seen.items() if name != "reliability"}
        rows.append((asked.name, shown))
    print_figures(console, rows)


def ask_all(
    settings: Settings, folder: Path, asked: QuestionSet, console: Console
) -> list[Replied]:
    """Ingest the set's book, unless that was done, and ask every question."""
    # Imported here: the readers of every format take a while to load.
    from quire.ingest.pipeline import ingest

    book = f"bench-{asked.name}"
    source = write_book(folder, settings.data_dir / "bench" / asked.name)
    ingest(
        source, books_folder(settings), build_embedder(settings), book=book, options=settings.ingest
    )

    async def run() -> list[Replied]:
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(f"Asking {asked.name}", total=len(asked.queries))
            async with build(settings) as services:
                return await ask_set(
                    asked,
                    services.answerer,
                    book,
                    lambda done, _: bar.update(task, completed=done),
                )

    return asyncio.run(run())
