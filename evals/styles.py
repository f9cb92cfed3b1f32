"""`python -m evals styles`: answers as a good model writes them, replayed through the service.

Each question has an answer in three styles, and each sentence an altered twin that the passages do
not support. A scripted server writes the answers; counted is which sentences are shown unchanged.
"""

import asyncio
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import click
from pydantic import SecretStr, TypeAdapter
from rich.console import Console
from rich.table import Table

from citewell.answer.prompts import CHECK_CLAIMS
from citewell.cli.options import data_option, settings_from
from citewell.domain import Answer, Question
from citewell.events import Done
from citewell.ports import Answerer
from citewell.settings import Settings
from citewell.text.terms import terms
from citewell.wiring import build_judge, wire_services
from evals.readers import normal
from evals.sets import numbered_lines
from tests.servers import ChatServer, Reply

FOLDER = Path(__file__).parent / "data/styles"
ERRORS = 0.05
"""How often the scripted checker is wrong."""
INTACT = 0.8
"""Share of an answer's sentences that are shown if it is at most lightly reduced."""
Style = Literal["natural", "adapted", "verbatim"]
STYLES: tuple[Style, ...] = ("natural", "adapted", "verbatim")
_CLAIM = re.compile(r"^(\d+)\. (.*)$", re.M)
_SENTENCE = re.compile(r"^(\d+\.\d+) (.*)$", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPiece:
    """A sentence, item or block of an answer, and its false twin."""

    text: str
    altered: str | None = None
    change: str = ""
    join: str = " "


@dataclass(frozen=True, slots=True, kw_only=True)
class StyledQuestion:
    """A question with its answers."""

    id: str
    book: str
    half: Literal["dev", "test"]
    kind: str
    question: str
    answers: dict[Style, tuple[WrittenPiece, ...]]


@dataclass(frozen=True, slots=True)
class Replayed:
    """An answer as it was written and as it was shown."""

    question: StyledQuestion
    style: Style
    said: tuple[tuple[str, bool], ...]
    """The sentences that make a claim, and whether they are true."""
    answer: Answer

    @property
    def shown(self) -> list[tuple[bool, bool]]:
        """For each sentence, whether it is true, and whether it is shown unchanged."""
        own = (c.text for c in self.answer.claims if c.decided_by != "repair")
        text = normal(" ".join(own))
        return [(true, normal(sentence) in text) for sentence, true in self.said]


class Oracle(ChatServer):
    """Writes a given answer, and tells true claims from false ones with some errors."""

    def __init__(self) -> None:
        """Write nothing yet."""
        super().__init__(Reply(""))
        self.true: set[str] = set()
        self._random = random.Random(7)

    def next_reply(self, request: dict[str, Any], key: str) -> Reply:
        """Check claims if told so, else write the answer."""
        messages = request["messages"]
        if messages[0]["content"] != CHECK_CLAIMS:
            return super().next_reply(request, key)
        passages, _, claims = messages[-1]["content"].rpartition("Claims:\n")
        sentences = _SENTENCE.findall(passages)
        lines = []
        for number, claim in _CLAIM.findall(claims):
            true = (normal(claim) in self.true) != (self._random.random() < ERRORS)
            named = " ".join(_nearest(claim, sentences)) if true else ""
            lines.append(f"{number}: {'supported' if true else 'unsupported'} {named}")
        return Reply("\n".join(lines))


def _nearest(claim: str, sentences: Sequence[tuple[str, str]]) -> list[str]:
    """Return the numbers of the sentences that share most words with a claim."""
    wanted = set(terms(claim))
    ranked = sorted(sentences, key=lambda one: -len(wanted & set(terms(one[1]))))
    return [number for number, _ in ranked[:3]]


def bare(text: str) -> str:
    """Return a sentence without its citation marks."""
    return re.sub(r"\s*\[\d+\]", "", text).strip()


def versions(
    pieces: Sequence[WrittenPiece],
) -> Iterator[tuple[str, tuple[tuple[str, bool], ...]]]:
    """Yield the true answer, and two with every other claim altered, with their sentences."""
    claims = [place for place, piece in enumerate(pieces) if piece.altered]
    for wrong in ((), claims[::2], claims[1::2]):
        text, said = "", []
        for place, piece in enumerate(pieces):
            sentence = piece.altered if place in wrong and piece.altered else piece.text
            text += f"{piece.join if text else piece.join.lstrip()}{sentence}"
            if piece.altered:
                said.append((bare(sentence), place not in wrong))
        yield text, tuple(said)


async def replay(
    answerer: Answerer, oracle: Oracle, questions: Sequence[StyledQuestion]
) -> list[Replayed]:
    """Let the service show every version of every answer."""
    found = []
    for question in questions:
        for style in question.answers:
            for text, said in versions(question.answers[style]):
                oracle.replies[0] = Reply(text)
                oracle.true = {normal(sentence) for sentence, true in said if true}
                asked = Question(
                    text=question.question, book=question.book, threshold=0.0, min_answerability=0.0
                )
                events = [event async for event in answerer.answer(asked)]
                done = events[-1]
                assert isinstance(done, Done)
                found.append(Replayed(question, style, said, done.answer))
    return found


def figures(replayed: Sequence[Replayed]) -> dict[str, dict[str, Any]]:
    """Return for each style the shares of sentences shown, and what became of true answers."""
    report: dict[str, dict[str, Any]] = {}
    for style in STYLES:
        own = [one for one in replayed if one.style == style]
        sentences = [pair for one in own for pair in one.shown]
        whole = [one for one in own if all(true for _, true in one.said)]
        kept = [sum(shown for _, shown in one.shown) / max(len(one.said), 1) for one in whole]
        report[style] = {
            "true": sum(true for true, _ in sentences),
            "true_shown": _share([shown for true, shown in sentences if true]),
            "false": sum(not true for true, _ in sentences),
            "false_shown": _share([shown for true, shown in sentences if not true]),
            "answers": len(whole),
            "intact": sum(share >= INTACT for share in kept),
            "refused": sum(one.answer.status != "answered" for one in whole),
            "by_change": _by_change(own),
        }
    return report


def _by_change(replayed: Sequence[Replayed]) -> dict[str, str]:
    counted: dict[str, list[bool]] = defaultdict(list)
    for one in replayed:
        changes = {bare(p.altered): p.change for p in one.question.answers[one.style] if p.altered}
        for (sentence, true), (_, shown) in zip(one.said, one.shown, strict=True):
            if not true:
                counted[changes.get(sentence, "")].append(shown)
    return {change: f"{sum(shown)}/{len(shown)}" for change, shown in sorted(counted.items())}


def _share(values: Sequence[bool]) -> float:
    return sum(values) / max(len(values), 1)


@click.command()
@click.option("--half", type=click.Choice(["dev", "test"]), default="dev", show_default=True)
@click.option("--sets", type=click.Path(path_type=Path), default=FOLDER, help="Folder of the sets.")
@click.option("--alone", is_flag=True, help="Let only the local judge decide.")
@click.option("--limit", type=click.IntRange(1), help="Ask only so many questions of each book.")
@click.option("--out", type=click.Path(path_type=Path), help="Write every answer as JSON lines.")
@data_option
def styles(
    *,
    half: str,
    sets: Path,
    alone: bool,
    limit: int | None,
    out: Path | None,
    data_dir: Path | None,
) -> None:
    """Replay the answers of the style sets and print how many sentences are shown.

    The books must have been ingested, as `python -m evals readers` does.
    """
    settings = settings_from(data_dir)
    adapter = TypeAdapter(StyledQuestion)
    questions = [
        question
        for path in sorted(sets.glob("[!l]*.jsonl"))
        for question in [adapter.validate_python(json.loads(x)) for _, x in numbered_lines(path)][
            :limit
        ]
        if question.half == half
    ]
    replayed = asyncio.run(_run(settings, questions, alone=alone))
    report = figures(replayed)
    columns = list(report["natural"])
    table = Table("", *(name.replace("_", " ") for name in columns))
    for style, found in report.items():
        shown = (f"{v:.1%}" if isinstance(v, float) else f"{v}" for v in found.values())
        table.add_row(style, *shown)
    Console(width=200).print(table)
    if out:
        rows = (json.dumps(_row(one), ensure_ascii=False) + "\n" for one in replayed)
        out.write_text("".join(rows), "utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lie:
    """A false claim made from the words of its evidence, and a true one."""

    id: str
    half: Literal["dev", "test"]
    book: str
    kind: str
    heading: str
    evidence: str
    claim: str
    twin: str


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=FOLDER / "lies.jsonl")
@click.option("--half", type=click.Choice(["dev", "test"]), default="dev", show_default=True)
@data_option
def lies(path: Path, half: str, data_dir: Path | None) -> None:
    """Judge the lies in PATH by their evidence and print how many are supported, by kind."""
    judge = build_judge(settings_from(data_dir))
    adapter = TypeAdapter(Lie)
    rows = [adapter.validate_python(json.loads(line)) for _, line in numbered_lines(path)]
    shown: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for one in rows:
        if one.half == half:
            passed = [
                judge.judge(claim, [one.evidence], [0]).kind == "supported"
                for claim in (one.claim, one.twin)
            ]
            shown[one.kind].append((passed[0], passed[1]))
    shown["all"] = [pair for pairs in shown.values() for pair in pairs]
    table = Table("kind", "lies", "supported", "twins supported")
    for kind, pairs in sorted(shown.items()):
        counts = (len(pairs), sum(false for false, _ in pairs), sum(true for _, true in pairs))
        table.add_row(kind, *map(str, counts))
    Console(width=120).print(table)


async def _run(
    settings: Settings, questions: Sequence[StyledQuestion], *, alone: bool
) -> list[Replayed]:
    with TemporaryDirectory() as folder, Oracle() as oracle:
        llm = settings.llm.model_copy(
            update={
                "base_url": oracle.url,
                "api_key": SecretStr("none"),
                "tools": "no",
                "check_claims": not alone,
            }
        )
        settings = settings.model_copy(
            update={
                "model": "openai/oracle",
                "llm": llm,
                "database_url": SecretStr(f"sqlite+aiosqlite:///{folder}/threads.db"),
            }
        )
        async with wire_services(settings) as services:
            return await replay(services.answerer, oracle, questions)


def _row(one: Replayed) -> dict[str, Any]:
    return {
        "id": one.question.id,
        "style": one.style,
        "status": one.answer.status,
        "notices": one.answer.notices,
        "text": one.answer.text,
        "sentences": [
            {"text": sentence, "true": true, "shown": shown}
            for (sentence, true), (_, shown) in zip(one.said, one.shown, strict=True)
        ],
        "withheld": [
            {"text": c.text, "verdict": c.verdict, "p": c.probability, "reason": c.reason}
            for c in one.answer.withheld
        ],
    }
