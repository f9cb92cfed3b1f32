"""Which passages an answer may rest on, and whether they are enough."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
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


def apply_target_risk(
    question: Question, calibration: Calibration, target: float | None
) -> Question:
    """Return the question with the gate that keeps wrong answers to the target."""
    if target is None:
        return question
    least = max(question.least_answerability, calibration.threshold_for(target))
    return replace(question, least_answerability=least)


def apply_answerability_gate(
    found: SearchResult, question: Question, tokens: int = CONTEXT_TOKENS
) -> tuple[list[Hit], Confidence]:
    """Return the hits that an answer may rest on, and how good they are; none for a refusal.

    Whether the question is answered depends on its answerability, and on whether enough relevant
    passages were found. The question's threshold says which passages are relevant enough. What is
    asked about a selection as a whole, the selection answers.
    """
    if question.selected_text is not None and asks_about_whole(question.text):
        return list(found.hits), score_passages(found.hits, question, found.answerability)
    used = [
        hit for hit in fit_to_budget(found.hits, tokens) if hit.similarity >= question.threshold
    ]
    confidence = score_passages(used, question, found.answerability)
    if found.answerability >= question.least_answerability and confidence.should_answer:
        return used, confidence
    return [], score_passages((), question, found.answerability)


def score_passages(hits: Sequence[Hit], question: Question, answerability: float) -> Confidence:
    """Return how good the passages are that an answer to the question rests on."""
    # A selection is the one passage that is asked for.
    top_k = 1 if question.selected_text is not None else question.top_k
    return score_confidence(hits, top_k=top_k, answerability=answerability)


def fit_to_budget(hits: Sequence[Hit], tokens: int, *, beside: Sequence[Hit] = ()) -> list[Hit]:
    """Return the hits that are worth most together and have room beside what was shown already.

    The best one is always among them, unless something was shown before.
    """
    known = {hit.chunk.id for hit in beside}
    room = tokens - sum(hit.chunk.token_count for hit in beside)
    new = [hit for hit in hits if hit.chunk.id not in known]
    first = [] if beside else new[:1]
    room -= sum(hit.chunk.token_count for hit in first)
    return first + _select_best_value(new[len(first) :], room)


def _select_best_value(hits: Sequence[Hit], room: int) -> list[Hit]:
    """Choose by value, not by order: a long passage may cost several that say more together."""
    best: dict[int, tuple[float, tuple[Hit, ...]]] = {0: (0.0, ())}
    for hit in hits:
        for used, (value, chosen) in list(best.items()):
            tokens, worth = used + hit.chunk.token_count, value + _discounted_gain(hit)
            if tokens <= room and worth > best.get(tokens, (0.0, ()))[0]:
                best[tokens] = (worth, (*chosen, hit))
    # Of equal worth, what takes less room and was found first.
    return list(max(best.items(), key=lambda one: (round(one[1][0], 6), -one[0]))[1][1])


def _discounted_gain(hit: Hit) -> float:
    """Return the discounted gain of a hit: later hits are less likely to be what is asked."""
    return hit.similarity / log2(hit.rank + 1)


SELECTION_HEADING = "Selected text"
"""What stands where a passage of the book has its headings."""
LOCATE_PREFIX_CHARS = 400
"""Characters of a selection by whose meaning its page is looked for; its words all count."""
_NAMESPACE = UUID("0b6f4b5e-5d3e-5f6c-9c57-3a3f0f1de2c4")


@dataclass(frozen=True, slots=True)
class SelectedPassage:
    """The selection, and where the book has it."""

    chunk: Chunk
    """What the model and the judge see: the reader's words, and nothing of the book around them."""
    located: LocatedSelection | None

    @property
    def selection(self) -> Selection:
        """What is told of it with the answer."""
        found = self.located.chunks if self.located else ()
        return Selection(text=self.chunk.text, found_in=tuple(chunk.id for chunk in found))

    def with_book_headings(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits as they are shown: under the headings that the selection came from."""
        if self.located is None:
            return tuple(hits)
        here = self.located.chunks[0]
        return tuple(
            replace(
                hit,
                chunk=replace(
                    hit.chunk,
                    source_file=here.source_file,
                    part=here.part,
                    chapter=here.chapter,
                    section=here.section,
                    path=here.path,
                    url=here.url,
                ),
            )
            for hit in hits
        )

    def cite(self, claim: Claim, link: LinkBuilder) -> Claim:
        """Point a claim's citations at the book, or mark them as the reader's own text."""
        return replace(claim, citations=tuple(self._cite(one, link) for one in claim.citations))

    def _cite(self, citation: Citation, link: LinkBuilder) -> Citation:
        place = self.located.find(citation.start, citation.end) if self.located else None
        if place is None:
            return replace(citation, of="own_text", url="")
        chunk = place.chunk
        return replace(
            citation,
            of="selection",
            chapter=chunk.chapter,
            section=chunk.section,
            url=link(chunk, place.start, place.end),
            found_in=chunk.id,
        )


async def read_selection(text: str, index: Index, embedder: Embedder) -> SelectedPassage:
    """Make a passage of the selection, and look for it in the book.

    Raises:
        BadRequest: the selection is too short or too long.
    """
    least, most = SELECTION_LENGTH
    if not least <= len(text.strip()) <= most:
        raise BadRequest(f"A selection has {least} to {most:,} characters.")

    text = replace_lone_surrogates(text)

    def find() -> SelectedPassage:
        located = locate(index, text, embedder.embed_query(text[:LOCATE_PREFIX_CHARS]))
        return SelectedPassage(_chunk(text, index.book, embedder), located)

    return await asyncio.to_thread(find)


def missing_terms(question: str, text: str) -> tuple[str, ...]:
    """Return the words of the question that the text does not have."""
    said = set(terms(text))
    asked = (word for word in words(question) if terms(word) and not said & set(terms(word)))
    return tuple(dict.fromkeys(asked))


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
