"""The format of OpenAI's `POST /v1/chat/completions`.

The request contains the whole conversation, so that nothing has to be stored for follow-ups. System
messages are not followed.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import ConfigDict, Field, StrictBool, StringConstraints, field_validator

from citewell.api.schemas import NOT_BLANK, RequestModel, WireModel, dump
from citewell.domain import PROVEN_VERDICTS, Answer, AnswerStatus, Question
from citewell.events import Done, Event, Failed, Retrieved, Sentence, Started, Withheld

NAME = "completions"
MAX_MESSAGES = 1_000
MAX_PARTS = 8
SOURCES_HEADING = "\n\n**Sources**\n"
"""Separates an answer from its list of sources."""
NonBlankText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000), NOT_BLANK
]


class LenientRequestModel(RequestModel):
    """The base of request models for chat clients; unknown fields are ignored."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="ignore")


class TextPart(LenientRequestModel):
    """A text part; other content types are not supported."""

    type: Literal["text"]
    """The content type."""
    text: NonBlankText
    """The text."""


class UserMessage(LenientRequestModel):
    """A question."""

    role: Literal["user"]
    """The author."""
    content: NonBlankText | Annotated[list[TextPart], Field(min_length=1, max_length=MAX_PARTS)]
    """The question, of 1 to 2,000 characters, or up to 8 parts of it."""


class OtherPart(LenientRequestModel):
    """A content part of another message."""

    text: str | None = None
    """The text, if any."""


class OtherMessage(LenientRequestModel):
    """An answer, or a message that the client adds."""

    role: Literal["assistant", "system", "developer", "tool", "function"]
    """The author. Only answers are used, and only to resolve follow-ups."""
    content: str | list[OtherPart] | None = None
    """The text."""


Message = Annotated[UserMessage | OtherMessage, Field(discriminator="role")]


class StreamOptions(LenientRequestModel):
    """Options of a streamed answer."""

    include_usage: StrictBool | None = None
    """Whether the last chunk has the token usage."""


class TextFormat(LenientRequestModel):
    """The only response format."""

    type: Literal["text"]
    """Text."""


class CompletionRequest(LenientRequestModel):
    """A conversation whose last question is to be answered.

    Other fields, such as `temperature`, are accepted and ignored.
    """

    model: str = Field(max_length=64)
    """The book, as an id of `/v1/models`."""
    messages: list[Message] = Field(
        min_length=1,
        max_length=MAX_MESSAGES,
        json_schema_extra={"contains": {"$ref": "#/components/schemas/UserMessage"}},
    )
    """The conversation; its last message with the role `user` is answered."""
    stream: StrictBool | None = None
    """Whether to stream the answer sentence by sentence, each after its verification."""
    stream_options: StreamOptions | None = None
    """Options of a streamed answer."""
    n: Literal[1] | None = None
    """The number of answers, always 1."""
    response_format: TextFormat | None = None
    """The response format."""
    tool_choice: Literal["none", "auto"] | None = None
    """Ignored: the client's tools are never called."""

    @field_validator("messages")
    @classmethod
    def _check_user_message(cls, value: list[Message]) -> list[Message]:
        if not any(message.role == "user" for message in value):
            raise ValueError("must contain a message with the role `user`")
        return value


class UrlCitation(WireModel):
    """A citation of the book."""

    url: str
    """Opens the page at the quoted sentence."""
    title: str
    """Chapter and section."""
    start_index: int = Field(ge=0)
    """Start offset of the claim in the message, in Unicode code points."""
    end_index: int = Field(ge=0)
    """End offset of the claim."""


class Annotation(WireModel):
    """An annotation of the message."""

    type: Literal["url_citation"] = "url_citation"
    """The type."""
    url_citation: UrlCitation
    """The citation."""


class CompletionMessage(WireModel):
    """The answer, or a refusal."""

    role: Literal["assistant"] = "assistant"
    """The author."""
    content: str
    """The answer with `[n]` after each sentence, and the list of its sources."""
    refusal: None = None
    """Always null: a refusal is in `content`."""
    annotations: list[Annotation]
    """The citations of each sentence."""


class Choice(WireModel):
    """The only answer."""

    index: Literal[0] = 0
    """Always 0."""
    message: CompletionMessage
    """The answer."""
    logprobs: None = None
    """Always null."""
    finish_reason: Literal["stop", "length"] = "stop"
    """Why the answer ended; `length` if the language model stopped early."""


class Usage(WireModel):
    """Token usage, if the language model reports it."""

    prompt_tokens: int = Field(ge=0)
    """Input tokens."""
    completion_tokens: int = Field(ge=0)
    """Output tokens, before verification."""
    total_tokens: int = Field(ge=0)
    """Input and output tokens."""


class Proof(WireModel):
    """Citewell's own fields of the response."""

    answer_id: str
    """The id of the full record at `/answers/{id}`."""
    status: AnswerStatus
    """The kind of answer."""
    confidence: Literal["high", "medium", "low", "insufficient"]
    """The confidence in the evidence."""


class Completion(WireModel):
    """A verified answer."""

    id: str
    """The id of the completion."""
    object: Literal["chat.completion"] = "chat.completion"
    """The type."""
    created: int
    """Unix timestamp."""
    model: str
    """The book."""
    choices: list[Choice]
    """The only answer."""
    usage: Usage
    """Token usage."""
    system_fingerprint: str
    """The revision of the book."""
    citewell: Proof
    """Citewell's own fields."""


