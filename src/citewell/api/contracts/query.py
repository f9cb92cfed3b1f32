"""The query contract: `/query`, `/query/stream` and `/sessions/{session_id}`."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from citewell.api.contract import ServerSentEvent
from citewell.api.schemas import (
    HAS_LETTER,
    PREVIEW_LENGTH,
    AnyId,
    AnyUuid,
    IsoDatetimeUtc,
    Metadata,
    RequestModel,
    UnitFloat,
    WireModel,
    dump,
)
from citewell.conversation import MAX_INTERACTIONS, Message, RetentionPolicy, Thread
from citewell.domain import Answer, Hit, Question
from citewell.events import Done, Event, Failed, Retrieved, Sentence, Started, Withheld
from citewell.text.plain_text import preview

MAX_SOURCES = 99


def _require_alphanumeric(value: str) -> str:
    if not any(character.isalnum() for character in value):
        raise ValueError("must contain a question, not only special characters")
    return value


NonBlankText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=1000),
    AfterValidator(_require_alphanumeric),
    HAS_LETTER,
]


class QueryRequest(RequestModel):
    """A question about the book."""

    query: NonBlankText
    """The question."""
    user_context: Metadata | None = None
    """Data about the reader, up to 10,000 bytes; stored with the session. A language model sees the
    beginning as untrusted data; claims are still verified against the book alone."""
    timestamp: IsoDatetimeUtc | None = None
    """When the question was asked, by your clock; stored with the time of arrival."""
    session_id: AnyId | None = None
    """Continues the session with this id, or starts one. Without it, a new one starts."""


class SourceReference(WireModel):
    """A cited passage; `[n]` in the text refers to the n-th of these."""

    source_file: str
    """Path of the page's source file in the book's folder."""
    section_title: str
    """Title of the section."""
    chunk_id: AnyUuid
    """The passage's UUID."""
    similarity_score: UnitFloat
    """Calibrated relevance to the question."""
    content_preview: str | None = Field(None, max_length=PREVIEW_LENGTH)
    """The beginning of the passage, as plain text."""


class RetrievedChunk(WireModel):
    """A retrieved passage; streamed before the answer."""

    chunk_id: AnyUuid
    """The passage's UUID."""
    source_file: str
    """Path of the page's source file in the book's folder."""
    section_title: str
    """Title of the section."""
    content: str
    """The text."""
    content_hash: str
    """SHA-256 of the text."""
    chunk_sequence: int = Field(ge=1)
    """Position among the passages of its page, from 1."""
    total_chunks: int = Field(ge=1)
    """How many passages the page has."""
    processing_timestamp: datetime
    """When it was ingested, in UTC."""
    token_count: int = Field(ge=0)
    """Tokens, as the embedder counts them."""
    similarity_score: UnitFloat
    """Calibrated relevance to the question."""
    rank: int = Field(ge=1)
    """Position among the passages of this event, from 1."""

    @model_validator(mode="after")
    def _check_sequence(self) -> "RetrievedChunk":
        if self.chunk_sequence > self.total_chunks:
            raise ValueError("chunk_sequence must not exceed total_chunks")
        return self


class QueryResponse(WireModel):
    """A verified answer, or a refusal."""

    response: str = Field(min_length=1)
    """The answer, with `[n]` after each sentence for its source."""
    sources: list[SourceReference] = Field(max_length=MAX_SOURCES)
    """The cited passages; empty for a refusal."""
    execution_time_ms: float = Field(ge=0)
    """Milliseconds from the question to the answer."""
    timestamp: datetime
    """When the answer was finished, in UTC."""
    query_id: str
    """The id of the full record at `/answers/{answer_id}`."""
    session_id: str
    """Send it to ask a follow-up."""
    reader_token: str | None = None
    """For readers who share a key or use none: send it as `X-Citewell-Reader` from now on."""


class Interaction(WireModel):
    """A question and its answer."""

    interaction_id: str
    """The `query_id` of the answer."""
    session_id: str
    """The id of the session."""
    query: str = Field(min_length=1)
    """The question."""
    response: str = Field(min_length=1)
    """The answer."""
    timestamp: datetime
    """When the answer was finished, in UTC."""
    metadata: dict[str, Any] | None = None
    """When the question was received and sent, the confidence, and the model."""


class SessionData(WireModel):
    """A session with its last interactions, fewer than 100."""

    session_id: str
    """The id of the session."""
    conversation_history: list[Interaction] = Field(max_length=MAX_INTERACTIONS)
    """The interactions, oldest first."""
    user_context: dict[str, Any] | None = None
    """The most recent `user_context` of its questions."""
    created_at: datetime
    """When its first question arrived, in UTC."""
    last_activity: datetime
    """When it was last used, in UTC."""


