"""The workflow contract: `/workflows/{workflowId}/chat`, its stream and conversations.

Its fields are in camelCase.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from citewell.api.contract import ServerSentEvent
from citewell.api.schemas import (
    NOT_BLANK,
    AnyUuid,
    BookFilters,
    IsoDatetime,
    RequestModel,
    StrictInt,
    WireModel,
    dump,
)
from citewell.conversation import RETENTION_POLICIES, Message, RetentionPolicy, Thread
from citewell.domain import NO_MODEL_NAME, Answer, Filters, Hit, Question
from citewell.events import Done, Event, Failed, Retrieved, Sentence, Started, Withheld

MAX_QUERY_LENGTH = 2_000
MAX_MESSAGES = RETENTION_POLICIES["workflow"].max_live_messages
MAX_AGE = timedelta(hours=1)
CLOCK_SKEW = timedelta(minutes=5)
NO_FILTERS = Filters()
INDEX_UNAVAILABLE = "The book cannot be searched right now."
MODEL_UNAVAILABLE = "The language model cannot be used right now."
NonBlankText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUERY_LENGTH),
    NOT_BLANK,
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """The settings of a workflow that this contract uses."""

    id: str
    name: str = ""
    description: str = ""
    rag: bool = True
    book: str | None = None
    filters: Filters = NO_FILTERS


class UserQuery(RequestModel):
    """A question to a workflow."""

    queryText: NonBlankText
    """The question, of 1 to 2,000 characters."""
    conversationId: AnyUuid | None = None
    """The conversation to continue, a UUID. Without one, a new one starts."""
    timestamp: IsoDatetime
    """The time of the message, in ISO 8601 with a time zone; at most an hour ago."""
    sessionId: str = Field(min_length=1, max_length=128)
    """The browser's session; stored with the message."""

    @field_validator("timestamp")
    @classmethod
    def _check_recent(cls, value: datetime) -> datetime:
        if not is_recent(value, datetime.now(UTC)):
            raise ValueError("must not be in the future or more than an hour ago")
        return value


class RAGContext(WireModel):
    """The passages retrieved for a question."""

    chunks: list[str]
    """Their texts, best first; empty only if nothing was found."""
    query: str
    """The question as asked."""
    retrievedAt: datetime
    """The time of the search, in UTC."""
    sourceFiles: list[str] | None = None
    """Their source files, without duplicates."""
    searchedFor: str | None = None
    """In a stream: the standalone question that was searched for."""


class WorkflowResponse(WireModel):
    """An answer of a workflow."""

    responseText: str = Field(min_length=1)
    """The answer; if it is from the book, with `[n]` after each sentence for its passage."""
    workflowId: str
    """The workflow."""
    threadId: str | None = None
    """The conversation; send it as `conversationId` to ask a follow-up."""
    ragContextIncluded: bool
    """Whether the workflow was given passages of the book."""
    responseTime: int = Field(ge=0)
    """Milliseconds from the question to the answer."""
    error: str | None = None
    """Why there is no answer: the book or the language model could not be used."""
    ragContext: RAGContext | None = None
    """The retrieved passages; the answer cites some or all of them."""


class WorkflowMessage(WireModel):
    """A message of a conversation."""

    id: str
    """The message's UUID."""
    content: str = Field(min_length=1)
    """The text."""
    role: Literal["user", "assistant"]
    """The author."""
    timestamp: datetime
    """When the question was submitted, or the answer was finished, in UTC."""
    conversationId: str | None = None
    """The id of the conversation."""
    ragContextUsed: bool | None = None
    """For an answer: whether the workflow was given passages of the book."""
    error: str | None = None
    """For an answer: why the book or the language model could not be used."""


class Conversation(WireModel):
    """A conversation with a workflow."""

    conversationId: str
    """The conversation's UUID."""
    createdAt: datetime
    """When its first question arrived, in UTC."""
    lastActivityAt: datetime
    """The time of the last message, in UTC."""
    messageCount: int = Field(ge=0)
    """How many messages it has."""
    ragContextAvailable: bool
    """Whether passages of the book were available in it."""
    state: Literal["initial", "active"]
    """`initial` until there is more than the first question and its answer."""
    workflowId: str | None = None
    """The workflow."""
    messages: list[WorkflowMessage] = Field(max_length=MAX_MESSAGES)
    """Its last 100 messages, oldest first."""


class AgentWorkflow(WireModel):
    """An available workflow."""

    workflowId: str
    """The id of the workflow."""
    name: str | None = None
    """Its display name."""
    description: str | None = None
    """Its description."""
    ragIntegrationEnabled: bool
    """Whether it answers from the book."""


class SearchBookRequest(RequestModel):
    """A search of the book."""

    query: NonBlankText
    """The question, of 1 to 2,000 characters."""
    topK: StrictInt = Field(5, ge=1, le=10)
    """How many passages to return."""
    filters: BookFilters | None = None
    """Restricts the search."""
    book: str | None = Field(None, max_length=64)
    """The book; optional if there is only one."""


