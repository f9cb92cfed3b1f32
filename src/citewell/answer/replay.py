"""What an answer would be today: its search and its checks made again, against the book as it is.

The model is not asked again; what it said then is what is checked now.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from citewell.answer.context import SelectedPassage, apply_answerability_gate, read_selection
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
from citewell.verify.claims import Piece, Quoted, split_pieces
from citewell.verify.confidence import confidence_level
from citewell.verify.grounding import check_piece, find_title

SCORE_TOLERANCE = 0.01
"""Scores nearer to each other than this count as the same."""
MAX_QUOTE_CANDIDATES = 5
"""How many passages with the words of a lost quote are looked at before it is called lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageChange:
    """A passage that the search now gives differently."""

    kind: Literal["appeared", "vanished", "edited", "moved", "rescored"]
    """`edited` has other words in the same place of the book; `moved` has another rank."""
    chunk_id: str
    chapter: str
    section: str
    rank_before: int | None = None
    rank_after: int | None = None
    similarity_before: float | None = None
    similarity_after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LostQuote:
    """A quote that no longer stands in the book byte for byte, and the claim it proved."""

    claim: str
    quote: str
    chunk_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """A claim that would be judged differently now."""

    claim: str
    before: VerdictKind
    after: VerdictKind
    probability_before: float
    probability_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """How an answer then and the book now differ."""

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
    """Whether the passages would be enough now, and still prove a claim of it."""

    @property
    def revision_changed(self) -> bool:
        """Whether the book was ingested anew since; by itself this is no difference."""
        return self.revision_before != self.revision_after

    @property
    def differs(self) -> bool:
        """Whether a reader would see anything else."""
        return (
            bool(self.passages or self.lost_quotes or self.verdicts)
            or self.level_before != self.level_after
            or self.answered_before != self.answered_after
        )


@dataclass(frozen=True, slots=True)
class _CurrentResult:
    """What the search gives today."""

    hits: tuple[Hit, ...]
    used: tuple[Hit, ...]
    level: ConfidenceLevel
    selected: SelectedPassage | None = None


Verdicts = dict[str, tuple[VerdictKind, float]]
"""What is found about each claim now."""


async def replay(receipt: Receipt, index: Index, searcher: Searcher, judge: Judge) -> Replay:
    """Search and check again, and give what differs."""
    if receipt.searched:
        now = await _search(receipt, index, searcher)
        lost = await asyncio.to_thread(_lost_quotes, receipt, index, searcher, now.selected)
        opened = await asyncio.to_thread(_open_passages, receipt, index)
        verdicts = _judge_claims(receipt, judge, [*now.used, *opened])
        answered = now.level != "insufficient" and _is_proven(receipt, verdicts)
        level = now.level if answered else "insufficient"
        changes = tuple(_passage_changes(receipt, now.hits))
    else:
        lost = await asyncio.to_thread(_lost_quotes, receipt, index, searcher, None)
        verdicts = _judge_titles(receipt, lost)
        answered = _was_answered(receipt) and _has_current_title(receipt, verdicts)
        level = receipt.confidence.level if answered else "insufficient"
        changes = ()
    return Replay(
        id=receipt.id,
        book=receipt.book,
        revision_before=receipt.revision,
        revision_after=index.revision,
        passages=changes,
        lost_quotes=lost,
        verdicts=tuple(_verdict_changes((*receipt.claims, *receipt.withheld), verdicts)),
        level_before=receipt.confidence.level,
        level_after=level,
        answered_before=_was_answered(receipt),
        answered_after=answered,
    )


async def _search(receipt: Receipt, index: Index, searcher: Searcher) -> _CurrentResult:
    question = receipt.as_question()
    selected: SelectedPassage | None = None
    if question.selected_text is None:
        found = await searcher.search(
            index,
            question.text,
            filters=question.filters,
            top_k=question.top_k,
            conversation_context=receipt.conversation_context,
            near=question.near,
        )
    else:
        selected = await read_selection(question.selected_text, index, searcher.embedder)
        found = await score_selection(searcher, index, selected.chunk, question.text)
    used, confidence = apply_answerability_gate(found, question)
    return _CurrentResult(found.hits, tuple(used), confidence.level, selected)


def _open_passages(receipt: Receipt, index: Index) -> list[Hit]:
    """Return the passages that the model found or opened by itself, as the book has them now."""
    ids = [passage.chunk_id for passage in receipt.passages if not passage.searched]
    return [Hit(chunk=c, rank=0, similarity=0.0, cosine=0.0) for c in index.read(ids)]


