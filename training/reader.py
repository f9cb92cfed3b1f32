"""Train the reader: does this passage answer this question, and which sentences does it take?

    python -m training.reader --data FOLDER --run RUN --stage 1 --weights MODEL.onnx --minutes 90

The first token's logit says that the passage answers; the logit of the marker before each sentence,
that the sentence is needed to answer. A run that was stopped goes on by the same command.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.encoder import PairEncoder
from training.figures import auroc
from training.loop import Example, outputs_of
from training.recipe import FOLDER, options_of, read_recipe, train
from training.rows import Reading
from training.sets.written import answered, books_of, read_written, unanswered
from training.sloppy import SHARE, sloppy
from training.style import log_odds_of
from training.tokens import Input, reader_inputs

TAUGHT = 0.5
"""How much a teacher's outputs count beside the labels."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is known of a passage, and of each of its sentences; `None` where nothing is."""

    answers: float | None
    marks: tuple[float, ...] | None
    style: float = 0.0
    """What the question's wording alone says of `answers`, as log-odds."""


class ReaderTask:
    """What the reader learns, and its figures on the written set's dev part."""

    def __init__(self, best: str, held: "Held") -> None:
        self.best = best
        self._held = held
        self._style: dict[str, float] = {}

    def prepare(self, rows: Sequence[Reading]) -> None:
        """Find what the wording of the questions gives away."""
        known = [row for row in rows if row.answers is not None]
        self._style = log_odds_of([r.question for r in known], [bool(r.answers) for r in known])

    def examples(self, rows: Sequence[Reading], rng: random.Random) -> list[Example]:
        """Return one window of each row; of an answering passage one that has what is marked."""
        found = []
        for row in rows:
            question = sloppy(row.question, rng) if rng.random() < SHARE else row.question
            made = window_of(row, reader_inputs(question, row.heading, row.sentences), rng)
            if made is not None:
                style = self._style.get(row.question, 0.0)
                found.append(Example(made, target_of(row, made, style), row.weight))
        return found

    def loss(
        self,
        outputs: tuple[Tensor, Tensor],
        batch: Sequence[Example],
        taught: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        """Return the loss of both heads, each mean over what is known in the batch."""
        logits, marks = outputs[0][:, 0].float(), outputs[1].float()
        weights = torch.tensor([one.weight for one in batch])
        known = torch.tensor([one.target.answers is not None for one in batch])
        answers = torch.tensor([one.target.answers or 0.0 for one in batch])
        logits = logits + torch.tensor([one.target.style for one in batch])
        rows, places, labels, each = marked(batch)
        said = marks[rows, places]
        if taught is not None:
            answers = torch.lerp(answers, taught[0][:, 0].float().sigmoid(), TAUGHT)
            labels = torch.lerp(labels, taught[1].float()[rows, places].sigmoid(), TAUGHT)
        first = functional.binary_cross_entropy_with_logits(logits, answers, reduction="none")
        loss = (first * weights * known).sum() / max(float(known.sum()), 1.0)
        if len(rows):
            second = functional.binary_cross_entropy_with_logits(said, labels, reduction="none")
            loss = loss + (second * each).sum() / each.sum()
        return loss

    def evaluate(self, model: PairEncoder) -> dict[str, float]:
        """Return the figures on what is held back."""
        return figures_of(model, self._held)


def window_of(row: Reading, made: Sequence[Input], rng: random.Random) -> Input | None:
    """Return the window to learn from; `None` if none has all that is marked."""
    if not row.answers:
        return rng.choice(made)
    if row.marked is None:
        return made[0] if len(made) == 1 else None
    whole = [one for one in made if set(row.marked) <= set(one.sentences)]
    return rng.choice(whole) if whole else None


def target_of(row: Reading, made: Input, style: float = 0.0) -> Target:
    """Return what is known of a window."""
    answers = None if row.answers is None else float(row.answers)
    if row.marked is None:
        return Target(answers, None, style)
    return Target(answers, tuple(float(place in row.marked) for place in made.sentences), style)


def marked(batch: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return row, place, label and weight of every marker with a label; each passage counts alike."""
    found = [
        (row, place, label, one.weight / len(one.input.marks))
        for row, one in enumerate(batch)
        if one.target.marks is not None
        for place, label in zip(one.input.marks, one.target.marks, strict=True)
    ]
    rows, places, labels, weights = zip(*found, strict=True) if found else ((), (), (), ())
    return (
        torch.tensor(rows, dtype=torch.long),
        torch.tensor(places, dtype=torch.long),
        torch.tensor(labels),
        torch.tensor(weights),
    )


@dataclass(frozen=True, slots=True)
class Held:
    """Questions that no training sees, each with its own passage and the nearest other one."""

    answered: tuple[Reading, ...]
    unanswered: tuple[Reading, ...]
    others: tuple[Reading, ...]


def held_back(data: Path, cache: Path) -> Held:
    """Return the written set's dev part; the other passages may be of either part."""
    everything = read_written(data)
    dev = [one for one in everything if one.part == "dev"]
    books = books_of(everything, cache)
    return Held(
        tuple(row for _, row in answered(dev)),
        tuple(row for _, row in unanswered(dev)),
        tuple(other for one, row in answered(dev) for other in books[one.book].others(row, 1)),
    )


@dataclass(frozen=True, slots=True)
class Read:
    """What the reader says of a passage."""

    answers: float
    sentences: dict[int, float]


def read(model: PairEncoder, rows: Sequence[Reading]) -> list[Read]:
    """Return what the model says of each row; of several windows the best counts."""
    inputs = [reader_inputs(row.question, row.heading, row.sentences) for row in rows]
    outputs = iter(outputs_of(model, [one for made in inputs for one in made]))
    found = []
    for made in inputs:
        said = [(one, *next(outputs)) for one in made]
        sentences: dict[int, float] = {}
        for one, _, marks in said:
            for place, mark in zip(one.sentences, marks, strict=True):
                sentences[place] = max(mark, sentences.get(place, mark))
        found.append(Read(max(logits[0] for _, logits, _ in said), sentences))
    return found


def figures_of(model: PairEncoder, held: Held) -> dict[str, float]:
    """Return the figures on the written set's dev part."""
    own, other = read(model, held.answered), read(model, held.others)
    near = read(model, held.unanswered)
    bare = [
        [
            one.answers
            for one in read(model, [Reading(r.question, "", (), None, None, "") for r in rows])
        ]
        for rows in (held.answered, held.unanswered)
    ]
    yes = [one.answers for one in own]
    figures = {
        "own": auroc(yes, [one.answers for one in near]),
        "withheld": auroc(*bare),
        "contrast": auroc(yes, [one.answers for one in other]),
        "best_sentence": best_sentence(own, held.answered),
    }
    figures["mean"] = (figures["own"] + figures["contrast"] + figures["best_sentence"]) / 3
    return figures


def best_sentence(said: Sequence[Read], rows: Sequence[Reading]) -> float:
    """Return how often the best-scored sentence is one of those marked."""
    hits = [
        max(one.sentences, key=lambda place: one.sentences[place]) in (row.marked or ())
        for one, row in zip(said, rows, strict=True)
        if one.sentences
    ]
    return sum(hits) / len(hits)


def main() -> None:
    options: Any = options_of(__doc__)
    recipe = read_recipe(options.recipe or FOLDER / "reader.toml")
    task = ReaderTask(recipe.best, held_back(options.data, options.cache))
    train(recipe, options, task, 1, marks=True)


if __name__ == "__main__":
    main()
