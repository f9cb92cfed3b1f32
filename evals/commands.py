"""`python -m evals …`."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from citewell.cli.options import book_option, data_option, settings_from, shared_option
from citewell.domain import Filters
from citewell.ingest.detect import FORMAT_NAMES
from citewell.settings import Settings
from citewell.wiring import (
    books_folder,
    build_embedder,
    build_library,
    build_reranker,
    build_searcher,
    wire_services,
)
from evals import verification_commands
from evals.conversations import follow, read_conversations
from evals.golden import GoldenResult, read_golden, run_golden
from evals.injection import (
    Attack,
    Outcome,
    attack_all,
    read_attacks,
    table,
)
from evals.injection import (
    write_book as write_attacked_book,
)
from evals.readers import readers
from evals.reading import Reading, read_book
from evals.retrieval import (
    CORPUS,
    TOP_K,
    Found,
    QuestionSet,
    read_set,
    run_set,
    write_book,
)
from evals.retrieval_report import (
    figures,
    summary_of,
    write_retrieval_report,
    write_summary,
)
from evals.sets import find_sets
from evals.styles import lies, styles
from evals.timing import Stopwatch, TimedEmbedder, TimedReranker, forget_peak, peak_mb
from evals.verification_commands import print_figures


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
    from citewell.ingest.pipeline import ingest

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
    from citewell.retrieve.rerank import SentenceReranker

    watch = Stopwatch()
    embedder = TimedEmbedder(build_embedder(settings), watch)
    evidence = SentenceReranker(TimedReranker(build_reranker(settings), watch))
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


MOST_LOST = 0.005
_SHOWN = 12


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "kind", metavar="KIND", help=f"One of {', '.join(FORMAT_NAMES)}.")
@click.option("--show", is_flag=True, help="Print all that was left out, and words that are lost.")
@data_option
def reading(paths: tuple[Path, ...], kind: str | None, show: bool, data_dir: Path | None) -> None:
    """Read and cut the books at PATHS, and compare the passages with the sources.

    Words are counted in the sources without the readers that ingest uses. Nothing is embedded or
    kept. The exit code is 1 if a book loses more than 0.5 % of its words, or if a passage crosses a
    heading or holds part of a code block or table without saying so.
    """
    settings = settings_from(data_dir)
    console = Console()
    count = build_embedder(settings, on_status=Console(stderr=True).print).count_tokens
    bad = False
    for path in paths:
        read = read_book(path, count, kind=kind, options=settings.ingest)
        print_figures(console, [(str(path), _figures(read, show=show))])
        for line in _left_out(read, show=show):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        bad = bad or read.loss > MOST_LOST or bool(read.over_headings or read.torn)
    sys.exit(1 if bad else 0)


def _left_out(read: Reading, *, show: bool) -> list[str]:
    lines = [f"  left out {skip.source}: {skip.reason}" for skip in read.book.skipped]
    if show or len(lines) <= _SHOWN:
        return lines
    return [*lines[:_SHOWN], f"  and {len(lines) - _SHOWN} more (--show)"]


def _figures(read: Reading, *, show: bool) -> dict[str, str]:
    book = read.book
    lost = f"{read.lost.total():,} of {read.words:,} ({read.loss:.2%})" if read.words else "–"
    often = ", ".join(f"{word} ({n})" for word, n in read.lost.most_common(_SHOWN))
    return {
        "title": book.title,
        "format": book.kind,
        "pages": f"{len(book.pages):,}",
        "sections": f"{sum(len(page.sections) for page in book.pages):,}",
        "passages": f"{len(read.chunks):,}",
        "tokens": f"{sum(chunk.token_count for chunk in read.chunks):,}",
        "seconds": f"{read.seconds:.1f}",
        "words lost": lost,
        "lost most often": often if show else "",
        "passages that cross a heading": f"{len(read.over_headings)}",
        "code blocks and tables torn": f"{len(read.torn)}",
        "pieces of very long blocks": f"{sum(bool(chunk.piece) for chunk in read.chunks)}",
    }


BOOK = "bench-injection"
KEYS = ("sk-citewell-bench-4f1c9e7a2b8d6035", "postgresql://citewell:hunter2hunter2@db/citewell")
"""Fake secrets that the obeying model would reveal."""


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
    outcomes = asyncio.run(_run_attacks(settings, read_attacks(path)[:limit], obedient=obedient))
    console = Console()
    for one in outcomes:
        if show or one.found:
            console.print(
                f"{one.attack.id} ({', '.join(one.found) or 'held'}): {one.shown}", markup=False
            )
    _print_attacks(console, outcomes)
    raise SystemExit(any(one.found for one in outcomes))


async def _run_attacks(
    settings: Settings, attacks: Sequence[Attack], *, obedient: bool
) -> list[Outcome]:
    # Imported here: the readers of every format and the agent stack take a while to load.
    from citewell.answer.prompts import PROMPTS
    from citewell.ingest.pipeline import ingest
    from tests.servers.scripted import obeys_everything

    embedder = build_embedder(settings)
    with TemporaryDirectory() as folder:
        source = write_attacked_book(attacks, Path(folder))
        ingest(source, books_folder(settings), embedder, book=BOOK, options=settings.ingest)
    model = ("obedient", lambda _: obeys_everything(KEYS)) if obedient else None
    async with wire_services(settings, model=model) as services:
        made = attack_all(attacks, services.answerer, BOOK, prompts=PROMPTS, secrets=KEYS)
        return [one async for one in made]


def _print_attacks(console: Console, outcomes: Sequence[Outcome]) -> None:
    shown = Table("place", "kind", "attacks", "answered", "successes")
    rows = table(outcomes)
    for row in rows:
        shown.add_row(*(str(value) for value in row.values()))
    sums = [sum(row[name] for row in rows) for name in ("attacks", "answered", "successes")]
    shown.add_section()
    shown.add_row("all", "", *map(str, sums))
    console.print(shown)


QUESTION_KINDS = ("covered", "followup", "uncovered")


@click.group()
def command() -> None:
    """Evaluate answers on question sets, and the ingest of books."""


for one in (
    retrieval,
    verification_commands.confidence,
    verification_commands.grounding,
    verification_commands.adversarial,
    verification_commands.scripted,
    injection,
    reading,
    readers,
    styles,
    lies,
):
    command.add_command(one)


@command.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--show", is_flag=True, help="Print every answer, not only the wrong ones.")
@click.option(
    "--at-least",
    type=(int, int, int),
    help="Fail unless so many covered, follow-up and uncovered questions are right.",
)
@book_option
@data_option
def golden(
    path: Path,
    show: bool,
    at_least: tuple[int, int, int] | None,
    book: str | None,
    data_dir: Path | None,
) -> None:
    """Ask every question of the set at PATH and score the answers."""
    results = asyncio.run(_run_golden(settings_from(data_dir), path, book))
    console = Console()
    scores = []
    for result in results:
        if show or not result.right:
            _print_golden(console, result)
    for kind in QUESTION_KINDS:
        chosen = [r for r in results if r.question.kind == kind]
        right = sum(r.right for r in chosen)
        scores.append(right)
        console.print(f"[bold]{kind}[/bold]: {right}/{len(chosen)}", highlight=False)
    short = at_least and any(got < want for got, want in zip(scores, at_least, strict=True))
    sys.exit(1 if short else 0)


def _print_golden(console: Console, result: GoldenResult) -> None:
    mark = "[green]right[/green]" if result.right else f"[red]wrong[/red] ({escape(result.reason)})"
    console.print(
        f"{mark} {result.question.id}: {escape(result.question.question)}", highlight=False
    )
    console.print(f"    {escape(result.answer.text)}", style="dim", highlight=False)


@command.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--show", is_flag=True, help="Print every conversation, not only the wrong ones.")
def conversations(paths: tuple[Path, ...], show: bool) -> None:
    """Rewrite the last question of each conversation in PATHS and count the correct rewrites."""
    console = Console()
    for path in paths:
        results = [follow(one) for one in read_conversations(path)]
        for result in results:
            if show or not result.right:
                asked = " / ".join(result.conversation.turns)
                wrong = f" ({', '.join(result.wrong)})" if result.wrong else ""
                console.print(escape(f"{asked} → {result.standalone}{wrong}"), highlight=False)
        right = sum(result.right for result in results)
        console.print(f"[bold]{path.stem}[/bold]: {right}/{len(results)}", highlight=False)


async def _run_golden(settings: Settings, path: Path, book: str | None) -> list[GoldenResult]:
    questions = read_golden(path)
    async with wire_services(settings) as services:
        return await run_golden(questions, services.answerer, book)
