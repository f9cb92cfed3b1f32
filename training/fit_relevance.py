"""Fit the relevance of a passage to a question: `similarity_score`.

    python -m training.fit_relevance --data DATA --held-out SETS --out src/citewell/retrieve/fitted

Run after `training/fit_calibration.py`: it adds to the file that was written there.

Data: the author-written questions of OpenStax Microbiology and OpenStax Introduction to Sociology
(CC BY 4.0), each with the page that answers it. A passage is relevant if it is on the subject asked
about, whether or not it holds the answer: it stands in the chapter of that page, or it is nearer to
a passage of that page than four in five pairs of passages of the book are to each other. Every
question is asked four ways:

* of its whole book;
* of its book without the page that answers;
* of another book;
* of a short book, of a few passages around the page that answers.

Nothing of the sets in `--held-out` is fitted on; the figures are theirs.
"""

import argparse
import asyncio
import json
import random
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from citewell.domain import DEFAULT_MIN_ANSWERABILITY, Filters, Question
from citewell.models.cross_encoder import CrossEncoder
from citewell.options import SearchOptions
from citewell.ports import Embedder
from citewell.retrieve.calibration import (
    answerability_features,
    calibration_file,
    load_calibration,
    relevance_features,
)
from citewell.retrieve.rerank import SentenceReranker
from citewell.retrieve.search import Searcher
from citewell.settings import read_settings
from citewell.wiring import build_embedder
from evals.metrics import auroc
from training.books import Asked, MemoryBook, read_openstax, short_book

FITTED_ON = ("openstax-microbiology", "openstax-sociology")
HELD_OUT = ("openstax-anatomy", "rust-book")
NAMES = {
    "openstax-microbiology": "OpenStax Microbiology (CC BY 4.0)",
    "openstax-sociology": "OpenStax Introduction to Sociology (CC BY 4.0)",
    "openstax-anatomy": "OpenStax Anatomy and Physiology (CC BY 4.0)",
    "rust-book": "The Rust Programming Language (MIT/Apache-2.0)",
}
PER_BOOK = 120
SHORT = (3, 6, 12, 25)
"""Passages of the short books."""
TOP_K = 5
THRESHOLD = Question(text="").threshold
SHARE = {"whole": 0.7, "missing": 0.1, "off": 0.1, "short": 0.1}
"""What readers are taken to ask: mostly what the book covers."""
RIDGE = 1.0
UNRELATED = 0.8
"""Share of the pairs of passages of a book that are not about the same."""
STEPS = 30


def chapters_of(book: MemoryBook) -> dict[str, int]:
    """Number the chapter of each page: by the file name, or from one introduction to the next."""
    found: dict[str, int] = {}
    chapter = 0
    for chunk in book.chunks:
        if chunk.source_file in found:
            continue
        named = re.match(r"ch(\d+)-", chunk.source_file)
        chapter = int(named[1]) if named else chapter + (chunk.chapter == "Introduction")
        found[chunk.source_file] = chapter
    return found


def related_in(book: MemoryBook) -> float:
    """Return the cosine from which two passages of a book are about the same."""
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, len(book.chunks), (2, 5_000))
    cosines = (book.vectors[one] * book.vectors[other])[one != other].sum(1)
    return float(np.quantile(cosines, UNRELATED))


@dataclass(frozen=True)
class Gatherer:
    """Asks questions in all ways, and keeps what is known of each passage found."""

    searcher: Searcher
    rows: list[dict] = field(default_factory=list)

    async def ask(
        self, kind: str, read: MemoryBook, book: MemoryBook, asked: Asked, related: float
    ) -> None:
        """Add a row for each passage found in `read` for a question about `book`."""
        hits, signals = await self.searcher.retrieve(read, asked.text, Filters(), TOP_K)
        answerability = self.searcher.calibration.answerability(answerability_features(signals))
        gold = [row for row, chunk in enumerate(book.chunks) if chunk.id in asked.gold]
        chapters = chapters_of(book)
        wanted = {chapters[book.chunks[row].source_file] for row in gold}
        self.rows.extend(
            {
                "book": book.book,
                "question": asked.id,
                "kind": kind,
                "rank": hit.rank,
                "answerability": answerability,
                "relevant": (read.book == book.book and chapters[hit.chunk.source_file] in wanted)
                or float((book.vectors[gold] @ np.array(hit.vector)).max()) >= related,
                "features": relevance_features(place, signals),
            }
            for place, hit in enumerate(hits)
        )


