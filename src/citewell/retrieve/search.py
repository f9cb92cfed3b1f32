"""Hybrid search: dense and keyword retrieval, fusion, reranking, calibration."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from citewell.domain import Chunk, Filters, Hit
from citewell.options import SearchOptions
from citewell.ports import Embedder, Index, Rankings, Vectors
from citewell.questions.followup import STANDALONE, ConversationContext
from citewell.retrieve.calibration import (
    Calibration,
    Signals,
    answerability_features,
    relevance_features,
)
from citewell.retrieve.fusion import fuse
from citewell.retrieve.rerank import (
    FIRST_PASS_QUOTAS,
    Evidence,
    Passage,
    SentenceReranker,
    prefer_chapter,
)
from citewell.text.plain_text import plain
from citewell.text.terms import terms

EXTRA_CANDIDATES = 3
"""Candidates to rerank beyond `top_k`."""
DUPLICATE_COSINE, DUPLICATE_OVERLAP = 0.97, 0.9
"""Chunks above both the cosine and the share of common terms are duplicates."""
RERANKER_WEIGHT = 0.3
"""Weight of the reranker score, relative to the fused score; tuned on two textbooks."""
MIN_RERANK_SCORE = -8.0
"""Lower bound of the reranker score of a passage."""
MIN_RELEVANT_ANSWERABILITY = 0.05
"""Below it, no hit is about the question."""
FLOOR_RANK = 20
"""Hits from this rank on are taken to be off the question."""
FLOOR_SAMPLE_SIZE = 20
"""Hits of which the similarity floor is the mean; missing ones count as the default floor."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and the probability that they hold the answer."""

    hits: tuple[Hit, ...]
    answerability: float

    @property
    def relevant(self) -> tuple[Hit, ...]:
        """The hits, unless none is about the question."""
        return self.hits if self.answerability >= MIN_RELEVANT_ANSWERABILITY else ()


class Searcher:
    """Hybrid search over one index at a time."""

    def __init__(
        self,
        embedder: Embedder,
        reranker: SentenceReranker,
        calibration: Calibration,
        options: SearchOptions,
    ) -> None:
        """Connect the stages of a search."""
        self.embedder = embedder
        self.reranker = reranker
        self.calibration = calibration
        self.options = options

    async def search(
        self,
        index: Index,
        question: str,
        *,
        filters: Filters,
        top_k: int,
        conversation_context: ConversationContext = STANDALONE,
        current_chapter: str = "",
    ) -> SearchResult:
        """Return the `top_k` best chunks for a standalone question.

        Chunks cited earlier in the conversation are additional candidates. Chunks of
        `current_chapter` rank first among near-equals, which affects nothing else.
        """
        hits, signals = await self.retrieve(index, question, filters, top_k, conversation_context)
        if not hits:
            return SearchResult((), 0.0)
        answerability = self.calibration.answerability(answerability_features(signals))
        scored = self.score_hits(hits, signals)
        return SearchResult(
            prefer_chapter(scored, signals.evidence, current_chapter), answerability
        )

    async def retrieve(
        self,
        index: Index,
        question: str,
        filters: Filters,
        top_k: int,
        conversation_context: ConversationContext = STANDALONE,
    ) -> tuple[list[Hit], Signals]:
        """Retrieve and rerank; return the hits, and the signals for calibration."""
        # In threads: models release the interpreter lock, and servers take time.
        hits, scores, rankings = await asyncio.to_thread(
            self._find_candidates,
            index,
            question,
            filters,
            top_k + EXTRA_CANDIDATES,
            conversation_context.cited_chunk_ids,
        )
        hits, evidence = await asyncio.to_thread(
            self._rerank, index, question, hits, scores, top_k, conversation_context
        )
        return hits, self._signals(
            index, question, hits, rankings, evidence, conversation_context.original_question
        )

    def _find_candidates(
        self, index: Index, question: str, filters: Filters, count: int, cited_ids: Sequence[str]
    ) -> tuple[list[Hit], dict[str, float], Rankings]:
        """Return the candidates to rerank, their retrieval scores, and both rankings."""
        vector = self.embedder.embed_query(question)
        rankings = index.rank(question, vector, filters=filters, depth=self.options.depth)
        scores = fuse(rankings, self.options)
        chunks = _drop_duplicates(index.fetch(list(scores)[: count + EXTRA_CANDIDATES]))
        # Exercises last: they contain the words of questions, but no answers.
        chunks = sorted(chunks, key=lambda pair: pair[0].role == "exercises")[:count]
        cited = index.fetch(cited_ids) if cited_ids else ()
        lowest = min((scores[chunk.id] for chunk, _ in chunks), default=0.0)
        chunks = _drop_duplicates([*chunks, *(pair for pair in cited if filters.matches(pair[0]))])
        hits = _to_hits(vector, chunks)
        return hits, retrieval_scores(hits, scores, lowest), rankings

    def _rerank(
        self,
        index: Index,
        question: str,
        hits: list[Hit],
        scores: Mapping[str, float],
        top_k: int,
        conversation_context: ConversationContext,
    ) -> tuple[list[Hit], list[Evidence]]:
        """Return the best `top_k` candidates by their sentences, and those sentences."""
        rank = partial(
            self.reranker.rank,
            question,
            statistics=index.statistics,
            previous_answers=conversation_context.previous_answers,
        )
        # Chunks cited before are last, and a first pass could end before them.
        quotas = () if conversation_context.cited_chunk_ids else FIRST_PASS_QUOTAS
        evidence = rank(number_passages(hits), first_pass_quotas=quotas)
        best = reorder(hits, scores, evidence, top_k)
        return best, rank(number_passages(best))

    def score_hits(self, hits: Sequence[Hit], signals: Signals) -> tuple[Hit, ...]:
        """Return the hits with their calibrated relevance as `similarity`."""
        relevance = self.calibration.relevance
        return tuple(
            replace(hit, similarity=relevance(relevance_features(index, signals)))
            for index, hit in enumerate(hits)
        )

    def score_chunks(self, index: Index, question: str, ids: Sequence[str]) -> tuple[Hit, ...]:
        """Return chunks by id as hits, scored for a question without reranking."""
        if not ids:
            return ()
        vector = self.embedder.embed_query(question)
        rankings = index.rank(question, vector, filters=Filters(), depth=self.options.depth)
        hits = _to_hits(vector, index.fetch(ids))
        return self.score_hits(hits, self._signals(index, question, hits, rankings, ()))

    def _signals(
        self,
        index: Index,
        question: str,
        hits: Sequence[Hit],
        rankings: Rankings,
        evidence: Sequence[Evidence],
        original_question: str = "",
    ) -> Signals:
        return Signals(
            question=question,
            texts=[text_with_headings(hit.chunk) for hit in hits],
            cosines=[hit.cosine for hit in hits],
            floor=similarity_floor(rankings, self.calibration.floor),
            evidence=evidence,
            statistics=index.statistics,
            original_question=original_question,
        )


