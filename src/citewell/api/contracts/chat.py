"""The native contract: `POST /chat/run` and `POST /chat/stream`."""

from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints, ValidationInfo, field_validator

from citewell.api.contract import ServerSentEvent
from citewell.api.schemas import (
    NOT_BLANK,
    PREVIEW_LENGTH,
    SELECTION_RULE,
    BookFilters,
    Context,
    JsonBool,
    JsonFloat,
    JsonInt,
    Metadata,
    RequestModel,
    UserId,
    Uuid4,
    WireModel,
    check_context,
    dump,
    is_fully_grounded,
    not_fully_supported,
    truncate,
)
from citewell.domain import Answer, AnswerStatus, Claim, Confidence, ConfidenceLevel, Hit, Question
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
    """Continues a conversation; a UUID of version 4. Left out, a new one begins."""
    stream: JsonBool = False
    """Whether `/chat/run` answers with server-sent events."""
    top_k: JsonInt = Field(5, ge=1, le=10)
    """How many passages to retrieve."""
    similarity_threshold: JsonFloat = Field(0.7, ge=0.0, le=1.0)
    """Least similarity of a passage that may be used."""
    filters: BookFilters | None = None
    """Where to search."""
    book: str | None = Field(None, max_length=64)
    """Which book; may be left out where there is only one."""
    context_mode: Literal["retrieval_pipeline", "user_provided"] = "retrieval_pipeline"
    """Where the answer may come from: the book, or `user_context` alone."""
    user_context: Context | None = Field(None, validate_default=True)
    """The selected text, of 1 to 16,000 characters; in mode `user_provided` it is required and the
    only source: nothing is retrieved, and what was said before does not count. An object is kept
    with the conversation, and the answer does not depend on it."""
    user_id: UserId | None = None
    """Whose question it is; kept as `user_id` in the `metadata` of the conversation."""
    metadata: Metadata | None = None
    """What to keep with the conversation, up to 10,000 bytes; its fields replace earlier ones."""

    @field_validator("user_context")
    @classmethod
    def _has_context(cls, value: Context | None, info: ValidationInfo) -> Context | None:
        return check_context(value, info.data.get("context_mode"))


class RetrievedPassage(WireModel):
    """A passage that was retrieved for the question."""

    chunk_id: str
    """The passage's UUID; it stays while the passage keeps its place in the book."""
    chunk_text: str = Field(max_length=PREVIEW_LENGTH)
    """The passage, cut to 500 characters."""
    similarity_score: float = Field(ge=0, le=1)
    """Calibrated relevance of this passage to the question."""
    cosine: float = Field(ge=0, le=1)
    """The raw cosine of the embeddings."""
    chapter: str
    """Title of the chapter."""
    section: str
    """Title of the section."""
    url: str
    """The section on the published site."""
    source_file: str
    """Path of the page's source below the book's folder."""
    chunk_index: int
    """Position among the passages of its page, from 1."""
    content_hash: str
    """SHA-256 of the whole passage."""
    heading: str = ""
    """Part, chapter and headings that the passage stands under."""
    role: Literal["text", "exercises", "solutions", "glossary", "figure"] = "text"
    """What the author uses the passage for."""
    piece: str = ""
    """Which piece of a long table, list or code block it is, as `2/3`; empty if it is whole."""


class Source(RetrievedPassage):
    """A passage that the answer cites."""

    number: int
    """The `[n]` that points here."""


class Quote(WireModel):
    """A sentence of the book that proves a claim."""

    number: int
    """The source it stands in."""
    chunk_id: str
    """The passage it stands in."""
    chapter: str
    """Title of the chapter."""
    section: str
    """Title of the section."""
    quote: str
    """Byte for byte what the passage, its heading or the selection says between the offsets."""
    start: int
    """Where it begins, in characters."""
    end: int
    """Where it ends."""
    url: str
    """Opens the published page at that sentence; empty for the reader's own text."""
    of: Literal["text", "heading", "selection", "own_text"] = "text"
    """What is quoted: the passage; the headings it stands under (`heading` of its source); the
    reader's selection, which the book has at `url`; or a selection that is not of the book."""
    found_in: str = ""
    """For `selection`: the `chunk_id` of the book's passage that says the same."""


