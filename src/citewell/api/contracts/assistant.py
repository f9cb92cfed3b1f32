"""The assistant contract: `POST /assistant/chat`, `/assistant/chat/stream` and `POST /search`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from citewell.api.contract import ServerSentEvent
from citewell.api.schemas import (
    NOT_BLANK,
    PREVIEW_LENGTH,
    BookFilters,
    JsonInt,
    RequestModel,
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
    """Continues a session; a UUID of version 4. Left out, or after 30 minutes of rest, a new one
    begins."""


class AssistantSource(WireModel):
    """A passage that the answer cites; the `[n]` in the text count these."""

    chunk_id: str
    """The passage's UUID."""
    title: str | None = None
    """Title of the page it stands on."""
    slug: str
    """Path of that page on the published site."""
    score: UnitFloat
    """Calibrated relevance to the question."""


class AssistantMetadata(WireModel):
    """What the answer took."""

    response_time_ms: int = Field(ge=0)
    """Milliseconds from the question to the answer."""
    tokens_used: int | None = Field(None, ge=0)
    """Tokens of the language model, where it counts them."""
    context_chunks: int = Field(ge=0)
    """How many passages the answer was made from; 0 for a refusal."""


class AssistantResponse(WireModel):
    """A checked answer, or a refusal that says so."""

    session_id: str
    """Pass it on to ask a follow-up."""
    message: str = Field(min_length=1)
    """The answer, with `[n]` behind each sentence for its source."""
    sources: list[AssistantSource]
    """The passages it cites; none for a refusal."""
    metadata: AssistantMetadata
    """What it took."""


class ConversationTurn(WireModel):
    """One turn of a session."""

    role: Literal["user", "assistant"]
    """Who said it."""
    content: str
    """What was said."""
    timestamp: datetime
    """When the question arrived, or the answer was finished, in UTC."""


class Session(WireModel):
    """A session: its last ten turns, of which alone a follow-up knows."""

    session_id: str
    """Its id."""
    turns: list[ConversationTurn] = Field(max_length=MAX_TURNS)
    """The oldest first."""
    created_at: datetime
    """When its first question arrived, in UTC."""
    last_activity: datetime
    """When the last turn came, in UTC."""
    state: Literal["active", "expired"]
    """`expired` after 30 minutes of rest: the next message begins another session."""


class SearchRequest(RequestModel):
    """What to look for in the book."""

    query: NonBlankText
    """The question, of 1 to 500 characters."""
    top_k: JsonInt = Field(DEFAULT_TOP_K, ge=1, le=MAX_TOP_K)
    """How many passages to give."""
    filters: BookFilters | None = None
    """Where to search."""
    book: str | None = Field(None, max_length=64)
    """Which book; may be left out where there is only one."""
    books: list[BookName] | None = Field(None, min_length=1, max_length=MAX_BOOKS)
    """Several books to search at once, in place of `book`."""


class SearchHit(AssistantSource):
    """A passage that was found."""

    text: str
    """What it says, in Markdown."""
    preview: str = Field(max_length=PREVIEW_LENGTH)
    """How it begins, as plain text."""
    chapter: str
    """Title of the chapter."""
    section: str
    """Title of the section."""
    url: str
    """Its section on the published site."""
    book: str
    """The book it stands in."""


class SearchResponse(WireModel):
    """What was found, best first."""

    query: str
    """What was looked for."""
    results: list[SearchHit] = Field(max_length=MAX_TOP_K)
    """The passages."""


class Assistant:
    """The dialect of a small assistant with short sessions."""

    name = "assistant"
    whole_path = "/assistant/chat"
    stream_path = "/assistant/chat/stream"
    request = AssistantRequest
    response = AssistantResponse
    session_path = "/assistant/sessions/{session_id}"
    session_id = Uuid4
    session = Session

    def question(self, body: AssistantRequest) -> Question:
        """Read the request."""
        return Question(
            text=body.message,
            thread_id=body.session_id,
            top_k=DEFAULT_TOP_K,
            contract=self.name,
        )

    def reply(self, answer: Answer) -> AssistantResponse:
        """Write the whole response."""
        return AssistantResponse(
            session_id=answer.thread_id,
            message=answer.text,
            sources=[_source(hit) for hit in answer.sources],
            metadata=AssistantMetadata(
                response_time_ms=round(answer.timings.total_ms),
                tokens_used=answer.tokens_used,
                context_chunks=min(answer.confidence.num_chunks, DEFAULT_TOP_K),
            ),
        )

    def event(self, event: Event) -> ServerSentEvent | None:
        """Write one event: start, retrieved, sentence, done or error."""
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

    def streams(self, _: AssistantRequest) -> bool:
        """Stream from the streaming path only."""
        return False

    def show(self, thread: Thread, now: datetime, rules: RetentionPolicy) -> Session:
        """Write a session."""
        over = now - thread.updated_at > rules.idle_after
        return Session(
            session_id=thread.id,
            turns=[
                ConversationTurn(role=one.role, content=one.content, timestamp=one.created_at)
                for one in thread.messages[-MAX_TURNS:]
            ],
            created_at=thread.created_at,
            last_activity=thread.updated_at,
            state="expired" if over else "active",
        )


def found(query: str, hits: Sequence[Hit]) -> SearchResponse:
    """Write what a search gave."""
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
