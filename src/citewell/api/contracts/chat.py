"""The native contract: `/chat/run` and `/chat/stream`."""

from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Literal

from pydantic import (
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

from citewell.api.contract import ServerSentEvent
from citewell.api.schemas import (
    NOT_BLANK,
    PREVIEW_LENGTH,
    SELECTION_RULE,
    BookFilters,
    Context,
    Metadata,
    RequestModel,
    StrictFloat,
    StrictInt,
    UserId,
    Uuid4,
    WireModel,
    check_context,
    dump,
    is_fully_grounded,
    not_fully_supported,
    truncate,
)
from citewell.domain import (
    Answer,
    AnswerStatus,
    Claim,
    Confidence,
    ConfidenceLevel,
    DecidedBy,
    Hit,
    Question,
)
from citewell.domain import Notice as NoticeCode
from citewell.events import NOTICES, Done, Event, Failed, Retrieved, Sentence, Started, Withheld

NonBlankText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000), NOT_BLANK
]


class ChatRequest(RequestModel):
    """A question about the book."""

    model_config = ConfigDict(json_schema_extra=SELECTION_RULE)

    message: NonBlankText
    """The question."""
    session_id: Uuid4 | None = None
    """The conversation to continue, a UUID of version 4. Without one, a new one starts."""
    stream: StrictBool = False
    """Whether `/chat/run` returns server-sent events."""
    top_k: StrictInt = Field(5, ge=1, le=10)
    """How many passages to retrieve."""
    similarity_threshold: StrictFloat = Field(0.7, ge=0.0, le=1.0)
    """Minimum similarity of the passages used."""
    filters: BookFilters | None = None
    """Restricts the search."""
    book: str | None = Field(None, max_length=64)
    """The book; optional if there is only one."""
    context_mode: Literal["retrieval_pipeline", "user_provided"] = "retrieval_pipeline"
    """The source of the answer: the book, or `user_context` alone."""
    user_context: Context | None = Field(None, validate_default=True)
    """The selected text, of 1 to 64,000 characters, of which up to 16,000 about the question are
    read. In mode `user_provided` it is required and the only source: nothing is retrieved, and
    earlier messages are ignored. An object is stored with
    the conversation and does not affect the answer."""
    user_id: UserId | None = None
    """Your id of the user; stored as `user_id` in the `metadata` of the conversation."""
    metadata: Metadata | None = None
    """Data to store with the conversation, up to 10,000 bytes; its fields replace earlier ones."""

    @field_validator("user_context")
    @classmethod
    def _check_context(cls, value: Context | None, info: ValidationInfo) -> Context | None:
        return check_context(value, info.data.get("context_mode"))


class RetrievedPassage(WireModel):
    """A retrieved passage."""

    chunk_id: str
    """The passage's UUID, which is stable while the passage keeps its position in the book."""
    chunk_text: str = Field(max_length=PREVIEW_LENGTH)
    """The text, cut to 500 characters."""
    similarity_score: float = Field(ge=0, le=1)
    """Calibrated relevance of this passage to the question."""
    cosine: float = Field(ge=0, le=1)
    """The raw cosine of the embeddings."""
    chapter: str
    """Title of the chapter."""
    section: str
    """Title of the section."""
    url: str
    """URL of the section on the published site."""
    source_file: str
    """Path of the page's source file in the book's folder."""
    chunk_index: int
    """Position among the passages of its page, from 1."""
    content_hash: str
    """SHA-256 of the complete passage."""
    heading: str = ""
    """Part, chapter and headings of the passage."""
    role: Literal["text", "exercises", "solutions", "glossary", "figure"] = "text"
    """The purpose of the passage in the book."""
    piece: str = ""
    """The part of a split table, list or code block, as `2/3`; empty if it is not split."""


class Source(RetrievedPassage):
    """A cited passage."""

    number: int
    """The `[n]` that refers to it."""