def _passage_changes(receipt: Receipt, hits: Sequence[Hit]) -> Iterator[PassageChange]:
    """Compare passages by their words: one that only stands elsewhere in the book is the same."""
    before = {p.content_hash: p for p in receipt.passages if p.searched}
    after = {hit.chunk.content_hash: hit for hit in hits}
    gone = {p.chunk_id: p for key, p in before.items() if key not in after}
    for key, hit in after.items():
        old = before.get(key) or gone.pop(hit.chunk.id, None)
        kind = _change_kind(old, hit)
        if kind:
            yield _change(kind, old, hit)
    for old in gone.values():
        yield _change("vanished", old, None)


def _change_kind(
    old: PassageRecord | None, hit: Hit
) -> Literal["appeared", "edited", "moved", "rescored"] | None:
    if old is None:
        return "appeared"
    if old.content_hash != hit.chunk.content_hash:
        return "edited"
    if old.rank != hit.rank:
        return "moved"
    return "rescored" if abs(old.similarity - hit.similarity) > SCORE_TOLERANCE else None


def _change(
    kind: Literal["appeared", "vanished", "edited", "moved", "rescored"],
    old: PassageRecord | None,
    hit: Hit | None,
) -> PassageChange:
    named = old or (hit.chunk if hit else None)
    return PassageChange(
        kind=kind,
        chunk_id=hit.chunk.id if hit else old.chunk_id if old else "",
        chapter=named.chapter if named else "",
        section=named.section if named else "",
        rank_before=old.rank if old else None,
        rank_after=hit.rank if hit else None,
        similarity_before=old.similarity if old else None,
        similarity_after=hit.similarity if hit else None,
    )


def _judge_claims(receipt: Receipt, judge: Judge, evidence: Sequence[Hit]) -> Verdicts:
    """Check each claim as it was checked when it was made: in order, after the one shown last."""
    place = {hit.chunk.id: number for number, hit in enumerate(evidence, start=1)}
    verdicts: Verdicts = {}
    before: Claim | None = None
    made = [(claim, True) for claim in receipt.claims]
    made += [(claim, False) for claim in receipt.withheld]
    for claim, shown in sorted(made, key=lambda one: one[0].end):
        if claim.verdict != "not_a_claim":
            cited = [place[c.chunk_id] for c in claim.citations if c.chunk_id in place]
            piece = replace(
                _piece(claim.text),
                marks=tuple(dict.fromkeys(cited)),
                quoted=_quoted_places(claim, place),
            )
            checked, _ = check_piece(piece, evidence, judge, lambda *_: "", before)
            verdicts[claim.text] = (checked.verdict, checked.probability)
            if shown and checked.verdict in (*PROVEN_VERDICTS, claim.verdict):
                before = checked
    return verdicts


def _quoted_places(claim: Claim, place: Mapping[str, int]) -> tuple[Quoted, ...]:
    """Return where a claim was proven: what still stands there needs no judge."""
    if claim.verdict not in PROVEN_VERDICTS or any(
        c.chunk_id not in place for c in claim.citations
    ):
        return ()
    return tuple(
        Quoted(place[c.chunk_id], c.start, c.end, "heading" if c.of == "heading" else "text")
        for c in claim.citations
    )


def _piece(text: str) -> Piece:
    pieces = split_pieces(text)
    kind = pieces[0].kind if len(pieces) == 1 else "sentence"
    return Piece("", text, (), kind)


def _judge_titles(receipt: Receipt, lost: Sequence[LostQuote]) -> Verdicts:
    broken = {quote.claim for quote in lost}
    return {
        claim.text: ("unsupported", 0.0) if claim.text in broken else ("supported", 1.0)
        for claim in receipt.claims
        if claim.citations
    }


def _has_current_title(receipt: Receipt, verdicts: Verdicts) -> bool:
    """Whether any title that it names is still one; small talk needs none."""
    named = [kind for kind, _ in verdicts.values()]
    return receipt.status == "small_talk" or not named or "supported" in named


def _verdict_changes(claims: Sequence[Claim], verdicts: Verdicts) -> Iterator[VerdictChange]:
    for claim in claims:
        kind, probability = verdicts.get(claim.text, (claim.verdict, claim.probability))
        if kind != claim.verdict:
            yield VerdictChange(
                claim=claim.text,
                before=claim.verdict,
                after=kind,
                probability_before=claim.probability,
                probability_after=probability,
            )


