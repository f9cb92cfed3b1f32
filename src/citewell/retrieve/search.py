"""Find the passages that answer a question: by meaning and by keywords, fused, read, calibrated."""

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
"""How many hits more than asked for are read; the reader may prefer one of them."""
DUPLICATE_COSINE, DUPLICATE_OVERLAP = 0.97, 0.9
"""Passages this close, with this share of their words in common, say the same."""
RERANKER_WEIGHT = 0.3
"""What a unit of the reader's score counts for a passage, beside its score in the search: chosen on
the questions of two textbooks."""
MIN_RERANK_SCORE = -8.0
"""The reader's score of a passage that says nothing to the question; worse is no worse."""
MIN_RELEVANT_ANSWERABILITY = 0.05
"""The answerability below which nothing that was found is about the question: on the sample book,
what it does not speak of stays below, and words that it uses come far above."""
FLOOR_RANK = 20
"""From this rank on, what is found is taken to be no longer about the question."""
FLOOR_SAMPLE_SIZE = 20
"""Of how many passages the floor is the mean. For those that a short book, or the part that a
filter leaves of one, does not have, the usual floor stands."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found, best first, and how likely it holds the answer."""

    hits: tuple[Hit, ...]
    answerability: float

    @property
    def relevant(self) -> tuple[Hit, ...]:
        """What is worth showing to someone who searches: the nearest passages may be far off."""
        return self.hits if self.answerability >= MIN_RELEVANT_ANSWERABILITY else ()


class Searcher:
    """Hybrid search over one index at a time."""

    def __init__(
        self,
        embedder: Embedder,
        evidence: SentenceReranker,
        calibration: Calibration,
        options: SearchOptions,
    ) -> None:
        """Search with `embedder`, read with `evidence`, and score by the fitted calibration."""
        self.embedder = embedder
        self.evidence = evidence
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
        near: str = "",
    ) -> SearchResult:
        """Return the `top_k` best chunks of the index for a standalone question.

        What was cited before is read beside what is found, and judged like it. Chunks of the
        chapter `near` come before others that are no better; what is found, and how likely it holds
        the answer, does not depend on it.
        """
        hits, signals = await self.retrieve(index, question, filters, top_k, conversation_context)
        if not hits:
            return SearchResult((), 0.0)
        answerability = self.calibration.answerability(answerability_features(signals))
        scored = self.score_hits(hits, signals)
        return SearchResult(prefer_chapter(scored, signals.evidence, near), answerability)

    def score_hits(self, hits: Sequence[Hit], signals: Signals) -> tuple[Hit, ...]:
        """Return the hits, each with its own relevance to the question."""
        relevance = self.calibration.relevance
        return tuple(
            replace(hit, similarity=relevance(relevance_features(place, signals)))
            for place, hit in enumerate(hits)
        )

    def score_chunks(self, index: Index, question: str, ids: Sequence[str]) -> tuple[Hit, ...]:
        """Return passages that were opened by name, with their relevance to a question.

        Their sentences are not read: nothing is decided by it.
        """
        if not ids:
            return ()
        vector = self.embedder.embed_query(question)
        rankings = index.rank(question, vector, filters=Filters(), depth=self.options.depth)
        found = index.fetch(ids)
        hits = [_hit(vector, *one, rank) for rank, one in enumerate(found, start=1)]
        return self.score_hits(hits, self._signals(index, question, hits, rankings, ()))

    def _find_candidates(
        self, index: Index, question: str, filters: Filters, count: int, also: Sequence[str]
    ) -> tuple[list[Hit], dict[str, float], Rankings]:
        """Return the best of both rankings, their scores, and the rankings, before any is read."""
        vector = self.embedder.embed_query(question)
        rankings = index.rank(question, vector, filters=filters, depth=self.options.depth)
        scores = fuse(rankings, self.options)
        found = _drop_duplicates(index.fetch(list(scores)[: count + EXTRA_CANDIDATES]))
        # Exercises last: they have the words of a question, but no answer.
        found = sorted(found, key=lambda pair: pair[0].role == "exercises")[:count]
        more = index.fetch(also) if also else ()
        last = min((scores[chunk.id] for chunk, _ in found), default=0.0)
        found = _drop_duplicates([*found, *(one for one in more if filters.matches(one[0]))])
        hits = [_hit(vector, *one, rank) for rank, one in enumerate(found, start=1)]
        return hits, retrieval_scores(hits, scores, last), rankings

    def _rerank(
        self,
        index: Index,
        question: str,
        hits: list[Hit],
        scores: Mapping[str, float],
        top_k: int,
        conversation_context: ConversationContext,
    ) -> tuple[list[Hit], list[Evidence]]:
        """Read a few more hits than asked for, and keep those whose sentences answer best."""
        rank = partial(self.evidence.rank, question, told=conversation_context.told)
        # What was cited before stands last, and must not be passed over for what comes first.
        glance = () if conversation_context.cited else FIRST_PASS_QUOTAS
        evidence = rank(passages_of(hits), index.statistics, glance=glance)
        kept = reorder(hits, scores, evidence, top_k)
        return kept, rank(passages_of(kept), index.statistics)

    async def retrieve(
        self,
        index: Index,
        question: str,
        filters: Filters,
        top_k: int,
        conversation_context: ConversationContext = STANDALONE,
    ) -> tuple[list[Hit], Signals]:
        """Search and read, without deciding what it means."""
        # Other questions go on meanwhile: models release the interpreter lock, servers take time.
        hits, scores, rankings = await asyncio.to_thread(
            self._find_candidates,
            index,
            question,
            filters,
            top_k + EXTRA_CANDIDATES,
            conversation_context.cited,
        )
        hits, evidence = await asyncio.to_thread(
            self._rerank, index, question, hits, scores, top_k, conversation_context
        )
        return hits, self._signals(
            index, question, hits, rankings, evidence, conversation_context.asked
        )

    def _signals(
        self,
        index: Index,
        question: str,
        hits: Sequence[Hit],
        rankings: Rankings,
        evidence: Sequence[Evidence],
        asked: str = "",
    ) -> Signals:
        return Signals(
            question=question,
            texts=[context(hit.chunk) for hit in hits],
            cosines=[hit.cosine for hit in hits],
            floor=similarity_floor(rankings, self.calibration.floor),
            evidence=evidence,
            statistics=index.statistics,
            asked=asked,
        )


