"""`quire bench …`."""

import asyncio
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from quire.cli import (
    bench_confidence,
    bench_grounding,
    bench_injection,
    bench_reading,
    bench_retrieval,
)
from quire.cli.options import book_option, data_option, settings_from
from quire.compose import build
from quire.evals.conversations import follow, read_conversations
from quire.evals.golden import GoldenResult, read_golden, run_golden
from quire.settings import Settings

KINDS = ("covered", "followup", "uncovered")


@click.group()
def command() -> None:
    """Measure answers on question sets, and how a book is read."""


for one in (
    bench_retrieval.retrieval,
    bench_confidence.confidence,
    bench_grounding.grounding,
    bench_grounding.adversarial,
    bench_grounding.scripted,
    bench_injection.injection,
    bench_reading.reading,
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
