"""The native contract: `POST /chat/run` and `POST /chat/stream`."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from quire.api.contract import WireEvent
from quire.domain import (
    SELECTION_LENGTH,
    Answer,
    Citation,
    Claim,
    Confidence,
    Filters,
    Hit,
    Prefix,
    Question,
    Wanted,
)
from quire.events import Done, Event, Failed, Retrieved, Sentence, Started, Withheld

PREVIEW = 500
UUID_VERSION = 4
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]


class Wire(BaseModel):
    """A model on the wire; the words under each field appear in the API's documentation."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class BeginsWith(Wire):
    """Matches whatever begins with `prefix`."""

    prefix: str = Field(max_length=1000)


Value = Annotated[str, StringConstraints(max_length=1000)] | BeginsWith
Values = Value | Annotated[list[Value], Field(max_length=20)] | None


class ChatFilters(Wire):
    """Restricts the search to parts of the book.

    Each field takes a text that must be equal, `{"prefix": "…"}`, or a list of these of which any
    may match; where several fields are given, all must match.
    """

    chapter: Values = None
    """Chapter title."""
    section: Values = None
    """Section title."""
    url: Values = None
    """Address of the section on the published site, with its anchor."""
    source_file: Values = None
    """Path of the page's source file below the book's folder."""

    @model_validator(mode="before")
    @classmethod
    def _known(cls, data: Any) -> Any:
        said = data if isinstance(data, dict) else {}
        unknown = [name for name in said if name not in cls.model_fields]
        if unknown:
            known = ", ".join(cls.model_fields)
            raise ValueError(f"there is no filter {', '.join(map(repr, unknown))}; known: {known}")
        return data

    def wanted(self, name: str) -> Wanted:
        """Give the values of one field."""
        value: Values = getattr(self, name)
        values = value if isinstance(value, list) else [value]
        return tuple(
            Prefix(one.prefix) if isinstance(one, BeginsWith) else one
            for one in values
            if one is not None
        )


