"""The agent contract: `POST /agent/ask`, `/agent/ask/stream` and `/agent/sessions/{session_id}`."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from citewell.api.contract import ServerSentEvent
from citewell.api.schemas import (
    NOT_BLANK,
    SELECTION_RULE,
    AnyId,
    BookFilters,
    RequestModel,
    UnitFloat,
    UserId,
    WireModel,
    check_selection,
    dump,
    is_fully_grounded,
    not_fully_supported,
    truncate,
)
from citewell.conversation import RETENTION_POLICIES, RetentionPolicy, Thread
from citewell.domain import Answer, Hit, Question
from citewell.events import Done, Event, Failed, Retrieved, Sentence, Started, Withheld

MAX_RESPONSE = 10_000
MAX_CHUNKS = 20
CHUNK_LENGTH = (10, 5_000)
MAX_MESSAGES = RETENTION_POLICIES["agent"].max_live_messages
NonBlankText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000), NOT_BLANK
]


class AgentRequest(RequestModel):
    """A question to the agent."""

    model_config = ConfigDict(json_schema_extra=SELECTION_RULE)

    query_text: NonBlankText
    """The question."""
    context_mode: Literal["retrieval_pipeline", "user_provided"] = "retrieval_pipeline"
    """Where the answer may come from: the book, or `user_context` alone."""
    user_context: str | None = Field(None, validate_default=True)
    """The only source in mode `user_provided`, and required there: 1 to 16,000 characters. In the
    other mode it is not used."""
    filters: BookFilters | None = None
    """Where in the book to search."""
    conversation_id: AnyId | None = None
    """Continues a conversation, or begins one of that id. Left out, a new one begins."""
    thread_id: AnyId | None = None
    """Names the conversation where there is no `conversation_id`; beside one, it is kept and given
    back as the `openai_thread_id` of the session."""
    user_id: UserId | None = None
    """Whose question it is, where your users are logged in; kept with the session."""

    @field_validator("user_context")
    @classmethod
    def _has_context(cls, value: str | None, info: ValidationInfo) -> str | None:
        return check_selection(value, info.data.get("context_mode"))


class ContentChunk(WireModel):
    """A passage that was retrieved."""

    id: str
    """Its UUID."""
    text: str = Field(min_length=CHUNK_LENGTH[0], max_length=CHUNK_LENGTH[1])
    """What it says, cut to 5,000 characters; a very short one with its headings."""
    source_url: str
    """Its section on the published site."""
    chapter: str
    """Title of the chapter."""
    section: str | None = None
    """Title of the section."""
    similarity_score: UnitFloat
    """Calibrated relevance to the question."""


class RetrievalMetadata(WireModel):
    """What was retrieved, when, and for which question."""

    query: str
    """The question, as it was asked."""
    searched_for: str
    """The question as it was searched for: complete in itself, where it was a follow-up."""
    timestamp: datetime
    """When, in UTC."""
    source_count: int = Field(ge=1, le=MAX_CHUNKS)
    """How many passages were found."""


class RetrievedContent(WireModel):
    """What the search found; streamed before the answer."""

    content_chunks: list[ContentChunk] = Field(min_length=1, max_length=MAX_CHUNKS)
    """The passages, best first."""
    retrieval_metadata: RetrievalMetadata
    """About the search."""


class AgentSource(WireModel):
    """A passage that the answer cites; the `[n]` in the text count these."""

    content_id: str
    """The passage's UUID."""
    source_url: str
    """Its section on the published site; empty for the reader's own text."""
    chapter: str
    """Title of the chapter."""
    section: str | None = None
    """Title of the section."""


class GroundingValidation(WireModel):
    """Whether the answer says only what its sources say."""

    is_fully_ground: bool
    """Whether every statement shown is supported as a whole."""
    is_fully_grounded: bool
    """The same by its other name."""
    unsupported_claims: list[str]
    """What the model claimed and the sources do not fully support, shown or withheld."""

    @model_validator(mode="after")
    def _names_what_is_not(self) -> "GroundingValidation":
        if self.is_fully_ground != self.is_fully_grounded:
            raise ValueError("both names have one value")
        if not self.is_fully_grounded and not self.unsupported_claims:
            raise ValueError("what is not fully grounded has unsupported claims")
        return self


class AgentResponse(WireModel):
    """A checked answer, or a refusal that says so."""

    response_text: str = Field(min_length=1, max_length=MAX_RESPONSE)
    """The answer, with `[n]` behind each sentence for its source."""
    sources: list[AgentSource]
    """The passages it cites; none for a refusal."""
    confidence_score: UnitFloat
    """Average similarity of the passages used."""
    grounding_validation: GroundingValidation
    """Whether the answer says only what its sources say."""
    conversation_id: str
    """Pass it on to ask a follow-up."""
    timestamp: datetime
    """When the answer was finished, in UTC."""
    reader_token: str | None = None
    """Where readers share a key or need none: send it as `X-Citewell-Reader` from here on."""


class SessionMessage(WireModel):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    """Who said it."""
    content: str
    """What was said."""
    timestamp: datetime
    """When the question arrived, or the answer was finished, in UTC."""