async def gather(books: list[MemoryBook], embedder: Embedder) -> list[dict]:
    """Return a row for each passage found for each way each question was asked."""
    reader = SentenceReranker(CrossEncoder())
    calibration = load_calibration(embedder.id)
    gatherer = Gatherer(Searcher(embedder, reader, calibration, SearchOptions()))
    for place, book in enumerate(books):
        other = books[(place + 1) % len(books)]
        cut, related = random.Random(6), related_in(book)
        for asked in random.Random(0).sample(book.questions, min(PER_BOOK, len(book.questions))):
            await gatherer.ask("whole", book, book, asked, related)
            book.hidden = asked.gold
            await gatherer.ask("missing", book, book, asked, related)
            book.hidden = frozenset()
            await gatherer.ask("off", other, book, asked, related)
            part = short_book(cut, book, cut.choice(SHORT), asked.gold)
            await gatherer.ask("short", part, book, asked, related)
        print(book.book, len(gatherer.rows), "passages so far", flush=True)
    return gatherer.rows


@dataclass(frozen=True)
class Table:
    """Rows as a model sees them; each kind weighs what readers are taken to ask of it."""

    rows: list[dict]

    @property
    def names(self) -> list[str]:
        return list(self.rows[0]["features"])

    @property
    def x(self) -> np.ndarray:
        features = [[row["features"][name] for name in self.names] for row in self.rows]
        return np.c_[np.ones(len(self.rows)), features]

    @property
    def y(self) -> np.ndarray:
        return np.array([row["relevant"] for row in self.rows], float)

    @property
    def weight(self) -> np.ndarray:
        kinds = [row["kind"] for row in self.rows]
        counts = {kind: kinds.count(kind) for kind in SHARE}
        return np.array([SHARE[kind] / counts[kind] for kind in kinds]) * len(kinds)

    def figures(self, p: np.ndarray) -> dict:
        """Return how well probabilities hold, and what the levels come to."""
        y, weight = self.y, self.weight
        total, curve = 0.0, []
        for low in np.arange(10) / 10:
            inside = (p >= low) & (p < low + 0.1 if low < 0.9 else p <= 1)
            if inside.any():
                said = float(np.average(p[inside], weights=weight[inside]))
                seen = float(np.average(y[inside], weights=weight[inside]))
                total += float(weight[inside].sum() / weight.sum()) * abs(said - seen)
                curve.append([round(said, 3), round(seen, 3), int(inside.sum())])
        return {
            "passages": len(p),
            "auroc": round(auroc(p.tolist(), y.astype(bool).tolist()) or 0.0, 4),
            "ece": round(total, 4),
            "reliability": curve,
            "of_5_passed": self.passed(p),
        }

    def passed(self, p: np.ndarray) -> list[int]:
        """Count the answerable questions with 0, 1, … 5 passages above the usual threshold."""
        counts: dict[tuple[str, str], int] = {}
        for row, probability in zip(self.rows, p, strict=True):
            if row["kind"] == "whole" and row["answerability"] >= DEFAULT_MIN_ANSWERABILITY:
                key = (row["book"], row["question"])
                counts[key] = counts.get(key, 0) + int(probability >= THRESHOLD)
        return np.bincount(list(counts.values()), minlength=TOP_K + 1).tolist()


def fitted(table: Table) -> np.ndarray:
    """Return bias and weights, by Newton's method."""
    x, y, weight = table.x, table.y, table.weight
    ridge = RIDGE * np.diag([0.0, *([1.0] * (x.shape[1] - 1))])
    theta = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x @ theta))
        slope = x.T @ (weight * (y - p)) - ridge @ theta
        theta += np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x + ridge, slope)
    return theta.round(4)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--held-out", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".citewell/training"))
    options = parser.parse_args()
    embedder = build_embedder(read_settings(), on_status=print)
    read = partial(read_openstax, embedder=embedder, cache=options.cache)
    rows = asyncio.run(gather([read(options.data / name) for name in FITTED_ON], embedder))
    others = asyncio.run(gather([read(options.held_out / name) for name in HELD_OUT], embedder))
    (options.cache / "relevance.json").write_text(json.dumps([rows, others]), "utf-8")
    theta = fitted(Table(rows))

    def figures(some: list[dict]) -> dict:
        table = Table(some)
        return table.figures(1 / (1 + np.exp(-table.x @ theta)))

    path = options.out / calibration_file(embedder.id)
    known = json.loads(path.read_text("utf-8"))
    known["relevance"] = {
        "fitted_by": "training/fit_relevance.py",
        "fitted_on": [NAMES[name] for name in FITTED_ON],
        "bias": float(theta[0]),
        "weights": dict(zip(Table(rows).names, theta[1:].tolist(), strict=True)),
        "held_out": {
            NAMES[name]: figures([row for row in others if row["book"] == name])
            for name in HELD_OUT
        },
    }
    print(json.dumps(known["relevance"]))
    path.write_text(json.dumps(known, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
