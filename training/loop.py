"""One training loop for both models: by minutes, in bf16, stopped and continued at will."""

import json
import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from training.encoder import PairEncoder
from training.tokens import PAD, Input

POOL = 2048
"""Rows that are sorted by length together."""
MOST = 128
"""Examples in a batch, however short they are."""
LOG, CHECKPOINT, EVALUATE = 100, 5.0, 20.0
"""Steps between lines of the log; minutes between checkpoints and between evaluations."""
WARM = 0.04
LAST = 0.02
"""The share of the time in which the rate rises, and the share of the rate that is left at the end."""


@dataclass(frozen=True, slots=True)
class Example:
    """An input with what is to be learnt from it."""

    input: Input
    target: Any
    weight: float = 1.0


class Task(Protocol):
    """What makes a reader or a judge of the loop."""

    best: str
    """The figure by which weights are kept."""

    def prepare(self, rows: Sequence[Any]) -> None:
        """Learn what must be known of all rows before any of them is shown."""

    def examples(self, rows: Sequence[Any], rng: random.Random) -> list[Example]:
        """Return what is learnt from rows."""

    def loss(self, outputs: Any, batch: Sequence[Example], taught: Any) -> Tensor:
        """Return the loss of a batch; `taught` are a teacher's outputs, if there is one."""

    def evaluate(self, model: PairEncoder) -> dict[str, float]:
        """Return the figures on what is held back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How long and how fast to learn, and where the run is kept."""

    run: Path
    minutes: float
    rate: float = 1e-4
    tokens: int = 4096
    seed: int = 11
    decay: float = 0.01
    clip: float = 1.0


@dataclass(slots=True)
class Place:
    """How far a run has come."""

    minutes: float = 0.0
    steps: int = 0
    batches: int = 0
    epoch: int = 0
    examples: int = 0
    best: float = float("-inf")
    checkpointed: float = 0.0
    evaluated: float = 0.0


class Clock:
    """Counts active time: a step that took far longer than others was stopped meanwhile."""

    def __init__(self) -> None:
        """Begin."""
        self._recent: list[float] = []

    def count(self, seconds: float) -> float:
        """Return how much of a step's time counts."""
        most = 5 * median(self._recent) if len(self._recent) >= 5 else 10.0
        counted = min(seconds, most)
        self._recent = [*self._recent[-49:], counted]
        return counted


def padded(inputs: Sequence[Input]) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids, types and mask of a batch."""
    longest = max(len(one.ids) for one in inputs)
    ids = [one.ids + [PAD] * (longest - len(one.ids)) for one in inputs]
    types = [one.types + [0] * (longest - len(one.types)) for one in inputs]
    mask = [[1] * len(one.ids) + [0] * (longest - len(one.ids)) for one in inputs]
    return torch.tensor(ids), torch.tensor(types), torch.tensor(mask)


def bf16() -> AbstractContextManager[None]:
    """Return the context in which matrices are multiplied in bf16."""
    return torch.autocast("cpu", dtype=torch.bfloat16)


def packed(examples: Sequence[Example], tokens: int) -> list[list[Example]]:
    """Return batches of examples of like length, each of at most so many tokens with padding."""
    batches: list[list[Example]] = []
    for one in sorted(examples, key=lambda e: len(e.input.ids)):
        last = batches[-1] if batches else None
        if last is None or len(last) == MOST or len(one.input.ids) * (len(last) + 1) > tokens:
            batches.append([one])
        else:
            last.append(one)
    return batches


def batches(
    rows: Sequence[Any], task: Task, options: Options, place: Place
) -> Iterator[list[Example]]:
    """Yield batches for ever, beginning at a place; the order depends on the seed alone."""
    while True:
        order = list(range(len(rows)))
        random.Random(f"{options.seed} {place.epoch}").shuffle(order)
        number = 0
        for start in range(0, len(order), POOL):
            rng = random.Random(f"{options.seed} {place.epoch} {start}")
            pool = [rows[i] for i in order[start : start + POOL]]
            made = packed(task.examples(pool, rng), options.tokens)
            rng.shuffle(made)
            for batch in made:
                number += 1
                if number > place.batches:
                    place.batches = number
                    yield batch
        place.epoch, place.batches = place.epoch + 1, 0


def share_of_rate(done: float) -> float:
    """Return the learning rate's share when a share of the time is over."""
    if done < WARM:
        return max(done / WARM, 0.01)
    return max(LAST, (1 - done) / (1 - WARM))


def save(path: Path, value: object) -> None:
    """Write with torch so that a broken-off write leaves nothing behind."""
    making = path.with_suffix(".making")
    torch.save(value, making)
    making.replace(path)