class Quote(WireModel):
    """A sentence of the book that supports or contradicts a claim."""

    number: int
    """The number of its source."""
    chunk_id: str
    """The id of its passage."""
    chapter: str
    """Title of the chapter."""
    section: str
    """Title of the section."""
    quote: str
    """The quoted text, byte for byte as in the passage, its heading or the selection."""
    start: int
    """Start offset in characters."""
    end: int
    """End offset in characters."""
    url: str
    """Opens the published page at that sentence; empty for the reader's own text."""
    of: Literal["text", "heading", "selection", "own_text"] = "text"
    """What is quoted: the passage; its `heading`; the reader's selection, which the book has at
    `url`; or a selection that is not from the book."""
    found_in: str = ""
    """For `selection`: the `chunk_id` of the passage of the book with the same text."""


class CheckedClaim(WireModel):
    """A statement of the answer with its verdict."""

    text: str
    """The statement."""
    start: int
    """Start offset in `response`; for a withheld claim, where it would have been."""
    end: int
    """End offset."""
    verdict: Literal["supported", "partly", "unsupported", "contradicted", "not_a_claim"]
    """For `contradicted`, the citations are the sentences that contradict the claim."""
    probability: float = Field(ge=0, le=1)
    """Probability that the book supports the claim."""
    citations: list[Quote]
    """The evidence in the book."""
    decided_by: DecidedBy = ""
    """What decided: an exact quote, a literal copy, the local judge, a guard, the language model;
    or the claim was repaired."""
    reason: str = ""
    """The guard that objected, or the text that a repaired claim replaces."""


class Metrics(WireModel):
    """Quality measures of the passages used; 0 if there are none."""

    average_similarity: float = Field(ge=0, le=1)
    """Mean similarity of the passages used."""
    min_similarity: float = Field(ge=0, le=1)
    """Lowest similarity of a passage used."""
    max_similarity: float = Field(ge=0, le=1)
    """Highest similarity of a passage used."""
    num_chunks: int = Field(ge=0)
    """How many passages are used."""
    chunk_diversity: float = Field(ge=0, le=1)
    """1 minus the mean pairwise similarity of the passages."""
    confidence_level: ConfidenceLevel
    """The level by the mean similarity and the number of passages."""
    should_answer: bool
    """Whether the evidence is sufficient to answer."""
    has_sufficient_context: bool = False
    """Whether there are at least three passages with a mean similarity of at least 0.75."""
    answerability: float = Field(ge=0, le=1)
    """Probability that the passages contain the answer; it decides whether to answer."""
    correctness: float | None = Field(default=None, ge=0, le=1)
    """Probability that the answer is correct and supported; `null` until it is complete, and
    without retrieval."""


class StageTimings(WireModel):
    """Milliseconds spent in each stage."""

    retrieve_ms: float
    """Retrieval."""
    answer_ms: float
    """Generation."""
    verify_ms: float
    """Verification."""
    total_ms: float
    """All stages."""


class Usage(WireModel):
    """The model's usage."""

    total_tokens: int = Field(ge=0)
    """Input and output tokens."""
    cost_usd: float | None = Field(default=None, ge=0)
    """Their cost, if the price is known."""


class ChatGrounding(WireModel):
    """Whether the source supports the answer."""

    is_fully_grounded: bool
    """Whether every statement shown is fully supported."""
    unsupported_claims: list[str]
    """Claims, shown or withheld, that the source does not fully support."""


class ChatNotice(WireModel):
    """A degradation while the question was answered."""

    code: NoticeCode
    """Machine-readable."""
    detail: str
    """Human-readable."""


