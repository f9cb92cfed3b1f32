"""Fit the probability that what was found holds the answer: `answerability`.

    python -m training.fit_calibration --data DATA --out src/citewell/retrieve/fitted

The embedder is the one that the settings name (`CITEWELL_EMBEDDER`). For one that Citewell ships nothing
for, `--out` is the folder `calibration` in the data folder, where it is found.

Data: the author-written questions of OpenStax Microbiology and OpenStax Introduction to Sociology
(CC BY 4.0) and the questions of COVID-QA (Apache-2.0), each with the place that answers it. Nothing
else is seen; but the reader, whose scores are a part of this, learnt from sentences of the same
sources, so that the figures are rather too good. Every question is asked five ways:

* with its whole book in the index: answerable, if a passage that answers is among those found;
* with the passages that answer taken out: on topic, but not there;
* of another book: off topic;
* changed by a word (`training/question_twins.py`), with its whole book in the index: the passage
  is there, but does not say what is asked now;
* asked "in", "with" or "for" something that its book never names, with its whole book in the index.

All of it is done with the whole book and again with a short one, a few neighbouring passages of it.
The weights are fitted on whole books. A short one has no passages that are merely in the same book:
what stands for their cosine (`floor`) is fitted on the short ones.

Four questions in five are taken to be answerable, and the rest to be of the other four kinds in
about equal parts. Each question is seen as it was
written, and every second one also as a reader in a hurry would type it. Half of the questions (by
hash) fit the model, the other half give the figures written beside it.
"""

import argparse
import asyncio
import hashlib
import json
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from citewell.domain import Filters, Hit
from citewell.models.cross_encoder import CrossEncoder
from citewell.options import SearchOptions
from citewell.ports import Embedder
from citewell.retrieve.calibration import (
    Calibration,
    LogisticModel,
    answerability_features,
    calibration_file,
)
from citewell.retrieve.rerank import SentenceReranker
from citewell.retrieve.search import FLOOR_RANK, FLOOR_SAMPLE_SIZE, Searcher
from citewell.settings import read_settings
from citewell.text.terms import STOPWORDS, terms, words
from citewell.wiring import build_embedder
from training.books import Asked, MemoryBook, read_covid, read_openstax, short_book
from training.question_twins import altered

TOP_K = 5
PER_BOOK = 160
SHORT = (3, 6, 12, 25, 50, 100, 200)
"""Passages of the short books."""
FLOORS = np.arange(30, 71) / 100
SHARE = {"answerable": 0.8, "missing": 0.05, "off": 0.05, "changed": 0.05, "foreign": 0.05}
"""What readers are taken to ask: mostly what the book covers."""


def sloppy(text: str) -> str:
    """Write the question as a reader in a hurry would: content words only, in lower case."""
    return " ".join(w for w in words(text.lower()) if w not in STOPWORDS) or text


def byte(identity: str) -> int:
    return hashlib.sha256(identity.encode()).digest()[0]


def foreign(rng: random.Random, text: str, book: MemoryBook, other: MemoryBook) -> str | None:
    """Ask for something that the book never names, which another book's questions do."""
    named = sorted(
        {
            word
            for asked in other.questions
            for word in words(asked.text)
            if len(word) > 3
            and terms(word)
            and not any(map(book.statistics.frequency.get, terms(word)))
        }
    )
    joint = rng.choice(("in", "with", "for"))
    return f"{text.rstrip(' ?')} {joint} {rng.choice(named)}?" if named else None


