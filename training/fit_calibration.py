"""Fit the probability that what was found holds the answer: the heart of `similarity_score`.

    python -m training.fit_calibration --data DATA --out src/quire/retrieve/calibration

The embedder is the one that the settings name (`QUIRE_EMBEDDER`). For one that Quire ships nothing
for, `--out` is the folder `calibration` in the data folder, where it is found.

Data: the author-written questions of OpenStax Microbiology and OpenStax Introduction to Sociology
(CC BY 4.0) and the questions of COVID-QA (Apache-2.0), each with the place that answers it. Nothing
else is seen; but the reader, whose scores are a part of this, learnt from sentences of the same
sources, so that the figures are rather too good. Every question is asked five ways:

* with its whole book in the index: answerable, if a passage that answers is among those found;
* with the passages that answer taken out: on topic, but not there;
* of another book: off topic;
* changed by a word (`training/reader/questions.py`), with its whole book in the index: the passage
  is there, but does not say what is asked now;
* asked "in", "with" or "for" something that its book never names, with its whole book in the index.

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
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from training.reader.questions import altered

from quire.compose import build_embedder
from quire.domain import Block, Chunk, Filters, Page, Section
from quire.index.crossencoder import CrossEncoder
from quire.index.sparse import passage_weights, query_weights
from quire.ingest.chunk import chunk_page, embedding_text
from quire.ingest.options import IngestOptions
from quire.ports import Embedder, Rankings, Vectors
from quire.prose.terms import STOPWORDS, TermStatistics, terms, words
from quire.retrieve.calibrate import answerability_features, calibration_file
from quire.retrieve.evidence import EvidenceReader
from quire.retrieve.options import SearchOptions
from quire.retrieve.search import Searcher
from quire.settings import read_settings

TOP_K = 5
PER_BOOK = 160
SHARE = {"answerable": 0.8, "missing": 0.05, "off": 0.05, "changed": 0.05, "foreign": 0.05}
"""What readers are taken to ask: mostly what the book covers."""
UNNATURAL = re.compile(r"following|\bEXCEPT\b|\b(?:not|NOT)\b")


@dataclass
class Asked:
    """A question and the chunks that answer it."""

    id: str
    text: str
    gold: frozenset[str]


@dataclass
class MemoryBook:
    """A book held in memory, from which chunks can be taken out."""

    book: str
    statistics: TermStatistics
    chunks: list[Chunk]
    vectors: Vectors
    title: str = ""
    revision: str = ""
    hidden: frozenset[str] = frozenset()
    questions: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        texts = [embedding_text(c) for c in self.chunks]
        average = sum(len(t.split()) for t in texts) / len(texts)
        counts: dict[int, int] = {}
        self._postings: dict[int, list[tuple[int, float]]] = {}
        for row, text in enumerate(texts):
            weights = passage_weights(text, average)
            for place, value in zip(weights.indices, weights.values, strict=True):
                counts[place] = counts.get(place, 0) + 1
                self._postings.setdefault(place, []).append((row, value))
        n = len(texts)
        self._idf = {p: np.log(1 + (n - c + 0.5) / (c + 0.5)) for p, c in counts.items()}
        self._row = {c.id: i for i, c in enumerate(self.chunks)}

    def rank(self, text: str, vector: Vectors, *, filters: Filters, depth: int) -> Rankings:
        seen = np.array([c.id not in self.hidden for c in self.chunks])
        dense = np.where(seen, self.vectors @ vector, -1)
        found = np.zeros(len(self.chunks))
        for place in query_weights(text).indices:
            for row, value in self._postings.get(place, ()):
                found[row] += self._idf[place] * value
        found = np.where(seen, found, 0)

        def best(scores: np.ndarray) -> list[tuple[str, float]]:
            order = np.argsort(-scores)[:depth]
            return [(self.chunks[i].id, float(scores[i])) for i in order if scores[i] > 0]

        return Rankings(best(dense), best(found))

    def fetch(self, ids: list[str]) -> list[tuple[Chunk, Vectors]]:
        return [(self.chunks[self._row[i]], self.vectors[self._row[i]]) for i in ids]


def make_book(name: str, pages: list[Page], embedder: Embedder, cache: Path) -> MemoryBook:
    now = datetime.now(UTC)
    chunks = [
        chunk
        for page in pages
        for chunk in chunk_page(
            page, book=name, count=embedder.count_tokens, options=IngestOptions(), now=now
        )
    ]
    texts = [embedding_text(c) for c in chunks]
    key = hashlib.sha256(repr((embedder.id, texts)).encode()).hexdigest()[:12]
    stored = cache / f"{name}-{key}.npy"
    if not stored.exists():
        cache.mkdir(parents=True, exist_ok=True)
        print("embedding", len(texts), "chunks of", name, flush=True)
        np.save(stored, embedder.embed_passages(texts))
    return MemoryBook(name, TermStatistics.count(texts), chunks, np.load(stored))


def prose(text: str) -> tuple[Block, ...]:
    return tuple(Block(kind="prose", text=t.strip()) for t in text.split("\n") if t.strip())


def read_openstax(folder: Path, embedder: Embedder, cache: Path) -> MemoryBook:
    sections: dict[str, list[Section]] = {}
    titles = {}
    for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        titles[row["page"]] = row["title"]
        path = tuple(p.strip() for p in row["section"].split(">"))
        section = Section(path=path, anchor="", blocks=prose(row["text"]))
        sections.setdefault(row["page"], []).append(section)
    pages = [
        Page(source=source, title=titles[source], part="", url="", sections=tuple(found))
        for source, found in sections.items()
    ]
    book = make_book(folder.name, pages, embedder, cache)
    for line in (folder / "queries.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        text = row["text"].strip()
        if row["cloze"] or not text.endswith("?") or UNNATURAL.search(text):
            continue
        gold = frozenset(c.id for c in book.chunks if c.source_file in row["gold_pages"])
        book.questions.append(Asked(row["id"], text, gold))
    return book


def read_covid(folder: Path, embedder: Embedder, cache: Path) -> MemoryBook:
    data = json.loads((folder / "200423_covidQA.json").read_text("utf-8"))["data"]
    articles = [p for entry in data for p in entry["paragraphs"]]
    pages = [
        Page(
            source=str(number),
            title=article["context"].strip().split("\n")[0][:120],
            part="",
            url="",
            sections=(Section(path=(), anchor="", blocks=prose(article["context"])),),
        )
        for number, article in enumerate(articles)
    ]
    book = make_book(folder.name, pages, embedder, cache)
    for number, article in enumerate(articles):
        own = [c for c in book.chunks if c.source_file == str(number)]
        for asked in article["qas"]:
            start = " ".join(asked["answers"][0]["text"].split())[:60]
            gold = frozenset(c.id for c in own if start and start in " ".join(c.text.split()))
            if gold:
                book.questions.append(Asked(str(asked["id"]), asked["question"].strip(), gold))
    return book


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


async def gather(books: list[MemoryBook], embedder: Embedder) -> list[dict]:
    """Give a row for each way each question was asked."""
    searcher = Searcher(embedder, EvidenceReader(CrossEncoder()), None, SearchOptions())
    rows = []
    rng = random.Random(5)
    for place, book in enumerate(books):
        chosen = random.Random(0).sample(book.questions, min(PER_BOOK, len(book.questions)))
        other = books[(place + 1) % len(books)]
        for asked in chosen:
            ways = [asked.text] + ([sloppy(asked.text)] if byte(asked.id) % 4 < 2 else [])
            for text in ways:
                fitting = byte(asked.id) % 2 == 0
                hits, signals = await searcher.look(book, text, Filters(), TOP_K)
                if any(hit.chunk.id in asked.gold for hit in hits):
                    rows.append(_row(fitting, book, "answerable", signals))
                book.hidden = asked.gold
                _, signals = await searcher.look(book, text, Filters(), TOP_K)
                book.hidden = frozenset()
                rows.append(_row(fitting, book, "missing", signals))
                _, signals = await searcher.look(other, text, Filters(), TOP_K)
                rows.append(_row(fitting, book, "off", signals))
                said = " ".join(hit.chunk.text for hit in hits if hit.chunk.id in asked.gold)
                others = [one.text for one in book.questions]
                for changed in altered(rng, text, others, said)[:1]:
                    _, signals = await searcher.look(book, changed, Filters(), TOP_K)
                    rows.append(_row(fitting, book, "changed", signals))
                if asks := foreign(rng, text, book, other):
                    _, signals = await searcher.look(book, asks, Filters(), TOP_K)
                    rows.append(_row(fitting, book, "foreign", signals))
            if len(rows) % 100 < 5:
                print(len(rows), "rows", flush=True)
    return rows


def _row(fitting: bool, book: MemoryBook, kind: str, signals: object) -> dict:
    return {
        "fit": fitting,
        "book": book.book,
        "kind": kind,
        "features": answerability_features(signals),
    }


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


def fit(rows: list[dict]) -> dict:
    names = list(rows[0]["features"])
    x = np.array([[r["features"][n] for n in names] for r in rows])
    kinds = np.array([r["kind"] for r in rows])
    y = (kinds == "answerable").astype(int)
    part = np.array([r["fit"] for r in rows])
    share = SHARE
    weight = np.array([share[k] / (kinds == k).sum() for k in kinds]) * len(rows)
    mean, spread = x[part].mean(0), x[part].std(0) + 1e-9
    model = LogisticRegression(C=1.0, max_iter=1000)
    model.fit((x[part] - mean) / spread, y[part], sample_weight=weight[part])
    slopes = model.coef_[0] / spread
    bias = float(model.intercept_[0] - (slopes * mean).sum())
    p = 1 / (1 + np.exp(-(x @ slopes + bias)))
    held = ~part
    error, curve = ece(y[held], p[held], weight[held])
    print({n: round(float(w), 2) for n, w in zip(names, slopes, strict=True)}, round(bias, 2))
    hard = held & np.isin(kinds, ["answerable", "missing"])
    near = held & np.isin(kinds, ["answerable", "changed"])
    strange = held & np.isin(kinds, ["answerable", "foreign"])
    figures = {
        "questions": int(held.sum()),
        "auroc": round(float(roc_auc_score(y[held], p[held])), 4),
        "auroc_on_topic": round(float(roc_auc_score(y[hard], p[hard])), 4),
        "auroc_changed": round(float(roc_auc_score(y[near], p[near])), 4),
        "auroc_foreign": round(float(roc_auc_score(y[strange], p[strange])), 4),
        "ece": round(error, 4),
        "reliability": curve,
        "risk": risks(y[held], p[held], weight[held]),
    }
    print(figures)
    for book in sorted({r["book"] for r in rows}):
        own = hard & np.array([r["book"] == book for r in rows])
        print("  on topic,", book, round(float(roc_auc_score(y[own], p[own])), 3))
    return {
        "bias": round(bias, 4),
        "weights": {n: round(float(w), 4) for n, w in zip(names, slopes, strict=True)},
        "held_out": figures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".quire/training"))
    options = parser.parse_args()
    embedder = build_embedder(read_settings(), say=print)
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
    path.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
