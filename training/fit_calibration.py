"""Fit what turns raw search scores into `similarity_score` and the probability of an answer.

    python training/fit_calibration.py --data DATA --out src/quire/retrieve/calibration

Data (CC BY 4.0): the author-written questions of OpenStax Microbiology and OpenStax Introduction to
Sociology, with the page each question belongs to. Nothing else is seen.

* A question is *answerable* by passages among which is one of its own page. It is not when that page
  is taken out of the index (on topic, but not there) or when the book is the other one.
* A passage *serves* the question if the question is answerable by what was found, and the passage
  stands in the chapter that the question was written for.

Each question is seen as it was written and as a reader in a hurry would type it. Half of them (by hash) fit the models, the other half give the figures written beside them.
"""

import argparse
import asyncio
import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from quire.domain import Block, Chunk, Filters, Page, Section
from quire.index.crossencoder import CrossEncoder
from quire.index.embed import GraniteEmbedder
from quire.index.sparse import passage_weights, query_weights
from quire.ingest.chunk import chunk_page, embedding_text
from quire.ingest.options import IngestOptions
from quire.ports import Rankings, Vectors
from quire.prose.terms import STOPWORDS, TermStatistics, words
from quire.retrieve.calibrate import (
    Calibration,
    Logistic,
    Signals,
    answerability_features,
    similarity_features,
)
from quire.retrieve.evidence import EvidenceReader
from quire.retrieve.options import SearchOptions
from quire.retrieve.search import Searcher, floor_of

BOOKS = ("openstax-microbiology", "openstax-sociology")
TOP_K = 5
NOTHING = Calibration(Logistic(0.0, {}), Logistic(0.0, {}))
"""The service is asked for its signals only; nothing is calibrated yet."""


@dataclass
class MemoryBook:
    """A book held in memory, from which pages can be taken out."""

    book: str
    title: str
    revision: str
    statistics: TermStatistics
    chunks: list[Chunk]
    vectors: Vectors
    hidden: frozenset[str] = frozenset()
    last: list[Chunk] = field(default_factory=list)

    def __post_init__(self) -> None:
        texts = [embedding_text(c) for c in self.chunks]
        average = sum(len(t.split()) for t in texts) / len(texts)
        self._sparse = [passage_weights(t, average) for t in texts]
        counts: dict[int, int] = {}
        for weights in self._sparse:
            for place in weights.indices:
                counts[place] = counts.get(place, 0) + 1
        n = len(texts)
        self._idf = {p: np.log(1 + (n - c + 0.5) / (c + 0.5)) for p, c in counts.items()}
        self._postings: dict[int, list[tuple[int, float]]] = {}
        for row, weights in enumerate(self._sparse):
            for place, value in zip(weights.indices, weights.values, strict=True):
                self._postings.setdefault(place, []).append((row, value))
        self._row = {c.id: i for i, c in enumerate(self.chunks)}

    def rank(self, text: str, vector: Vectors, *, filters: Filters, depth: int) -> Rankings:
        seen = np.array([c.source_file not in self.hidden for c in self.chunks])
        dense = np.where(seen, self.vectors @ vector, -1)
        words = np.zeros(len(self.chunks))
        for place in query_weights(text).indices:
            for row, value in self._postings.get(place, ()):
                words[row] += self._idf[place] * value
        words = np.where(seen, words, 0)
        best = lambda s: [
            (self.chunks[i].id, float(s[i])) for i in np.argsort(-s)[:depth] if s[i] > 0
        ]
        return Rankings(best(dense), best(words))

    def fetch(self, ids: list[str]) -> list[tuple[Chunk, Vectors]]:
        return [(self.chunks[self._row[i]], self.vectors[self._row[i]]) for i in ids]


def load_book(folder: Path, embedder: GraniteEmbedder, cache: Path) -> MemoryBook:
    pages: dict[str, list[Section]] = {}
    titles = {}
    for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        titles[row["page"]] = row["title"]
        path = tuple(p.strip() for p in row["section"].split(">"))
        blocks = tuple(Block(kind="prose", text=t) for t in row["text"].split("\n") if t.strip())
        pages.setdefault(row["page"], []).append(Section(path=path, anchor="", blocks=blocks))
    now = datetime.now(UTC)
    chunks = [
        chunk
        for source, sections in pages.items()
        for chunk in chunk_page(
            Page(source=source, title=titles[source], part="", url="", sections=tuple(sections)),
            book=folder.name,
            count=embedder.count_tokens,
            options=IngestOptions(),
            now=now,
        )
    ]
    texts = [embedding_text(c) for c in chunks]
    stored = cache / f"{folder.name}.npy"
    if not stored.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(stored, embedder.embed_passages(texts))
    vectors = np.load(stored)
    assert len(vectors) == len(chunks), f"delete {stored}: it is of another chunking"
    return MemoryBook(folder.name, folder.name, "", TermStatistics.count(texts), chunks, vectors)


def questions(folder: Path) -> list[dict]:
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]
    return [row for row in rows if not row["cloze"] and row["text"].strip().endswith("?")]


def sloppy(text: str) -> str:
    """Write the question as a reader in a hurry would: content words only, in lower case."""
    return " ".join(w for w in words(text.lower()) if w not in STOPWORDS) or text