class ConversationSession(WireModel):
    """A conversation; it is gone 24 hours after its last message."""

    session_id: str
    """The conversation's id."""
    openai_thread_id: str
    """The `thread_id` that came with its questions; without one, the conversation's id."""
    created_at: datetime
    """When its first question arrived, in UTC."""
    last_interaction: datetime
    """When the last message came, in UTC."""
    user_id: str | None = None
    """The `user_id` that came with its questions; without one, the key and reader it belongs to."""
    context_mode: Literal["retrieval_pipeline", "user_provided"]
    """Where the last answer came from."""
    active_filters: dict[str, Any] | None = None
    """Where the last question searched, for each field the values of which any could match."""
    conversation_history: list[SessionMessage] = Field(max_length=MAX_MESSAGES)
    """Its last 100 messages, the oldest first."""
    state: Literal["created", "active", "inactive", "expired"]
    """`created` while the first answer is being made, `inactive` after an hour of rest."""


class Agent:
    """The dialect of an agent with conversation sessions."""

    name = "agent"
    whole_path = "/agent/ask"
    stream_path = "/agent/ask/stream"
    request = AgentRequest
    response = AgentResponse
    session_path = "/agent/sessions/{session_id:path}"
    session_id = AnyId
    session = ConversationSession

    def question(self, body: AgentRequest) -> Question:
        """Read the request."""
        return Question(
            text=body.query_text,
            thread_id=body.conversation_id or body.thread_id,
            filters=(body.filters or BookFilters()).read(),
            selected_text=body.user_context if body.context_mode == "user_provided" else None,
            contract=self.name,
            noted={"thread_id": body.thread_id} if body.thread_id else {},
            metadata={"user_id": body.user_id} if body.user_id else {},
        )

    def reply(self, answer: Answer) -> AgentResponse:
        """Write the whole response."""
        return AgentResponse(
            response_text=truncate(answer.text, MAX_RESPONSE),
            sources=[_source(hit) for hit in answer.sources],
            confidence_score=answer.confidence.average_similarity,
            grounding_validation=GroundingValidation(
                is_fully_ground=is_fully_grounded(answer),
                is_fully_grounded=is_fully_grounded(answer),
                unsupported_claims=list(not_fully_supported(answer)),
            ),
            conversation_id=answer.thread_id,
            timestamp=answer.created_at,
        )

    def event(self, event: Event) -> ServerSentEvent | None:
        """Write one event: start, retrieved_content, sentence, done or error."""
        match event:
            case Started(thread_id):
                return ServerSentEvent("start", {"conversation_id": thread_id})
            case Retrieved(standalone, hits, _, at, asked):
                found = retrieved_content(asked, standalone, hits, at)
                return ServerSentEvent("retrieved_content", dump(found)) if found else None
            case Sentence(text):
                return ServerSentEvent("sentence", {"text": text})
            case Done(answer):
                return ServerSentEvent("done", dump(self.reply(answer)))
            case Withheld() | Failed():
                return None

    def streams(self, _: AgentRequest) -> bool:
        """Stream from the streaming path only."""
        return False

    def show(self, thread: Thread, now: datetime, rules: RetentionPolicy) -> ConversationSession:
        """Write a conversation."""
        answers = [message.record for message in thread.messages if message.record]
        last = answers[-1] if answers else {}
        named = (one.get("noted", {}).get("thread_id") for one in reversed(answers))
        return ConversationSession(
            session_id=thread.id,
            openai_thread_id=next(filter(None, named), thread.id),
            created_at=thread.created_at,
            last_interaction=thread.updated_at,
            user_id=_user(thread),
            context_mode=last.get("mode", "retrieval_pipeline"),
            active_filters=last.get("filters") or None,
            conversation_history=[
                SessionMessage(role=one.role, content=one.content, timestamp=one.created_at)
                for one in thread.messages[-MAX_MESSAGES:]
            ],
            state=session_state(thread.message_count, now - thread.updated_at, rules),
        )


def _user(thread: Thread) -> str | None:
    named = thread.metadata.get("user_id")
    if isinstance(named, str):
        return named
    # Without a key nobody is known, however readers are told apart.
    return None if (thread.owner or "").startswith("anonymous") else thread.owner


def session_state(
    messages: int, idle: timedelta, rules: RetentionPolicy = RETENTION_POLICIES["agent"]
) -> Literal["created", "active", "inactive", "expired"]:
    """Return how a conversation of so many messages stands that nobody wrote to for so long."""
    if rules.delete_after and idle > rules.delete_after:
        return "expired"
    if not messages:
        return "created"
    return "inactive" if idle > rules.idle_after else "active"


def retrieved_content(
    query: str, searched_for: str, hits: tuple[Hit, ...], at: datetime
) -> RetrievedContent | None:
    """Write what a search found; `None` if that is nothing."""
    if not hits:
        return None
    chunks = [_chunk(hit) for hit in hits[:MAX_CHUNKS]]
    about = RetrievalMetadata(
        query=query, searched_for=searched_for, timestamp=at, source_count=len(chunks)
    )
    return RetrievedContent(content_chunks=chunks, retrieval_metadata=about)


def _chunk(hit: Hit) -> ContentChunk:
    least, most = CHUNK_LENGTH
    chunk = hit.chunk
    text = chunk.text if len(chunk.text) >= least else f"{chunk.heading}: {chunk.text}".ljust(least)
    return ContentChunk(
        id=chunk.id,
        text=truncate(text, most),
        source_url=chunk.url,
        chapter=chunk.chapter,
        section=chunk.section or None,
        similarity_score=hit.similarity,
    )


def _source(hit: Hit) -> AgentSource:
    chunk = hit.chunk
    return AgentSource(
        content_id=chunk.id,
        source_url=chunk.url,
        chapter=chunk.chapter,
        section=chunk.section or None,
    )