@dataclass(frozen=True)
class Gatherer:
    """Asks questions in all ways, and keeps what was found."""

    searcher: Searcher
    rows: list[dict] = field(default_factory=list)

    async def ask(self, rng: random.Random, book: MemoryBook, other: MemoryBook, asked: Asked,
                  text: str) -> None:  # fmt: skip
        """Add a row for each way to ask a question of a book, or of another one."""
        hits = await self._look("answerable", book, text, asked, asked.gold)
        gold = {chunk.id for chunk in book.chunks} & asked.gold
        if len(gold) < len(book.chunks):
            book.hidden = asked.gold
            await self._look("missing", book, text, asked)
            book.hidden = frozenset()
        await self._look("off", other, text, asked)
        said = " ".join(hit.chunk.text for hit in hits if hit.chunk.id in asked.gold)
        for changed in altered(rng, text, [one.text for one in book.questions], said)[:1]:
            await self._look("changed", book, changed, asked)
        if asks := foreign(rng, text, book, other):
            await self._look("foreign", book, asks, asked)

    async def _look(
        self,
        kind: str,
        book: MemoryBook,
        text: str,
        asked: Asked,
        gold: frozenset[str] | None = None,
    ) -> list[Hit]:
        hits, signals = await self.searcher.retrieve(book, text, Filters(), TOP_K)
        seen = sum(chunk.id not in book.hidden for chunk in book.chunks)
        tail = min(seen, self.searcher.options.depth) - FLOOR_RANK
        if gold is None or any(hit.chunk.id in gold for hit in hits):
            row = {
                "fit": byte(asked.id) % 2 == 0,
                "book": asked.book,
                "kind": kind,
                "lacking": 1 - max(0, min(FLOOR_SAMPLE_SIZE, tail)) / FLOOR_SAMPLE_SIZE,
                "short": len(book.chunks) <= max(SHORT),
                "features": answerability_features(signals),
            }
            self.rows.append(row)
        return hits


async def gather(books: list[MemoryBook], embedder: Embedder) -> list[dict]:
    """Give a row for each way each question was asked."""
    # Without a usual floor: what it should be is fitted.
    nothing = Calibration(LogisticModel(0.0, {}))
    gatherer = Gatherer(
        Searcher(embedder, SentenceReranker(CrossEncoder()), nothing, SearchOptions())
    )
    rng, cut = random.Random(5), random.Random(6)
    for place, book in enumerate(books):
        chosen = random.Random(0).sample(book.questions, min(PER_BOOK, len(book.questions)))
        other = books[(place + 1) % len(books)]
        for number, asked in enumerate(chosen):
            ways = [asked.text] + ([sloppy(asked.text)] if byte(asked.id) % 4 < 2 else [])
            for text in ways:
                await gatherer.ask(rng, book, other, asked, text)
                size = cut.choice(SHORT)
                part = short_book(cut, book, size, asked.gold)
                away = short_book(cut, other, size, (chunk.id for chunk in other.chunks))
                await gatherer.ask(cut, part, away, asked, text)
            if number % 20 == 0:
                print(len(gatherer.rows), "rows", flush=True)
    return gatherer.rows


def ece(labels: np.ndarray, p: np.ndarray, weights: np.ndarray) -> tuple[float, list]:
    total, curve = 0.0, []
    for low in np.arange(10) / 10:
        inside = (p >= low) & (p < low + 0.1 if low < 0.9 else p <= 1)
        if inside.any():
            said = float(np.average(p[inside], weights=weights[inside]))
            seen = float(np.average(labels[inside], weights=weights[inside]))
            total += weights[inside].sum() / weights.sum() * abs(said - seen)
            curve.append([round(said, 3), round(seen, 3), int(inside.sum())])
    return float(total), curve


def risks(labels: np.ndarray, p: np.ndarray, weights: np.ndarray) -> list[list[float]]:
    """Give, for thresholds, the share of wrong ones among the answered, and of the answered."""
    found = []
    for threshold in np.arange(10, 20) / 20:
        answered = p >= threshold
        if answered.any():
            wrong = 1 - float(np.average(labels[answered], weights=weights[answered]))
            share = float(weights[answered].sum() / weights.sum())
            found.append([float(threshold), round(wrong, 4), round(share, 4)])
    return found