def _is_proven(receipt: Receipt, verdicts: Verdicts) -> bool:
    """Whether something of the answer is still proven; of a refusal, whether it would be now."""
    claims = receipt.claims if receipt.status == "answered" else receipt.withheld
    if any(verdicts.get(claim.text, ("",))[0] == "supported" for claim in claims):
        return True
    if receipt.status == "answered":
        # What is supported in part is shown where the operator says so.
        return any(verdicts.get(c.text, ("",))[0] == c.verdict == "partly" for c in claims)
    # Nobody was asked then, so there is nothing to check: enough passages are enough.
    return not _had_enough(receipt)


def _had_enough(receipt: Receipt) -> bool:
    """Whether the passages were enough then, so that a refusal was the model's or the judge's."""
    searched = (passage.similarity for passage in receipt.passages if passage.searched)
    used = [similarity for similarity in searched if similarity >= receipt.threshold]
    wanted = 1 if receipt.selection else receipt.top_k
    level = confidence_level(fmean(used) if used else 0.0, len(used), wanted)
    answerable = receipt.confidence.answerability >= receipt.least_answerability
    return answerable and level != "insufficient"


def _was_answered(receipt: Receipt) -> bool:
    return receipt.status in ("answered", "small_talk")


def _lost_quotes(
    receipt: Receipt, index: Index, searcher: Searcher, selected: SelectedPassage | None
) -> tuple[LostQuote, ...]:
    return tuple(_find_lost_quotes(receipt, index, searcher, selected))


def _find_lost_quotes(
    receipt: Receipt, index: Index, searcher: Searcher, selected: SelectedPassage | None
) -> Iterator[LostQuote]:
    files = {passage.chunk_id: passage.source_file for passage in receipt.passages}
    pages: dict[str, Sequence[Chunk]] = {}
    for claim in receipt.claims:
        for citation in claim.citations:
            if citation.of in ("selection", "own_text"):
                kept = _is_selection_intact(citation, selected)
            else:
                file = files.get(citation.chunk_id, "")
                page = pages.setdefault(file, index.page(file) if file else ())
                nearby = (*index.read([citation.chunk_id]), *page)
                kept = _is_quote_intact(citation, nearby) or _is_quote_intact(
                    citation, _find_quote_elsewhere(citation.quote, index, searcher)
                )
            if not kept:
                yield LostQuote(claim=claim.text, quote=citation.quote, chunk_id=citation.chunk_id)


def _is_quote_intact(citation: Citation, chunks: Sequence[Chunk]) -> bool:
    if citation.of == "heading":
        return any(find_title(chunk, citation.quote) for chunk in chunks)
    return any(citation.quote in chunk.text for chunk in chunks)


def _find_quote_elsewhere(quote: str, index: Index, searcher: Searcher) -> Sequence[Chunk]:
    """Look for a quote in the rest of the book: its passage may have gone to another page."""
    vector = searcher.embedder.embed_query(quote)
    ranked = index.rank(quote, vector, filters=Filters(), depth=MAX_QUOTE_CANDIDATES)
    return index.read([identity for identity, _ in (*ranked.keyword, *ranked.dense)])


def _is_selection_intact(citation: Citation, selected: SelectedPassage | None) -> bool:
    """A quote of a selection is lost if the book had it and has it no longer."""
    if citation.of == "own_text" or selected is None:
        return True
    located = selected.located
    return located is not None and located.find(citation.start, citation.end) is not None


class ReceiptService:
    """Reads records of answers, and replays them."""

    def __init__(
        self, library: Library, searcher: Searcher, judge: Judge, threads: ThreadStore
    ) -> None:
        """Read from `threads`; replay with the stages that answer questions."""
        self._library = library
        self._searcher = searcher
        self._judge = judge
        self._threads = threads

    async def read(self, answer_id: str, *, owner: Caller = None) -> Receipt:
        """Return the record of an answer.

        Raises:
            UnknownAnswer: there is none of that id, or its conversation was deleted.
        """
        message = await self._threads.answer(answer_id, owner=owner)
        if message is None:
            raise UnknownAnswer(f"There is no answer {answer_id}.")
        return receipt_from_message(message)

    async def unfinished(self, answer_id: str, *, owner: Caller = None) -> AnswerEntry | None:
        """Return what is known of an answer that has no record yet, or never will."""
        return await self._threads.unfinished(answer_id, owner=owner)

    async def replay(self, answer_id: str, *, owner: Caller = None) -> Replay:
        """Search and check again for an answer, against the book as it is now.

        Raises:
            UnknownAnswer: there is none of that id, or its conversation was deleted.
            UnknownBook: its book is gone.
        """
        receipt = await self.read(answer_id, owner=owner)
        index = await asyncio.to_thread(self._library.open, receipt.book)
        return await replay(receipt, index, self._searcher, self._judge)
