"""Verify an answer while it is written: release what is proven, in the order of the text.

Each piece passes a cascade: a quote or a literal copy, the local judge, and for what that cannot
decide one question to the language model with all passages. What is not proven is replaced by the
sentence of the book that bears on it, or withheld with the reason.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from citewell.answer.claim_check import Check, ClaimChecker
from citewell.answer.extractive import EMBEDDED_NAME
from citewell.answer.prompts import NOT_IN_BOOK, PROMPTS
from citewell.answer.replies import warning
from citewell.answer.run import AnswerRun
from citewell.citations.text_fragments import DeepLinker
from citewell.domain import PROVEN_VERDICTS, Citation, Claim, DecidedBy, Verdict
from citewell.events import Sentence, Withheld
from citewell.options import AnswerOptions
from citewell.ports import Judge
from citewell.telemetry import span
from citewell.verify.bearing import bearing_sentence, quote_piece
from citewell.verify.claims import Piece
from citewell.verify.context import is_under_denial
from citewell.verify.grounding import check_piece, with_citation_marks
from citewell.verify.guards import objection
from citewell.verify.safety import (
    follows_injection,
    is_off_topic,
    redact_secrets,
    reject_claim,
    without_links,
)

VerifiedPieces = AsyncGenerator[Sentence | Withheld, None]
UNDECIDED_TO_ASK = 4
"""Undecided claims after which the model is asked before the answer is complete."""
MAX_CHECKS = 3
"""Questions to the model about the claims of one answer."""


@dataclass(slots=True)
class _Item:
    """A piece that waits for its decision, or for those before it."""

    piece: Piece
    claim: Claim
    undecided: bool = False
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Verifiers:
    """Makes the verifier of each answer."""

    judge: Judge
    options: AnswerOptions
    checker: ClaimChecker | None
    """Asks a language model about claims that the judge cannot decide."""
    links: DeepLinker

    def open(self, run: AnswerRun, *, by_llm: bool) -> "AnswerVerifier":
        """Return the verifier of an answer that begins."""
        return AnswerVerifier(run, self, self.checker if by_llm else None, by_llm=by_llm)


class AnswerVerifier:
    """Verifies the pieces of one answer, and releases or withholds each."""

    def __init__(
        self, run: AnswerRun, common: Verifiers, checker: ClaimChecker | None, *, by_llm: bool
    ) -> None:
        """Verify the answer of `run`; only text by a language model is checked for injections."""
        self._run = run
        self._judge, self._options, self._links = common.judge, common.options, common.links
        self._checker = checker
        self._by_llm = by_llm
        self._waiting: deque[_Item] = deque()
        self._check: asyncio.Task[dict[int, Check]] | None = None
        self._checked: list[_Item] = []
        self._checks = 0

    async def add(self, pieces: Iterable[Piece]) -> VerifiedPieces:
        """Take pieces; yield events for those that are decided, in the order of the text."""
        for piece in pieces:
            item = await self._judged(piece)
            if item:
                self._waiting.append(item)
            async for event in self._release():
                yield event
        if len(self._unasked()) >= UNDECIDED_TO_ASK:
            self._ask()
        if self._check and self._check.done():
            await self._take_checks()
        async for event in self._release():
            yield event

    async def finish(self) -> VerifiedPieces:
        """Wait for all decisions, and yield the remaining events."""
        while self._check or self._unasked():
            self._ask()
            await self._take_checks()
        async for event in self._release():
            yield event

    def close(self) -> None:
        """Stop asking the model."""
        if self._check:
            self._check.cancel()

    def _unasked(self) -> list[_Item]:
        return [item for item in self._waiting if item.undecided and not item.asked]

    def _ask(self) -> None:
        """Ask the model about the undecided claims, unless a question is under way."""
        items = self._unasked()
        if self._check or not items:
            return
        for item in items:
            item.asked = True
        if self._checker is None or self._checks == MAX_CHECKS:
            for item in items:
                item.undecided = False
            return
        self._checks += 1
        self._checked = items
        claims = [item.piece.text for item in items]
        question, hits = self._run.standalone_question, list(self._run.evidence)
        self._check = asyncio.create_task(self._checker.check(question, claims, hits))

    async def _take_checks(self) -> None:
        if self._check is None:
            return
        start = perf_counter()
        checks = await self._check
        self._run.verify_ms += 1000 * (perf_counter() - start)
        for number, item in enumerate(self._checked):
            item.undecided = False
            check = checks.get(number)
            if check:
                await asyncio.to_thread(self._apply, item, check)
        self._check, self._checked = None, []

    def _apply(self, item: _Item, check: Check) -> None:
        """Decide a claim by the model's verdict; numbers, names and negations may veto it."""
        texts = [self._run.evidence[n - 1].chunk.text[start:end] for n, start, end in check.spans]
        if check.verdict == "supported":
            veto = objection(item.piece.text, texts, self._headings(check))
            if not veto:
                verdict = Verdict(kind="supported", probability=0.9, evidence=check.spans)
                item.claim = self._proven(item, verdict, "llm")
                return
            item.claim = replace(item.claim, decided_by="guard", reason=veto)
        elif check.correction:
            corrected = replace(item.piece, text=check.correction)
            claim = self._judge_piece(corrected, self._judge)
            if claim.verdict == "supported":
                item.piece = corrected
                item.claim = replace(claim, decided_by="repair", reason=f"from: {item.claim.text}")
        elif check.verdict == "contradicted":
            item.claim = replace(item.claim, verdict="contradicted", decided_by="llm")

    def _headings(self, check: Check) -> str:
        hits = (self._run.evidence[number - 1] for number, *_ in check.spans)
        return " ".join(dict.fromkeys(hit.chunk.heading for hit in hits))

    def _proven(self, item: _Item, verdict: Verdict, decided_by: DecidedBy) -> Claim:
        claim = self._judge_piece(item.piece, _FixedJudge(verdict))
        return replace(claim, decided_by=decided_by)

    async def _judged(self, raw_piece: Piece) -> _Item | None:
        """Return a piece with the local judge's decision; `None` if there is nothing to show."""
        run = self._run
        if NOT_IN_BOOK in raw_piece.text:
            run.declined = True
            return None
        # Exact quotes need no check: no model wrote them that could have been injected.
        quoted = bool(raw_piece.quoted_spans)
        piece = raw_piece if quoted else await asyncio.to_thread(without_links, raw_piece)
        if not piece.text.strip():
            return None  # only an image or an address
        repeatable = piece.kind != "sentence" or quoted
        waiting = (item.piece.text for item in self._waiting)
        if not repeatable and (run.is_repetition(piece.text) or piece.text in waiting):
            return None  # small models loop
        start = perf_counter()
        with span("verify") as verify_span:
            # In a thread: it may read a page of the book or run a model.
            claim = await asyncio.to_thread(self._judge_piece, piece, self._judge)
            verify_span.set_attribute("verdict", claim.verdict)
        run.verify_ms += 1000 * (perf_counter() - start)
        follows_llm = not self._by_llm and run.model != EMBEDDED_NAME
        if follows_llm and claim.citations and all(map(self._is_cited, claim.citations)):
            return None  # the language model has said or quoted it already
        how: DecidedBy = "quote" if quoted else "literal" if piece.is_block else "judge"
        item = _Item(piece, replace(claim, decided_by="" if piece.is_own_text else how))
        claim = item.claim
        if not quoted and await asyncio.to_thread(self._is_injected, claim):
            item.claim = replace(reject_claim(claim), decided_by="guard", reason="injection")
        elif claim.verdict not in ("supported", "not_a_claim") and not piece.is_block:
            passages = [hit.chunk.text for hit in run.evidence]
            headings = " ".join(hit.chunk.heading for hit in run.evidence)
            reason = await asyncio.to_thread(objection, piece.text, passages, headings)
            if reason:
                item.claim = replace(claim, decided_by="guard", reason=reason)
            item.undecided = not reason and self._checker is not None
        return item

    def _judge_piece(self, piece: Piece, judge: Judge) -> Claim:
        run = self._run
        link = partial(self._links.link, run.index)
        waiting = [item.claim for item in self._waiting if self._may_show(item.claim)]
        released = [*run.claims, *(claim for _, claim in run.pending_headings), *waiting]
        previous = next((c for c in reversed(waiting) if c.verdict != "not_a_claim"), None)
        previous = previous or run.last_claim
        selected = run.selected_passage
        if selected is None:
            return check_piece(piece, run.evidence, judge, link, previous, released)
        claim = check_piece(piece, run.evidence, judge, lambda *_: "", previous, released)
        return selected.cite(claim, link)

    def _is_injected(self, claim: Claim) -> bool:
        """Return whether the claim follows instructions injected through a passage."""
        if follows_injection(claim, self._run.evidence):
            return True
        # The embedded model follows no instructions; “explain this” has no topic to stray from.
        if not self._by_llm or self._run.about_whole_selection:
            return False
        return is_off_topic(claim, self._run.evidence, self._run.standalone_question)

    async def _release(self) -> VerifiedPieces:
        """Yield events for the pieces in front that are decided."""
        while self._waiting and not self._waiting[0].undecided:
            item = self._waiting.popleft()
            for event in await asyncio.to_thread(list, self._events(item)):
                yield event

    def _events(self, item: _Item) -> Iterator[Sentence | Withheld]:
        run, piece, claim = self._run, item.piece, item.claim
        introduces = piece.needs_continuation or run.pending_headings
        if claim.verdict == "not_a_claim" and not piece.is_own_text and introduces:
            run.pending_headings.append((with_citation_marks(piece, claim), claim))
            return
        if claim.reason != "injection" and self._may_show(claim):
            yield from self._released(piece, claim)
            return
        quote = self._quote_instead(item) if claim.reason != "injection" else None
        yield run.withhold(self._redact(claim))
        if quote:
            yield from self._released(*quote, marks=("“", "”"))

    def _released(
        self, piece: Piece, claim: Claim, marks: tuple[str, str] = ("", "")
    ) -> Iterator[Sentence]:
        run = self._run
        for heading in run.pending_headings:
            yield run.release(*heading)
        run.pending_headings.clear()
        claim = run.number_citations(claim)
        run.answering_sentences += [claim.text] if piece.is_answer else []
        shown = replace(claim, text=f"{marks[0]}{claim.text}{marks[1]}")
        text = with_citation_marks(piece, shown) + self._warning(piece, claim)
        yield run.release(text, claim)

    def _quote_instead(self, item: _Item) -> tuple[Piece, Claim] | None:
        """Return the sentence of the book that bears on a rejected claim of a language model."""
        run = self._run
        wanted = self._by_llm and self._options.unsupported == "quote"
        if not wanted or item.piece.is_block or run.selected_passage:
            return None
        cited = [number - 1 for number in item.piece.cited]
        found = bearing_sentence(item.piece.text, run.evidence, cited, run.index.statistics)
        if found is None:
            return None
        hit = run.evidence[found[0] - 1]
        if is_under_denial(hit.chunk, *found[1:], run.claims):
            return None
        piece = quote_piece(item.piece, hit, found)
        claim = self._judge_piece(piece, self._judge)
        shown = all(map(self._is_cited, claim.citations))
        if claim.verdict != "supported" or shown or self._is_injected(claim):
            return None
        return piece, replace(claim, decided_by="repair", reason=f"instead of: {item.claim.text}")

    def _is_cited(self, citation: Citation) -> bool:
        """Return whether a claim in the answer cites the same sentence already."""
        return any(
            one.chunk_id == citation.chunk_id
            and one.start < citation.end
            and citation.start < one.end
            for claim in self._run.claims
            for one in claim.citations
            if claim.verdict in PROVEN_VERDICTS
        )

    def _redact(self, claim: Claim) -> Claim:
        """Remove prompts from a withheld claim: readers can see it."""
        prompts = (*PROMPTS, self._options.instructions)
        return replace(claim, text=redact_secrets(claim.text, prompts))

    def _may_show(self, claim: Claim) -> bool:
        proven = claim.verdict in ("supported", "not_a_claim")
        partly = claim.verdict == "partly" and self._options.show_partly
        return proven or partly or self._options.unsupported in ("mark", "allow")

    def _warning(self, piece: Piece, claim: Claim) -> str:
        text = warning(claim.verdict, selected=self._run.selected_passage is not None)
        if self._options.unsupported != "mark" or not text:
            return ""
        return ("\n\n" if piece.is_block else " ") + text


class _FixedJudge:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        del claim, passages, cited
        return self._verdict
