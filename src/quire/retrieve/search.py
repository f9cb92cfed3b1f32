"""Find the passages that speak to a question: by meaning and by keywords, fused and calibrated."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from quire.domain import Chunk, Filters, Hit
from quire.ports import Embedder, Index, Rankings, Vectors
from quire.prose.plain import plain
from quire.retrieve.calibrate import (
    Calibration,
    answerability_features,
    similarity_features,
)
from quire.retrieve.evidence import Passage, rank_evidence
from quire.retrieve.options import SearchOptions


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found, best first, and how likely it holds the answer."""

    hits: tuple[Hit, ...]
    answerability: float


class Searcher:
    """Hybrid search over one index at a time."""

    def __init__(
        self, embedder: Embedder, calibration: Calibration, options: SearchOptions
    ) -> None:
        """Search with `embedder`, and score by the calibration fitted for it."""
        self._embedder = embedder
        self._calibration = calibration
        self._options = options

    async def search(
        self, index: Index, question: str, *, filters: Filters, top_k: int
    ) -> SearchResult:
        """Give the `top_k` best chunks of the index for a standalone question."""
        # The embedder releases the interpreter lock, so other questions go on meanwhile.
        vector = await asyncio.to_thread(self._embedder.embed_query, question)
        rankings = index.rank(question, vector, filters=filters, depth=self._options.depth)
        order = fuse(rankings, self._options)
        found = _distinct(index.fetch(order[: top_k * 2 + 2]))[:top_k]
        hits = tuple(
            self._hit(index, question, vector, chunk, own, rank)
            for rank, (chunk, own) in enumerate(found, start=1)
        )
        return SearchResult(hits, self._answerability(index, question, hits))

    def _hit(
        self, index: Index, question: str, vector: Vectors, chunk: Chunk, own: Vectors, rank: int
    ) -> Hit:
        cosine = float(vector @ own)
        features = similarity_features(question, context(chunk), cosine, index.statistics)
        return Hit(
            chunk=chunk,
            rank=rank,
            similarity=self._calibration.similarity(features),
            cosine=max(0.0, min(1.0, cosine)),
            vector=tuple(own.tolist()),
        )

    def _answerability(self, index: Index, question: str, hits: Sequence[Hit]) -> float:
        if not hits:
            return 0.0
        evidence = rank_evidence(question, passages_of(hits), index.statistics)
        features = answerability_features(
            question,
            [context(hit.chunk) for hit in hits],
            [hit.cosine for hit in hits],
            evidence,
            index.statistics,
        )
        return self._calibration.answerability(features)


def context(chunk: Chunk) -> str:
    """Give the words of a chunk with those of the headings above it."""
    return " ".join((chunk.part, *chunk.path, plain(chunk.text)))


def passages_of(hits: Sequence[Hit]) -> list[Passage]:
    """Number the hits as a model sees them."""
    return [
        Passage(
            number=number,
            text=hit.chunk.text,
            heading=" ".join(hit.chunk.path),
            similarity=hit.similarity,
        )
        for number, hit in enumerate(hits, start=1)
    ]


def fuse(rankings: Rankings, options: SearchOptions) -> list[str]:
    """Join the rankings by weighted reciprocal ranks; ties fall by id, the same everywhere."""
    scores: dict[str, float] = {}
    for ranking, weight in ((rankings.dense, 1.0), (rankings.keyword, options.keyword_weight)):
        ordered = sorted(ranking, key=lambda pair: (-round(pair[1], 4), pair[0]))
        for place, (identity, _) in enumerate(ordered, start=1):
            gain = weight / (options.rank_constant + place)
            scores[identity] = scores.get(identity, 0.0) + gain
    return sorted(scores, key=lambda identity: (-scores[identity], identity))


def _distinct(found: Sequence[tuple[Chunk, Vectors]]) -> list[tuple[Chunk, Vectors]]:
    """Keep the best of chunks with the same text."""
    seen: dict[str, tuple[Chunk, Vectors]] = {}
    for chunk, vector in found:
        seen.setdefault(chunk.content_hash, (chunk, vector))
    return list(seen.values())
