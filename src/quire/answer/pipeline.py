"""The pipeline: one question in, events out. The one file to read first."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from uuid import uuid4

from quire.answer.agent import Evidence, draft
from quire.answer.contents import NAME as CONTENTS
from quire.answer.contents import Statement, answer_from_contents
from quire.answer.gate import pass_gate
from quire.answer.instructions import NOT_IN_BOOK
from quire.answer.models import ModelFor
from quire.answer.options import AnswerOptions
from quire.answer.records import answer_record
from quire.answer.refusal import (
    DISCLAIMER,
    SELECTION_DISCLAIMER,
    refusal_text,
    selection_refusal,
)
from quire.answer.selected import Selected, lacking, read_selection
from quire.domain import (
    Answer,
    Chunk,
    Claim,
    Confidence,
    Hit,
    Message,
    Question,
    Status,
    Timings,
)
from quire.events import Done, Event, Retrieved, Sentence, Started, Withheld
from quire.ports import Index, Judge, Library, ThreadStore
from quire.retrieve.outline import first_chunk
from quire.retrieve.rewrite import Exchange, question_with_topic, standalone_question
from quire.retrieve.search import Searcher, SearchResult, opened_hits
from quire.retrieve.selection import weigh_selection
from quire.retrieve.structure import structure_question
from quire.verify.claims import Piece, PieceReader
from quire.verify.confidence import certain
from quire.verify.grounding import check_piece
from quire.verify.headings import check_titles
from quire.verify.links import SentenceLinks

HISTORY = 6
"""How many earlier messages a follow-up may refer to."""
SURE = 0.85
"""A follow-up that is answered this surely by itself is not read as leaning on what came before."""


@dataclass(slots=True)
class _Work:
    """What one answer gathers on its way."""

    question: Question
    index: Index
    thread_id: str
    answer_id: str
    standalone: str = ""
    selected: Selected | None = None
    nearest: tuple[Hit, ...] = ()
    evidence: list[Hit] = field(default_factory=list)
    text: str = ""
    claims: list[Claim] = field(default_factory=list)
    withheld: list[Claim] = field(default_factory=list)
    model: str = ""
    retrieve_ms: float = 0.0
    answer_ms: float = 0.0
    verify_ms: float = 0.0

    @property
    def is_proven(self) -> bool:
        """Whether the answer says anything that the book says."""
        return any(claim.citations for claim in self.claims)

    def hits(self, *, answered: bool) -> tuple[Hit, ...]:
        """Give what the answer rests on; for a refusal, what came nearest."""
        hits = tuple(self.evidence) if answered else self.nearest
        return self.selected.placed(hits) if self.selected else hits


class Pipeline:
    """Search, answer, check, remember."""

    def __init__(
        self,
        library: Library,
        searcher: Searcher,
        judge: Judge,
        threads: ThreadStore,
        model: tuple[str, ModelFor],
        options: AnswerOptions,
    ) -> None:
        """Join the stages; `model` is its name and what makes it."""
        self._library = library
        self._searcher = searcher
        self._judge = judge
        self._threads = threads
        self._model_name, self._model_for = model
        self._options = options
        self._links = SentenceLinks()

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer a question, saying what happens as it does."""
        begun = perf_counter()
        thread_id = question.thread_id or str(uuid4())
        work = _Work(question, self._library.open(question.book), thread_id, str(uuid4()))
        work.model = self._model_name
        yield Started(thread_id, work.answer_id)

        async with self._threads.turn(thread_id):
            told: list[Statement] = []
            if question.selected_text is not None:
                confidence = await self._select(work, question.selected_text)
            else:
                history = await self._history(thread_id)
                told = self._told(work, history)
                confidence = (
                    certain(len(work.evidence)) if told else await self._retrieve(work, history)
                )
            shown = work.hits(answered=confidence.should_answer)
            yield Retrieved(work.standalone, shown, confidence)

            for statement in told:
                yield self._quote_titles(work, statement)
            if confidence.should_answer and not told:
                async with aclosing(self._proven(work, confidence)) as pieces:
                    async for event in pieces:
                        yield event

            answer = self._conclude(work, confidence, begun)
            await self._remember(answer, work)
        yield Done(answer)

    async def _history(self, thread_id: str) -> list[Exchange]:
        thread = await self._threads.load(thread_id, last=HISTORY)
        records = [m.record for m in (thread.messages if thread else ()) if m.record]
        # A follow-up is about what was answered, not about what was not in the book.
        answered = [record for record in records if record["status"] == "answered"]
        return [
            Exchange(record["standalone_question"], tuple(record["headings"]))
            for record in answered or records
        ]

    def _told(self, work: _Work, history: Sequence[Exchange]) -> list[Statement]:
        """Answer from the contents what is asked about them, without a search; else nothing."""
        index = work.index
        for text in (work.question.text, standalone_question(work.question.text, history)):
            asked = structure_question(text, f"{index.title} {index.book}", index.contents)
            if asked:
                told = answer_from_contents(asked, index.contents)
                named = (first_chunk(one) for said in told for one in said.headings)
                work.evidence += opened_hits(index.read(list(dict.fromkeys(named))))
                work.standalone, work.model = text, CONTENTS
                return told
        return []

    def _quote_titles(self, work: _Work, statement: Statement) -> Sentence | Withheld:
        hits = {hit.chunk.id: hit for hit in work.evidence}
        quoted = [(one, hits[first_chunk(one)]) for one in statement.headings]
        claim = check_titles(statement.text, quoted)
        if not claim.citations:
            work.withheld.append(claim)
            return Withheld(claim)
        marks = "".join(dict.fromkeys(f"[{citation.number}]" for citation in claim.citations))
        return self._release(work, f"{statement.lead}{claim.text} {marks}", claim)

    async def _retrieve(self, work: _Work, history: Sequence[Exchange]) -> Confidence:
        begun = perf_counter()
        question = work.question
        work.standalone = standalone_question(question.text, history)
        found = await self._search(work, work.standalone)
        beside = question_with_topic(work.standalone, history)
        if beside and found.answerability < SURE:
            # It may lean on the conversation in a way its words do not show.
            again = await self._search(work, beside)
            if again.answerability > max(found.answerability, question.threshold):
                work.standalone, found = beside, again
        work.retrieve_ms = 1000 * (perf_counter() - begun)
        return _gated(work, found)

    async def _select(self, work: _Work, text: str) -> Confidence:
        """Take the reader's selection as all there is: no search, and nothing said before."""
        begun = perf_counter()
        work.standalone = work.question.text
        work.selected = await read_selection(text, work.index, self._searcher.embedder)
        found = await weigh_selection(
            self._searcher, work.index, work.selected.chunk, work.standalone
        )
        work.retrieve_ms = 1000 * (perf_counter() - begun)
        return _gated(work, found)

    async def _search(self, work: _Work, question: str) -> SearchResult:
        return await self._searcher.search(
            work.index, question, filters=work.question.filters, top_k=work.question.top_k
        )

    async def _proven(
        self, work: _Work, confidence: Confidence
    ) -> AsyncGenerator[Sentence | Withheld, None]:
        """Hold the answer back until it has a proven claim: without one it becomes a refusal."""
        held: list[Sentence | Withheld] = []
        async with aclosing(self._checked(work, confidence)) as pieces:
            async for event in pieces:
                held.append(event)
                if work.is_proven:
                    for one in held:
                        yield one
                    held.clear()
        for one in held:
            if isinstance(one, Withheld):
                yield one

    async def _checked(
        self, work: _Work, confidence: Confidence
    ) -> AsyncGenerator[Sentence | Withheld, None]:
        """Let the agent write, and give each piece only after its check."""
        begun = perf_counter()
        if confidence.level == "low":
            disclaimer = SELECTION_DISCLAIMER if work.selected else DISCLAIMER
            yield self._release(work, disclaimer, _said_by_us(disclaimer))

        async def search(query: str) -> Sequence[Hit]:
            found = await self._search(work, query)
            return [hit for hit in found.hits if hit.similarity >= work.question.threshold]

        shown = Evidence(work.evidence, search, work.index)
        model = self._model_for(work.index.statistics)
        reader = PieceReader()
        async with aclosing(
            draft(
                work.standalone,
                shown,
                model=model,
                max_turns=self._options.max_turns,
                selected=work.selected is not None,
            )
        ) as deltas:
            async for delta in deltas:
                for piece in reader.feed(delta):
                    if NOT_IN_BOOK not in piece.text:
                        yield self._check(work, piece)
        for piece in reader.finish():
            if NOT_IN_BOOK not in piece.text:
                yield self._check(work, piece)
        work.answer_ms = 1000 * (perf_counter() - begun) - work.verify_ms

    def _check(self, work: _Work, piece: Piece) -> Sentence | Withheld:
        begun = perf_counter()
        link = partial(self._links.link, work.index)
        claim, text = check_piece(
            piece, work.evidence, self._judge, _no_link if work.selected else link
        )
        if work.selected:
            claim = work.selected.cite(claim, link)
        work.verify_ms += 1000 * (perf_counter() - begun)
        shown = claim.verdict in ("supported", "not_a_claim") or (
            claim.verdict == "partly" and self._options.show_partly
        )
        if shown:
            return self._release(work, text, claim)
        work.withheld.append(claim)
        return Withheld(claim)

    def _release(self, work: _Work, text: str, claim: Claim) -> Sentence:
        if work.text and not text[0].isspace():
            text = f" {text}"
        elif not work.text:
            text = text.lstrip()
        start = len(work.text) + text.find(claim.text)
        claim = replace(claim, start=start, end=start + len(claim.text))
        work.text += text
        work.claims.append(claim)
        return Sentence(text, claim)

    def _conclude(self, work: _Work, confidence: Confidence, begun: float) -> Answer:
        """Make the answer; one that kept no proven claim is a refusal."""
        answered = work.is_proven
        if not answered:
            confidence = replace(confidence, level="insufficient", should_answer=False)
        lacks: tuple[str, ...] = ()
        refusal = refusal_text(work.standalone, work.nearest)
        if work.selected:
            lacks = () if answered else lacking(work.standalone, work.selected.chunk.text)
            refusal = selection_refusal(lacks)
        return Answer(
            id=work.answer_id,
            thread_id=work.thread_id,
            book=work.index.book,
            revision=work.index.revision,
            question=work.question.text,
            standalone_question=work.standalone,
            status=_status(answered=answered, selected=work.selected is not None),
            text=work.text if answered else refusal,
            claims=tuple(work.claims) if answered else (),
            withheld=tuple(work.withheld),
            hits=work.hits(answered=answered),
            confidence=confidence,
            model=work.model,
            created_at=datetime.now(UTC),
            timings=Timings(
                retrieve_ms=round(work.retrieve_ms, 2),
                answer_ms=round(work.answer_ms, 2),
                verify_ms=round(work.verify_ms, 2),
                total_ms=round(1000 * (perf_counter() - begun), 2),
            ),
            selection=work.selected.selection if work.selected else None,
            lacks=lacks,
        )

    async def _remember(self, answer: Answer, work: _Work) -> None:
        asked = Message(
            id=str(uuid4()),
            role="user",
            content=answer.question,
            created_at=answer.created_at,
        )
        said = Message(
            id=answer.id,
            role="assistant",
            content=answer.text,
            created_at=answer.created_at,
            confidence=answer.confidence.average_similarity,
            record=answer_record(answer, work.question, work.nearest),
        )
        await self._threads.append(answer, (asked, said))


def _gated(work: _Work, found: SearchResult) -> Confidence:
    work.nearest = found.hits
    work.evidence, confidence = pass_gate(found, work.question)
    return confidence


def _status(*, answered: bool, selected: bool) -> Status:
    if answered:
        return "answered"
    return "not_in_selection" if selected else "not_in_book"


def _no_link(chunk: Chunk, start: int, end: int) -> str:
    del chunk, start, end  # a selection has no address of its own
    return ""


def _said_by_us(text: str) -> Claim:
    return Claim(text=text, start=0, end=0, verdict="not_a_claim", probability=1.0)