def fits(row: dict) -> bool:
    return hashlib.sha256(row["id"].encode()).digest()[0] % 2 == 0


async def found(
    searcher: Searcher, embedder: GraniteEmbedder, book: MemoryBook, text: str
) -> Signals:
    """Search and read, as the service does; the hits' chunks are kept in `book.last`."""
    hits = (await searcher.search(book, text, filters=Filters(), top_k=TOP_K)).hits
    book.last = [hit.chunk for hit in hits]
    rankings = book.rank(
        text, embedder.embed_query(text), filters=Filters(), depth=SearchOptions().depth
    )
    return searcher.read(book, text, hits, floor_of(rankings))


async def gather(books: dict, sets: dict, embedder: GraniteEmbedder) -> list[tuple]:
    """Give (fit part?, signals, answerable, relevance of each hit)."""
    searcher = Searcher(embedder, EvidenceReader(CrossEncoder()), NOTHING, SearchOptions())
    rows = []
    for name, book in books.items():
        chapter = {p: row["chapter"] for row in sets[name] for p in row["gold_pages"]}
        other = next(b for n, b in books.items() if n != name)
        for row in sets[name]:
            for text in (row["text"], sloppy(row["text"])):
                signals = await found(searcher, embedder, book, text)
                there = any(c.source_file in row["gold_pages"] for c in book.last)
                relevant = [chapter.get(c.source_file) == row["chapter"] for c in book.last]
                if there:
                    rows.append((fits(row), signals, 1, [int(r) for r in relevant]))
                book.hidden = frozenset(row["gold_pages"])
                signals = await found(searcher, embedder, book, text)
                book.hidden = frozenset()
                rows.append((fits(row), signals, 0, [0] * len(signals.texts)))
                signals = await found(searcher, embedder, other, text)
                rows.append((fits(row), signals, 0, [0] * len(signals.texts)))
            if len(rows) % 200 < 6:
                print(len(rows), "examples", flush=True)
    return rows


def ece(labels: np.ndarray, probabilities: np.ndarray, bins: int = 10) -> tuple[float, list]:
    edges = np.linspace(0, 1, bins + 1)
    total, curve = 0.0, []
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        inside = (probabilities >= low) & (probabilities < high if high < 1 else probabilities <= 1)
        if inside.any():
            said, seen = float(probabilities[inside].mean()), float(labels[inside].mean())
            total += inside.mean() * abs(said - seen)
            curve.append([round(said, 3), round(seen, 3), int(inside.sum())])
    return float(total), curve


def fit(
    kind: str, features: list[dict], labels: list[int], part: list[bool]
) -> tuple[Logistic, dict]:
    names = list(features[0])
    x = np.array([[row[n] for n in names] for row in features])
    y, chosen = np.array(labels), np.array(part)
    mean, spread = x[chosen].mean(0), x[chosen].std(0) + 1e-9
    model = LogisticRegression(C=1.0).fit((x[chosen] - mean) / spread, y[chosen])
    weights = model.coef_[0] / spread
    bias = float(model.intercept_[0] - (weights * mean).sum())
    p = 1 / (1 + np.exp(-(x[~chosen] @ weights + bias)))
    error, curve = ece(y[~chosen], p)
    auroc = float(roc_auc_score(y[~chosen], p))
    print(
        kind, {n: round(float(w), 2) for n, w in zip(names, weights, strict=True)}, round(bias, 2)
    )
    print("  held-out AUROC", round(auroc, 3), "ECE", round(error, 3), curve)
    fitted = Logistic(
        round(bias, 4), {n: round(float(w), 4) for n, w in zip(names, weights, strict=True)}
    )
    return fitted, {
        "bias": fitted.bias,
        "weights": fitted.weights,
        "held_out": {
            "examples": int((~chosen).sum()),
            "auroc": round(auroc, 4),
            "ece": round(error, 4),
            "reliability": curve,
        },
    }


def fit_both(rows: list[tuple]) -> dict:
    part = [row[0] for row in rows]
    described = [answerability_features(row[1]) for row in rows]
    answerable, first = fit("answerability", described, [row[2] for row in rows], part)
    features, labels, parts = [], [], []
    for (own, signals, _, relevant), about in zip(rows, described, strict=True):
        for place, label in enumerate(relevant):
            features.append(similarity_features(signals, place, place + 1, answerable(about)))
            labels.append(label)
            parts.append(own)
    _, second = fit("similarity", features, labels, parts)
    return {"similarity": second, "answerability": first}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", type=Path, default=Path(".quire/models"))
    parser.add_argument("--cache", type=Path, default=Path(".quire/training"))
    options = parser.parse_args()
    embedder = GraniteEmbedder(options.models, say=print)
    books = {n: load_book(options.data / n, embedder, options.cache) for n in BOOKS}
    sets = {n: questions(options.data / n) for n in BOOKS}
    rows = asyncio.run(gather(books, sets, embedder))
    result = {
        "embedder": embedder.id,
        "reader": CrossEncoder.id,
        "fitted_on": [f"{n} (CC BY 4.0), {len(sets[n])} questions, half of them" for n in BOOKS],
        "fitted_by": "training/fit_calibration.py",
        **fit_both(rows),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{embedder.id.split('@')[0]}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
