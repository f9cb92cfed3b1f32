"""`quire ask "…"`."""

import asyncio
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from quire.cli.options import (
    book_option,
    data_option,
    filter_option,
    filters_from,
    settings_from,
)
from quire.compose import build
from quire.domain import Answer, Question
from quire.errors import BadRequest
from quire.events import Done, Sentence
from quire.settings import Settings

MAX_LENGTH = 1000


@click.command()
@click.argument("question")
@click.option("--thread", help="Continue the conversation with this id.")
@click.option("--top-k", default=5, show_default=True, type=click.IntRange(1, 10))
@filter_option
@book_option
@data_option
def command(
    question: str,
    thread: str | None,
    top_k: int,
    filters: tuple[str, ...],
    book: str | None,
    data_dir: Path | None,
) -> None:
    """Ask QUESTION about the book; sentences appear as they are proven, then their sources."""
    question = question.strip()
    if not question or len(question) > MAX_LENGTH:
        raise BadRequest(f"A question has 1 to {MAX_LENGTH} characters; this has {len(question)}.")
    settings = settings_from(data_dir)
    where = filters_from(filters)
    asked = Question(text=question, book=book, thread_id=thread, top_k=top_k, filters=where)
    asyncio.run(_ask(settings, asked))


async def _ask(settings: Settings, question: Question) -> None:
    console = Console()
    async with build(settings, say=Console(stderr=True).print) as services:
        answer: Answer | None = None
        async for event in services.answerer.answer(question):
            if isinstance(event, Sentence):
                console.print(escape(event.text), end="", highlight=False, soft_wrap=True)
            elif isinstance(event, Done):
                answer = event.answer
    assert answer is not None, "the pipeline ended without `Done`"
    if answer.status == "not_in_book":
        console.print(escape(answer.text), highlight=False)
    else:
        console.print()
        if answer.citations:
            _print_sources(console, answer)
    console.print(
        f"\n[dim]confidence {answer.confidence.level}, {answer.timings.total_ms:.0f} ms; "
        f"follow up with --thread {answer.thread_id}[/dim]",
        highlight=False,
    )


def _print_sources(console: Console, answer: Answer) -> None:
    console.print("\n[bold]Sources[/bold]")
    for citation in answer.citations:
        place = f"{citation.chapter} › {citation.section}"
        quote = " ".join(citation.quote.split())
        console.print(f"  [bold]\\[{citation.number}][/bold] {escape(place)}", highlight=False)
        console.print(f"      “{escape(quote)}”", style="italic", highlight=False, soft_wrap=True)
        console.print(f"      {escape(citation.url)}", style="dim", highlight=False, soft_wrap=True)
