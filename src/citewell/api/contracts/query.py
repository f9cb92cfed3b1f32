"""The query contract: `POST /query`, `POST /query/stream` and `/sessions/{session_id}`."""

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


def _asks(value: str) -> str:
    if not any(sign.isalnum() for sign in value):
        raise ValueError("must hold a question, not only special characters")
    return value


NonBlankText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=1000),
    AfterValidator(_asks),
    HAS_LETTER,
]


class QueryRequest(RequestModel):
    """A question about the book."""

    query: NonBlankText
    """The question."""
    user_context: Metadata | None = None
    """What is known about the reader, up to 10,000 bytes; kept with the session. A language model
    is shown the beginning as data: it is told to obey nothing in it, and the book alone proves."""
    timestamp: IsoDatetimeUtc | None = None
    """When the question was asked, by your clock; kept beside the time it was received."""
    session_id: AnyId | None = None
    """Continues a session, or begins one of that id. Left out, a new one begins."""


class SourceReference(WireModel):
    """A passage that the answer cites; the `[n]` in the text count these."""

    source_file: str
    """Path of the page's source below the book's folder."""
    section_title: str
    """Title of the section."""
    chunk_id: AnyUuid
    """The passage's UUID."""
    similarity_score: UnitFloat
    """Calibrated relevance to the question."""
    content_preview: str | None = Field(None, max_length=PREVIEW_LENGTH)
    """How the passage begins, as plain text."""


class RetrievedChunk(WireModel):
    """A passage that was found; streamed before the answer."""

    chunk_id: AnyUuid
    """Its UUID."""
    source_file: str
    """Path of the page's source below the book's folder."""
    section_title: str
    """Title of the section."""
    content: str
    """What it says."""
    content_hash: str
    """SHA-256 of that."""
    chunk_sequence: int = Field(ge=1)
    """Position among the passages of its page, from 1."""
    total_chunks: int = Field(ge=1)
    """How many passages the page has."""
    processing_timestamp: datetime
    """When it was ingested, in UTC."""
    token_count: int = Field(ge=0)
    """Tokens in it, as the embedder counts them."""
    similarity_score: UnitFloat
    """Calibrated relevance to the question."""
    rank: int = Field(ge=1)
    """Position among those found, from 1."""

    @model_validator(mode="after")
    def _within_its_page(self) -> "RetrievedChunk":
        if self.chunk_sequence > self.total_chunks:
            raise ValueError("a passage stands within its page")
        return self


class QueryResponse(WireModel):
    """A checked answer, or a refusal that says so."""

    response: str = Field(min_length=1)
    """The answer, with `[n]` behind each sentence for its source."""
    sources: list[SourceReference] = Field(max_length=MAX_SOURCES)
    """The passages it cites; none for a refusal."""
    execution_time_ms: float = Field(ge=0)
    """Milliseconds from the question to the answer."""
    timestamp: datetime
    """When the answer was finished, in UTC."""
    query_id: str
    """What `/answers/{answer_id}` gives the full record by."""
    session_id: str
    """Pass it on to ask a follow-up."""
    reader_token: str | None = None
    """Where readers share a key or need none: send it as `X-Citewell-Reader` from here on."""


class Interaction(WireModel):
    """One question and its answer."""

    interaction_id: str
    """The `query_id` of the answer."""
    session_id: str
    """The session it belongs to."""
    query: str = Field(min_length=1)
    """The question."""
    response: str = Field(min_length=1)
    """The answer."""
    timestamp: datetime
    """When the answer was finished, in UTC."""
    metadata: dict[str, Any] | None = None
    """When the question was received and sent, how sure the answer was, and who wrote it."""


class SessionData(WireModel):
    """A session with its last interactions, fewer than 100."""

    session_id: str
    """Its id."""
    conversation_history: list[Interaction] = Field(max_length=MAX_INTERACTIONS)
    """The oldest first."""
    user_context: dict[str, Any] | None = None
    """What the last question that brought any said about its reader."""
    created_at: datetime
    """When its first question arrived, in UTC."""
    last_activity: datetime
    """When it was last used, in UTC."""


class Query:
    """The dialect of single queries, with sessions beside them."""

    name = "query"
    whole_path = "/query"
    stream_path = "/query/stream"
    request = QueryRequest
    response = QueryResponse
    session_path = "/sessions/{session_id:path}"
    session_id = AnyId
    session = SessionData

    def question(self, body: QueryRequest) -> Question:
        """Read the request."""
        return Question(
            text=body.query,
            thread_id=body.session_id,
            contract=self.name,
            reader_context=_as_text(body.user_context) if body.user_context else "",
            noted=_noted(body),
        )

    def reply(self, answer: Answer) -> QueryResponse:
        """Write the whole response."""
        return QueryResponse(
            response=answer.text,
            sources=[_source(hit) for hit in answer.sources[:MAX_SOURCES]],
            execution_time_ms=answer.timings.total_ms,
            timestamp=answer.created_at,
            query_id=answer.id,
            session_id=answer.thread_id,
        )

    def event(self, event: Event) -> ServerSentEvent | None:
        """Write one event: start, chunks, sentence, done or error."""
        match event:
            case Started(thread_id, answer_id):
                return ServerSentEvent("start", {"session_id": thread_id, "query_id": answer_id})
            case Retrieved(_, hits):
                return ServerSentEvent("chunks", {"chunks": [dump(_chunk(hit)) for hit in hits]})
            case Sentence(text):
                return ServerSentEvent("sentence", {"text": text})
            case Done(answer):
                return ServerSentEvent("done", dump(self.reply(answer)))
            case Withheld() | Failed():
                return None

    def streams(self, _: QueryRequest) -> bool:
        """Stream from the streaming path only."""
        return False

    def show(self, thread: Thread, now: datetime, rules: RetentionPolicy) -> SessionData:
        """Write a session."""
        del now, rules  # sessions of this dialect have no states
        contexts = [m.record.get("noted", {}).get("user_context") for m in thread.messages]
        return SessionData(
            session_id=thread.id,
            conversation_history=interactions(thread)[-MAX_INTERACTIONS:],
            user_context=next((one for one in reversed(contexts) if one is not None), None),
            created_at=thread.created_at,
            last_activity=thread.updated_at,
        )


def _as_text(context: dict[str, Any]) -> str:
    return json.dumps(context, ensure_ascii=False)


def _noted(body: QueryRequest) -> dict[str, Any]:
    noted: dict[str, Any] = {}
    if body.user_context is not None:
        noted["user_context"] = body.user_context
    if body.timestamp is not None:
        noted["timestamp"] = body.timestamp.isoformat()
    return noted


def interactions(thread: Thread) -> Sequence[Interaction]:
    """Pair each answer with the question before it."""
    return [
        _interaction(thread.id, asked, said)
        for asked, said in zip(thread.messages, thread.messages[1:], strict=False)
        if (asked.role, said.role) == ("user", "assistant")
    ]


def _interaction(session: str, asked: Message, said: Message) -> Interaction:
    record = said.record
    confidence = record.get("confidence", {})
    return Interaction(
        interaction_id=said.id,
        session_id=session,
        query=asked.content,
        response=said.content,
        timestamp=said.created_at,
        metadata={
            "received_at": asked.created_at,
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


def _chunk(hit: Hit) -> RetrievedChunk:
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
        rank=hit.rank,
    )
