"""The agent contract: `/agent/ask`, its stream, and `/agent/sessions/…` for conversations."""

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
    """The source of the answer: the book, or `user_context` alone."""
    user_context: str | None = Field(None, validate_default=True)
    """The only source in mode `user_provided`, and required there: 1 to 64,000 characters, of
    which up to 16,000 about the question are read. Ignored in the other mode."""
    filters: BookFilters | None = None
    """Restricts the search."""
    conversation_id: AnyId | None = None
    """Continues the conversation with this id, or starts one. Without it, a new one starts."""
    thread_id: AnyId | None = None
    """The id of the conversation if there is no `conversation_id`; otherwise it is returned as the
    `openai_thread_id` of the session."""
    user_id: UserId | None = None
    """Your id of the user; stored with the session."""

    @field_validator("user_context")
    @classmethod
    def _has_context(cls, value: str | None, info: ValidationInfo) -> str | None:
        return check_selection(value, info.data.get("context_mode"))


class ContentChunk(WireModel):
    """A retrieved passage."""

    id: str
    """The passage's UUID."""
    text: str = Field(min_length=CHUNK_LENGTH[0], max_length=CHUNK_LENGTH[1])
    """The text, cut to 5,000 characters; a very short one is prefixed with its headings."""
    source_url: str
    """URL of the section on the published site."""
    chapter: str
    """Title of the chapter."""
    section: str | None = None
    """Title of the section."""
    similarity_score: UnitFloat
    """Calibrated relevance to the question."""


class RetrievalMetadata(WireModel):
    """Details of the retrieval."""

    query: str
    """The question as asked."""
    searched_for: str
    """The standalone question that was searched for."""
    timestamp: datetime
    """The time of the search, in UTC."""
    source_count: int = Field(ge=1, le=MAX_CHUNKS)
    """How many passages were retrieved."""


class RetrievedContent(WireModel):
    """The retrieved passages; streamed before the answer, twenty at a time."""

    content_chunks: list[ContentChunk] = Field(min_length=1, max_length=MAX_CHUNKS)
    """The passages, best first."""
    retrieval_metadata: RetrievalMetadata
    """Details of the retrieval."""


class AgentSource(WireModel):
    """A cited passage; `[n]` in the text refers to the n-th of these."""

    content_id: str
    """The passage's UUID."""
    source_url: str
    """URL of the section on the published site; empty for the reader's own text."""
    chapter: str
    """Title of the chapter."""
    section: str | None = None
    """Title of the section."""


class GroundingValidation(WireModel):
    """Whether the sources support the answer."""

    is_fully_ground: bool
    """Whether every statement shown is fully supported."""
    is_fully_grounded: bool
    """The same value under another name."""
    unsupported_claims: list[str]
    """Claims, shown or withheld, that the sources do not fully support."""

    @model_validator(mode="after")
    def _check_consistency(self) -> "GroundingValidation":
        if self.is_fully_ground != self.is_fully_grounded:
            raise ValueError("is_fully_ground and is_fully_grounded must be equal")
        if not self.is_fully_grounded and not self.unsupported_claims:
            raise ValueError("unsupported_claims must not be empty unless fully grounded")
        return self


class AgentResponse(WireModel):
    """A verified answer, or a refusal."""

    response_text: str = Field(min_length=1, max_length=MAX_RESPONSE)
    """The answer, with `[n]` after each sentence for its source."""
    sources: list[AgentSource]
    """The cited passages; empty for a refusal."""
    confidence_score: UnitFloat
    """Average similarity of the passages used."""
    grounding_validation: GroundingValidation
    """Whether the sources support the answer."""
    conversation_id: str
    """Send it to ask a follow-up."""
    timestamp: datetime
    """When the answer was finished, in UTC."""
    reader_token: str | None = None
    """For readers who share a key or use none: send it as `X-Citewell-Reader` from now on."""


class SessionMessage(WireModel):
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    """The author."""
    content: str
    """The text."""
    timestamp: datetime
    """When the question arrived, or the answer was finished, in UTC."""


class ConversationSession(WireModel):
    """A conversation; it is deleted 24 hours after its last message."""

    session_id: str
    """The id of the conversation."""
    openai_thread_id: str
    """The `thread_id` of the last request with one, or the id of the conversation."""
    created_at: datetime
    """When its first question arrived, in UTC."""
    last_interaction: datetime
    """The time of the last message, in UTC."""
    user_id: str | None = None
    """The `user_id` of the requests, or the key and reader that own the conversation."""
    context_mode: Literal["retrieval_pipeline", "user_provided"]
    """The source of the last answer."""
    active_filters: dict[str, Any] | None = None
    """The filters of the last question: for each field, the values of which any may match."""
    conversation_history: list[SessionMessage] = Field(max_length=MAX_MESSAGES)
    """Its last 100 messages, oldest first."""
    state: Literal["created", "active", "inactive", "expired"]
    """`created` until the first answer is finished, `inactive` after an idle hour."""


