"""Train the judge: does the evidence say what the claim says?

    python -m training.judge --data FOLDER --run RUN --stage 1 --weights MODEL.onnx --minutes 200

Three logits: supported, contradicted, unsupported. A run that was stopped goes on by the same command.
"""

import collections
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.encoder import PairEncoder
from training.figures import auroc, kept_at
from training.loop import Example, outputs_of
from training.recipe import FOLDER, options_of, read_recipe, train
from training.rows import Entailment, Label
from training.sets.entailment import pairs
from training.sets.written import Evidence, claims, read_written
from training.style import log_odds_of
from training.tokens import judge_input

LABELS: tuple[Label, ...] = ("supported", "contradicted", "unsupported")
TAUGHT = 0.5
"""How much a teacher's outputs count beside the labels."""
MNLI = 1500
"""Pairs of MNLI's dev part that are looked at while training."""


@dataclass(frozen=True, slots=True)
class Target:
    """The label of a claim, and what its wording alone says of it, as log-odds."""

    label: Label
    style: float


class JudgeTask:
    """What the judge learns, and its figures on the written set's dev part."""

    def __init__(self, best: str, held: "Held") -> None:
        self.best = best
        self._held = held
        self._style: dict[str, float] = {}

    def prepare(self, rows: Sequence[Entailment]) -> None:
        """Find what the wording of the claims gives away."""
        self._style = log_odds_of([r.claim for r in rows], [r.label == "supported" for r in rows])

    def examples(self, rows: Sequence[Entailment], _: random.Random) -> list[Example]:
        """Return what is learnt from rows."""
        return [
            Example(
                judge_input(row.claim, row.heading, row.evidence),
                Target(row.label, self._style.get(row.claim, 0.0)),
                row.weight,
            )
            for row in rows
        ]

    def loss(
        self,
        outputs: tuple[Tensor, None],
        batch: Sequence[Example],
        taught: tuple[Tensor, None] | None,
    ) -> Tensor:
        """Return the cross-entropy; of “not” it counts what is left of “supported”."""
        logits = outputs[0].float()
        logits[:, 0] += torch.tensor([one.target.style for one in batch])
        log = functional.log_softmax(logits, dim=1)
        of_label = {label: log[:, number] for number, label in enumerate(LABELS)}
        of_label["not"] = torch.logsumexp(log[:, 1:], dim=1)
        each = -torch.stack([of_label[one.target.label][row] for row, one in enumerate(batch)])
        if taught is not None:
            soft = functional.softmax(taught[0].float(), dim=1)
            each = torch.lerp(each, -(soft * log).sum(dim=1), TAUGHT)
        weights = torch.tensor([one.weight for one in batch])
        return (each * weights).sum() / weights.sum()

    def evaluate(self, model: PairEncoder) -> dict[str, float]:
        """Return the figures on what is held back."""
        figures = written_figures(model, self._held.claims)
        return {**figures, "mnli": accuracy(model, self._held.mnli)}


@dataclass(frozen=True, slots=True)
class Held:
    """Claims and pairs that no training sees."""

    claims: tuple[Entailment, ...]
    mnli: tuple[Entailment, ...]


def held_back(data: Path, most: int | None = MNLI) -> Held:
    """Return the claims of the written set's dev part with evidence as at run time, and MNLI's."""
    everything = read_written(data)
    evidence = Evidence(everything)
    dev = [one for one in everything if one.part == "dev"]
    found = tuple(row for _, row in claims(dev, evidence, keep=False))
    rng = random.Random(0)
    mnli = list(pairs("mnli-dev")(data, rng, data))
    return Held(found, tuple(mnli if most is None else rng.sample(mnli, most)))


def logits_of(model: PairEncoder, rows: Sequence[Entailment]) -> np.ndarray:
    """Return the log-probabilities of the three labels for each row."""
    inputs = [judge_input(row.claim, row.heading, row.evidence) for row in rows]
    logits = np.array([said for said, _ in outputs_of(model, inputs)], np.float64)
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def support_of(model: PairEncoder, rows: Sequence[Entailment]) -> list[float]:
    """Return the log-odds that each claim is supported."""
    log = logits_of(model, rows)
    return list(log[:, 0] - np.logaddexp(log[:, 1], log[:, 2]))


def written_figures(model: PairEncoder, rows: Sequence[Entailment]) -> dict[str, float]:
    """Return the figures on written claims, over all and by kind, and with the evidence withheld."""
    by_kind = scores_by_kind(rows, support_of(model, rows))
    true = by_kind.pop("supported")
    wrong = [score for found in by_kind.values() for score in found]
    bare = [Entailment(row.claim, "", (), row.label, row.source) for row in rows]
    alone = scores_by_kind(bare, support_of(model, bare))
    alone_true = alone.pop("supported")
    return {
        "auroc": auroc(true, wrong),
        "kept_at_5": kept_at(true, wrong, 0.05),
        "kept_at_10": kept_at(true, wrong, 0.10),
        "withheld": auroc(alone_true, [s for found in alone.values() for s in found]),
        **{f"kind_{kind}": auroc(true, found) for kind, found in sorted(by_kind.items())},
    }


def scores_by_kind(rows: Sequence[Entailment], scores: Sequence[float]) -> dict[str, list[float]]:
    """Return the scores by what stands behind the slash of a row's source."""
    found: dict[str, list[float]] = collections.defaultdict(list)
    for row, score in zip(rows, scores, strict=True):
        found[row.source.split("/")[-1]].append(score)
    return dict(found)


def accuracy(model: PairEncoder, rows: Sequence[Entailment]) -> float:
    """Return how often the likeliest label is the right one."""
    said = logits_of(model, rows).argmax(axis=1)
    return float(np.mean([LABELS[n] == row.label for n, row in zip(said, rows, strict=True)]))


def main() -> None:
    options: Any = options_of(__doc__)
    recipe = read_recipe(options.recipe or FOLDER / "judge.toml")
    task = JudgeTask(recipe.best, held_back(options.data))
    train(recipe, options, task, len(LABELS), marks=False)


if __name__ == "__main__":
    main()