def question_of(body: CompletionRequest) -> Question:
    """Convert a request to a question with its conversation."""
    exchanges = _exchanges(body.messages)
    text, _ = exchanges.pop()
    return Question(text=text, book=body.model, history=tuple(exchanges), contract=NAME)


def completion_of(answer: Answer) -> Completion:
    """Convert an answer to a complete response."""
    message = CompletionMessage(
        content=answer.text + source_list(answer), annotations=_annotations(answer)
    )
    return Completion(
        id=_completion_id(answer.id),
        created=int(answer.created_at.timestamp()),
        model=answer.book,
        choices=[Choice(message=message, finish_reason=_finish_reason(answer))],
        usage=_usage(answer),
        system_fingerprint=answer.revision,
        citewell=_answer_proof(answer),
    )


class ChunkEncoder:
    """Converts the events of one answer to chunks."""

    def __init__(self, model: str, created: int, *, usage: bool) -> None:
        """Start the stream of an answer; `usage` adds a final chunk with the token usage."""
        self._envelope: dict[str, Any] = {
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        self._usage = usage
        self._streamed_text = ""

    def encode(self, event: Event) -> list[dict[str, Any]]:
        """Return the chunks of an event, which may be none."""
        match event:
            case Started(_, answer_id):
                self._envelope = {"id": _completion_id(answer_id), **self._envelope}
                return [self._chunk({"role": "assistant", "content": ""})]
            case Sentence(text):
                self._streamed_text += text
                return [self._chunk({"content": text})]
            case Done(answer):
                return [*self._final_chunks(answer)]
            case Retrieved() | Withheld() | Failed():
                return []

    def _final_chunks(self, answer: Answer) -> Iterator[dict[str, Any]]:
        self._envelope["system_fingerprint"] = answer.revision
        # A refusal was not streamed, so it is sent here.
        not_streamed = answer.text.removeprefix(self._streamed_text) + source_list(answer)
        if not_streamed:
            yield self._chunk({"content": not_streamed})
        annotations = [dump(annotation) for annotation in _annotations(answer)]
        last_chunk = self._chunk({"annotations": annotations}, _finish_reason(answer))
        yield {**last_chunk, "citewell": dump(_answer_proof(answer))}
        if self._usage:
            yield {**self._envelope, "choices": [], "usage": dump(_usage(answer))}

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._envelope, "choices": [choice]}


def _finish_reason(answer: Answer) -> Literal["stop", "length"]:
    return "length" if "incomplete" in answer.notices else "stop"


def to_json_lines(chunks: list[dict[str, Any]]) -> str:
    """Return chunks as JSON lines."""
    return "\n".join(json.dumps(chunk, ensure_ascii=False) for chunk in chunks)


def source_list(answer: Answer) -> str:
    """Return a Markdown list of the sources of an answer."""
    lines: dict[int, str] = {}
    for citation in answer.citations:
        title = re.sub(r"([\[\]\\])", r"\\\1", _citation_title(citation.chapter, citation.section))
        title = title.replace("<", "&lt;")  # some clients render HTML in Markdown
        url = re.sub(r"[\s<>()]", lambda match: quote(match[0], safe=""), citation.url)
        link = f"[{title}]({url})" if url else title
        lines.setdefault(citation.number, f"- [{citation.number}] {link}")
    return SOURCES_HEADING + "\n".join(lines.values()) if lines else ""


def _exchanges(messages: list[Message]) -> list[tuple[str, str]]:
    """Return the questions, each with the answers before the next question."""
    exchanges: list[tuple[str, str]] = []
    for message in messages:
        if isinstance(message, UserMessage):
            exchanges.append((_user_text(message.content), ""))
        elif message.role == "assistant" and exchanges:
            question, answer = exchanges[-1]
            exchanges[-1] = (
                question,
                "\n\n".join(filter(None, (answer, _assistant_text(message)))),
            )
    return exchanges


def _user_text(content: str | list[TextPart]) -> str:
    return content if isinstance(content, str) else "\n".join(part.text for part in content)


def _assistant_text(message: OtherMessage) -> str:
    content = message.content or ""
    if not isinstance(content, str):
        content = "\n".join(part.text or "" for part in content)
    return content.partition(SOURCES_HEADING)[0].strip()


def _annotations(answer: Answer) -> list[Annotation]:
    return [
        Annotation(
            url_citation=UrlCitation(
                url=citation.url,
                title=_citation_title(citation.chapter, citation.section),
                start_index=claim.start,
                end_index=claim.end,
            )
        )
        for claim in answer.claims
        if claim.verdict in PROVEN_VERDICTS
        for citation in claim.citations
    ]


def _citation_title(chapter: str, section: str) -> str:
    return " › ".join(dict.fromkeys((chapter, section)))


def _usage(answer: Answer) -> Usage:
    total, output = answer.tokens_used or 0, answer.tokens_written
    return Usage(prompt_tokens=total - output, completion_tokens=output, total_tokens=total)


def _answer_proof(answer: Answer) -> Proof:
    return Proof(answer_id=answer.id, status=answer.status, confidence=answer.confidence.level)


def _completion_id(answer_id: str) -> str:
    return f"chatcmpl-{answer_id}"
