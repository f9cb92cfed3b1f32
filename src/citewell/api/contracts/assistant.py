"""The assistant contract: `/assistant/chat`, its stream and its sessions (conversations)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from citewell.api.contract import ServerSentEvent
from citewell.api.schemas import (
    NOT_BLANK,
    PREVIEW_LENGTH,
    BookFilters,
    RequestModel,
    StrictInt,
    UnitFloat,
    Uuid4,
    WireModel,
    dump,
    page_path_of,
)
from citewell.conversation import RETENTION_POLICIES, RetentionPolicy, Thread
from citewell.domain import Answer, Hit, Question
from citewell.events import Done, Event, Failed, Retrieved, Sentence, Started, Withheld
from citewell.text.plain_text import preview

MAX_MESSAGE_LENGTH = 500
DEFAULT_TOP_K = 5
MAX_TOP_K = 10
MAX_BOOKS = 20
MAX_TURNS = RETENTION_POLICIES["assistant"].max_live_messages
"""How many of the last messages a session shows."""
NonBlankText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_MESSAGE_LENGTH),
    NOT_BLANK,
]


BookName = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class AssistantRequest(RequestModel):
    """A message to the assistant."""

    message: NonBlankText
    """The question, of 1 to 500 characters."""
    session_id: Uuid4 | None = None
    """The session to continue, a UUID of version 4. Without one, or after 30 idle minutes, a new
    session starts."""


class AssistantSource(WireModel):
    """A cited passage; `[n]` in the text refers to the n-th of these."""

    chunk_id: str
    """The passage's UUID."""
    title: str | None = None
    """Title of its page."""
    slug: str
    """URL path of its page on the published site."""
    score: UnitFloat
    """Calibrated relevance to the question."""


class AssistantMetadata(WireModel):
    """The cost of the answer."""

    response_time_ms: int = Field(ge=0)
    """Milliseconds from the question to the answer."""
    tokens_used: int | None = Field(None, ge=0)
    """Tokens of the language model, if it counts them."""
    context_chunks: int = Field(ge=0)
    """How many passages the answer was written from: up to five, or up to 20 if a language model
    searches by itself. They count also if nothing that it wrote was proven; 0 if nothing was
    written."""


class AssistantResponse(WireModel):
    """A verified answer, or a refusal."""

    session_id: str
    """Send it to ask a follow-up."""
    message: str = Field(min_length=1)
    """The answer, with `[n]` after each sentence for its source."""
    sources: list[AssistantSource]
    """The cited passages; empty for a refusal."""
    metadata: AssistantMetadata
    """The cost of the answer."""


class ConversationTurn(WireModel):
    """A message of a session, by the reader or the assistant."""

    role: Literal["user", "assistant"]
    """The author."""
    content: str
    """The text."""
    timestamp: datetime
    """When the question arrived, or the answer was finished, in UTC."""


class Session(WireModel):
    """A session with its last ten turns, the only ones that follow-ups can refer to."""

    session_id: str
    """The id of the session."""
    turns: list[ConversationTurn] = Field(max_length=MAX_TURNS)
    """The turns, oldest first."""
    created_at: datetime
    """When its first question arrived, in UTC."""
    last_activity: datetime
    """The time of the last turn, in UTC."""
    state: Literal["active", "expired"]
    """`expired` after 30 idle minutes: the next message starts a new session."""


class SearchRequest(RequestModel):
    """A search of one or several books."""

    query: NonBlankText
    """The question, of 1 to 500 characters."""
    top_k: StrictInt = Field(DEFAULT_TOP_K, ge=1, le=MAX_TOP_K)
    """How many passages to return."""
    filters: BookFilters | None = None
    """Restricts the search."""
    book: str | None = Field(None, max_length=64)
    """The book; optional if there is only one."""
    books: list[BookName] | None = Field(None, min_length=1, max_length=MAX_BOOKS)
    """Several books to search, instead of `book`."""


class SearchHit(AssistantSource):
    """A retrieved passage."""

    text: str
    """The text, in Markdown."""
    preview: str = Field(max_length=PREVIEW_LENGTH)
    """The beginning of the text, as plain text."""
    chapter: str
    """Title of the chapter."""
    section: str
    """Title of the section."""
    url: str
    """URL of the section on the published site."""
    book: str
    """The book."""


class SearchResponse(WireModel):
    """The retrieved passages, best first."""

    query: str
    """The question."""
    results: list[SearchHit] = Field(max_length=MAX_TOP_K)
    """The passages."""


class Assistant:
    """The contract of a small assistant with short sessions."""

    name = "assistant"
    complete_response_path = "/assistant/chat"
    stream_path = "/assistant/chat/stream"
    request = AssistantRequest
    response = AssistantResponse
    session_path = "/assistant/sessions/{session_id}"
    session_id = Uuid4
    session = Session

    def question(self, body: AssistantRequest) -> Question:
        """Convert a request to a question."""
        return Question(
            text=body.message, thread_id=body.session_id, top_k=DEFAULT_TOP_K, contract=self.name
        )

    def reply(self, answer: Answer) -> AssistantResponse:
        """Convert an answer to a complete response."""
        return AssistantResponse(
            session_id=answer.thread_id,
            message=answer.text,
            sources=[_source(hit) for hit in answer.sources],
            metadata=AssistantMetadata(
                response_time_ms=round(answer.timings.total_ms),
                tokens_used=answer.tokens_used,
                context_chunks=answer.passages_given,
            ),
        )

    def event(self, event: Event) -> ServerSentEvent | None:
        """Return the event `start`, `retrieved`, `sentence` or `done`."""
        match event:
            case Started(thread_id):
                return ServerSentEvent("start", {"session_id": thread_id})
            case Retrieved(_, hits):
                return ServerSentEvent(
                    "retrieved", {"retrieved": [dump(_source(hit)) for hit in hits]}
                )
            case Sentence(text):
                return ServerSentEvent("sentence", {"text": text})
            case Done(answer):
                return ServerSentEvent("done", dump(self.reply(answer)))
            case Withheld() | Failed():
                return None

    def wants_stream(self, _: AssistantRequest) -> bool:
        """Return `False`: only the streaming path streams."""
        return False

    def to_session(self, thread: Thread, now: datetime, policy: RetentionPolicy) -> Session:
        """Convert a stored conversation to a session."""
        expired = now - thread.updated_at > policy.idle_after
        return Session(
            session_id=thread.id,
            turns=[
                ConversationTurn(
                    role=message.role, content=message.content, timestamp=message.created_at
                )
                for message in thread.messages[-MAX_TURNS:]
            ],
            created_at=thread.created_at,
            last_activity=thread.updated_at,
            state="expired" if expired else "active",
        )


def to_search_response(query: str, hits: Sequence[Hit]) -> SearchResponse:
    """Convert the hits of a search to a response."""
    return SearchResponse(query=query, results=[_hit(hit) for hit in hits])


def _source(hit: Hit) -> AssistantSource:
    chunk = hit.chunk
    return AssistantSource(
        chunk_id=chunk.id,
        title=chunk.chapter or None,
        slug=page_path_of(chunk),
        score=hit.similarity,
    )


def _hit(hit: Hit) -> SearchHit:
    chunk = hit.chunk
    return SearchHit(
        chunk_id=chunk.id,
        title=chunk.chapter or None,
        slug=page_path_of(chunk),
        score=hit.similarity,
        text=chunk.text,
        preview=preview(chunk.text, PREVIEW_LENGTH),
        chapter=chunk.chapter,
        section=chunk.section,
        url=chunk.url,
        book=chunk.book,
    )
