"""Evaluation of verification on labelled sets of supported and unsupported responses.

A set is a folder with `data.jsonl` (`id`, `context`, `response`, `label` with 1 for unsupported,
`spans` of what is unsupported) and, if it is known, `META.json`. A response is cut into claims and
checked as the service does with an answer; what its claims come to is their geometric mean, which
on the responses that the judge was fitted with tells more than the least supported claim does.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import geometric_mean
from time import perf_counter
from typing import Any

from citewell.domain import Chunk, Claim, Hit, VerdictKind
from citewell.errors import BadRequest
from citewell.ports import Judge
from citewell.text.plain_text import strip_inline_markup
from citewell.text.sentences import split_spans
from citewell.text.terms import terms
from citewell.verify.claims import split_pieces
from citewell.verify.grounding import check_piece
from evals.metrics import SEED, Span
from evals.sets import numbered_lines

DATA = "data.jsonl"
PASSAGE = 1200
"""Characters of a passage, similar to a chunk of a book."""
THRESHOLD = 0.5
"""The default threshold above which a claim counts as unsupported."""
LEAST = 0.001
"""The minimum probability of a claim, so that one claim cannot dominate the product."""
_NUMBERED = re.compile(r"^passage \d+:", re.M | re.I)

Progress = Callable[[int, int], None]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A response, its context and its label."""

    id: str
    passages: tuple[str, ...]
    response: str
    unsupported: bool
    label: str
    """The set's own label, if it has more than two classes."""
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class GroundingSet:
    """A labelled set."""

    name: str
    examples: tuple[Example, ...]
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedClaim:
    """The verdict on one claim of a response."""

    text: str
    place: Span | None
    """The claim's offsets in the response; `None` if markers were removed from it."""
    kind: VerdictKind
    supported: float
    """The judge's probability that the context supports it."""
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A response with its claims."""

    example: Example
    claims: tuple[JudgedClaim, ...]
    floor: float
    """The share of its terms that the context lacks."""

    @property
    def score(self) -> float:
        """The probability that any claim is unsupported; 0 without claims."""
        if not self.claims:
            return 0.0
        return 1 - geometric_mean(max(claim.supported, LEAST) for claim in self.claims)

    @property
    def withheld(self) -> bool:
        """Whether the service would withhold any part of it."""
        return any(claim.kind != "supported" for claim in self.claims)


def read_grounding(folder: Path, limit: int | None = None) -> GroundingSet:
    """Read a set, or a reproducible random sample of it.

    Raises:
        BadRequest: a line is not what it should be; the message names it.
    """
    examples = list(_examples(folder / DATA))
    if limit and limit < len(examples):
        chosen = random.Random(SEED).sample(range(len(examples)), limit)
        examples = [examples[place] for place in sorted(chosen)]
    meta = folder / "META.json"
    known = json.loads(meta.read_text("utf-8")) if meta.is_file() else {}
    return GroundingSet(folder.resolve().name, tuple(examples), known)


def _examples(path: Path) -> Iterator[Example]:
    for number, line in numbered_lines(path):
        try:
            yield example_of(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise BadRequest(
                f"{path}, line {number}: no JSON with `id`, `context`, `response` and `label`."
            ) from error


def example_of(row: Row) -> Example:
    """Read one row of any of the sets."""
    unsupported = bool(int(row["label"]))
    spans = tuple((int(span["start"]), int(span["end"])) for span in row.get("spans") or ())
    return Example(
        id=str(row["id"]),
        passages=tuple(passages_of(row)),
        response=str(row["response"]),
        unsupported=unsupported,
        label=str(row.get("label_name") or ("unsupported" if unsupported else "supported")),
        spans=spans,
    )


def passages_of(row: Row) -> list[str]:
    """Split the context into passages, at the set's own boundaries if it has any."""
    sentences = row.get("context_sentences")
    if sentences:
        # A blank line between: a caption without a period is no part of the next sentence.
        return _packed([str(sentence) for sentence in sentences], "\n\n")
    context = str(row["context"])
    marks = [mark.start() for mark in _NUMBERED.finditer(context)]
    if marks:
        ends = [*marks[1:], len(context)]
        parts = [context[start:end] for start, end in zip(marks, ends, strict=True)]
        return [_NUMBERED.sub("", part).strip() for part in parts]
    paragraphs = [part for part in re.split(r"\n\s*\n", context) if part.strip()]
    return _packed([piece for part in paragraphs for piece in _cut(part)], "\n\n")


