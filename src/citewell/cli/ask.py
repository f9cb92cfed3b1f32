"""`citewell ask "…"`."""

import asyncio
from itertools import groupby
from pathlib import Path
from typing import TextIO

import click
from rich.console import Console
from rich.markup import escape

from citewell.cli.options import (
    book_option,
    data_option,
    filter_option,
    parse_filters,
    settings_from,
)
from citewell.cli.terminal import WordWrapper, print_indented
from citewell.domain import Answer, Question
from citewell.errors import BadRequest
from citewell.events import NOTICES, Done, Sentence
from citewell.settings import Settings
from citewell.text.plain_text import plain
from citewell.wiring import wire_services

MAX_QUESTION_LENGTH = 1000


@click.command()
@click.argument("question")
@click.option("--thread", help="Continue the conversation with this id.")
@click.option("--top-k", default=5, show_default=True, type=click.IntRange(1, 10))
@click.option("--selected", metavar="TEXT", help="Answer from this text alone.")
@click.option(
    "--selection",
    type=click.File(encoding="utf-8", errors="replace"),
    help="Answer from the text in this file alone; - is standard input.",
)
@filter_option
@book_option
@data_option
def command(  # noqa: PLR0913 - one parameter per option
    question: str,
    *,
    thread: str | None,
    top_k: int,
    selected: str | None,
    selection: TextIO | None,
    filters: tuple[str, ...],
    book: str | None,
    data_dir: Path | None,
) -> None:
    """Ask QUESTION about the book; verified sentences stream first, then their sources."""
    question = question.strip()
    if not question or len(question) > MAX_QUESTION_LENGTH:
        raise BadRequest(
            f"A question has 1 to {MAX_QUESTION_LENGTH} characters; this has {len(question)}."
        )
    if selected is not None and selection is not None:
        raise click.UsageError("Give --selected or --selection, not both.")
    request = Question(
        text=question,
        book=book,
        thread_id=thread,
        top_k=top_k,
        filters=parse_filters(filters),
        selected_text=selection.read() if selection else selected,
    )
    asyncio.run(_print_answer(settings_from(data_dir), request))


async def _print_answer(settings: Settings, question: Question) -> None:
    console = Console()
    writer = WordWrapper(console)
    async with wire_services(settings, on_status=Console(stderr=True).print) as services:
        answer: Answer | None = None
        async for event in services.answerer.answer(question):
            if isinstance(event, Sentence):
                writer.write(event.text)
            elif isinstance(event, Done):
                answer = event.answer
    assert answer is not None, "the pipeline ended without `Done`"
    if not answer.claims:  # a refusal is not streamed
        console.print(escape(answer.text), highlight=False)
    else:
        console.print()
        if answer.citations:
            _print_sources(console, answer)
    for notice in answer.notices:
        console.print(f"\n{NOTICES[notice]}", highlight=False)
    level = f"confidence {answer.confidence.level}, " if answer.confidence.should_answer else ""
    console.print(
        f"\n[dim]{level}{answer.timings.total_ms:.0f} ms\n"
        f"follow up with --thread {answer.thread_id}\n"
        f"full record: citewell receipt {answer.id}[/dim]",
        highlight=False,
        soft_wrap=True,
    )


def _print_sources(console: Console, answer: Answer) -> None:
    console.print("\n[bold]Sources[/bold]")
    by_number = sorted(answer.citations, key=lambda citation: citation.number)
    for number, group in groupby(by_number, key=lambda citation: citation.number):
        citations = list(group)
        first = citations[0]
        path = " › ".join(dict.fromkeys((first.chapter, first.section)))
        console.print(f"  [bold]\\[{number}][/bold] {escape(path)}", highlight=False)
        for quote in dict.fromkeys(plain(citation.quote) for citation in citations):
            print_indented(console, f"“{quote}”", indent=6, style="italic")
        url = first.url or "the text you gave; it is not in the book"
        console.print(f"      {escape(url)}", style="dim", highlight=False, soft_wrap=True)