def retrieval_scores(
    hits: Sequence[Hit], scores: Mapping[str, float], lowest: float
) -> dict[str, float]:
    """Return the fused scores; exercises, and hits that no ranking contains, get `lowest`."""
    return {
        hit.chunk.id: lowest
        if hit.chunk.role == "exercises"
        else max(lowest, scores.get(hit.chunk.id, lowest))
        for hit in hits
    }


def reorder(
    hits: Sequence[Hit], scores: Mapping[str, float], evidence: Sequence[Evidence], top_k: int
) -> list[Hit]:
    """Return the `top_k` hits by retrieval score plus the reranker score of their best sentence."""
    best: dict[int, float] = {}
    for sentence in evidence:
        number = sentence.passage.number
        best[number] = max(sentence.score, best.get(number, MIN_RERANK_SCORE))

    def combined(hit: Hit) -> float:
        # A passage without sentences, such as an image, has no reranker score.
        return scores[hit.chunk.id] + RERANKER_WEIGHT * best.get(hit.rank, MIN_RERANK_SCORE)

    order = sorted(hits, key=lambda hit: (-combined(hit), hit.rank))
    return [replace(hit, rank=rank) for rank, hit in enumerate(order[:top_k], start=1)]


def text_with_headings(chunk: Chunk) -> str:
    """Return the plain text of a chunk after its headings."""
    return " ".join((chunk.part, *chunk.path, plain(chunk.text)))


def number_passages(hits: Sequence[Hit]) -> list[Passage]:
    """Return the hits as numbered passages."""
    return [
        Passage(
            number=number,
            text=hit.chunk.text,
            heading=" › ".join(hit.chunk.path),
            similarity=hit.similarity,
        )
        for number, hit in enumerate(hits, start=1)
    ]


def similarity_floor(rankings: Rankings, default: float) -> float:
    """Return the mean cosine of passages that are off the question."""
    tail = [score for _, score in rankings.dense[FLOOR_RANK:]]
    tail += [default] * (FLOOR_SAMPLE_SIZE - len(tail))
    return sum(tail) / len(tail)


def _to_hits(query_vector: Vectors, chunks: Sequence[tuple[Chunk, Vectors]]) -> list[Hit]:
    return [
        Hit(
            chunk=chunk,
            rank=rank,
            similarity=0.0,
            cosine=max(0.0, min(1.0, float(query_vector @ vector))),
            vector=tuple(vector.tolist()),
        )
        for rank, (chunk, vector) in enumerate(chunks, start=1)
    ]


def _drop_duplicates(chunks: Sequence[tuple[Chunk, Vectors]]) -> list[tuple[Chunk, Vectors]]:
    unique: list[tuple[Chunk, Vectors]] = []
    for chunk, vector in chunks:
        if not any(_is_duplicate(chunk, vector, *other) for other in unique):
            unique.append((chunk, vector))
    return unique


def _is_duplicate(one: Chunk, vector: Vectors, other: Chunk, other_vector: Vectors) -> bool:
    if one.content_hash == other.content_hash:
        return True
    if float(vector @ other_vector) < DUPLICATE_COSINE:
        return False
    one_terms, other_terms = set(terms(plain(one.text))), set(terms(plain(other.text)))
    return len(one_terms & other_terms) >= DUPLICATE_OVERLAP * len(one_terms | other_terms) > 0


async def search_across(
    searcher: Searcher, indexes: Sequence[Index], question: str, *, filters: Filters, top_k: int
) -> tuple[Hit, ...]:
    """Return the `top_k` best hits over several books.

    They are ordered by `similarity`, which is calibrated, so that it compares between books.
    """
    results = await asyncio.gather(
        *(searcher.search(index, question, filters=filters, top_k=top_k) for index in indexes)
    )
    hits = [hit for result in results for hit in result.relevant]
    hits.sort(key=lambda hit: (-hit.similarity, hit.rank, hit.chunk.id))
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits[:top_k], start=1))