class ChatResponse(WireModel):
    """An answer in which every sentence was verified, or a refusal."""

    response: str = Field(min_length=1)
    """The answer, with `[n]` after each sentence for its source."""
    confidence: float = Field(ge=0, le=1)
    """Average similarity of the passages used."""
    sources: list[Source]
    """The cited passages in the order of their `[n]`; empty for a refusal."""
    retrieved: list[RetrievedPassage]
    """The passages available for the answer; for a refusal, the most relevant ones."""
    session_id: str
    """Send it to ask a follow-up."""
    timestamp: datetime
    """When the answer was finished, in UTC."""
    confidence_level: ConfidenceLevel
    """Answers with low confidence have a disclaimer; `insufficient` leads to a refusal."""
    should_answer: bool
    """Whether the retrieved passages are sufficient to answer. It is `false` for small talk, and
    may be `false` for an answer from the table of contents: `status` classifies the response."""
    status: AnswerStatus
    """The kind of response: `answered`; `not_in_book`, an unrelated question; `no_direct_answer`,
    if a section was found but no supported sentence; `not_in_selection`; `unsupported_request`,
    which quotes cannot fulfil; `small_talk`; or `no_context`, without the book."""
    answer_id: str
    """The id of the full record at `/answers/{answer_id}`."""
    query_id: str
    """The same id, by its name in the query contract."""
    claims: list[CheckedClaim]
    """Every statement of the answer with its verdict."""
    unsupported_claims: list[str]
    """Claims that the book does not support; by default not part of `response`."""
    grounding: ChatGrounding
    """Whether the source supports the answer."""
    standalone_question: str
    """The question that was searched for, with references resolved."""
    context_mode: Literal["retrieval_pipeline", "user_provided"]
    """The source of the answer."""
    missing_terms: list[str]
    """For a selection without an answer: terms of the question that it does not contain."""
    offer: Literal["whole_book"] | None
    """`whole_book` if the selection has no answer but the book may: ask again without it."""
    metrics: Metrics
    """Quality measures of the passages used."""
    timings: StageTimings
    """Milliseconds spent in each stage."""
    usage: Usage | None
    """The model's usage, if it reports that."""
    book: str
    """The book."""
    revision: str
    """The revision of the book."""
    model: str
    """The model that generated the answer."""
    notices: list[ChatNotice]
    """Degradations: `not_kept` if the answer could not be stored; `embedded_answer` if the book is
    quoted because no language model was available or wrote anything that the book supports;
    `fallback_model` if a model other than the first one answered; `incomplete` if the model
    failed and the answer is what had been verified until then."""
    cache_age_seconds: float | None
    """Age of an answer from the cache; `null` if it was generated now."""
    reader_token: str | None = None
    """For readers who share a key or use none: send it as `X-Citewell-Reader` from now on to keep
    your conversations private. Issued to readers who send none."""


class Chat:
    """Citewell's native format."""

    name = "chat"
    complete_response_path = "/chat/run"
    stream_path = "/chat/stream"
    request = ChatRequest
    response = ChatResponse

    def question(self, body: ChatRequest) -> Question:
        """Convert a request to a question."""
        return Question(
            text=body.message,
            book=body.book,
            thread_id=body.session_id,
            top_k=body.top_k,
            threshold=body.similarity_threshold,
            filters=(body.filters or BookFilters()).to_filters(),
            selected_text=_selected_text(body),
            contract=self.name,
            contract_data={"user_context": body.user_context}
            if isinstance(body.user_context, dict)
            else {},
            metadata={
                **(body.metadata or {}),
                **({"user_id": body.user_id} if body.user_id else {}),
            },
        )

    def reply(self, answer: Answer) -> ChatResponse:
        """Convert an answer to a complete response."""
        confidence = answer.confidence
        return ChatResponse(
            response=answer.text,
            confidence=confidence.average_similarity,
            sources=_sources(answer),
            retrieved=[_passage(hit) for hit in answer.hits],
            session_id=answer.thread_id,
            timestamp=answer.created_at,
            confidence_level=confidence.level,
            should_answer=confidence.should_answer,
            status=answer.status,
            answer_id=answer.id,
            query_id=answer.id,
            claims=[checked_claim(claim) for claim in answer.claims],
            unsupported_claims=[claim.text for claim in answer.unsupported],
            grounding=ChatGrounding(
                is_fully_grounded=is_fully_grounded(answer),
                unsupported_claims=list(not_fully_supported(answer)),
            ),
            standalone_question=answer.standalone_question,
            context_mode=answer.mode,
            missing_terms=list(answer.missing_terms),
            offer="whole_book" if answer.status == "not_in_selection" else None,
            metrics=metrics_of(confidence),
            timings=StageTimings(**asdict(answer.timings)),
            usage=_usage(answer),
            book=answer.book,
            revision=answer.revision,
            model=answer.model,
            notices=[ChatNotice(code=code, detail=NOTICES[code]) for code in answer.notices],
            cache_age_seconds=answer.cache_age,
        )

    def event(self, event: Event) -> ServerSentEvent | None:
        """Return the event `start`, `retrieved`, `sentence`, `withheld` or `done`."""
        match event:
            case Started(thread_id, answer_id):
                return ServerSentEvent("start", {"session_id": thread_id, "answer_id": answer_id})
            case Retrieved(standalone, hits, confidence):
                return ServerSentEvent(
                    "retrieved",
                    {
                        "standalone_question": standalone,
                        "retrieved": [dump(_passage(hit)) for hit in hits],
                        "metrics": dump(metrics_of(confidence)),
                    },
                )
            case Sentence(text, claim):
                return ServerSentEvent(
                    "sentence", {"text": text, "claim": dump(checked_claim(claim))}
                )
            case Withheld(claim):
                return ServerSentEvent("withheld", {"claim": dump(checked_claim(claim))})
            case Done(answer):
                return ServerSentEvent("done", dump(self.reply(answer)))
            case Failed():
                return None

    def wants_stream(self, body: ChatRequest) -> bool:
        """Return whether the request asks `/chat/run` for a stream."""
        return body.stream


