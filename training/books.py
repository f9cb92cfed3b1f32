"""Books in memory, with questions and the passages that answer them, to fit a calibration on."""

import hashlib
import json
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from citewell.domain import Block, Chunk, Filters, Page, Section
from citewell.index.bm25 import passage_weights, query_weights
from citewell.ingest.chunking import chunk_page, embedding_text
from citewell.options import IngestOptions
from citewell.ports import Embedder, Rankings, Vectors
from citewell.text.terms import TermStatistics

UNNATURAL = re.compile(r"following|\bEXCEPT\b|\b(?:not|NOT)\b")


@dataclass
class Asked:
    """A question and the chunks that answer it."""

    book: str
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


def short_book(rng: random.Random, book: MemoryBook, size: int, about: Iterable[str]) -> MemoryBook:
    """Make a book of neighbouring chunks, among them one of those named, with their words alone."""
    named = frozenset(about)
    place = rng.choice([row for row, chunk in enumerate(book.chunks) if chunk.id in named])
    first = max(0, min(len(book.chunks) - size, place - rng.randrange(size)))
    chunks, vectors = book.chunks[first : first + size], book.vectors[first : first + size]
    statistics = TermStatistics.count([embedding_text(chunk) for chunk in chunks])
    return MemoryBook(book.book, statistics, chunks, vectors, questions=book.questions)


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
        if row.get("cloze") or not text.endswith("?") or UNNATURAL.search(text):
            continue
        gold = frozenset(c.id for c in book.chunks if c.source_file in row["gold_pages"])
        if gold:
            book.questions.append(Asked(folder.name, row["id"], text, gold))
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
                book.questions.append(
                    Asked(folder.name, str(asked["id"]), asked["question"].strip(), gold)
                )
    return book