def retrieval_scores(
    hits: Sequence[Hit], scores: Mapping[str, float], last: float
) -> dict[str, float]:
    """Return what the search says for each hit.

    Exercises, and what is read for another reason than the search, stand with the last one found.
    """
    return {
        hit.chunk.id: last
        if hit.chunk.role == "exercises"
        else max(last, scores.get(hit.chunk.id, last))
        for hit in hits
    }


def reorder(
    hits: Sequence[Hit], scores: Mapping[str, float], evidence: Sequence[Evidence], top_k: int
) -> list[Hit]:
    """Add what the reader says of the best sentences to what the search says, and keep the best."""
    best: dict[int, float] = {}
    for one in evidence:
        number = one.passage.number
        best[number] = max(one.score, best.get(number, MIN_RERANK_SCORE))

    def joined(hit: Hit) -> float:
        # A passage may be without a sentence: a lone picture, say.
        return scores[hit.chunk.id] + RERANKER_WEIGHT * best.get(hit.rank, MIN_RERANK_SCORE)

    order = sorted(hits, key=lambda hit: (-joined(hit), hit.rank))
    return [replace(hit, rank=rank) for rank, hit in enumerate(order[:top_k], start=1)]


def context(chunk: Chunk) -> str:
    """Return the words of a chunk with those of the headings above it."""
    return " ".join((chunk.part, *chunk.path, plain(chunk.text)))


def passages_of(hits: Sequence[Hit]) -> list[Passage]:
    """Number the hits as a model sees them."""
    return [
        Passage(
            number=number,
            text=hit.chunk.text,
            heading=" › ".join(hit.chunk.path),
            similarity=hit.similarity,
        )
        for number, hit in enumerate(hits, start=1)
    ]


def similarity_floor(rankings: Rankings, usual: float) -> float:
    """Return the cosine of passages that are merely in the same book."""
    tail = [score for _, score in rankings.dense[FLOOR_RANK:]]
    tail += [usual] * (FLOOR_SAMPLE_SIZE - len(tail))
    return sum(tail) / len(tail)


def _hit(vector: Vectors, chunk: Chunk, own: Vectors, rank: int) -> Hit:
    cosine = max(0.0, min(1.0, float(vector @ own)))
    return Hit(chunk=chunk, rank=rank, similarity=0.0, cosine=cosine, vector=tuple(own.tolist()))


def _drop_duplicates(found: Sequence[tuple[Chunk, Vectors]]) -> list[tuple[Chunk, Vectors]]:
    """Keep the best of chunks that say the same, but for a word or two."""
    kept: list[tuple[Chunk, Vectors]] = []
    for chunk, vector in found:
        if not any(_is_duplicate(chunk, vector, *other) for other in kept):
            kept.append((chunk, vector))
    return kept


def _is_duplicate(one: Chunk, vector: Vectors, other: Chunk, other_vector: Vectors) -> bool:
    if one.content_hash == other.content_hash:
        return True
    if float(vector @ other_vector) < DUPLICATE_COSINE:
        return False
    ours, theirs = set(terms(plain(one.text))), set(terms(plain(other.text)))
    return len(ours & theirs) >= DUPLICATE_OVERLAP * len(ours | theirs) > 0


async def search_across(
    searcher: Searcher, indexes: Sequence[Index], question: str, *, filters: Filters, top_k: int
) -> tuple[Hit, ...]:
    """Return the `top_k` best passages of all books that say something to the question.

    Similarity is calibrated, a probability, and so it can be compared from book to book; the ranks
    and scores of the searches behind it cannot.
    """
    found = await asyncio.gather(
        *(searcher.search(index, question, filters=filters, top_k=top_k) for index in indexes)
    )
    hits = [hit for result in found for hit in result.relevant]
    hits.sort(key=lambda hit: (-hit.similarity, hit.rank, hit.chunk.id))
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits[:top_k], start=1))
