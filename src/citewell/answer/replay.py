"""Replay an answer: repeat its search and verification against the current book.

The model is not called again: its original claims are verified.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from citewell.answer.context import SelectedPassage, apply_answerability_gate, locate_selection
from citewell.answer.record import PassageRecord, Receipt, receipt_from_message
from citewell.conversation import AnswerEntry, Caller
from citewell.domain import (
    PROVEN_VERDICTS,
    Chunk,
    Citation,
    Claim,
    ConfidenceLevel,
    Filters,
    Hit,
    VerdictKind,
)
from citewell.errors import UnknownAnswer
from citewell.ports import Index, Judge, Library, ThreadStore
from citewell.retrieve.search import Searcher
from citewell.retrieve.selection import score_selection
from citewell.verify.claims import Piece, QuotedSpan, split_pieces
from citewell.verify.confidence import confidence_level
from citewell.verify.grounding import check_piece, find_title

SCORE_TOLERANCE = 0.01
"""Smaller differences count as equal."""
MAX_QUOTE_CANDIDATES = 5
"""Passages to search for a quote that is no longer on its page."""

ChangeKind = Literal["appeared", "vanished", "edited", "moved", "rescored"]
"""`edited`: the text changed; `moved`: the rank changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageChange:
    """A difference between the search results then and now."""

    kind: ChangeKind
    chunk_id: str
    chapter: str
    section: str
    rank_before: int | None = None
    rank_after: int | None = None
    similarity_before: float | None = None
    similarity_after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LostQuote:
    """A quote that the book no longer contains verbatim, and the claim that it proved."""

    claim: str
    quote: str
    chunk_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """A claim that gets another verdict now."""

    claim: str
    before: VerdictKind
    after: VerdictKind
    probability_before: float
    probability_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Differences between an answer and the current book."""

    id: str
    book: str
    revision_before: str
    revision_after: str
    passages: tuple[PassageChange, ...]
    lost_quotes: tuple[LostQuote, ...]
    verdicts: tuple[VerdictChange, ...]
    level_before: ConfidenceLevel
    level_after: ConfidenceLevel
    answered_before: bool
    answered_after: bool
    """Whether the passages now pass the gate and still prove a claim."""

    @property
    def revision_changed(self) -> bool:
        """Whether the book was ingested again; by itself not a difference."""
        return self.revision_before != self.revision_after

    @property
    def differs(self) -> bool:
        """Whether a reader would see any difference."""
        return (
            bool(self.passages or self.lost_quotes or self.verdicts)
            or self.level_before != self.level_after
            or self.answered_before != self.answered_after
        )


@dataclass(frozen=True, slots=True)
class _CurrentResult:
    hits: tuple[Hit, ...]
    usable: tuple[Hit, ...]
    level: ConfidenceLevel
    selected_passage: SelectedPassage | None = None


Verdicts = dict[str, tuple[VerdictKind, float]]
"""Current verdict and probability by claim."""


async def replay(receipt: Receipt, index: Index, searcher: Searcher, judge: Judge) -> Replay:
    """Search and verify again, and return the differences."""
    if receipt.searched:
        current = await _search(receipt, index, searcher)
        lost_quotes = await asyncio.to_thread(
            _find_lost_quotes, receipt, index, searcher, current.selected_passage
        )
        opened_hits = await asyncio.to_thread(_open_passages, receipt, index)
        verdicts = _judge_claims(receipt, judge, [*current.usable, *opened_hits])
        answered = current.level != "insufficient" and _is_proven(receipt, verdicts)
        level = current.level if answered else "insufficient"
        changes = tuple(_passage_changes(receipt, current.hits))
    else:
        lost_quotes = await asyncio.to_thread(_find_lost_quotes, receipt, index, searcher, None)
        verdicts = _judge_titles(receipt, lost_quotes)
        answered = _was_answered(receipt) and _has_current_title(receipt, verdicts)
        level = receipt.confidence.level if answered else "insufficient"
        changes = ()
    return Replay(
        id=receipt.id,
        book=receipt.book,
        revision_before=receipt.revision,
        revision_after=index.revision,
        passages=changes,
        lost_quotes=lost_quotes,
        verdicts=tuple(_verdict_changes((*receipt.claims, *receipt.withheld), verdicts)),
        level_before=receipt.confidence.level,
        level_after=level,
        answered_before=_was_answered(receipt),
        answered_after=answered,
    )


async def _search(receipt: Receipt, index: Index, searcher: Searcher) -> _CurrentResult:
    question = receipt.as_question()
    selected_passage: SelectedPassage | None = None
    if question.selected_text is None:
        result = await searcher.search(
            index,
            question.text,
            filters=question.filters,
            top_k=question.top_k,
            conversation_context=receipt.conversation_context,
            current_chapter=question.current_chapter,
        )
    else:
        selected_passage = await locate_selection(question.selected_text, index, searcher.embedder)
        result = await score_selection(searcher, index, selected_passage.chunk, question.text)
    usable, confidence = apply_answerability_gate(result, question)
    return _CurrentResult(result.hits, tuple(usable), confidence.level, selected_passage)


def _open_passages(receipt: Receipt, index: Index) -> list[Hit]:
    """Return the current text of passages that the model retrieved with its tools."""
    ids = [passage.chunk_id for passage in receipt.passages if not passage.searched]
    return [Hit(chunk=c, rank=0, similarity=0.0, cosine=0.0) for c in index.read(ids)]


def _passage_changes(receipt: Receipt, hits: Sequence[Hit]) -> Iterator[PassageChange]:
    """Compare passages by content: one that only moved within the book is unchanged."""
    before = {p.content_hash: p for p in receipt.passages if p.searched}
    after = {hit.chunk.content_hash: hit for hit in hits}
    vanished = {p.chunk_id: p for key, p in before.items() if key not in after}
    for key, hit in after.items():
        old = before.get(key) or vanished.pop(hit.chunk.id, None)
        kind = _change_kind(old, hit)
        if kind:
            yield _change(kind, old, hit)
    for old in vanished.values():
        yield _change("vanished", old, None)


def _change_kind(old: PassageRecord | None, hit: Hit) -> ChangeKind | None:
    if old is None:
        return "appeared"
    if old.content_hash != hit.chunk.content_hash:
        return "edited"
    if old.rank != hit.rank:
        return "moved"
    return "rescored" if abs(old.similarity - hit.similarity) > SCORE_TOLERANCE else None


def _change(kind: ChangeKind, old: PassageRecord | None, hit: Hit | None) -> PassageChange:
    source = old or (hit.chunk if hit else None)
    return PassageChange(
        kind=kind,
        chunk_id=hit.chunk.id if hit else old.chunk_id if old else "",
        chapter=source.chapter if source else "",
        section=source.section if source else "",
        rank_before=old.rank if old else None,
        rank_after=hit.rank if hit else None,
        similarity_before=old.similarity if old else None,
        similarity_after=hit.similarity if hit else None,
    )


def _judge_claims(receipt: Receipt, judge: Judge, evidence: Sequence[Hit]) -> Verdicts:
    """Verify each claim as it was verified originally: in order, after the last one shown."""
    numbers = {hit.chunk.id: number for number, hit in enumerate(evidence, start=1)}
    verdicts: Verdicts = {}
    previous: Claim | None = None
    claims = [(claim, True) for claim in receipt.claims]
    claims += [(claim, False) for claim in receipt.withheld]
    for claim, shown in sorted(claims, key=lambda pair: pair[0].end):
        if claim.verdict != "not_a_claim":
            cited = [numbers[c.chunk_id] for c in claim.citations if c.chunk_id in numbers]
            piece = replace(
                _piece(claim.text),
                cited=tuple(dict.fromkeys(cited)),
                quoted_spans=_quoted_spans(claim, numbers),
            )
            checked = check_piece(piece, evidence, judge, lambda *_: "", previous)
            if claim.decided_by == "llm" and _still_quoted(claim, evidence):
                # A language model decided, which is not asked again.
                checked = claim
            verdicts[claim.text] = (checked.verdict, checked.probability)
            if shown and checked.verdict in (*PROVEN_VERDICTS, claim.verdict):
                previous = checked
    return verdicts


def _still_quoted(claim: Claim, evidence: Sequence[Hit]) -> bool:
    texts = {hit.chunk.id: hit.chunk.text for hit in evidence}
    return all(c.quote == texts.get(c.chunk_id, "")[c.start : c.end] for c in claim.citations)


def _quoted_spans(claim: Claim, numbers: Mapping[str, int]) -> tuple[QuotedSpan, ...]:
    """Return the quotes of a claim: if they are unchanged, no judge is needed."""
    if claim.verdict not in PROVEN_VERDICTS or any(
        c.chunk_id not in numbers for c in claim.citations
    ):
        return ()
    return tuple(
        QuotedSpan(numbers[c.chunk_id], c.start, c.end, "heading" if c.of == "heading" else "text")
        for c in claim.citations
    )


def _piece(text: str) -> Piece:
    pieces = split_pieces(text)
    kind = pieces[0].kind if len(pieces) == 1 else "sentence"
    return Piece("", text, (), kind)


def _judge_titles(receipt: Receipt, lost_quotes: Sequence[LostQuote]) -> Verdicts:
    unproven_claims = {quote.claim for quote in lost_quotes}
    return {
        claim.text: ("unsupported", 0.0) if claim.text in unproven_claims else ("supported", 1.0)
        for claim in receipt.claims
        if claim.citations
    }


def _has_current_title(receipt: Receipt, verdicts: Verdicts) -> bool:
    """Return whether a heading that the answer names still exists; small talk names none."""
    current = [kind for kind, _ in verdicts.values()]
    return receipt.status == "small_talk" or not current or "supported" in current


def _verdict_changes(claims: Sequence[Claim], verdicts: Verdicts) -> Iterator[VerdictChange]:
    for claim in claims:
        verdict, probability = verdicts.get(claim.text, (claim.verdict, claim.probability))
        if verdict != claim.verdict:
            yield VerdictChange(
                claim=claim.text,
                before=claim.verdict,
                after=verdict,
                probability_before=claim.probability,
                probability_after=probability,
            )


def _is_proven(receipt: Receipt, verdicts: Verdicts) -> bool:
    """Return whether a claim is still proven, or for a refusal, whether one is proven now."""
    claims = receipt.claims if receipt.status == "answered" else receipt.withheld
    if any(verdicts.get(claim.text, ("",))[0] == "supported" for claim in claims):
        return True
    if receipt.status == "answered":
        # Partly supported claims were shown because of the operator's options.
        return any(verdicts.get(c.text, ("",))[0] == c.verdict == "partly" for c in claims)
    # If the gate refused, no claims exist: passing the gate now is enough.
    return not _passed_gate(receipt)


def _passed_gate(receipt: Receipt) -> bool:
    """Return whether the passages passed the gate, so that the model or the judge refused."""
    similarities = (passage.similarity for passage in receipt.passages if passage.searched)
    usable = [similarity for similarity in similarities if similarity >= receipt.threshold]
    top_k = 1 if receipt.selection else receipt.top_k
    level = confidence_level(fmean(usable) if usable else 0.0, len(usable), top_k)
    answerable = receipt.confidence.answerability >= receipt.min_answerability
    return answerable and level != "insufficient"


def _was_answered(receipt: Receipt) -> bool:
    return receipt.status in ("answered", "small_talk")


def _find_lost_quotes(
    receipt: Receipt, index: Index, searcher: Searcher, selected_passage: SelectedPassage | None
) -> tuple[LostQuote, ...]:
    lost: list[LostQuote] = []
    files = {passage.chunk_id: passage.source_file for passage in receipt.passages}
    pages: dict[str, Sequence[Chunk]] = {}
    for claim in receipt.claims:
        for citation in claim.citations:
            if citation.of in ("selection", "own_text"):
                intact = _is_selection_intact(citation, selected_passage)
            else:
                file = files.get(citation.chunk_id, "")
                page = pages.setdefault(file, index.page(file) if file else ())
                nearby = (*index.read([citation.chunk_id]), *page)
                intact = _is_quote_intact(citation, nearby) or _is_quote_intact(
                    citation, _find_quote_elsewhere(citation.quote, index, searcher)
                )
            if not intact:
                lost.append(
                    LostQuote(claim=claim.text, quote=citation.quote, chunk_id=citation.chunk_id)
                )
    return tuple(lost)


def _is_quote_intact(citation: Citation, chunks: Sequence[Chunk]) -> bool:
    if citation.of == "heading":
        return any(find_title(chunk, citation.quote) for chunk in chunks)
    return any(citation.quote in chunk.text for chunk in chunks)


def _find_quote_elsewhere(quote: str, index: Index, searcher: Searcher) -> Sequence[Chunk]:
    """Return passages elsewhere in the book that could contain the quote."""
    vector = searcher.embedder.embed_query(quote)
    rankings = index.rank(quote, vector, filters=Filters(), depth=MAX_QUOTE_CANDIDATES)
    return index.read([chunk_id for chunk_id, _ in (*rankings.keyword, *rankings.dense)])


def _is_selection_intact(citation: Citation, selected_passage: SelectedPassage | None) -> bool:
    if citation.of == "own_text" or selected_passage is None:
        return True
    located = selected_passage.located
    return located is not None and located.find(citation.start, citation.end) is not None


class ReceiptService:
    """Reads and replays stored answers."""

    def __init__(
        self, library: Library, searcher: Searcher, judge: Judge, threads: ThreadStore
    ) -> None:
        """Read from `threads`; replay with the other stages."""
        self._library = library
        self._searcher = searcher
        self._judge = judge
        self._threads = threads

    async def read(self, answer_id: str, *, owner: Caller = None) -> Receipt:
        """Return the record of an answer.

        Raises:
            UnknownAnswer: the answer does not exist, or its conversation was deleted.
        """
        message = await self._threads.answer(answer_id, owner=owner)
        if message is None:
            raise UnknownAnswer(f"There is no answer {answer_id}.")
        return receipt_from_message(message)

    async def unfinished(self, answer_id: str, *, owner: Caller = None) -> AnswerEntry | None:
        """Return the log entry of an answer without a record."""
        return await self._threads.unfinished(answer_id, owner=owner)

    async def replay(self, answer_id: str, *, owner: Caller = None) -> Replay:
        """Search and verify again for an answer, against the current book.

        Raises:
            UnknownAnswer: the answer does not exist, or its conversation was deleted.
            UnknownBook: its book no longer exists.
        """
        receipt = await self.read(answer_id, owner=owner)
        index = await asyncio.to_thread(self._library.open, receipt.book)
        return await replay(receipt, index, self._searcher, self._judge)
