"""Each piece of what a model writes, checked; only what passes becomes part of the answer."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

from quire.answer.asking import Ask
from quire.answer.embedded import NAME as EMBEDDED
from quire.answer.instructions import NOT_IN_BOOK, PROMPTS
from quire.answer.options import AnswerOptions
from quire.answer.refusal import warning
from quire.answer.work import Work
from quire.domain import Chunk, Claim, Verdict
from quire.events import Sentence, Withheld
from quire.ports import Judge
from quire.telemetry.spans import span
from quire.verify.claims import Piece
from quire.verify.grounding import check_piece, marked
from quire.verify.harmless import is_beside_the_point, obeys, refused, without_links
from quire.verify.leaks import tellable
from quire.verify.links import SentenceLinks
from quire.verify.opinion import second_opinion


class Checking:
    """Judges pieces, and shows what the operator lets through."""

    def __init__(self, judge: Judge, options: AnswerOptions, ask: Ask | None = None) -> None:
        """Let `judge` decide what is supported, and the options what is shown.

        `ask` has a language model look again at what would be withheld.
        """
        self._judge = judge
        self._options = options
        self._ask = ask
        self._links = SentenceLinks()

    async def check(
        self, work: Work, pieces: Iterable[Piece]
    ) -> AsyncGenerator[Sentence | Withheld, None]:
        """Judge pieces; give those that may be shown, and say which may not."""
        for written in pieces:
            if NOT_IN_BOOK in written.text:
                work.declined = True
                continue
            piece = written if written.quoted else await asyncio.to_thread(without_links, written)
            if not piece.text.strip():
                continue  # a picture, or an address and nothing else
            if piece.kind == "sentence" and not piece.quoted and work.has_judged(piece.text):
                continue  # small models go round in circles
            claim = await self._judged(work, piece)
            # What was quoted by offset was not written by a model that could be led astray.
            if not piece.quoted and await asyncio.to_thread(self._is_led_astray, work, claim):
                yield work.withhold(await asyncio.to_thread(self._told, refused(claim)))
                continue
            if (
                claim.verdict == "not_a_claim"
                and not piece.ours
                and (piece.leads_on or work.leading)
            ):
                work.leading.append((marked(piece, claim), claim))
            elif self._shows(claim):
                for lead in work.leading:
                    yield work.release(*lead)
                work.leading.clear()
                claim = work.numbered(claim)
                work.answering += [claim.text] if piece.answers else []
                yield work.release(marked(piece, claim) + self._warning(work, piece, claim), claim)
            else:
                yield work.withhold(await asyncio.to_thread(self._told, claim))

    def _is_led_astray(self, work: Work, claim: Claim) -> bool:
        """Tell whether a text that was read speaks through the model, instead of the book."""
        if obeys(claim, work.evidence):
            return True
        # The embedded model obeys nobody: it quotes what answers.
        if work.model == EMBEDDED or work.whole:  # “explain this” says nothing to be beside of
            return False
        return is_beside_the_point(claim, work.evidence, work.standalone)

    def _told(self, claim: Claim) -> Claim:
        """Give a claim as readers are told that it was withheld."""
        return replace(claim, text=tellable(claim.text, (*PROMPTS, self._options.instructions)))

    async def _judged(self, work: Work, piece: Piece) -> Claim:
        begun = perf_counter()
        with span("verify") as timed:
            # Aside, while other answers go on: a page may have to be read, or a model run.
            claim = await asyncio.to_thread(self._checked, work, piece, self._judge)
            if self._ask and claim.verdict in ("unsupported", "partly") and not piece.is_block:
                passages = [hit.chunk.text for hit in work.evidence]
                opinion = await second_opinion(piece.text, passages, self._ask)
                if opinion:
                    again = _Decided(opinion)
                    claim = await asyncio.to_thread(self._checked, work, piece, again)
            timed.set_attribute("verdict", claim.verdict)
        work.verify_ms += 1000 * (perf_counter() - begun)
        return claim

    def _checked(self, work: Work, piece: Piece, judge: Judge) -> Claim:
        link = partial(self._links.link, work.index)
        shown = [*work.claims, *(claim for _, claim in work.leading)]
        selected = work.selected
        claim, _ = check_piece(
            piece, work.evidence, judge, _no_link if selected else link, work.last, shown
        )
        return selected.cite(claim, link) if selected else claim

    def _shows(self, claim: Claim) -> bool:
        shown = claim.verdict in ("supported", "not_a_claim")
        partly = claim.verdict == "partly" and self._options.show_partly
        return shown or partly or self._options.unsupported != "withhold"

    def _warning(self, work: Work, piece: Piece, claim: Claim) -> str:
        said = warning(claim.verdict, selected=work.selected is not None)
        if self._options.unsupported != "mark" or not said:
            return ""
        return ("\n\n" if piece.is_block else " ") + said


class _Decided:
    """A judge that has made up its mind."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        del claim, passages, cited
        return self._verdict


def _no_link(chunk: Chunk, start: int, end: int) -> str:
    del chunk, start, end  # a selection has no address of its own
    return ""
