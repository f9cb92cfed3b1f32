"""The context of an answer: the gate, the token budget, and the reader's selection."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from math import log2
from uuid import UUID, uuid5

from citewell.citations.locate import LocatedSelection, locate
from citewell.domain import (
    SELECTION_LENGTH,
    Chunk,
    Citation,
    Claim,
    Confidence,
    Hit,
    Question,
    Selection,
)
from citewell.errors import BadRequest
from citewell.options import CONTEXT_TOKENS
from citewell.ports import Embedder, Index
from citewell.retrieve.calibration import Calibration
from citewell.retrieve.search import SearchResult
from citewell.retrieve.selection import asks_about_whole
from citewell.text.plain_text import replace_lone_surrogates
from citewell.text.terms import terms, words
from citewell.verify.confidence import score_confidence
from citewell.verify.grounding import LinkBuilder

SECTION_CHARS, SECTIONS_READ = 4_000, 4
"""Of a long selection, so many sections in a row are read: together, about 4,000 tokens."""


def apply_target_risk(
    question: Question, calibration: Calibration, target: float | None
) -> Question:
    """Return the question with the answerability gate that meets the target risk."""
    if target is None:
        return question
    threshold = max(question.min_answerability, calibration.threshold_for(target))
    return replace(question, min_answerability=threshold)


def apply_answerability_gate(
    result: SearchResult, question: Question, tokens: int = CONTEXT_TOKENS
) -> tuple[list[Hit], Confidence]:
    """Return the hits that an answer may cite, and the confidence in them; no hits for a refusal.

    A question passes if its answerability is high enough and enough hits reach the similarity
    threshold. A question about a selection as a whole always passes.
    """
    if question.selected_text is not None and asks_about_whole(question.text):
        return list(result.hits), score_passages(result.hits, question, result.answerability)
    used = [
        hit for hit in fit_to_budget(result.hits, tokens) if hit.similarity >= question.threshold
    ]
    confidence = score_passages(used, question, result.answerability)
    if result.answerability >= question.min_answerability and confidence.should_answer:
        return used, confidence
    return [], score_passages((), question, result.answerability)


def score_passages(hits: Sequence[Hit], question: Question, answerability: float) -> Confidence:
    """Return the confidence in the passages used for a question."""
    # A selection is a single passage.
    top_k = 1 if question.selected_text is not None else question.top_k
    return score_confidence(hits, top_k=top_k, answerability=answerability)


def fit_to_budget(
    hits: Sequence[Hit], tokens: int, *, already_shown: Sequence[Hit] = ()
) -> list[Hit]:
    """Return the most valuable set of hits that fits into the token budget.

    The best hit is always included, unless other passages were shown already.
    """
    known = {hit.chunk.id for hit in already_shown}
    new = [hit for hit in hits if hit.chunk.id not in known]
    first = [] if already_shown else new[:1]
    tokens -= sum(hit.chunk.token_count for hit in (*already_shown, *first))
    return first + _select_best_value(new[len(first) :], tokens)


def _select_best_value(hits: Sequence[Hit], budget: int) -> list[Hit]:
    """Solve the knapsack problem: a long passage may displace several that are worth more."""
    # By tokens used: the best value, and its hits.
    best: dict[int, tuple[float, tuple[Hit, ...]]] = {0: (0.0, ())}
    for hit in hits:
        for used, (value, chosen) in list(best.items()):
            # Discounted gain: the relevance of a hit counts less at a lower rank.
            gain = hit.similarity / log2(hit.rank + 1)
            tokens, total = used + hit.chunk.token_count, value + gain
            if tokens <= budget and total > best.get(tokens, (0.0, ()))[0]:
                best[tokens] = (total, (*chosen, hit))
    # For equal values, prefer fewer tokens.
    return list(max(best.items(), key=lambda item: (round(item[1][0], 6), -item[0]))[1][1])


SELECTION_HEADING = "Selected text"
"""Stands in for the headings of a passage."""
LOCATE_PREFIX_CHARS = 400
"""Characters of a selection that are embedded to find its page."""
_NAMESPACE = UUID("0b6f4b5e-5d3e-5f6c-9c57-3a3f0f1de2c4")


@dataclass(frozen=True, slots=True)
class SelectedPassage:
    """The reader's selection as a passage, and its location in the book."""

    chunk: Chunk
    """The selected text alone, without the book around it."""
    located: LocatedSelection | None

    @property
    def selection(self) -> Selection:
        """The selection as part of the answer."""
        chunks = self.located.chunks if self.located else ()
        return Selection(text=self.chunk.text, found_in=tuple(chunk.id for chunk in chunks))

    def with_book_headings(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits under the headings of the page that the selection came from."""
        if self.located is None:
            return tuple(hits)
        source = self.located.chunks[0]
        return tuple(
            replace(
                hit,
                chunk=replace(
                    hit.chunk,
                    source_file=source.source_file,
                    part=source.part,
                    chapter=source.chapter,
                    section=source.section,
                    path=source.path,
                    url=source.url,
                ),
            )
            for hit in hits
        )

    def cite(self, claim: Claim, link: LinkBuilder) -> Claim:
        """Link a claim's citations to the book, or mark them as text that is not from the book."""
        return replace(claim, citations=tuple(self._cite(one, link) for one in claim.citations))

    def _cite(self, citation: Citation, link: LinkBuilder) -> Citation:
        location = self.located.find(citation.start, citation.end) if self.located else None
        if location is None:
            return replace(citation, of="own_text", url="")
        chunk = location.chunk
        return replace(
            citation,
            of="selection",
            chapter=chunk.chapter,
            section=chunk.section,
            url=link(chunk, location.start, location.end),
            found_in=chunk.id,
        )


def part_to_read(text: str, question: str, sections: int) -> str:
    """Return the sections of a long selection that share most words with the question."""
    if len(text) <= sections * SECTION_CHARS:
        return text
    cuts = [0]
    while len(text) - cuts[-1] > SECTION_CHARS:
        start, end = cuts[-1] + 3 * SECTION_CHARS // 4, cuts[-1] + SECTION_CHARS
        found = max(text.rfind("\n", start, end), text.rfind(". ", start, end))
        cuts.append(found + 1 if found > 0 else end)
    wanted = set(terms(question))
    known = [wanted & set(terms(text[start:end])) for start, end in pairwise([*cuts, len(text)])]
    firsts = range(max(1, len(cuts) - sections + 1))
    best = max(firsts, key=lambda first: len(set().union(*known[first : first + sections])))
    return text[cuts[best] : [*cuts, len(text)][min(best + sections, len(cuts))]]


async def locate_selection(
    selected: str,
    index: Index,
    embedder: Embedder,
    question: str = "",
    *,
    sections: int = SECTIONS_READ,
) -> SelectedPassage:
    """Turn a selection, or the part of it about the question, into a passage in the book.

    Raises:
        BadRequest: the selection is too short or too long.
    """
    shortest, longest = SELECTION_LENGTH
    if not shortest <= len(selected.strip()) <= longest:
        raise BadRequest(f"A selection has {shortest} to {longest:,} characters.")

    def find() -> SelectedPassage:
        text = part_to_read(replace_lone_surrogates(selected), question, sections)
        located = locate(index, text, embedder.embed_query(text[:LOCATE_PREFIX_CHARS]))
        return SelectedPassage(_chunk(text, index.book, embedder), located)

    return await asyncio.to_thread(find)


def missing_terms(question: str, text: str) -> tuple[str, ...]:
    """Return the words of the question that the text does not contain."""
    known = set(terms(text))
    missing = (word for word in words(question) if terms(word) and not known & set(terms(word)))
    return tuple(dict.fromkeys(missing))


def _chunk(text: str, book: str, embedder: Embedder) -> Chunk:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Chunk(
        id=str(uuid5(_NAMESPACE, digest)),
        book=book,
        source_file="",
        part="",
        chapter=SELECTION_HEADING,
        section=SELECTION_HEADING,
        path=(SELECTION_HEADING,),
        url="",
        text=text,
        content_hash=digest,
        sequence=1,
        total=1,
        token_count=embedder.count_tokens([text])[0],
        processed_at=datetime.now(UTC),
    )
