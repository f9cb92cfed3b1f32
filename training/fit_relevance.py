"""Fit the relevance of a passage to a question: `similarity_score`.

    python -m training.fit_relevance --data DATA --held-out SETS

Run after `training/fit_calibration.py`, which writes the file that this adds to.

Data: the author-written questions of OpenStax Microbiology and OpenStax Introduction to Sociology
(CC BY 4.0), each with the page that answers it. A passage is relevant if it stands in the chapter
of that page: it is then on the subject asked about, whether or not it holds the answer. Every
question is asked three ways:

* of its whole book;
* of its book without the page that answers: what is left of the chapter is on the subject still;
* of another book, where nothing is on the subject.

Nothing of the sets in `--held-out` is fitted on; the figures are theirs.
"""

import argparse
import asyncio
import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from training.books import Asked, MemoryBook, read_openstax, short_book

from quire.compose import build_embedder
from quire.domain import Filters
from quire.index.crossencoder import CrossEncoder
from quire.ports import Embedder
from quire.retrieve.calibrate import (
    answerability_features,
    calibration_file,
    load_calibration,
    relevance_features,
)
from quire.retrieve.evidence import EvidenceReader
from quire.retrieve.options import SearchOptions
from quire.retrieve.search import Searcher
from quire.settings import read_settings

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
SHARE = {"whole": 0.8, "missing": 0.1, "off": 0.1}
"""What readers are taken to ask: mostly what the book covers."""
RIDGE = 1.0
CUTS = (0.6, 0.7, 0.75, 0.85)


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


@dataclass(frozen=True)
class Gatherer:
    """Asks questions in all ways, and keeps what is known of each passage found."""

    searcher: Searcher
    rows: list[dict] = field(default_factory=list)

    async def ask(self, kind: str, read: MemoryBook, book: MemoryBook, asked: Asked) -> None:
        """Add a row for each passage found in `read` for a question about `book`."""
        hits, signals = await self.searcher.look(read, asked.text, Filters(), TOP_K)
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
                "page": hit.chunk.id in asked.gold,
                "chapter": read.book == book.book and chapters[hit.chunk.source_file] in wanted,
                "near": float((book.vectors[gold] @ np.array(hit.vector)).max()),
                "features": relevance_features(place, signals),
            }
            for place, hit in enumerate(hits)
        )


async def gather(books: list[MemoryBook], embedder: Embedder) -> list[dict]:
    """Return a row for each passage found for each way each question was asked."""
    reader = EvidenceReader(CrossEncoder())
    calibration = load_calibration(embedder.id)
    gatherer = Gatherer(Searcher(embedder, reader, calibration, SearchOptions()))
    for place, book in enumerate(books):
        other = books[(place + 1) % len(books)]
        cut = random.Random(6)
        for asked in random.Random(0).sample(book.questions, min(PER_BOOK, len(book.questions))):
            await gatherer.ask("whole", book, book, asked)
            book.hidden = asked.gold
            await gatherer.ask("missing", book, book, asked)
            book.hidden = frozenset()
            await gatherer.ask("off", other, book, asked)
            part = short_book(cut, book, cut.choice(SHORT), asked.gold)
            await gatherer.ask("short", part, book, asked)
        print(book.book, len(gatherer.rows), "passages so far", flush=True)
    return gatherer.rows