@dataclass(frozen=True)
class Table:
    """Rows as a model sees them; each kind weighs what readers are taken to ask of it."""

    rows: list[dict]

    @property
    def names(self) -> list[str]:
        return list(self.rows[0]["features"])

    def x(self, floor: float = 0.0) -> np.ndarray:
        """Give the features, with a floor for what short books lack."""
        features = [r["features"] | {"lift": r["features"]["lift"] - r["lacking"] * floor}
                    for r in self.rows]  # fmt: skip
        return np.array([[one[name] for name in self.names] for one in features])

    @property
    def kinds(self) -> np.ndarray:
        return np.array([r["kind"] for r in self.rows])

    @property
    def y(self) -> np.ndarray:
        return (self.kinds == "answerable").astype(int)

    @property
    def fitting(self) -> np.ndarray:
        return np.array([r["fit"] for r in self.rows])

    @property
    def weight(self) -> np.ndarray:
        counts = {kind: (self.kinds == kind).sum() for kind in SHARE}
        return np.array([SHARE[k] / counts[k] for k in self.kinds]) * len(self.rows)

    def figures(self, p: np.ndarray) -> dict:
        """Say how well probabilities hold on what was not fitted on."""
        held, y, kinds, weight = ~self.fitting, self.y, self.kinds, self.weight

        def auroc(*wrong: str) -> float:
            chosen = held & np.isin(kinds, ["answerable", *wrong])
            return round(float(roc_auc_score(y[chosen], p[chosen])), 4)

        error, curve = ece(y[held], p[held], weight[held])
        return {
            "questions": int(held.sum()),
            "auroc": auroc(*SHARE),
            "auroc_on_topic": auroc("missing"),
            "auroc_off_topic": auroc("off"),
            "auroc_changed": auroc("changed"),
            "auroc_foreign": auroc("foreign"),
            "ece": round(error, 4),
            "reliability": curve,
            "risk": risks(y[held], p[held], weight[held]),
        }


def fit(rows: list[dict]) -> dict:
    whole = Table([r for r in rows if not r["short"]])
    x, y, part, weight = whole.x(), whole.y, whole.fitting, whole.weight
    mean, spread = x[part].mean(0), x[part].std(0) + 1e-9
    model = LogisticRegression(C=1.0, max_iter=1000)
    model.fit((x[part] - mean) / spread, y[part], sample_weight=weight[part])
    slopes = model.coef_[0] / spread
    bias = float(model.intercept_[0] - (slopes * mean).sum())

    def probability(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-(x @ slopes + bias)))

    short = Table([r for r in rows if r["short"]])
    own = short.fitting
    losses = {
        float(floor): log_loss(
            short.y[own], probability(short.x(floor))[own], sample_weight=short.weight[own]
        )
        for floor in FLOORS
    }
    floor = min(losses, key=losses.__getitem__)
    result = {
        "bias": round(bias, 4),
        "weights": {n: round(float(w), 4) for n, w in zip(whole.names, slopes, strict=True)},
        "floor": floor,
        "held_out": whole.figures(probability(whole.x())),
        "held_out_short_books": short.figures(probability(short.x(floor))),
    }
    print(json.dumps(result))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".citewell/training"))
    options = parser.parse_args()
    embedder = build_embedder(read_settings(), on_status=print)
    books = [
        read_covid(options.data / "covid-qa", embedder, options.cache),
        read_openstax(options.data / "openstax-microbiology", embedder, options.cache),
        read_openstax(options.data / "openstax-sociology", embedder, options.cache),
    ]
    rows = asyncio.run(gather(books, embedder))
    (options.cache / "rows.json").write_text(json.dumps(rows), "utf-8")
    result = {
        "embedder": embedder.id,
        "reader": CrossEncoder.id,
        "fitted_by": "training/fit_calibration.py",
        "taken_to_be_answerable": round(SHARE["answerable"], 3),
        "fitted_on": [
            "COVID-QA (Apache-2.0)",
            "OpenStax Microbiology (CC BY 4.0)",
            "OpenStax Introduction to Sociology (CC BY 4.0)",
        ],
        "answerability": fit(rows),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / calibration_file(embedder.id)
    if path.is_file():
        # What `training/fit_relevance.py` has added stays until it is fitted again.
        result = json.loads(path.read_text("utf-8")) | result
    path.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