class CheckedClaim(WireModel):
    """One statement of the answer and whether the book says so."""

    text: str
    """The statement."""
    start: int
    """Where it begins in `response`; of one that was withheld, where it would have."""
    end: int
    """Where it ends."""
    verdict: Literal["supported", "partly", "unsupported", "contradicted", "not_a_claim"]
    """`contradicted`: the book says otherwise; the citations then say what it says."""
    probability: float = Field(ge=0, le=1)
    """How likely the book supports it."""
    citations: list[Quote]
    """The sentences of the book that prove it."""


class Metrics(WireModel):
    """How good the passages are that the answer was made from; 0 where there is none."""

    average_similarity: float = Field(ge=0, le=1)
    """Mean similarity of the passages used."""
    min_similarity: float = Field(ge=0, le=1)
    """That of the weakest."""
    max_similarity: float = Field(ge=0, le=1)
    """That of the best."""
    num_chunks: int = Field(ge=0)
    """How many passages are used."""
    chunk_diversity: float = Field(ge=0, le=1)
    """How much they differ: 1 less their mean similarity to each other."""
    confidence_level: ConfidenceLevel
    """What the mean and the number come to."""
    should_answer: bool
    """Whether that is enough to answer."""
    has_sufficient_context: bool = False
    """Whether there are at least three passages, with a mean similarity of at least 0.75."""
    answerability: float = Field(ge=0, le=1)
    """Probability that what was retrieved holds the answer; it decides whether to answer."""
    correctness: float | None = Field(default=None, ge=0, le=1)
    """Probability that the answer is right and supported; `null` until it is complete, and for
    what was not searched for."""


class StageTimings(WireModel):
    """Milliseconds spent in each stage."""

    retrieve_ms: float
    """Searching."""
    answer_ms: float
    """Writing."""
    verify_ms: float
    """Checking."""
    total_ms: float
    """All of it."""


class Usage(WireModel):
    """What the model took."""

    total_tokens: int = Field(ge=0)
    """Tokens read and written."""
    cost_usd: float | None = Field(default=None, ge=0)
    """What they cost, where the price is known."""


class ChatGrounding(WireModel):
    """Whether the answer says only what its source says."""

    is_fully_grounded: bool
    """Whether every statement shown is supported as a whole."""
    unsupported_claims: list[str]
    """What the model claimed and the source does not fully support, shown or withheld."""


class ChatNotice(WireModel):
    """Something that was down while the question was answered."""

    code: Literal["not_kept", "embedded_answer", "fallback_model", "incomplete"]
    """What it is, for programs."""
    detail: str
    """The same in words."""


class ChatResponse(WireModel):
    """An answer whose every sentence was checked, or a refusal that says so."""

    response: str = Field(min_length=1)
    """The answer, with `[n]` behind each sentence for its source."""
    confidence: float = Field(ge=0, le=1)
    """Average similarity of the passages used."""
    sources: list[Source]
    """The passages that the answer cites, in the order of their `[n]`; none for a refusal."""
    retrieved: list[RetrievedPassage]
    """The passages that the answer could be made from; for a refusal, the nearest ones."""
    session_id: str
    """Pass it on to ask a follow-up."""
    timestamp: datetime
    """When the answer was finished, in UTC."""
    confidence_level: ConfidenceLevel
    """Low answers carry a disclaimer; with insufficient passages nothing is answered from them."""
    should_answer: bool
    """Whether the passages that were retrieved are enough to answer. It is `false` for small talk,
    and may be for an answer from the table of contents: `status` says what the response is."""
    status: AnswerStatus
    """What the response is: `answered`; `not_in_book`, off the book's subject; `no_direct_answer`,
    where a section was found but no proven sentence; `not_in_selection`; `unsupported_request`,
    which quoting the book cannot meet; `small_talk`; or `no_context`, without the book."""
    answer_id: str
    """What `/answers/{answer_id}` gives the full record by."""
    query_id: str
    """The same id, by the name that the query contract has for it."""
    claims: list[CheckedClaim]
    """Every statement of the answer with its verdict."""
    unsupported_claims: list[str]
    """What the model claimed and the book does not support; by default not part of `response`."""
    grounding: ChatGrounding
    """Whether the answer says only what its source says."""
    standalone_question: str
    """The question as it was searched for."""
    context_mode: Literal["retrieval_pipeline", "user_provided"]
    """Where the answer came from."""
    missing_terms: list[str]
    """For a selection that does not answer: words of the question that it does not have."""
    offer: Literal["whole_book"] | None
    """`whole_book` where the selection does not answer, but the book may: ask again without it."""
    metrics: Metrics
    """How good the retrieved passages are."""
    timings: StageTimings
    """Milliseconds spent in each stage."""
    usage: Usage | None
    """What the model took, where it counts that."""
    book: str
    """The book asked about."""
    revision: str
    """Its revision that was searched."""
    model: str
    """Who wrote the answer."""
    notices: list[ChatNotice]
    """What the reader should know: `not_kept` if the answer could not be stored; `embedded_answer`
    if the book is quoted because no language model could be used, or had anything to say that the
    book proves; `fallback_model` if another than the first one wrote; `incomplete` if it broke
    off, and the answer is what was proven until then."""
    cache_age_seconds: float | None
    """How long ago the answer was made, where the same was asked before; null if made now."""
    reader_token: str | None = None
    """Where readers share a key or need none: send it as `X-Citewell-Reader` from here on, and
    nobody else sees your conversations. Given to readers who sent none."""


