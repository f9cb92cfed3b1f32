"""The state of one answer while it is made, and the `Answer` built from it."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from time import perf_counter

from citewell.answer.context import SelectedPassage, missing_terms, score_passages
from citewell.answer.replies import (
    SMALL_TALK_MODEL_NAME,
    closest_section_reply,
    is_off_subject,
    not_found_reply,
    selection_refusal,
)
from citewell.conversation import AnswerEntry
from citewell.domain import (
    PROVEN_VERDICTS,
    TOC_MODEL_NAME,
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
from citewell.verify.confidence import correctness_probability


@dataclass(slots=True)
class AnswerRun:
    """An answer in progress."""

    question: Question
    index: Index
    thread_id: str
    answer_id: str
    model: str
    start_time: float = field(default_factory=perf_counter)
    started_at: datetime = field(default_factory=partial(datetime.now, UTC))
    standalone_question: str = ""
    selected_passage: SelectedPassage | None = None
    refusal: str = ""
    """The reply to a question that is refused without a search."""
    search_hits: tuple[Hit, ...] | None = None
    """All hits of the search for the question; `None` if there was no search."""
    answerability: float = 0.0
    """Probability that the hits hold the answer; 0 if there was no search."""
    conversation_context: ConversationContext = STANDALONE
    about_whole_selection: bool = False
    """Whether the question is about the selection as a whole, such as “Explain this”."""
    evidence: list[Hit] = field(default_factory=list)
    """The passages that the answer may cite."""
    text: str = ""
    claims: list[Claim] = field(default_factory=list)
    citation_numbers: dict[str, int] = field(default_factory=dict)
    """Citation number by chunk id, counted from 1 in the order the reader meets them."""
    answering_sentences: list[str] = field(default_factory=list)
    """Claims selected as the answer, without those quoted only for context."""
    withheld: list[Claim] = field(default_factory=list)
    pending_headings: list[tuple[str, Claim]] = field(default_factory=list)
    """Headings and lead-ins, held until a claim below them is released."""
    retrieve_ms: float = 0.0
    answer_ms: float = 0.0
    verify_ms: float = 0.0
    tokens_used: int | None = None
    tokens_written: int = 0
    dollars: float | None = None
    disclaimer: str = ""
    """Precedes an answer of low confidence."""
    is_empty: bool = True
    """Whether the model has produced no text yet."""
    declined: bool = False
    """Whether the model said that the passages hold no answer."""
    previously_withheld: int = 0
    """Number of claims withheld from models tried before the current one."""
    notices: tuple[Notice, ...] = ()
    """Degradations to report to the reader."""
    context_given: bool = False
    """Whether the model was given passages."""

    @property
    def store_available(self) -> bool:
        """Whether all calls to the store have succeeded so far."""
        return "not_kept" not in self.notices

    def add_notice(self, notice: Notice) -> None:
        """Report a degradation with the answer."""
        self.notices = tuple(dict.fromkeys((*self.notices, notice)))

    def start_attempt(self, model: str) -> None:
        """Reset for a model; only withheld claims of the previous one are kept."""
        self.model, self.text, self.is_empty, self.declined = model, "", True, False
        self.claims, self.answering_sentences = [], []
        self.pending_headings, self.citation_numbers = [], {}
        self.previously_withheld = len(self.withheld)

    @property
    def has_proven_claim(self) -> bool:
        """Whether the book supports anything in the answer."""
        return any(claim.citations and claim.verdict in PROVEN_VERDICTS for claim in self.claims)

    @property
    def proven_share(self) -> float:
        """The share of the current model's claims that are shown as it wrote them."""
        shown = [c for c in self.claims if c.verdict != "not_a_claim" and c.decided_by != "repair"]
        withheld = len(self.withheld) - self.previously_withheld
        return len(shown) / max(len(shown) + withheld, 1)

    def is_repetition(self, text: str) -> bool:
        """Return whether the current model has already written exactly this."""
        return any(
            claim.text == text
            for claim in (*self.claims, *self.withheld[self.previously_withheld :])
        )

    @property
    def last_claim(self) -> Claim | None:
        """The last claim released: the possible antecedent of the next one."""
        return next((c for c in reversed(self.claims) if c.verdict != "not_a_claim"), None)

    def hits(self, *, answered: bool) -> tuple[Hit, ...]:
        """Return the passages the answer could cite; for a refusal, the nearest ones."""
        searched = self.search_hits is not None and not answered
        hits = self.search_hits or () if searched else tuple(self.evidence)
        return self.selected_passage.with_book_headings(hits) if self.selected_passage else hits

    def log_entry(self) -> AnswerEntry:
        """Return the first entry for the log of answers."""
        return AnswerEntry(
            id=self.answer_id,
            thread_id=self.thread_id,
            book=self.index.book,
            question=self.question.text,
            state="processing",
            owner=self.question.owner,
            contract=self.question.contract,
            created_at=self.question.received_at or self.started_at,
        )

    def number_citations(self, claim: Claim) -> Claim:
        """Return the claim with its citations numbered in reading order.

        Citations that contradict a claim get a number only if the passage has one already.
        """
        if claim.verdict in PROVEN_VERDICTS:
            for citation in claim.citations:
                self.citation_numbers.setdefault(citation.chunk_id, len(self.citation_numbers) + 1)
        citations = (
            replace(citation, number=self.citation_numbers.get(citation.chunk_id, 0))
            for citation in claim.citations
        )
        return replace(claim, citations=tuple(citations))

    def release(self, text: str, claim: Claim) -> Sentence:
        """Append a verified claim to the answer, and return its event."""
        if self.text and not (text[0].isspace() or self.text[-1].isspace()):
            text = f" {text}"
        elif not self.text:
            text = text.lstrip()
        start = len(self.text) + text.find(claim.text)
        claim = replace(claim, start=start, end=start + len(claim.text))
        self.text += text
        self.claims.append(claim)
        return Sentence(text, claim)

    def release_own_text(self, text: str, lead: str = "") -> Sentence:
        """Append text by Citewell itself, which needs no proof."""
        claim = Claim(text=text, start=0, end=0, verdict="not_a_claim", probability=1.0)
        return self.release(f"{lead}{text}", claim)

    def withhold(self, claim: Claim) -> Withheld:
        """Withhold a claim, recording where it would have stood."""
        claim = replace(self.number_citations(claim), start=len(self.text), end=len(self.text))
        self.withheld.append(claim)
        return Withheld(claim)

    def confidence(self) -> Confidence:
        """Return the confidence in the evidence.

        The similarity threshold does not apply to passages chosen by name rather than by search.
        """
        all_count = self.model == TOC_MODEL_NAME or self.about_whole_selection
        opened = self.evidence[: self.question.top_k if self.model == TOC_MODEL_NAME else None]
        used = [hit for hit in opened if all_count or hit.similarity >= self.question.threshold]
        return score_passages(used, self.question, self.answerability)

    def build_answer(self) -> Answer:
        """Return the answer; without a proven claim it is a refusal."""
        answered = self.has_proven_claim or self.model == SMALL_TALK_MODEL_NAME
        if self.has_proven_claim:
            confidence = self.confidence()
        else:
            confidence = score_passages((), self.question, self.answerability)
        if (
            self.has_proven_claim
            and self.search_hits is not None
            and not self.about_whole_selection
        ):
            withheld = self.withheld[self.previously_withheld :]
            correctness = correctness_probability(
                self.answerability, self.evidence, self.claims, withheld
            )
            confidence = replace(confidence, correctness=correctness)
        return Answer(
            id=self.answer_id,
            thread_id=self.thread_id,
            book=self.index.book,
            revision=self.index.revision,
            question=self.question.text,
            standalone_question=self.standalone_question,
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
                total_ms=round(1000 * (perf_counter() - self.start_time), 2),
            ),
            selection=self.selected_passage.selection if self.selected_passage else None,
            missing_terms=() if answered else self._missing_terms(),
            tokens_used=self.tokens_used,
            tokens_written=self.tokens_written,
            dollars=self.dollars,
            notices=self.notices,
            passages_given=len(self.evidence) if self.context_given else 0,
        )

    def _status(self, *, answered: bool) -> AnswerStatus:
        if answered:
            return "small_talk" if self.model == SMALL_TALK_MODEL_NAME else "answered"
        if self.refusal:
            return "unsupported_request"
        if self.selected_passage:
            return "not_in_selection"
        return "not_in_book" if self._is_off_subject else "no_direct_answer"

    @property
    def _is_off_subject(self) -> bool:
        frequency = self.index.statistics.frequency
        all_unknown = not any(term in frequency for term in terms(self.standalone_question))
        return all_unknown or is_off_subject(self.search_hits or (), self.answerability)

    def _refusal(self) -> str:
        if self.refusal:
            return self.refusal
        if self.selected_passage:
            return selection_refusal(self._missing_terms())
        if self._is_off_subject:
            return not_found_reply(
                self.standalone_question,
                self.index.statistics.frequency,
                filtered=bool(self.question.filters),
            )
        return closest_section_reply(self.search_hits or (), withheld=bool(self.withheld))

    def _missing_terms(self) -> tuple[str, ...]:
        if self.selected_passage is None:
            return ()
        return missing_terms(self.standalone_question, self.selected_passage.chunk.text)