def _cut(paragraph: str) -> list[str]:
    """Split a long paragraph between sentences."""
    if len(paragraph) <= PASSAGE:
        return [paragraph]
    starts = [span.start for span in split_spans(paragraph)] or [0]
    ends = [*starts[1:], len(paragraph)]
    return _packed([paragraph[a:b].strip() for a, b in zip(starts, ends, strict=True)], " ")


def _packed(parts: Sequence[str], glue: str) -> list[str]:
    packed: list[str] = []
    for part in parts:
        if packed and len(packed[-1]) + len(glue) + len(part) <= PASSAGE:
            packed[-1] += glue + part
        else:
            packed.append(part)
    return packed


def judge_examples(
    examples: Sequence[Example], judge: Judge, progress: Progress = lambda *_: None
) -> list[Judged]:
    """Judge every claim of every response."""
    judged = []
    for number, example in enumerate(examples, start=1):
        claims = tuple(_claims(example, judge))
        judged.append(Judged(example=example, claims=claims, floor=missing_words(example)))
        progress(number, len(examples))
    return judged


def _claims(example: Example, judge: Judge) -> Iterator[JudgedClaim]:
    after = 0
    for checked in check_text(example.response, hits_from(example.passages), judge):
        claim = checked.claim
        start = example.response.find(claim.text, after)
        place = (start, start + len(claim.text)) if start >= 0 else None
        after = place[1] if place else after
        yield JudgedClaim(
            text=claim.text,
            place=place,
            kind=claim.verdict,
            supported=claim.probability,
            seconds=checked.seconds,
        )


def missing_words(example: Example) -> float:
    """Return the share of the response's terms that the context lacks."""
    said = {term for passage in example.passages for term in terms(strip_inline_markup(passage))}
    wanted = set(terms(strip_inline_markup(example.response)))
    return len(wanted - said) / len(wanted) if wanted else 0.0


def judge_name(judge: Judge) -> str:
    """Return the judge's name for reports."""
    return str(getattr(judge, "id", type(judge).__name__))


def judge_threshold(judge: Judge) -> float:
    """Return the judge's threshold for unsupported claims, which was fixed on other data."""
    return float(getattr(judge, "threshold", THRESHOLD))


@dataclass(frozen=True, slots=True)
class Checked:
    """One claim of a text, and the duration of its verification."""

    claim: Claim
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on a whole text: that of its least supported claim."""

    kind: VerdictKind
    supported: float

    @property
    def shown(self) -> bool:
        """Whether the service would show the text; a text without claims is shown."""
        return self.kind in ("supported", "not_a_claim")


def check_text(text: str, hits: Sequence[Hit], judge: Judge) -> Iterator[Checked]:
    """Split a text into claims as the service does, and judge each."""
    for piece in split_pieces(text):
        begun = perf_counter()
        claim = check_piece(piece, hits, judge, lambda *_: "")
        seconds = perf_counter() - begun
        if claim.verdict != "not_a_claim":
            yield Checked(claim, seconds)


def outcome_of(text: str, chunks: Sequence[Chunk], judge: Judge) -> Outcome:
    """Judge a text against chunks of a book and return its worst claim."""
    claims = [checked.claim for checked in check_text(text, _opened(chunks), judge)]
    outcomes = [Outcome(claim.verdict, claim.probability) for claim in claims]
    nothing = Outcome("not_a_claim", 1.0)
    return min(outcomes, key=lambda one: (one.shown, one.supported), default=nothing)


def hits_from(passages: Sequence[str]) -> list[Hit]:
    """Return hits for passages that are not from a book."""
    return _opened([_chunk(number, text) for number, text in enumerate(passages, start=1)])


def _opened(chunks: Sequence[Chunk]) -> list[Hit]:
    """Return chunks as hits; verification does not depend on their scores."""
    return [
        Hit(chunk=chunk, rank=rank, similarity=0.0, cosine=0.0)
        for rank, chunk in enumerate(chunks, start=1)
    ]


def _chunk(number: int, text: str) -> Chunk:
    return Chunk(
        id=str(number),
        book="",
        source_file="",
        part="",
        chapter="",
        section="",
        path=("",),
        url="",
        text=text,
        content_hash="",
        sequence=number,
        total=number,
        token_count=0,
        processed_at=datetime.fromtimestamp(0, UTC),
    )