class Chat:
    """Citewell's own dialect."""

    name = "chat"
    whole_path = "/chat/run"
    stream_path = "/chat/stream"
    request = ChatRequest
    response = ChatResponse

    def question(self, body: ChatRequest) -> Question:
        """Read the request."""
        return Question(
            text=body.message,
            book=body.book,
            thread_id=body.session_id,
            top_k=body.top_k,
            threshold=body.similarity_threshold,
            filters=(body.filters or BookFilters()).read(),
            selected_text=_selected(body),
            contract=self.name,
            noted={"user_context": body.user_context}
            if isinstance(body.user_context, dict)
            else {},
            metadata={
                **(body.metadata or {}),
                **({"user_id": body.user_id} if body.user_id else {}),
            },
        )

    def reply(self, answer: Answer) -> ChatResponse:
        """Write the whole response."""
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
            missing_terms=list(answer.lacks),
            offer="whole_book" if answer.status == "not_in_selection" else None,
            metrics=metrics_of(confidence),
            timings=StageTimings(**asdict(answer.timings)),
            usage=_usage(answer),
            book=answer.book,
            revision=answer.revision,
            model=answer.model,
            notices=[ChatNotice(code=one, detail=NOTICES[one]) for one in answer.notices],
            cache_age_seconds=answer.cache_age,
        )

    def event(self, event: Event) -> ServerSentEvent | None:
        """Write one event: start, retrieved, sentence, withheld, done or error."""
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

    def streams(self, body: ChatRequest) -> bool:
        """Stream from the whole path too, if the request says so."""
        return body.stream


def _usage(answer: Answer) -> Usage | None:
    if not answer.tokens_used:
        return None
    return Usage(total_tokens=answer.tokens_used, cost_usd=answer.dollars)


def _selected(body: ChatRequest) -> str | None:
    selected = isinstance(body.user_context, str) and body.context_mode == "user_provided"
    return str(body.user_context) if selected else None


def _sources(answer: Answer) -> list[Source]:
    numbers = {one.chunk_id: one.number for one in answer.citations}
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
    """Write a claim with its verdict and its quotes."""
    return CheckedClaim(
        text=claim.text,
        start=claim.start,
        end=claim.end,
        verdict=claim.verdict,
        probability=claim.probability,
        citations=[Quote(**asdict(citation)) for citation in claim.citations],
    )


def metrics_of(confidence: Confidence) -> Metrics:
    """Write the measures of the evidence."""
    fields = asdict(confidence)
    level = fields.pop("level")
    enough = confidence.has_sufficient_context
    return Metrics(confidence_level=level, has_sufficient_context=enough, **fields)


LongWords = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000), NOT_BLANK
]


class OnPageRequest(ChatRequest):
    """A question about the book, as long as a client of the workflows may write one."""

    message: LongWords
    """The question, of 1 to 2,000 characters."""
    user_context: Context | None = Field(None, validate_default=True)
    """The selected text, as in the native contract; or an object that says where the reader is. Its
    `chapter` is a hint: of passages that answer about as well, those of that chapter come first. It
    keeps nothing out, and does not decide whether the question is answered."""


class WidgetChat(Chat):
    """The native dialect, and its conversations; questions may be longer, and say where one is."""

    whole_path = "/widget/run"
    stream_path = "/widget/stream"
    request = OnPageRequest

    def question(self, body: ChatRequest) -> Question:
        """Read the request, with the chapter that the reader has open."""
        return replace(super().question(body), near=_chapter(body))


def _chapter(body: ChatRequest) -> str:
    page = body.user_context
    chapter = page.get("chapter") if isinstance(page, dict) else None
    return chapter if isinstance(chapter, str) else ""
