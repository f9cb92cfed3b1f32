"""`python -m evals readers`: questions as readers type them, with the facts an answer must show."""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, Literal, TypeVar

import click
from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table

from citewell.cli.options import data_option, settings_from, shared_option
from citewell.domain import Answer, Question
from citewell.events import Done
from citewell.ports import Answerer
from citewell.settings import Settings
from citewell.wiring import books_folder, build_embedder, wire_services
from evals.metrics import auroc, calibration_error
from evals.sets import numbered_lines

FOLDER = Path(__file__).parent / "data/readers"
SAMPLE = Path(__file__).parent.parent / "examples/physical-ai"
FIRST_WORDS = 80
"""Readers see so many words without scrolling."""
Half = Literal["dev", "test"]
Facts = tuple[tuple[str, ...], ...]
T = TypeVar("T")
_MARKS = re.compile(r"\[\d+\]|[*`_\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderQuestion:
    """A question, the same question typed in a hurry, and the facts that answer it."""

    id: str
    book: str
    half: Half
    kind: str
    question: str
    sloppy: str
    facts: Facts
    """Each fact as alternative strings; none if the book does not answer."""
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question of a conversation."""

    question: str
    kind: str
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation of some turns, of which the later ones lean on the earlier ones."""

    id: str
    book: str
    half: Half
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its answer."""

    id: str
    book: str
    kind: str
    question: str
    facts: Facts
    answer: Answer

    @property
    def sure(self) -> bool:
        """Whether it was answered without a reservation."""
        return self.answer.status == "answered" and self.answer.confidence.level != "low"

    @property
    def share(self) -> float:
        """The share of the facts that are shown."""
        return share_shown(self.facts, self.answer.text)

    @property
    def complete(self) -> bool:
        """Whether all facts are shown."""
        return bool(self.facts) and self.share == 1

    @property
    def block(self) -> tuple[str, int] | None:
        """Where the first quote of the answer begins."""
        quotes = self.answer.citations if self.answer.status == "answered" else ()
        return next(((one.chunk_id, one.start) for one in quotes), None)


def normal(text: str) -> str:
    """Return a text without markup and citation marks, in lower case."""
    return " ".join(_MARKS.sub("", text).replace("’", "'").split()).lower()


def share_shown(facts: Facts, text: str) -> float:
    """Return the share of facts of which one alternative stands in a text."""
    shown = normal(text)
    found = [any(normal(one) in shown for one in alternatives) for alternatives in facts]
    return mean(found) if found else 0.0


def beginning(text: str) -> str:
    """Return the first words of a text."""
    return " ".join(text.split()[:FIRST_WORDS])


def read(folder: Path, pattern: str, kind: type[T]) -> list[T]:
    """Return the lines of all files of a kind."""
    adapter = TypeAdapter(kind)
    return [
        adapter.validate_python(json.loads(line))
        for path in sorted(folder.glob(pattern))
        for _, line in numbered_lines(path)
    ]


async def ask(answerer: Answerer, text: str, book: str, thread: str | None = None) -> Answer:
    """Return the answer to a question."""
    asked = Question(text=text, book=book, thread_id=thread)
    done = [event.answer async for event in answerer.answer(asked) if isinstance(event, Done)]
    return done[0]


async def ask_all(answerer: Answerer, questions: Sequence[ReaderQuestion]) -> list[list[Asked]]:
    """Return the answers to every question as written, and as typed in a hurry."""
    found: list[list[Asked]] = [[], []]
    for one in questions:
        for asked, text in zip(found, (one.question, one.sloppy), strict=True):
            answer = await ask(answerer, text, one.book)
            asked.append(Asked(one.id, one.book, one.kind, text, one.facts, answer))
    return found


async def follow_all(answerer: Answerer, conversations: Sequence[Conversation]) -> list[Asked]:
    """Return the answers to the turns after the first of every conversation."""
    found = []
    for one in conversations:
        thread = None
        for number, turn in enumerate(one.turns):
            answer = await ask(answerer, turn.question, one.book, thread)
            thread = answer.thread_id
            if number:
                name = f"{one.id}.{number + 1}"
                found.append(Asked(name, one.book, turn.kind, turn.question, turn.facts, answer))
    return found


def figures(asked: Sequence[Asked], twins: Sequence[Asked] = ()) -> dict[str, Any]:
    """Return the figures of some answers; `twins` are those to the hurried questions."""
    present = [one for one in asked if one.facts]
    absent = [one for one in asked if not one.facts]
    said = [one for one in asked if one.answer.status == "answered"]
    confidence = [one.answer.confidence.correctness or 0.0 for one in said]
    right = [one.complete for one in said]
    return {
        "questions": len(present),
        "complete": share(present, lambda one: one.complete),
        "facts": mean([one.share for one in present]) if present else None,
        "complete_in_80": share(
            present, lambda one: share_shown(one.facts, beginning(one.answer.text)) == 1
        ),
        "words": median([len(one.answer.text.split()) for one in present]) if present else None,
        "refused": share(present, lambda one: one.answer.status != "answered"),
        "absent": len(absent),
        "false": share(absent, lambda one: one.sure),
        "false_or_low": share(absent, lambda one: one.answer.status == "answered"),
        "twins_agree": share(
            list(zip(asked, twins, strict=False)),
            lambda pair: pair[0].block == pair[1].block,
        ),
        "auroc": auroc(confidence, right) if said else None,
        "ece": calibration_error(confidence, right) if said else None,
    }


def share(items: Sequence[T], holds: Callable[[T], bool]) -> float | None:
    """Return the share of items of which something holds; `None` of no items."""
    return mean([holds(one) for one in items]) if items else None


def grouped(asked: Sequence[Asked], twins: Sequence[Asked]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the figures of all, of every book and of every kind."""
    yield "all", figures(asked, twins)
    if twins:
        yield "all, typed in a hurry", figures(twins)
    keys: tuple[Callable[[Asked], str], ...] = (lambda one: one.book, lambda one: one.kind)
    for key in keys:
        groups: dict[str, list[int]] = defaultdict(list)
        for place, one in enumerate(asked):
            groups[key(one)].append(place)
        for name, places in sorted(groups.items()):
            yield (
                name,
                figures([asked[i] for i in places], [twins[i] for i in places] if twins else ()),
            )


@click.command()
@click.argument("books", nargs=-1)
@click.option("--half", type=click.Choice(["dev", "test"]), default="dev", show_default=True)
@click.option("--sets", type=click.Path(path_type=Path), default=FOLDER, help="Folder of the sets.")
@click.option("--show", is_flag=True, help="Print every answer.")
@click.option("--out", type=click.Path(path_type=Path), help="Write answers and figures as JSON.")
@shared_option
@data_option
def readers(  # noqa: PLR0913 - one for each option
    *,
    books: tuple[str, ...],
    half: Half,
    sets: Path,
    show: bool,
    out: Path | None,
    shared: Path,
    data_dir: Path | None,
) -> None:
    """Ask the readers' questions about BOOKS (all without) and print what the answers show.

    Books other than the sample are looked for in the shared folder and left out if missing. The
    half `dev` is for looking at, `test` for reporting.
    """
    settings = settings_from(data_dir)
    console = Console()
    questions = [q for q in read(sets, "[!c]*.jsonl", ReaderQuestion) if q.half == half]
    conversations = [c for c in read(sets, "conversations*.jsonl", Conversation) if c.half == half]
    names = [b for b in sorted({q.book for q in questions}) if not books or b in books]
    kept = [b for b in names if _ingested(settings, b, shared, console)]
    asked, twins, turns = asyncio.run(
        _ask(
            settings,
            [q for q in questions if q.book in kept],
            [c for c in conversations if c.book in kept],
        )
    )
    if show:
        for one in (*asked, *turns):
            _print_answer(console, one)
    report = dict(grouped(asked, twins)) | {"follow-ups": figures(turns)}
    console.print(_table(report))
    if out:
        rows = [_row(one) for one in (*asked, *twins, *turns)]
        out.write_text(json.dumps({"figures": report, "answers": rows}, indent=1) + "\n", "utf-8")


def _ingested(settings: Settings, book: str, shared: Path, console: Console) -> bool:
    # Imported here: the parsers of every format take a while to load.
    from citewell.ingest.pipeline import ingest

    source = SAMPLE if book == SAMPLE.name else shared / "books" / book
    if not source.is_dir():
        console.print(f"{book} is not in the shared folder and left out.", style="yellow")
        return False
    ingest(
        source, books_folder(settings), build_embedder(settings), book=book, options=settings.ingest
    )
    return True


async def _ask(
    settings: Settings, questions: Sequence[ReaderQuestion], conversations: Sequence[Conversation]
) -> tuple[list[Asked], list[Asked], list[Asked]]:
    async with wire_services(settings) as services:
        asked, twins = await ask_all(services.answerer, questions)
        return asked, twins, await follow_all(services.answerer, conversations)


def _print_answer(console: Console, one: Asked) -> None:
    said = one.answer.confidence
    state = f"{one.answer.status}, {said.level}, {said.correctness or 0:.2f}"
    verdict = f"{one.share:.0%} of facts" if one.facts else f"not in the book ({one.kind})"
    console.rule(f"{one.id} ({one.kind})", align="left")
    console.print(f"{one.question}\n[{state}; {verdict}]\n", markup=False, style="bold")
    console.print(one.answer.text, markup=False)


def _row(one: Asked) -> dict[str, Any]:
    return {
        "id": one.id,
        "kind": one.kind,
        "question": one.question,
        "status": one.answer.status,
        "level": one.answer.confidence.level,
        "answerability": one.answer.confidence.answerability,
        "correctness": one.answer.confidence.correctness,
        "share": one.share if one.facts else None,
        "text": one.answer.text,
    }


def _table(report: dict[str, dict[str, Any]]) -> Table:
    columns = list(next(iter(report.values())))
    table = Table("", *(name.replace("_", " ") for name in columns))
    for name, found in report.items():
        table.add_row(name, *(_shown(found[column]) for column in columns))
    return table


def _shown(value: int | float | None) -> str:
    if value is None:
        return "–"
    return f"{value:g}" if value > 1 or isinstance(value, int) else f"{value:.2f}"
