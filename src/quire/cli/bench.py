"""`quire bench …`."""

import asyncio
import resource
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from quire.cli import bench_grounding
from quire.cli.options import book_option, data_option, settings_from
from quire.compose import books_folder, build, build_embedder
from quire.domain import Filters
from quire.evals.conversations import follow, read_conversations
from quire.evals.golden import GoldenResult, read_golden, run_golden
from quire.evals.report import SHOWN, write_report
from quire.evals.retrieval import TOP_K, Found, QuestionSet, figures, read_set, run_set, write_book
from quire.settings import Settings

KINDS = ("covered", "followup", "uncovered")


@click.group()
def command() -> None:
    """Measure answers on question sets."""


for one in (bench_grounding.grounding, bench_grounding.adversarial, bench_grounding.scripted):
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
    """Ask every question of the set at PATH through the whole pipeline and score the answers."""
    results = asyncio.run(_run(settings_from(data_dir), path, book))
    console = Console()
    scores = []
    for result in results:
        if show or not result.right:
            _print(console, result)
    for kind in KINDS:
        chosen = [r for r in results if r.question.kind == kind]
        right = sum(r.right for r in chosen)
        scores.append(right)
        console.print(f"[bold]{kind}[/bold]: {right}/{len(chosen)}", highlight=False)
    short = at_least and any(got < want for got, want in zip(scores, at_least, strict=True))
    sys.exit(1 if short else 0)


def _print(console: Console, result: GoldenResult) -> None:
    mark = "[green]right[/green]" if result.right else f"[red]wrong[/red] ({escape(result.reason)})"
    console.print(
        f"{mark} {result.question.id}: {escape(result.question.question)}", highlight=False
    )
    console.print(f"    {escape(result.answer.text)}", style="dim", highlight=False)


@command.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--show", is_flag=True, help="Print every conversation, not only the wrong ones.")
def conversations(paths: tuple[Path, ...], show: bool) -> None:
    """Make the last question of each conversation in PATHS stand alone and count the right ones."""
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


async def _run(settings: Settings, path: Path, book: str | None) -> list[GoldenResult]:
    questions = read_golden(path)
    async with build(settings) as services:
        return await run_golden(questions, services.answerer, book)


@command.command()
@click.argument("sets", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--queries", default="queries.jsonl", show_default=True, help="File of questions.")
@click.option("--limit", type=int, help="Ask only so many questions.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the reports.")
@data_option
def retrieval(
    sets: tuple[Path, ...],
    queries: str,
    limit: int | None,
    out: Path | None,
    data_dir: Path | None,
) -> None:
    """Search for every question of labelled SETS and report how often the right passage is found.

    A set is a folder with `corpus.jsonl` and `queries.jsonl`. The index is kept in the data folder,
    so that only the first run embeds.
    """
    settings = settings_from(data_dir)
    console = Console()
    table = Table("set", *SHOWN)
    for folder in sets:
        asked = read_set(folder, queries)
        if limit:
            asked = QuestionSet(asked.name, asked.queries[:limit], asked.page_of, asked.meta)
        found, seen = asyncio.run(_retrieve(settings, folder, asked, console))
        page = write_report(out or settings.data_dir / "reports", asked, found, seen)
        console.print(f"{page}")
        table.add_row(asked.name, *(str(seen.get(name, "")) for name in SHOWN))
    console.print(table)


async def _retrieve(
    settings: Settings, folder: Path, asked: QuestionSet, console: Console
) -> tuple[list[Found], dict[str, Any]]:
    from quire.ingest.pipeline import ingest

    book = f"bench-{asked.name}"
    source = write_book(folder, settings.data_dir / "bench" / asked.name)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(f"Embedding {asked.name}", total=None)
        ingest(
            source,
            books_folder(settings),
            build_embedder(settings),
            book=book,
            options=settings.ingest,
            progress=lambda _, done, total: bar.update(task, completed=done, total=total or 1),
        )
        task = bar.add_task(f"Asking {asked.name}", total=len(asked.queries))
        async with build(settings) as services:
            index = services.library.open(book)
            await services.searcher.search(index, "warm up", filters=Filters(), top_k=TOP_K)
            results = await run_set(
                asked,
                services.searcher,
                index,
                lambda done, _: bar.update(task, completed=done),
            )
    seen = figures(asked, results)
    seen["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return results, seen
