"""The workflow contract: `POST /workflows/{workflowId}/chat`, and conversations beside it.

Its names are camelCase, as its clients write them.
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
    JsonInt,
    RequestModel,
    WireModel,
    dump,
)
from citewell.conversation import RETENTION_POLICIES, Message, RetentionPolicy, Thread
from citewell.domain import Answer, Filters, Hit, Question
from citewell.events import Done, Event, Failed, Retrieved, Sentence, Started, Withheld

MAX_QUERY = 2_000
SHOWN_MESSAGES = RETENTION_POLICIES["workflow"].max_live_messages
RECENT = timedelta(hours=1)
CLOCK_SKEW = timedelta(minutes=5)
NO_FILTERS = Filters()
NO_INDEX = "The book cannot be searched right now."
NonBlankText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUERY), NOT_BLANK
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A named configuration of the agent, as this contract needs it."""

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
    """Continues a conversation; a UUID. Left out, a new one begins."""
    timestamp: IsoDatetime
    """When it was submitted, as ISO 8601 with a time zone; not more than an hour ago. The message
    is dated so."""
    sessionId: str = Field(min_length=1, max_length=128)
    """The browser's session; kept with the message."""

    @field_validator("timestamp")
    @classmethod
    def _recent(cls, value: datetime) -> datetime:
        if not is_recent(value, datetime.now(UTC)):
            raise ValueError("must be current or recent: not in the future, nor over an hour ago")
        return value


class RAGContext(WireModel):
    """Passages of the book that were retrieved for a question."""

    chunks: list[str]
    """What they say, best first; empty only if nothing was found."""
    query: str
    """The reader's question, as it was asked."""
    retrievedAt: datetime
    """When, in UTC."""
    sourceFiles: list[str] | None = None
    """Source files that they stand in, each once."""
    searchedFor: str | None = None
    """In a stream: the question as it was searched for, complete in itself."""


class WorkflowResponse(WireModel):
    """A workflow's reply."""

    responseText: str = Field(min_length=1)
    """The reply; one from the book has `[n]` behind each sentence for its passage."""
    workflowId: str
    """The workflow that replied."""
    threadId: str | None = None
    """The conversation; pass it on as `conversationId` to ask a follow-up."""
    ragContextIncluded: bool
    """Whether passages of the book were given to the workflow with the question."""
    responseTime: int = Field(ge=0)
    """Milliseconds from the question to the reply."""
    error: str | None = None
    """Why the book could not be used, where it should have been."""
    ragContext: RAGContext | None = None
    """The passages that were retrieved for it; the answer cites some or all of them."""


class WorkflowMessage(WireModel):
    """One message of a conversation."""

    id: str
    """Its UUID."""
    content: str = Field(min_length=1)
    """What was said."""
    role: Literal["user", "assistant"]
    """Who said it."""
    timestamp: datetime
    """When the question was submitted, or the reply was finished, in UTC."""
    conversationId: str | None = None
    """The conversation it belongs to."""
    ragContextUsed: bool | None = None
    """For a reply: whether passages of the book were given to the workflow."""
    error: str | None = None
    """For a reply: why the book could not be used, where it should have been."""


class Conversation(WireModel):
    """A conversation with a workflow; deleting it ends it."""

    conversationId: str
    """Its UUID."""
    createdAt: datetime
    """When its first question arrived, in UTC."""
    lastActivityAt: datetime
    """When the last message came, in UTC."""
    messageCount: int = Field(ge=0)
    """How many messages it has."""
    ragContextAvailable: bool
    """Whether passages of the book could be used in it."""
    state: Literal["initial", "active"]
    """`initial` until there is more than the first question and its reply."""
    workflowId: str | None = None
    """The workflow that it is held with."""
    messages: list[WorkflowMessage] = Field(max_length=SHOWN_MESSAGES)
    """Its last 100 messages, the oldest first."""


class AgentWorkflow(WireModel):
    """A workflow that can be asked."""

    workflowId: str
    """Its id."""
    name: str | None = None
    """Its name for people."""
    description: str | None = None
    """What it does."""
    ragIntegrationEnabled: bool
    """Whether it answers from the book."""


class SearchBookRequest(RequestModel):
    """What to look for in the book."""

    query: NonBlankText
    """The question, of 1 to 2,000 characters."""
    topK: JsonInt = Field(5, ge=1, le=10)
    """How many passages to give."""
    filters: BookFilters | None = None
    """Where to search."""
    book: str | None = Field(None, max_length=64)
    """Which book; may be left out where there is only one."""