class WorkflowChat:
    """The contract of one workflow."""

    name = "workflow"
    complete_response_path = "/workflows/{workflowId}/chat"
    stream_path = "/workflows/{workflowId}/chat/stream"
    request = UserQuery
    response = WorkflowResponse
    session_path = "/conversations/{conversationId}"
    session_id = AnyUuid
    session = Conversation

    def __init__(self, workflow: Workflow) -> None:
        """Use the settings of `workflow`."""
        self._workflow = workflow

    def question(self, body: UserQuery) -> Question:
        """Convert a request to a question."""
        return Question(
            text=body.queryText,
            book=self._workflow.book,
            thread_id=body.conversationId,
            filters=self._workflow.filters,
            contract=self.name,
            # Keep the question before its answer if the client's clock is ahead.
            sent_at=min(body.timestamp, datetime.now(UTC)),
            contract_data={
                "workflowId": self._workflow.id,
                "sessionId": body.sessionId,
                "ragIntegrationEnabled": self._workflow.rag,
            },
        )

    def reply(self, answer: Answer) -> WorkflowResponse:
        """Convert an answer to a complete response."""
        return WorkflowResponse(
            responseText=answer.text,
            workflowId=self._workflow.id,
            threadId=answer.thread_id,
            ragContextIncluded=answer.context_given,
            responseTime=round(answer.timings.total_ms),
            error=_error(answer.status, answer.model, rag=self._workflow.rag),
            ragContext=rag_context(answer.question, answer.hits, answer.created_at)
            if answer.context_given and answer.hits
            else None,
        )

    def event(self, event: Event) -> ServerSentEvent | None:
        """Return the event `start`, `ragContext`, `sentence` or `done`."""
        match event:
            case Started(thread_id):
                ids = {"workflowId": self._workflow.id, "threadId": thread_id}
                return ServerSentEvent("start", ids)
            case Retrieved(standalone, hits, _, at, question, answering):
                if not hits or not answering:
                    return None
                context = rag_context(question, hits, at)
                return ServerSentEvent("ragContext", dump(context) | {"searchedFor": standalone})
            case Sentence(text):
                return ServerSentEvent("sentence", {"text": text})
            case Done(answer):
                return ServerSentEvent("done", dump(self.reply(answer)))
            case Withheld() | Failed():
                return None

    def wants_stream(self, _: UserQuery) -> bool:
        """Return `False`: only the streaming path streams."""
        return False

    def to_session(self, thread: Thread, now: datetime, policy: RetentionPolicy) -> Conversation:
        """Convert a stored conversation to a conversation."""
        del now, policy  # the state of this contract's conversations does not depend on time
        records = [message.record for message in thread.messages if message.record]
        return Conversation(
            conversationId=thread.id,
            createdAt=thread.created_at,
            lastActivityAt=thread.updated_at,
            messageCount=thread.message_count,
            ragContextAvailable=any(record.get("status") != "no_context" for record in records),
            state=conversation_state(thread.message_count),
            workflowId=records[-1].get("noted", {}).get("workflowId") if records else None,
            messages=[_message(thread.id, message) for message in thread.messages],
        )


def is_recent(submitted: datetime, now: datetime) -> bool:
    """Return whether a question was submitted within the last hour, allowing for clock skew."""
    return now - MAX_AGE <= submitted <= now + CLOCK_SKEW


def conversation_state(messages: int) -> Literal["initial", "active"]:
    """Return the state of a conversation by its number of messages."""
    first_exchange = 2
    return "initial" if messages <= first_exchange else "active"


def rag_context(query: str, hits: Sequence[Hit], at: datetime) -> RAGContext:
    """Convert the hits of a search."""
    return RAGContext(
        chunks=[hit.chunk.text for hit in hits],
        query=query,
        retrievedAt=at,
        sourceFiles=list(dict.fromkeys(hit.chunk.source_file for hit in hits)),
    )


def workflow_to_wire(workflow: Workflow) -> AgentWorkflow:
    """Convert a workflow to its entry in the list of workflows."""
    return AgentWorkflow(
        workflowId=workflow.id,
        name=workflow.name or None,
        description=workflow.description or None,
        ragIntegrationEnabled=workflow.rag,
    )


def _error(status: str | None, model: str | None, *, rag: bool) -> str | None:
    if model == NO_MODEL_NAME:
        return MODEL_UNAVAILABLE
    return INDEX_UNAVAILABLE if status == "no_context" and rag else None


def _message(conversation_id: str, message: Message) -> WorkflowMessage:
    record = message.record
    is_answer = message.role == "assistant"
    rag = bool(record.get("noted", {}).get("ragIntegrationEnabled", True))
    return WorkflowMessage(
        id=message.id,
        content=message.content,
        role=message.role,
        timestamp=message.created_at,
        conversationId=conversation_id,
        ragContextUsed=record.get("context_given", record.get("status") == "answered")
        if is_answer
        else None,
        error=_error(record.get("status"), record.get("model"), rag=rag),
    )