class Training:
    """A run: the model, what optimises it, and how far it has come."""

    def __init__(
        self, model: PairEncoder, task: Task, options: Options, teacher: PairEncoder | None = None
    ) -> None:
        """Take up the run where its folder says it was stopped, or begin it."""
        torch.set_num_threads(2)
        torch.manual_seed(options.seed)
        self.model, self.task, self.options = model, task, options
        self.teacher = teacher.eval() if teacher else None
        self.place = Place()
        learnt = [p for p in model.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in learnt if p.ndim > 1], "weight_decay": options.decay},
            {"params": [p for p in learnt if p.ndim == 1], "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.AdamW(groups, lr=options.rate)
        options.run.mkdir(parents=True, exist_ok=True)
        self._checkpoint = options.run / "checkpoint.pt"
        if self._checkpoint.exists():
            self._resume()

    @property
    def done(self) -> bool:
        """Whether the minutes are spent."""
        return self.place.minutes >= self.options.minutes

    def _resume(self) -> None:
        stored = torch.load(self._checkpoint, weights_only=False)
        self.model.load_state_dict(stored["model"])
        self.optimiser.load_state_dict(stored["optimiser"])
        self.place = Place(**stored["place"])
        torch.set_rng_state(stored["rng"])
        print(f"resumed at {self.place.minutes:.1f} minutes, step {self.place.steps}", flush=True)

    def checkpoint(self) -> None:
        """Keep all that is needed to go on."""
        self.place.checkpointed = self.place.minutes
        state = {
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "place": {name: getattr(self.place, name) for name in Place.__slots__},
            "rng": torch.get_rng_state(),
        }
        save(self._checkpoint, state)

    def step(self, batch: list[Example]) -> float:
        """Learn from a batch and return its loss."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.options.rate * share_of_rate(
                self.place.minutes / self.options.minutes
            )
        inputs = padded([one.input for one in batch])
        taught = None
        if self.teacher is not None:
            with torch.no_grad(), bf16():
                taught = self.teacher(*inputs)
        with bf16():
            outputs = self.model(*inputs)
        loss = self.task.loss(outputs, batch, taught)
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip)
        self.optimiser.step()
        return float(loss.item())

    def run(self, rows: Sequence[Any]) -> None:
        """Learn until the minutes are spent or the process is told to end."""
        ended: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
        clock, losses, since = Clock(), [], (self.place.examples, self.place.minutes)
        self.model.train()
        for batch in batches(rows, self.task, self.options, self.place):
            if self.done or ended:
                break
            begun = time.monotonic()
            losses.append(self.step(batch))
            self.place.minutes += clock.count(time.monotonic() - begun) / 60
            self.place.steps += 1
            self.place.examples += len(batch)
            if self.place.steps % LOG == 0:
                self._log(losses, since)
                losses, since = [], (self.place.examples, self.place.minutes)
            if self.place.minutes - self.place.evaluated >= EVALUATE and not self.done:
                self.evaluate()
            if self.place.minutes - self.place.checkpointed >= CHECKPOINT:
                self.checkpoint()
        if self.done and self.place.evaluated < self.place.minutes:
            self.evaluate()
        self.checkpoint()

    def _log(self, losses: list[float], since: tuple[int, float]) -> None:
        spent = (self.place.minutes - since[1]) * 60
        speed = (self.place.examples - since[0]) / max(spent, 1e-9)
        print(
            f"{time.strftime('%H:%M:%S')} {self.place.minutes:6.1f} min  step {self.place.steps}"
            f"  loss {mean(losses):.4f}  {speed:.1f} examples/s  epoch {self.place.epoch}",
            flush=True,
        )

    def evaluate(self) -> None:
        """Append the figures to `metrics.jsonl`, and keep the weights if they are the best yet."""
        self.model.eval()
        with torch.inference_mode():
            figures = self.task.evaluate(self.model)
        self.model.train()
        self.place.evaluated = self.place.minutes
        row = {
            "minutes": round(self.place.minutes, 1),
            "steps": self.place.steps,
            "examples": self.place.examples,
            **{name: round(value, 4) for name, value in figures.items()},
        }
        with (self.options.run / "metrics.jsonl").open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
        if figures[self.task.best] > self.place.best:
            self.place.best = figures[self.task.best]
            save(self.options.run / "best.pt", self.model.state_dict())


def outputs_of(
    model: PairEncoder, inputs: Sequence[Input], tokens: int = 16384
) -> list[tuple[list[float], list[float]]]:
    """Return the logits of each input and of its markers."""
    order = sorted(range(len(inputs)), key=lambda i: len(inputs[i].ids))
    found: list[tuple[list[float], list[float]]] = [([], [])] * len(inputs)
    start = 0
    model.eval()
    while start < len(order):
        longest = len(inputs[order[start]].ids)
        size = max(1, min(MOST, tokens // (longest + 8)))
        places = order[start : start + size]
        start += size
        with torch.inference_mode(), bf16():
            logits, marks = model(*padded([inputs[i] for i in places]))
        for row, place in enumerate(places):
            own = [] if marks is None else marks[row, inputs[place].marks].float().tolist()
            found[place] = (logits[row].float().tolist(), own)
    return found