class WorkflowChat:
    """The dialect of one workflow."""

    name = "workflow"
    whole_path = "/workflows/{workflowId}/chat"
    stream_path = "/workflows/{workflowId}/chat/stream"
    request = UserQuery
    response = WorkflowResponse
    session_path = "/conversations/{conversationId}"
    session_id = AnyUuid
    session = Conversation

    def __init__(self, workflow: Workflow) -> None:
        """Speak for one workflow."""
        self._workflow = workflow

    def question(self, body: UserQuery) -> Question:
        """Read the request."""
        return Question(
            text=body.queryText,
            book=self._workflow.book,
            thread_id=body.conversationId,
            filters=self._workflow.filters,
            contract=self.name,
            # A clock that is ahead dates nothing after its answer.
            sent_at=min(body.timestamp, datetime.now(UTC)),
            noted={
                "workflowId": self._workflow.id,
                "sessionId": body.sessionId,
                "ragIntegrationEnabled": self._workflow.rag,
            },
        )

    def reply(self, answer: Answer) -> WorkflowResponse:
        """Write the whole response."""
        return WorkflowResponse(
            responseText=answer.text,
            workflowId=self._workflow.id,
            threadId=answer.thread_id,
            ragContextIncluded=answer.context_given,
            responseTime=round(answer.timings.total_ms),
            error=_error(answer.status, rag=self._workflow.rag),
            ragContext=rag_context(answer.question, answer.hits, answer.created_at)
            if answer.context_given and answer.hits
            else None,
        )

    def event(self, event: Event) -> ServerSentEvent | None:
        """Write one event: start, ragContext, sentence, done or error."""
        match event:
            case Started(thread_id):
                named = {"workflowId": self._workflow.id, "threadId": thread_id}
                return ServerSentEvent("start", named)
            case Retrieved(standalone, hits, _, at, asked, answering):
                if not hits or not answering:
                    return None
                found = rag_context(asked, hits, at)
                return ServerSentEvent("ragContext", dump(found) | {"searchedFor": standalone})
            case Sentence(text):
                return ServerSentEvent("sentence", {"text": text})
            case Done(answer):
                return ServerSentEvent("done", dump(self.reply(answer)))
            case Withheld() | Failed():
                return None

    def streams(self, _: UserQuery) -> bool:
        """Stream from the streaming path only."""
        return False

    def show(self, thread: Thread, now: datetime, rules: RetentionPolicy) -> Conversation:
        """Write a conversation."""
        del now, rules  # conversations of this dialect do not age
        replies = [message.record for message in thread.messages if message.record]
        return Conversation(
            conversationId=thread.id,
            createdAt=thread.created_at,
            lastActivityAt=thread.updated_at,
            messageCount=thread.message_count,
            ragContextAvailable=any(one.get("status") != "no_context" for one in replies),
            state=conversation_state(thread.message_count),
            workflowId=replies[-1].get("noted", {}).get("workflowId") if replies else None,
            messages=[_message(thread.id, message) for message in thread.messages],
        )


def is_recent(submitted: datetime, now: datetime) -> bool:
    """Return whether a question was submitted just now, as far as clocks agree."""
    return now - RECENT <= submitted <= now + CLOCK_SKEW


def conversation_state(messages: int) -> Literal["initial", "active"]:
    """Return how a conversation of so many messages stands; one that ended is no more."""
    first_exchange = 2
    return "initial" if messages <= first_exchange else "active"


def rag_context(query: str, hits: Sequence[Hit], at: datetime) -> RAGContext:
    """Write what a search gave."""
    return RAGContext(
        chunks=[hit.chunk.text for hit in hits],
        query=query,
        retrievedAt=at,
        sourceFiles=list(dict.fromkeys(hit.chunk.source_file for hit in hits)),
    )


def workflow_to_wire(workflow: Workflow) -> AgentWorkflow:
    """Write a workflow for those who may ask it."""
    return AgentWorkflow(
        workflowId=workflow.id,
        name=workflow.name or None,
        description=workflow.description or None,
        ragIntegrationEnabled=workflow.rag,
    )


def _error(status: str | None, *, rag: bool) -> str | None:
    return NO_INDEX if status == "no_context" and rag else None


def _message(conversation: str, message: Message) -> WorkflowMessage:
    record = message.record
    said = message.role == "assistant"
    rag = bool(record.get("noted", {}).get("ragIntegrationEnabled", True))
    return WorkflowMessage(
        id=message.id,
        content=message.content,
        role=message.role,
        timestamp=message.created_at,
        conversationId=conversation,
        ragContextUsed=record.get("context_given", record.get("status") == "answered")
        if said
        else None,
        error=_error(record.get("status"), rag=rag),
    )