class Agent:
    """The contract of an agent with conversation sessions."""

    name = "agent"
    complete_response_path = "/agent/ask"
    stream_path = "/agent/ask/stream"
    request = AgentRequest
    response = AgentResponse
    session_path = "/agent/sessions/{session_id:path}"
    session_id = AnyId
    session = ConversationSession

    def question(self, body: AgentRequest) -> Question:
        """Convert a request to a question."""
        return Question(
            text=body.query_text,
            thread_id=body.conversation_id or body.thread_id,
            filters=(body.filters or BookFilters()).to_filters(),
            selected_text=body.user_context if body.context_mode == "user_provided" else None,
            contract=self.name,
            contract_data={"thread_id": body.thread_id} if body.thread_id else {},
            metadata={"user_id": body.user_id} if body.user_id else {},
        )

    def reply(self, answer: Answer) -> AgentResponse:
        """Convert an answer to a complete response."""
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
        """Return the event `start`, `retrieved_content`, `sentence` or `done`."""
        match event:
            case Started(thread_id):
                return ServerSentEvent("start", {"conversation_id": thread_id})
            case Retrieved(standalone, hits, _, at, question):
                content = retrieved_content(question, standalone, hits, at)
                return ServerSentEvent("retrieved_content", dump(content)) if content else None
            case Sentence(text):
                return ServerSentEvent("sentence", {"text": text})
            case Done(answer):
                return ServerSentEvent("done", dump(self.reply(answer)))
            case Withheld() | Failed():
                return None

    def wants_stream(self, _: AgentRequest) -> bool:
        """Return `False`: only the streaming path streams."""
        return False

    def to_session(
        self, thread: Thread, now: datetime, policy: RetentionPolicy
    ) -> ConversationSession:
        """Convert a stored conversation to a session."""
        records = [message.record for message in thread.messages if message.record]
        last_record = records[-1] if records else {}
        thread_ids = (record.get("noted", {}).get("thread_id") for record in reversed(records))
        return ConversationSession(
            session_id=thread.id,
            openai_thread_id=next(filter(None, thread_ids), thread.id),
            created_at=thread.created_at,
            last_interaction=thread.updated_at,
            user_id=_user_id(thread),
            context_mode=last_record.get("mode", "retrieval_pipeline"),
            active_filters=last_record.get("filters") or None,
            conversation_history=[
                SessionMessage(
                    role=message.role, content=message.content, timestamp=message.created_at
                )
                for message in thread.messages[-MAX_MESSAGES:]
            ],
            state=session_state(thread.message_count, now - thread.updated_at, policy),
        )


def _user_id(thread: Thread) -> str | None:
    user_id = thread.metadata.get("user_id")
    if isinstance(user_id, str):
        return user_id
    # Without a key, the owner is only a random token, which identifies no user.
    return None if (thread.owner or "").startswith("anonymous") else thread.owner


def session_state(
    messages: int, idle: timedelta, policy: RetentionPolicy = RETENTION_POLICIES["agent"]
) -> Literal["created", "active", "inactive", "expired"]:
    """Return the state of a conversation by its number of messages and idle time."""
    if policy.delete_after and idle > policy.delete_after:
        return "expired"
    if not messages:
        return "created"
    return "inactive" if idle > policy.idle_after else "active"


def retrieved_content(
    query: str, searched_for: str, hits: tuple[Hit, ...], at: datetime
) -> RetrievedContent | None:
    """Convert the last hits of a search, or return `None` if there are none."""
    if not hits:
        return None
    chunks = [_chunk(hit) for hit in hits[-MAX_CHUNKS:]]
    metadata = RetrievalMetadata(
        query=query, searched_for=searched_for, timestamp=at, source_count=len(chunks)
    )
    return RetrievedContent(content_chunks=chunks, retrieval_metadata=metadata)


def _chunk(hit: Hit) -> ContentChunk:
    min_length, max_length = CHUNK_LENGTH
    chunk = hit.chunk
    text = chunk.text
    if len(text) < min_length:
        text = f"{chunk.heading}: {text}".ljust(min_length)
    return ContentChunk(
        id=chunk.id,
        text=truncate(text, max_length),
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
