"""Fit what turns raw search scores into `similarity_score` and the probability of an answer.

    python training/fit_calibration.py --data ../shared/data/train --out src/quire/retrieve/calibration

Data (CC BY 4.0): the author-written questions of OpenStax Microbiology and OpenStax Introduction to
Sociology, with the page each question belongs to. Nothing else is seen.

* A passage is *relevant* if it stands in the chapter that the question was written for; a passage
  found for a question of the other book, or drawn at random, is not.
* A question is *answerable* by the passages found with the whole book in the index. It is not when
  its own page is taken out of the index (on topic, but not there) or when the book is the other one.

Half of the questions (by hash) fit the models, the other half give the figures written beside them.
"""

import argparse
import asyncio
import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from quire.domain import Block, Chunk, Filters, Page, Section
from quire.index.embed import GraniteEmbedder
from quire.index.sparse import passage_weights, query_weights
from quire.ingest.chunk import chunk_page, embedding_text
from quire.ingest.options import IngestOptions
from quire.ports import Rankings, Vectors
from quire.prose.terms import TermStatistics
from quire.retrieve.calibrate import (
    Calibration,
    Logistic,
    answerability_features,
    similarity_features,
)
from quire.retrieve.evidence import rank_evidence
from quire.retrieve.options import SearchOptions
from quire.retrieve.search import Searcher, context, passages_of

BOOKS = ("openstax-microbiology", "openstax-sociology")
TOP_K = 5
NOTHING = Calibration(Logistic(0.0, {}), Logistic(0.0, {}))


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
        best = lambda s: [(self.chunks[i].id, float(s[i])) for i in np.argsort(-s)[:depth] if s[i] > 0]  # noqa: E731
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
        blocks = tuple(
            Block(kind="prose", text=t) for t in row["text"].split("\n") if t.strip()
        )
        pages.setdefault(row["page"], []).append(Section(path=path, anchor="", blocks=blocks))
    now = datetime.now(UTC)
    chunks = [
        chunk
        for source, sections in pages.items()
        for chunk in chunk_page(
            Page(source=source, title=titles[source], part="", url="", sections=tuple(sections)),
            book=folder.name, count=embedder.count_tokens, options=IngestOptions(), now=now,
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


def fits(row: dict) -> bool:
    return hashlib.sha256(row["id"].encode()).digest()[0] % 2 == 0


async def describe(searcher: Searcher, book: MemoryBook, text: str) -> tuple[dict, tuple]:
    found = await searcher.search(book, text, filters=Filters(), top_k=TOP_K)
    hits = found.hits
    evidence = rank_evidence(text, passages_of(hits), book.statistics)
    features = answerability_features(
        text, [context(h.chunk) for h in hits], [h.cosine for h in hits], evidence, book.statistics
    )
    return features, hits


async def examples(books: dict, sets: dict, embedder: GraniteEmbedder) -> Iterator[tuple]:
    """Give (model, fit part?, features, label) rows."""
    searcher = Searcher(embedder, NOTHING, SearchOptions())
    rng = random.Random(0)
    rows = []
    for name, book in books.items():
        chapter = {p: row["chapter"] for row in sets[name] for p in row["gold_pages"]}
        other = next(b for n, b in books.items() if n != name)
        for row in sets[name]:
            part, text, own = fits(row), row["text"], set(row["gold_pages"])
            book.hidden = frozenset()
            features, hits = await describe(searcher, book, text)
            rows.append(("answerability", part, features, 1))
            for hit in hits:
                relevant = chapter.get(hit.chunk.source_file) == row["chapter"]
                said = similarity_features(text, context(hit.chunk), hit.cosine, book.statistics)
                rows.append(("similarity", part, said, int(relevant)))
            vector = embedder.embed_query(text)
            for chunk in rng.sample(book.chunks, 2):
                if chapter.get(chunk.source_file) != row["chapter"]:
                    cosine = float(vector @ book.vectors[book._row[chunk.id]])
                    said = similarity_features(text, context(chunk), cosine, book.statistics)
                    rows.append(("similarity", part, said, 0))
            book.hidden = frozenset(own)
            features, _ = await describe(searcher, book, text)
            rows.append(("answerability", part, features, 0))
            features, hits = await describe(searcher, other, text)
            rows.append(("answerability", part, features, 0))
            for hit in hits:
                said = similarity_features(text, context(hit.chunk), hit.cosine, other.statistics)
                rows.append(("similarity", part, said, 0))
        book.hidden = frozenset()
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


def fit(rows: list[tuple], kind: str) -> dict:
    chosen = [r for r in rows if r[0] == kind]
    names = list(chosen[0][2])
    x = np.array([[r[2][n] for n in names] for r in chosen])
    y = np.array([r[3] for r in chosen])
    part = np.array([r[1] for r in chosen])
    mean, spread = x[part].mean(0), x[part].std(0) + 1e-9
    model = LogisticRegression(C=1.0).fit((x[part] - mean) / spread, y[part])
    weights = model.coef_[0] / spread
    bias = float(model.intercept_[0] - (weights * mean).sum())
    p = 1 / (1 + np.exp(-(x[~part] @ weights + bias)))
    error, curve = ece(y[~part], p)
    print(kind, dict(zip(names, weights.round(2), strict=True)), "bias", round(bias, 2))
    print("  held-out AUROC", round(roc_auc_score(y[~part], p), 3), "ECE", round(error, 3), curve)
    return {
        "bias": round(bias, 4),
        "weights": {n: round(float(w), 4) for n, w in zip(names, weights, strict=True)},
        "held_out": {
            "examples": int((~part).sum()),
            "auroc": round(float(roc_auc_score(y[~part], p)), 4),
            "ece": round(error, 4),
            "reliability": curve,
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", type=Path, default=Path(".quire/models"))
    parser.add_argument("--cache", type=Path, default=Path(".quire/training"))
    options = parser.parse_args()
    embedder = GraniteEmbedder(options.models, say=print)
    books = {n: load_book(options.data / n, embedder, options.cache) for n in BOOKS}
    sets = {n: questions(options.data / n) for n in BOOKS}
    rows = asyncio.run(examples(books, sets, embedder))
    result = {
        "embedder": embedder.id,
        "fitted_on": [f"{n} (CC BY 4.0), {len(sets[n])} questions, half of them" for n in BOOKS],
        "fitted_by": "training/fit_calibration.py",
        **{kind: fit(rows, kind) for kind in ("similarity", "answerability")},
    }
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{embedder.id.split('@')[0]}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
