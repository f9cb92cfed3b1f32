"""Evaluation of verification with altered claims, each with its true twin.

An item names the page and the sentence that its twin rests on, so that it survives another way of
cutting the book into chunks. Its page decides by hash whether it may be looked at while rules and
thresholds are chosen (`dev`) or only measured with (`test`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import TypeAdapter, ValidationError

from citewell.citations.quotes import find_quote
from citewell.domain import Chunk
from citewell.errors import BadRequest
from citewell.ports import Index, Judge
from evals import metrics
from evals.grounding import Outcome, outcome_of
from evals.sets import numbered_lines

AlterationKind = Literal[
    "number", "unit", "negation", "entity", "direction", "generalisation", "citation", "outside",
    "role",
]  # fmt: skip
KINDS: tuple[AlterationKind, ...] = get_args(AlterationKind)
Half = Literal["dev", "test"]
HALVES: tuple[Half, ...] = get_args(Half)
REACH = 2
"""Passages next to the right one that the judge also sees: five, as in the service."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A sentence of the book."""

    page: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """An altered claim that the book does not support, and its true twin."""

    id: str
    kind: AlterationKind
    page: str
    sentence: str
    """The original sentence, byte for byte."""
    twin: str
    altered: str
    paraphrase: bool
    """Whether the twin is a paraphrase."""
    cited: Place | None = None
    """For a wrong citation: the cited sentence, which does not prove the claim."""

    @property
    def half(self) -> Half:
        """The half of the set, `dev` or `test`."""
        return half_of(self.page)

    @property
    def source(self) -> Place:
        """The evidence of the twin."""
        return Place(page=self.page, sentence=self.sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The verdicts on an altered claim and on its twin."""

    item: Alteration
    altered: Outcome
    twin: Outcome

    @property
    def caught(self) -> bool:
        """Whether the service would withhold the altered claim."""
        return not self.altered.shown

    @property
    def kept(self) -> bool:
        """Whether the service would show the twin."""
        return self.twin.shown


_ITEM = TypeAdapter(Alteration)


def half_of(page: str) -> Half:
    """Return the half of the items about a page."""
    return "test" if sha256(page.encode()).digest()[0] % 2 else "dev"


def read_adversarial(path: Path) -> list[Alteration]:
    """Read a set, one JSON object a line.

    Raises:
        BadRequest: the file cannot be read; the message names the line.
    """
    items = []
    for number, line in numbered_lines(path):
        try:
            items.append(_ITEM.validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "line"
            reason = f"`{where}`: {first['msg']}"
            raise BadRequest(f"{path}, line {number} is no altered claim: {reason}.") from error
    return items


def locate(index: Index, place: Place) -> Chunk:
    """Return the passage that contains a sentence.

    Raises:
        BadRequest: the book has no such sentence.
    """
    for chunk in index.page(place.page):
        if find_quote(chunk.text, place.sentence):
            return chunk
    raise BadRequest(f"{place.page} does not say: {place.sentence}")


def try_item(item: Alteration, index: Index, judge: Judge) -> Tried:
    """Judge the altered claim and its twin against the passages that a reader would see."""
    right = locate(index, item.source)
    around = index.neighbours(right.id, REACH)
    mark = next(number for number, chunk in enumerate(around, start=1) if chunk.id == right.id)
    twin = outcome_of(f"{item.twin} [{mark}]", around, judge)
    if item.cited:
        # By the passage it names alone: beside the right one it would be proven by that.
        wrong = outcome_of(f"{item.altered} [1]", [locate(index, item.cited)], judge)
    else:
        wrong = outcome_of(f"{item.altered} [{mark}]", around, judge)
    return Tried(item=item, altered=wrong, twin=twin)


def try_all(
    items: Sequence[Alteration], index: Index, judge: Judge, progress: Progress = lambda *_: None
) -> list[Tried]:
    """Judge every item."""
    tried = []
    for number, item in enumerate(items, start=1):
        tried.append(try_item(item, index, judge))
        progress(number, len(items))
    return tried


def figures(tried: Sequence[Tried]) -> dict[str, Any]:
    """Return the numbers of caught claims and kept twins, by half and kind."""
    return {half: _half([one for one in tried if one.item.half == half]) for half in HALVES}


def _half(tried: Sequence[Tried]) -> Mapping[str, Any]:
    groups = {kind: [one for one in tried if one.item.kind == kind] for kind in KINDS}
    return {name: _group(group) for name, group in (*groups.items(), ("all", tried)) if group}


def _group(tried: Sequence[Tried]) -> dict[str, Any]:
    reworded = [one for one in tried if one.item.paraphrase]
    scores = [1 - one.altered.supported for one in tried]
    scores += [1 - one.twin.supported for one in tried]
    auroc = metrics.auroc(scores, [True] * len(tried) + [False] * len(tried))
    return {
        "items": len(tried),
        "caught": sum(one.caught for one in tried),
        "kept": sum(one.kept for one in tried),
        "reworded": len(reworded),
        "reworded_kept": sum(one.kept for one in reworded),
        "auroc": None if auroc is None else round(auroc, 4),
    }


def row_of(tried: Tried) -> dict[str, Any]:
    """Return one result as a row of the report."""
    return {
        "id": tried.item.id,
        "kind": tried.item.kind,
        "half": tried.item.half,
        "altered": [tried.altered.kind, round(tried.altered.supported, 4)],
        "twin": [tried.twin.kind, round(tried.twin.supported, 4)],
    }
