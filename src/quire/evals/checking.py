"""A text checked against passages by the service's own code, without a question or a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter

from quire.domain import Chunk, Claim, Hit, VerdictKind
from quire.ports import Judge
from quire.verify.claims import split_pieces
from quire.verify.grounding import check_piece


@dataclass(frozen=True, slots=True)
class Checked:
    """One claim of a text, and how long its check took."""

    claim: Claim
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the check of a whole text came to: that of its least supported claim."""

    kind: VerdictKind
    supported: float

    @property
    def shown(self) -> bool:
        """Whether the service shows a text of this outcome; what claims nothing is shown, too."""
        return self.kind in ("supported", "not_a_claim")


def check_text(text: str, hits: Sequence[Hit], judge: Judge) -> Iterator[Checked]:
    """Cut a text into claims as an answer is cut, and check each; what claims nothing is passed."""
    for piece in split_pieces(text):
        begun = perf_counter()
        claim, _ = check_piece(piece, hits, judge, lambda *_: "")
        seconds = perf_counter() - begun
        if claim.verdict != "not_a_claim":
            yield Checked(claim, seconds)


def outcome_of(text: str, chunks: Sequence[Chunk], judge: Judge) -> Outcome:
    """Check a text against chunks of a book and give its worst claim."""
    claims = [checked.claim for checked in check_text(text, _opened(chunks), judge)]
    outcomes = [Outcome(claim.verdict, claim.probability) for claim in claims]
    nothing = Outcome("not_a_claim", 1.0)
    return min(outcomes, key=lambda one: (one.shown, one.supported), default=nothing)


def hits_from(passages: Sequence[str]) -> list[Hit]:
    """Make passages that stand in no book into ones that were opened by name."""
    return _opened([_chunk(number, text) for number, text in enumerate(passages, start=1)])


def _opened(chunks: Sequence[Chunk]) -> list[Hit]:
    """Return chunks as hits; a check does not depend on how they were found."""
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
