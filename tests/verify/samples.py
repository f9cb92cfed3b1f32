"""Chunks, hits and answers made from a few words."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from citewell.domain import Answer, Chunk, Claim, Confidence, Contents, Filters, Hit
from citewell.ingest.toc import build_contents
from citewell.ports import Rankings, Vectors
from citewell.text.terms import TermStatistics
from citewell.text.vocabulary import Vocabulary
from tests.servers import HashEmbedder

NOON = datetime(2025, 1, 2, 12, tzinfo=UTC)


def chunk_of(text: str, *, identity: str = "c1", **fields: object) -> Chunk:
    given = {
        "id": identity,
        "book": "tiny",
        "source_file": "docs/lamps/01-lens.md",
        "part": "Lamps",
        "chapter": "The lens",
        "section": "Orders",
        "path": ("The lens", "Orders"),
        "url": "https://tiny.example/lamps/lens#orders",
        "text": text,
        "content_hash": f"hash of {text}",
        "sequence": 1,
        "total": 1,
        "token_count": len(text.split()),
        "processed_at": NOON,
    }
    return Chunk(**(given | fields))  # type: ignore[arg-type]


def hit_of(
    text: str = "A lens.",
    *,
    similarity: float = 0.9,
    vector: tuple[float, ...] = (1.0, 0.0),
    **fields: object,
) -> Hit:
    chunk = chunk_of(text, **fields)  # type: ignore[arg-type]
    return Hit(chunk=chunk, rank=1, similarity=similarity, cosine=0.5, vector=vector)


SURE = Confidence(
    average_similarity=0.9,
    min_similarity=0.9,
    max_similarity=0.9,
    num_chunks=1,
    chunk_diversity=0.0,
    level="high",
    should_answer=True,
    answerability=0.9,
)


def answer_of(text: str = "A lens.", *, thread_id: str = "t1", **fields: object) -> Answer:
    given = {
        "id": f"answer in {thread_id}",
        "thread_id": thread_id,
        "book": "tiny",
        "revision": "r1",
        "question": "What is it?",
        "standalone_question": "What is a lens?",
        "status": "answered",
        "text": text,
        "claims": (),
        "withheld": (),
        "hits": (),
        "confidence": SURE,
        "model": "scripted",
        "created_at": NOON,
    }
    return Answer(**(given | fields))  # type: ignore[arg-type]


def claim_of(text: str, **fields: object) -> Claim:
    given = {
        "text": text,
        "start": 0,
        "end": len(text),
        "verdict": "supported",
        "probability": 1.0,
    }
    return Claim(**(given | fields))  # type: ignore[arg-type]


class Shelf:
    """An index of given chunks, all ranked as given."""

    book, title, revision = "shelf", "Shelf", "r1"
    statistics = TermStatistics()
    vocabulary = Vocabulary()

    def __init__(self, *chunks: Chunk) -> None:
        self._chunks = {chunk.id: chunk for chunk in chunks}
        self.contents: Contents = build_contents(self.title, chunks)

    def rank(self, text: str, vector: Vectors, *, filters: Filters, depth: int) -> Rankings:
        order = [(identity, 1 - n / 10) for n, identity in enumerate(self._chunks)]
        return Rankings(dense=order[:depth], keyword=[])

    def fetch(self, ids: Sequence[str]) -> Sequence[tuple[Chunk, Vectors]]:
        unit = np.eye(1, HashEmbedder.width, dtype=np.float32)[0]
        return [(self._chunks[identity], unit) for identity in ids]

    def read(self, ids: Sequence[str]) -> Sequence[Chunk]:
        return [self._chunks[identity] for identity in ids]

    def neighbours(self, chunk_id: str, count: int) -> Sequence[Chunk]:
        raise NotImplementedError
