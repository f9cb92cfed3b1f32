"""The delay of streamed answers by verification, as ratios within one run.

    make bench-verification

A scripted model streams the same answer twice in turn: once its sentences are checked by the judge
of the service, once by one that supports everything at once. Search is done by stand-ins, so that
the share of checking is shown larger than it is, never smaller.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from citewell.domain import Question, Verdict
from citewell.events import Done, Sentence, Withheld
from citewell.ingest.pipeline import ingest
from citewell.ports import Judge
from citewell.settings import Settings
from citewell.text.sentences import split_spans
from citewell.wiring import books_folder, build_judge
from evals.adversarial import read_adversarial
from tests.servers import HashEmbedder, build_services
from tests.servers.scripted import streams

ROOT = Path(__file__).parent.parent
BOOK = ROOT / "examples" / "physical-ai"
ITEMS = ROOT / "evals/data/adversarial" / "physical-ai.jsonl"
SENTENCES = 8
PAUSES = (0.0, 0.01)
"""Seconds between two words: none, and those of a fast model."""


@dataclass(frozen=True)
class Said:
    """A question and its scripted answer."""

    question: str
    words: tuple[str, ...]


class Credulous:
    """A judge that supports every claim."""

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        """Return the first sentence as evidence."""
        del claim, cited
        first = split_spans(passages[0])[0]
        evidence = ((1, first.start, first.end),)
        return Verdict(kind="supported", probability=1.0, evidence=evidence)


def answers() -> list[Said]:
    """Return an answer with true sentences, verbatim and reworded, for each page of the book.

    No page is asked about twice, since what was read once is remembered.
    """
    items = read_adversarial(ITEMS)
    given = []
    for page in dict.fromkeys(item.page for item in items):
        own = [item for item in items if item.page == page][:SENTENCES]
        text = " ".join(f"{item.twin} [1]" for item in sorted(own, key=lambda i: i.paraphrase))
        given.append(Said(own[0].sentence, tuple(f"{word} " for word in text.split())))
    return given


async def ask(data: Path, judge: Judge, said: Said, pause: float) -> tuple[float, float]:
    """Return the seconds to the first verified sentence, and to the end."""
    services = build_services(data, model=lambda _: streams(said.words, pause), judge=judge)
    async with services:
        begun, first = time.perf_counter(), 0.0
        async for event in services.answerer.answer(Question(text=said.question, threshold=0.0)):
            if isinstance(event, Sentence | Withheld):
                first = first or time.perf_counter() - begun
            if isinstance(event, Done):
                return first, time.perf_counter() - begun
    raise AssertionError("no answer")


async def measure(data: Path, table: Table) -> None:
    real = build_judge(Settings(data_dir=data))
    chosen = answers()
    await ask(data, real, chosen[0], 0.0)  # warm up
    for place, pause in enumerate(PAUSES):
        pairs = []
        for number, said in enumerate(chosen[1 + place :: len(PAUSES)]):
            judges = [real, Credulous()]
            # Each goes first every other time: the second finds the search warm.
            order = judges if number % 2 else judges[::-1]
            times = [await ask(data, judge, said, pause) for judge in order]
            if all(first for first, _ in times):
                pairs.append(times if number % 2 else times[::-1])
        for which, name in enumerate(("first sentence", "whole answer")):
            ours = statistics.median(checked[which] for checked, _ in pairs)
            bare = statistics.median(plain[which] for _, plain in pairs)
            ratio = statistics.median(checked[which] / plain[which] for checked, plain in pairs)
            table.add_row(
                f"{name}, {1000 * pause:.0f} ms a word",
                f"{1000 * ours:.0f} ms",
                f"{1000 * bare:.0f} ms",
                f"{ratio:.2f}×",
                str(len(pairs)),
            )


def main() -> None:
    table = Table("time to", "checked", "not checked", "ratio", "answers")
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as folder:
        data = Path(folder)
        ingest(BOOK, books_folder(Settings(data_dir=data)), HashEmbedder())
        asyncio.run(measure(data, table))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
