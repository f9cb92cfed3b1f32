"""What one answer gathers on its way, and the answer that it becomes."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from time import perf_counter

from citewell.answer.context import SelectedPassage, missing_terms, score_passages
from citewell.answer.replies import SMALL_TALK_MODEL_NAME as TALK
from citewell.answer.replies import TOC_MODEL_NAME as CONTENTS
from citewell.answer.replies import (
    closest_section_reply,
    is_off_subject,
    not_found_reply,
    selection_refusal,
)
from citewell.conversation import AnswerEntry
from citewell.domain import (
    PROVEN_VERDICTS,
    Answer,
    AnswerStatus,
    Claim,
    Confidence,
    Hit,
    Notice,
    Question,
    Timings,
)
from citewell.events import Sentence, Withheld
from citewell.ports import Index
from citewell.questions.followup import STANDALONE, ConversationContext
from citewell.text.terms import terms
from citewell.verify.confidence import correctness_of


@dataclass(slots=True)
class AnswerRun:
    """An answer in the making."""

    question: Question
    index: Index
    thread_id: str
    answer_id: str
    model: str
    begun: float = field(default_factory=perf_counter)
    began_at: datetime = field(default_factory=partial(datetime.now, UTC))
    standalone: str = ""
    selected: SelectedPassage | None = None
    refusal: str = ""
    """What is said instead of an answer, where that is known before anything is searched."""
    nearest: tuple[Hit, ...] | None = None
    """All that the search for the question gave; `None` if nothing was searched."""
    answerability: float = 0.0
    """How likely what was found holds the answer; 0 where nothing was searched."""
    conversation_context: ConversationContext = STANDALONE
    """What the question takes from its conversation."""
    whole: bool = False
    """Whether the question asks about the selection as a whole, and not for something in it."""
    evidence: list[Hit] = field(default_factory=list)
    text: str = ""
    claims: list[Claim] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    """The number of each cited passage, by its id: 1 for the first that the reader meets."""
    answering: list[str] = field(default_factory=list)
    """Of the claims, those that were chosen to answer, where the others only came with them."""
    withheld: list[Claim] = field(default_factory=list)
    pending_headings: list[tuple[str, Claim]] = field(default_factory=list)
    """Headings and the like, kept until something follows that is shown."""
    retrieve_ms: float = 0.0
    answer_ms: float = 0.0
    verify_ms: float = 0.0
    tokens_used: int | None = None
    tokens_written: int = 0
    dollars: float | None = None
    disclaimer: str = ""
    """What is said before an answer that rests on little."""
    is_silent: bool = True
    """Whether the model has said nothing yet."""
    declined: bool = False
    """Whether the model said that the passages do not answer."""
    earlier_withheld: int = 0
    """How many claims were withheld from models before the one that writes."""
    notices: tuple[Notice, ...] = ()
    """What is down, and the reader has to know."""
    context_given: bool = False
    """Whether passages are given to whoever writes."""

    @property
    def kept(self) -> bool:
        """Whether the store has answered so far."""
        return "not_kept" not in self.notices

    def add_notice(self, notice: Notice) -> None:
        """Have the answer say what is down."""
        self.notices = tuple(dict.fromkeys((*self.notices, notice)))

    def begin(self, model: str) -> None:
        """Let a model write; of one before it, only what it invented is kept."""
        self.model, self.text, self.is_silent, self.declined = model, "", True, False
        self.claims, self.answering, self.pending_headings, self.numbers = [], [], [], {}
        self.earlier_withheld = len(self.withheld)

    @property
    def has_proven_claim(self) -> bool:
        """Whether the answer says anything that the book says."""
        return any(claim.citations and claim.verdict in PROVEN_VERDICTS for claim in self.claims)

    def was_withheld_before(self, text: str) -> bool:
        """Return whether the model has said just this before."""
        return any(
            one.text == text for one in (*self.claims, *self.withheld[self.earlier_withheld :])
        )

    @property
    def last(self) -> Claim | None:
        """The statement shown last, which the next one may refer to."""
        return next((c for c in reversed(self.claims) if c.verdict != "not_a_claim"), None)

    def hits(self, *, answered: bool) -> tuple[Hit, ...]:
        """Return what the answer could rest on; for a refusal, what came nearest."""
        searched = self.nearest is not None and not answered
        hits = self.nearest or () if searched else tuple(self.evidence)
        return self.selected.with_book_headings(hits) if self.selected else hits

    def log_entry(self) -> AnswerEntry:
        """Return the line of the log of answers with which it begins."""
        return AnswerEntry(
            id=self.answer_id,
            thread_id=self.thread_id,
            book=self.index.book,
            question=self.question.text,
            state="processing",
            owner=self.question.owner,
            contract=self.question.contract,
            created_at=self.question.received_at or self.began_at,
        )

    def number_citations(self, claim: Claim) -> Claim:
        """Return a claim that is about to be shown, its passages numbered as the reader meets them.

        What speaks against a claim has a number only if something else was proven by it.
        """
        proven = claim.verdict in PROVEN_VERDICTS
        for one in claim.citations if proven else ():
            self.numbers.setdefault(one.chunk_id, len(self.numbers) + 1)
        return replace(
            claim,
            citations=tuple(
                replace(one, number=self.numbers.get(one.chunk_id, 0)) for one in claim.citations
            ),
        )

    def release(self, text: str, claim: Claim) -> Sentence:
        """Add to what the reader sees."""
        if self.text and not text[0].isspace():
            text = f" {text}"
        elif not self.text:
            text = text.lstrip()
        start = len(self.text) + text.find(claim.text)
        claim = replace(claim, start=start, end=start + len(claim.text))
        self.text += text
        self.claims.append(claim)
        return Sentence(text, claim)

    def say(self, text: str, lead: str = "") -> Sentence:
        """Add what Citewell says itself, and the book need not."""
        claim = Claim(text=text, start=0, end=0, verdict="not_a_claim", probability=1.0)
        return self.release(f"{lead}{text}", claim)

    def withhold(self, claim: Claim) -> Withheld:
        """Keep a claim from the reader, and note where it would have stood."""
        claim = replace(self.number_citations(claim), start=len(self.text), end=len(self.text))
        self.withheld.append(claim)
        return Withheld(claim)

    def confidence(self) -> Confidence:
        """Return how good the passages are that the answer rests on; nothing for small talk.

        Passages that were opened by name count as they are; of those that a model opened, only what
        the threshold lets through.
        """
        opened = self.model == CONTENTS or self.whole
        used = [hit for hit in self.evidence if opened or hit.similarity >= self.question.threshold]
        return score_passages(used, self.question, self.answerability)

    def build_answer(self) -> Answer:
        """Return the answer; one that kept no proven claim is a refusal, and rests on nothing."""
        answered = self.has_proven_claim or self.model == TALK
        if self.has_proven_claim:
            confidence = self.confidence()
        else:
            confidence = score_passages((), self.question, self.answerability)
        if self.has_proven_claim and self.nearest is not None and not self.whole:
            sure = correctness_of(
                self.answerability,
                self.evidence,
                self.claims,
                self.withheld[self.earlier_withheld :],
            )
            confidence = replace(confidence, correctness=sure)
        return Answer(
            id=self.answer_id,
            thread_id=self.thread_id,
            book=self.index.book,
            revision=self.index.revision,
            question=self.question.text,
            standalone_question=self.standalone,
            status=self._status(answered=answered),
            text=self.text if answered else self._refusal(),
            claims=tuple(self.claims) if answered else (),
            withheld=tuple(self.withheld),
            hits=self.hits(answered=answered),
            confidence=confidence,
            model=self.model,
            created_at=datetime.now(UTC),
            timings=Timings(
                retrieve_ms=round(self.retrieve_ms, 2),
                answer_ms=round(self.answer_ms, 2),
                verify_ms=round(self.verify_ms, 2),
                total_ms=round(1000 * (perf_counter() - self.begun), 2),
            ),
            selection=self.selected.selection if self.selected else None,
            lacks=() if answered else self._lacks(),
            tokens_used=self.tokens_used,
            tokens_written=self.tokens_written,
            dollars=self.dollars,
            notices=self.notices,
            context_given=self.context_given,
        )

    def _status(self, *, answered: bool) -> AnswerStatus:
        if answered:
            return "small_talk" if self.model == TALK else "answered"
        if self.refusal:
            return "unsupported_request"
        if self.selected:
            return "not_in_selection"
        return "not_in_book" if self._is_off_subject else "no_direct_answer"

    @property
    def _is_off_subject(self) -> bool:
        """Whether nothing that was found is about what is asked."""
        known = self.index.statistics.frequency
        strange = not any(term in known for term in terms(self.standalone))
        return strange or is_off_subject(self.nearest or (), self.answerability)

    def _refusal(self) -> str:
        if self.refusal:
            return self.refusal
        if self.selected:
            return selection_refusal(self._lacks())
        if self._is_off_subject:
            known = self.index.statistics.frequency
            return not_found_reply(self.standalone, known, filtered=bool(self.question.filters))
        return closest_section_reply(self.nearest or ())

    def _lacks(self) -> tuple[str, ...]:
        return missing_terms(self.standalone, self.selected.chunk.text) if self.selected else ()