class Query:
    """The contract of single queries with optional sessions."""

    name = "query"
    complete_response_path = "/query"
    stream_path = "/query/stream"
    request = QueryRequest
    response = QueryResponse
    session_path = "/sessions/{session_id:path}"
    session_id = AnyId
    session = SessionData

    def question(self, body: QueryRequest) -> Question:
        """Convert a request to a question."""
        return Question(
            text=body.query,
            thread_id=body.session_id,
            contract=self.name,
            reader_context=_to_json(body.user_context) if body.user_context else "",
            contract_data=_request_details(body),
        )

    def reply(self, answer: Answer) -> QueryResponse:
        """Convert an answer to a complete response."""
        return QueryResponse(
            response=answer.text,
            sources=[_source(hit) for hit in answer.sources[:MAX_SOURCES]],
            execution_time_ms=answer.timings.total_ms,
            timestamp=answer.created_at,
            query_id=answer.id,
            session_id=answer.thread_id,
        )

    def event(self, event: Event) -> ServerSentEvent | None:
        """Return the event `start`, `chunks`, `sentence` or `done`."""
        match event:
            case Started(thread_id, answer_id):
                return ServerSentEvent("start", {"session_id": thread_id, "query_id": answer_id})
            case Retrieved(_, hits):
                return ServerSentEvent(
                    "chunks", {"chunks": [dump(_chunk(*one)) for one in enumerate(hits, 1)]}
                )
            case Sentence(text):
                return ServerSentEvent("sentence", {"text": text})
            case Done(answer):
                return ServerSentEvent("done", dump(self.reply(answer)))
            case Withheld() | Failed():
                return None

    def wants_stream(self, _: QueryRequest) -> bool:
        """Return `False`: only the streaming path streams."""
        return False

    def to_session(self, thread: Thread, now: datetime, policy: RetentionPolicy) -> SessionData:
        """Convert a stored conversation to a session."""
        del now, policy  # sessions of this contract have no states
        contexts = [m.record.get("noted", {}).get("user_context") for m in thread.messages]
        return SessionData(
            session_id=thread.id,
            conversation_history=interactions(thread)[-MAX_INTERACTIONS:],
            user_context=next((c for c in reversed(contexts) if c is not None), None),
            created_at=thread.created_at,
            last_activity=thread.updated_at,
        )


def _to_json(context: dict[str, Any]) -> str:
    return json.dumps(context, ensure_ascii=False)


def _request_details(body: QueryRequest) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if body.user_context is not None:
        details["user_context"] = body.user_context
    if body.timestamp is not None:
        details["timestamp"] = body.timestamp.isoformat()
    return details


def interactions(thread: Thread) -> Sequence[Interaction]:
    """Pair each answer with the question before it."""
    return [
        _to_interaction(thread.id, question, answer)
        for question, answer in zip(thread.messages, thread.messages[1:], strict=False)
        if (question.role, answer.role) == ("user", "assistant")
    ]


def _to_interaction(session_id: str, question: Message, answer: Message) -> Interaction:
    record = answer.record
    confidence, at = record.get("confidence", {}), record.get("received_at")
    return Interaction(
        interaction_id=answer.id,
        session_id=session_id,
        query=question.content,
        response=answer.content,
        timestamp=answer.created_at,
        metadata={
            "received_at": datetime.fromisoformat(at) if at else question.created_at,
            "sent_at": record.get("noted", {}).get("timestamp"),
            "confidence_level": confidence.get("level"),
            "should_answer": confidence.get("should_answer"),
            "model": record.get("model"),
        },
    )


def _source(hit: Hit) -> SourceReference:
    chunk = hit.chunk
    return SourceReference(
        source_file=chunk.source_file,
        section_title=chunk.section,
        chunk_id=chunk.id,
        similarity_score=hit.similarity,
        content_preview=preview(chunk.text, PREVIEW_LENGTH),
    )


def _chunk(rank: int, hit: Hit) -> RetrievedChunk:
    chunk = hit.chunk
    return RetrievedChunk(
        chunk_id=chunk.id,
        source_file=chunk.source_file,
        section_title=chunk.section,
        content=chunk.text,
        content_hash=chunk.content_hash,
        chunk_sequence=chunk.sequence,
        total_chunks=chunk.total,
        processing_timestamp=chunk.processed_at,
        token_count=chunk.token_count,
        similarity_score=hit.similarity,
        rank=rank,
    )
