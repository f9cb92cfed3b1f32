"""Evaluation of verification with a scripted model that lies, through the whole pipeline.

A scripted model answers questions about the book with true, altered and invented sentences, each
with a citation; what the reader is then shown is counted.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from citewell.citations.quotes import find_quote
from citewell.domain import Chunk, Question
from citewell.events import Done, Sentence
from citewell.ports import Answerer, Index
from evals.adversarial import Alteration, Place, locate
from evals.metrics import SEED

Truth = Literal["true", "miscited", "altered", "invented"]
TRUTHS: tuple[Truth, ...] = get_args(Truth)
SENTENCES = 4
"""Sentences per answer."""
READ = 3
"""Maximum number of sections that the model opens per answer."""


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence that the model will write."""

    text: str
    truth: Truth
    item: Alteration
    names: Place
    """A sentence of the cited passage."""


@dataclass(frozen=True, slots=True)
class Script:
    """A question and the scripted behaviour of the model."""

    question: str
    sections: tuple[str, ...]
    lines: tuple[Line, ...]

    def write(self, passages: Mapping[int, str]) -> str:
        """Return the answer, with the citation numbers of the passages."""
        return " ".join(f"{line.text} [{_number(line.names, passages)}]" for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The outcome of one sentence."""

    line: Line
    shown: bool
    verdict: str
    """The service's verdict; empty if it gave none."""
    right_quote: bool
    """Whether one of its citations overlaps the true evidence."""


@dataclass(frozen=True, slots=True)
class Played:
    """A script and the resulting answer."""

    script: Script
    answered: bool
    lines: tuple[Shown, ...]
    unchecked: int
    """Sentences shown without a verdict and a citation."""


def write_scripts(items: Sequence[Alteration], index: Index) -> list[Script]:
    """Create answers that mix true and false sentences of the items.

    Each item appears twice, once with its twin and once altered, never both in one answer.
    """
    sections = {identity: one.id for one in index.contents.walk() for identity in one.chunks}
    scripts = []
    for page in dict.fromkeys(item.page for item in items):
        own = [item for item in items if item.page == page]
        random.Random(SEED).shuffle(own)
        for first in (0, 1):
            lines = [_line(item, lie=place % 2 == first) for place, item in enumerate(own)]
            while lines:
                taken = _take(lines, index, sections)
                del lines[: len(taken.lines)]
                scripts.append(taken)
    return scripts


def _line(item: Alteration, *, lie: bool) -> Line:
    if not lie:
        return Line(item.twin, "true", item, item.source)
    if item.cited:
        return Line(item.altered, "miscited", item, item.cited)
    return Line(
        item.altered, "invented" if item.kind == "outside" else "altered", item, item.source
    )


def _take(lines: Sequence[Line], index: Index, sections: Mapping[str, str]) -> Script:
    """Create an answer from as many of the first lines as the model can look up."""
    chosen: list[Line] = []
    opened: dict[str, Chunk] = {}
    for line in lines[:SENTENCES]:
        chunks = [locate(index, place) for place in (line.item.source, line.names)]
        more = opened | {sections[chunk.id]: chunk for chunk in chunks}
        if chosen and len(more) > READ:
            break
        chosen.append(line)
        opened = more
    about = next(iter(opened.values()))
    return Script(f"Explain {about.section} ({about.chapter}).", tuple(opened), tuple(chosen))


def _number(place: Place, passages: Mapping[int, str]) -> int:
    """Return the number of the passage that contains a sentence, or an invalid one."""
    held = (n for n, text in passages.items() if find_quote(text, place.sentence))
    return next(held, 999)


async def play(script: Script, answerer: Answerer, book: str | None) -> Played:
    """Ask the question and evaluate the answer."""
    said: list[Sentence] = []
    answered, withheld = False, []
    async for event in answerer.answer(Question(text=script.question, book=book)):
        if isinstance(event, Sentence):
            said.append(event)
        if isinstance(event, Done):
            answered = event.answer.status == "answered"
            withheld = [claim.text for claim in event.answer.withheld]
    lines = tuple(_fate(line, said, withheld) for line in script.lines)
    unchecked = sum(one.claim.verdict != "not_a_claim" and not one.claim.citations for one in said)
    return Played(script, answered, lines, unchecked)


def _fate(line: Line, said: Sequence[Sentence], withheld: Sequence[str]) -> Shown:
    """Find a sentence, at least in part, among those shown."""
    parts = [one.claim for one in said if one.claim.text and one.claim.text in line.text]
    quotes = [citation.quote for part in parts for citation in part.citations]
    held = any(text in line.text for text in withheld)
    return Shown(
        line=line,
        shown=bool(parts),
        verdict=parts[0].verdict if parts else "withheld" if held else "",
        right_quote=any(_same(quote, line.item.sentence) for quote in quotes),
    )


def _same(quote: str, sentence: str) -> bool:
    ours, theirs = " ".join(quote.split()), " ".join(sentence.split())
    return ours in theirs or theirs in ours


def figures(played: Sequence[Played]) -> dict[str, Any]:
    """Count the sentences that reached the reader."""
    lines = [line for one in played for line in one.lines]
    false = [line for line in lines if line.line.truth in ("altered", "invented")]
    through = Counter(line.line.item.kind for line in false if line.shown)
    given: dict[str, Any] = {
        "answers": len(played),
        "refused": sum(not one.answered for one in played),
        "without_verdict": sum(one.unchecked for one in played),
        "unaccounted": sum(not line.verdict for line in lines),
        "false_sentences": len(false),
        "false_shown": sum(line.shown for line in false),
        "false_shown_share": round(sum(line.shown for line in false) / len(false), 4)
        if false
        else 0.0,
        "false_shown_by_kind": dict(through),
    }
    for truth in TRUTHS:
        chosen = [line for line in lines if line.line.truth == truth]
        given[truth] = {
            "sentences": len(chosen),
            "shown": sum(line.shown for line in chosen),
            "shown_with_right_quote": sum(line.shown and line.right_quote for line in chosen),
        }
    return given


def row_of(played: Played) -> dict[str, Any]:
    """Return one answer as a row of the report."""
    return {
        "question": played.script.question,
        "answered": played.answered,
        "lines": [
            [one.line.item.id, one.line.truth, one.shown, one.verdict, one.right_quote]
            for one in played.lines
        ],
    }
