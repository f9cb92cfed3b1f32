"""`quire bench retrieval`: how well passages are found, refused, scored, and how fast."""

import asyncio
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from quire.cli.figures import print_figures
from quire.cli.options import data_option, settings_from, shared_option
from quire.compose import (
    books_folder,
    build_embedder,
    build_library,
    build_reader,
    build_searcher,
)
from quire.domain import Filters
from quire.evals.retrieval import (
    CORPUS,
    TOP_K,
    Found,
    QuestionSet,
    read_set,
    run_set,
    write_book,
)
from quire.evals.retrieval_figures import figures
from quire.evals.retrieval_report import summary_of, write_retrieval_report, write_summary
from quire.evals.sets import find_sets
from quire.evals.timing import Stopwatch, TimedEmbedder, TimedReader, forget_peak, peak_mb
from quire.settings import Settings


@click.command()
@click.argument("sets", nargs=-1)
@click.option("--queries", default="queries.jsonl", show_default=True, help="File of questions.")
@click.option("--limit", type=click.IntRange(1), help="Take a random sample of this size.")
@shared_option
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the reports.")
@data_option
def retrieval(
    *,
    sets: tuple[str, ...],
    queries: str,
    limit: int | None,
    shared: Path,
    out: Path | None,
    data_dir: Path | None,
) -> None:
    """Search for every question of labelled SETS and report how often the right passage is found.

    A set is a folder with `corpus.jsonl` and `queries.jsonl`, or the name of one in the shared
    folder; without SETS all of those are taken. The index is kept in the data folder, so that only
    the first run embeds.
    """
    settings = settings_from(data_dir)
    console = Console()
    reports = out or settings.data_dir / "reports"
    measured: list[tuple[QuestionSet, dict[str, Any]]] = []
    for folder in find_sets(sets, shared / "data" / "retrieval", CORPUS):
        asked = read_set(folder, queries, limit)
        found, seen = _measure(settings, folder, asked, console)
        page = write_retrieval_report(reports, asked, found, seen, build_embedder(settings).id)
        console.print(str(page), markup=False, highlight=False, soft_wrap=True)
        measured.append((asked, seen))
    if len(measured) > 1:
        page = write_summary(reports, measured)
        console.print(str(page), markup=False, highlight=False, soft_wrap=True)
    print_figures(console, [(asked.name, summary_of(asked, seen)) for asked, seen in measured])


def _measure(
    settings: Settings, folder: Path, asked: QuestionSet, console: Console
) -> tuple[list[Found], dict[str, Any]]:
    # Imported here: the readers of every format take a while to load.
    from quire.ingest.pipeline import ingest

    book = f"bench-{asked.name}"
    source = write_book(folder, settings.data_dir / "bench" / asked.name)
    forget_peak()
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(f"Embedding {asked.name}", total=None)
        report = ingest(
            source,
            books_folder(settings),
            build_embedder(settings),
            book=book,
            options=settings.ingest,
            progress=lambda _, done, total: bar.update(task, completed=done, total=total or 1),
        )
        indexing = peak_mb()
        forget_peak()
        task = bar.add_task(f"Asking {asked.name}", total=len(asked.queries))
        found = asyncio.run(_ask(settings, book, asked, bar, task))
    seen = figures(asked, found)
    seen |= {"peak_mb": peak_mb(), "peak_mb_indexing": indexing, "embedded": report.embedded}
    return found, seen


async def _ask(
    settings: Settings, book: str, asked: QuestionSet, bar: Progress, task: Any
) -> list[Found]:
    from quire.retrieve.evidence import EvidenceReader

    watch = Stopwatch()
    embedder = TimedEmbedder(build_embedder(settings), watch)
    evidence = EvidenceReader(TimedReader(build_reader(settings), watch))
    searcher = build_searcher(settings, embedder, evidence)
    library = build_library(settings)
    try:
        index = library.open(book)
        await searcher.search(index, "warm up", filters=Filters(), top_k=TOP_K)
        return await run_set(
            asked, searcher, index, watch, lambda done, _: bar.update(task, completed=done)
        )
    finally:
        library.close()