class ChatRequest(Wire):
    """A question about the book."""

    message: Words
    """The question."""
    session_id: str | None = None
    """Continues a conversation; a UUID of version 4. Left out, a new one begins."""
    stream: bool = False
    """Whether `/chat/run` answers with server-sent events."""
    top_k: int = Field(5, ge=1, le=10)
    """How many passages to retrieve."""
    similarity_threshold: float = Field(0.7, ge=0.0, le=1.0)
    """Least similarity of a passage that may be used."""
    filters: ChatFilters | None = None
    """Where to search."""
    book: str | None = Field(None, max_length=64)
    """Which book; may be left out where there is only one."""
    context_mode: Literal["retrieval_pipeline", "user_provided"] = "retrieval_pipeline"
    """Where the answer may come from: the book, or `user_context` alone."""
    user_context: str | None = Field(None, max_length=SELECTION_LENGTH[1], validate_default=True)
    """The selected text, of 10 to 16,000 characters; in mode `user_provided` it is required and the
    only source: nothing is retrieved, and what was said before does not count."""

    @field_validator("user_context")
    @classmethod
    def _has_context(cls, value: str | None, info: ValidationInfo) -> str | None:
        least, _ = SELECTION_LENGTH
        if info.data.get("context_mode") == "user_provided" and len((value or "").strip()) < least:
            raise ValueError(f"is required in mode user_provided, with at least {least} characters")
        return value

    @field_validator("session_id")
    @classmethod
    def _uuid4(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parsed = UUID(value)
        except ValueError as error:
            raise ValueError("must be a UUID of version 4") from error
        if parsed.version != UUID_VERSION:
            raise ValueError("must be a UUID of version 4")
        return str(parsed)


class Source(Wire):
    """A passage that the answer rests on; for a refusal, one of the nearest."""

    number: int
    """The `[n]` that points here."""
    chunk_id: str
    chunk_text: str = Field(max_length=PREVIEW)
    """The passage, cut to 500 characters."""
    similarity_score: float = Field(ge=0, le=1)
    """Calibrated relevance to the question."""
    cosine: float = Field(ge=0, le=1)
    """The raw cosine of the embeddings."""
    chapter: str
    section: str
    url: str
    """The section on the published site."""
    source_file: str
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


class Quote(Wire):
    """A sentence of the book that proves a claim."""

    number: int
    """The source it stands in."""
    chunk_id: str
    chapter: str
    section: str
    quote: str
    """Byte for byte what the passage, its heading or the selection says between the offsets."""
    start: int
    end: int
    url: str
    """Opens the published page at that sentence; empty for the reader's own text."""
    of: Literal["text", "heading", "selection", "own_text"] = "text"
    """What is quoted: the passage; the headings it stands under (`heading` of its source); the
    reader's selection, which the book has at `url`; or a selection that is not of the book."""
    found_in: str = ""
    """For `selection`: the `chunk_id` of the book's passage that says the same."""


class CheckedClaim(Wire):
    """One statement of the answer and whether the book says so."""

    text: str
    start: int
    """Where it begins in `response`; of one that was withheld, where it would have."""
    end: int
    verdict: Literal["supported", "partly", "unsupported", "contradicted", "not_a_claim"]
    """`contradicted`: the book says otherwise; the citations then say what it says."""
    probability: float = Field(ge=0, le=1)
    citations: list[Quote]


class Metrics(Wire):
    """How good the retrieved passages are."""

    average_similarity: float = Field(ge=0, le=1)
    min_similarity: float = Field(ge=0, le=1)
    max_similarity: float = Field(ge=0, le=1)
    num_chunks: int = Field(ge=0)
    chunk_diversity: float = Field(ge=0, le=1)
    confidence_level: Literal["high", "medium", "low", "insufficient"]
    should_answer: bool
    answerability: float = Field(ge=0, le=1)
    """Probability that the passages hold the answer."""


class StageTimings(Wire):
    """Milliseconds spent in each stage."""

    retrieve_ms: float
    answer_ms: float
    verify_ms: float
    total_ms: float


class ChatResponse(Wire):
    """An answer whose every sentence was checked, or a refusal that says so."""

    response: str = Field(min_length=1)
    confidence: float = Field(ge=0, le=1)
    """Average similarity of the passages used."""
    sources: list[Source]
    session_id: str
    timestamp: datetime
    confidence_level: Literal["high", "medium", "low", "insufficient"]
    should_answer: bool
    """`false` when the book does not answer; `response` then says so."""
    answer_id: str
    claims: list[CheckedClaim]
    unsupported_claims: list[str]
    """What the model claimed and the book does not support; by default not part of `response`."""
    standalone_question: str
    """The question as it was searched for."""
    context_mode: Literal["retrieval_pipeline", "user_provided"]
    """Where the answer came from."""
    missing_terms: list[str]
    """For a selection that does not answer: words of the question that it does not have."""
    offer: Literal["whole_book"] | None
    """`whole_book` where the selection does not answer, but the book may: ask again without it."""
    metrics: Metrics
    timings: StageTimings
    book: str
    revision: str
    model: str
    cache_age_seconds: float | None
    """How long ago the answer was made, where the same was asked before; null if made now."""


class Chat:
    """Quire's own dialect."""

    name = "chat"
    whole_path = "/chat/run"
    stream_path = "/chat/stream"
    request = ChatRequest
    response = ChatResponse

    def question(self, body: ChatRequest) -> Question:
        """Read the request."""
        filters = body.filters or ChatFilters()
        return Question(
            text=body.message,
            book=body.book,
            thread_id=body.session_id,
            top_k=body.top_k,
            threshold=body.similarity_threshold,
            filters=Filters(**{name: filters.wanted(name) for name in ChatFilters.model_fields}),
            selected_text=body.user_context if body.context_mode == "user_provided" else None,
        )

    def reply(self, answer: Answer) -> ChatResponse:
        """Write the whole response."""
        confidence = answer.confidence
        return ChatResponse(
            response=answer.text,
            confidence=confidence.average_similarity,
            sources=[_source(n, hit) for n, hit in enumerate(answer.hits, start=1)],
            session_id=answer.thread_id,
            timestamp=answer.created_at,
            confidence_level=confidence.level,
            should_answer=confidence.should_answer,
            answer_id=answer.id,
            claims=[checked_claim(claim) for claim in answer.claims],
            unsupported_claims=[claim.text for claim in answer.unsupported],
            standalone_question=answer.standalone_question,
            context_mode=answer.mode,
            missing_terms=list(answer.lacks),
            offer="whole_book" if answer.status == "not_in_selection" else None,
            metrics=metrics_of(confidence),
            timings=StageTimings(**asdict(answer.timings)),
            book=answer.book,
            revision=answer.revision,
            model=answer.model,
            cache_age_seconds=answer.cache_age,
        )

    def event(self, event: Event) -> WireEvent | None:
        """Write one event: start, sources, sentence, withheld, done or error."""
        match event:
            case Started(thread_id, answer_id):
                return WireEvent("start", {"session_id": thread_id, "answer_id": answer_id})
            case Retrieved(standalone, hits, confidence):
                return WireEvent(
                    "sources",
                    {
                        "standalone_question": standalone,
                        "sources": [_dump(_source(n, h)) for n, h in enumerate(hits, start=1)],
                        "metrics": _dump(metrics_of(confidence)),
                    },
                )
            case Sentence(text, claim):
                return WireEvent("sentence", {"text": text, "claim": _dump(checked_claim(claim))})
            case Withheld(claim):
                return WireEvent("withheld", {"claim": _dump(checked_claim(claim))})
            case Done(answer):
                return WireEvent("done", _dump(self.reply(answer)))
            case Failed():
                return None

    def streams(self, body: ChatRequest) -> bool:
        """Stream from the whole path too, if the request says so."""
        return body.stream


def _dump(model: BaseModel) -> Any:
    return model.model_dump(mode="json")


def _source(number: int, hit: Hit) -> Source:
    chunk = hit.chunk
    text = chunk.text if len(chunk.text) <= PREVIEW else chunk.text[: PREVIEW - 1] + "…"
    return Source(
        number=number,
        chunk_id=chunk.id,
        chunk_text=text,
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


def _quote(citation: Citation) -> Quote:
    return Quote(**asdict(citation))


def checked_claim(claim: Claim) -> CheckedClaim:
    """Write a claim with its verdict and its quotes."""
    return CheckedClaim(
        text=claim.text,
        start=claim.start,
        end=claim.end,
        verdict=claim.verdict,
        probability=claim.probability,
        citations=[_quote(citation) for citation in claim.citations],
    )


def metrics_of(confidence: Confidence) -> Metrics:
    """Write the measures of the evidence."""
    fields = asdict(confidence)
    return Metrics(confidence_level=fields.pop("level"), **fields)