def _usage(answer: Answer) -> Usage | None:
    if not answer.tokens_used:
        return None
    return Usage(total_tokens=answer.tokens_used, cost_usd=answer.dollars)


def _selected_text(body: ChatRequest) -> str | None:
    text = body.user_context
    return text if isinstance(text, str) and body.context_mode == "user_provided" else None


def _sources(answer: Answer) -> list[Source]:
    numbers = {citation.chunk_id: citation.number for citation in answer.citations}
    return [
        Source(number=numbers[hit.chunk.id], **_passage(hit).model_dump()) for hit in answer.sources
    ]


def _passage(hit: Hit) -> RetrievedPassage:
    chunk = hit.chunk
    return RetrievedPassage(
        chunk_id=chunk.id,
        chunk_text=truncate(chunk.text, PREVIEW_LENGTH),
        similarity_score=hit.similarity,
        cosine=hit.cosine,
        chapter=chunk.chapter,
        section=chunk.section,
        url=chunk.url,
        source_file=chunk.source_file,
        chunk_index=chunk.sequence,
        content_hash=chunk.content_hash,
        heading=chunk.heading,
        role=chunk.role,
        piece=chunk.piece,
    )


def checked_claim(claim: Claim) -> CheckedClaim:
    """Convert a claim with its verdict and quotes."""
    return CheckedClaim(
        text=claim.text,
        start=claim.start,
        end=claim.end,
        verdict=claim.verdict,
        probability=claim.probability,
        citations=[Quote(**asdict(citation)) for citation in claim.citations],
        decided_by=claim.decided_by,
        reason=claim.reason,
    )


def metrics_of(confidence: Confidence) -> Metrics:
    """Convert the confidence in the evidence."""
    fields = asdict(confidence)
    level = fields.pop("level")
    sufficient = confidence.has_sufficient_context
    return Metrics(confidence_level=level, has_sufficient_context=sufficient, **fields)


LongText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000), NOT_BLANK
]


class OnPageRequest(ChatRequest):
    """A question from the chat on a page of the book."""

    message: LongText
    """The question, of 1 to 2,000 characters."""
    user_context: Context | None = Field(None, validate_default=True)
    """The selected text, as in the native contract; or an object with the reader's location. Its
    `chapter` is a hint: of similarly relevant passages, those of that chapter come first. It
    excludes no passages, and does not decide whether the question is answered."""


class WidgetChat(Chat):
    """The native format and conversations, with longer questions and the reader's location."""

    complete_response_path = "/widget/run"
    stream_path = "/widget/stream"
    request = OnPageRequest

    def question(self, body: ChatRequest) -> Question:
        """Convert a request to a question with the chapter that the reader has open."""
        return replace(super().question(body), current_chapter=_chapter(body))


def _chapter(body: ChatRequest) -> str:
    context = body.user_context
    chapter = context.get("chapter") if isinstance(context, dict) else None
    return chapter if isinstance(chapter, str) else ""
