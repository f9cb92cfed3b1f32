"""The dialect of chat clients: OpenAI's `POST /v1/chat/completions`.

The messages are the conversation: what came before the last question is what a follow-up may refer
to, and no thread is needed. A system message is data like any other: it is not followed.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import ConfigDict, Field, StringConstraints, field_validator

from citewell.api.schemas import NOT_BLANK, JsonBool, RequestModel, WireModel, dump
from citewell.domain import PROVEN_VERDICTS, Answer, AnswerStatus, Claim, Question
from citewell.events import Done, Event, Failed, Retrieved, Sentence, Started, Withheld

NAME = "completions"
MAX_MESSAGES = 1_000
MAX_PARTS = 8
SOURCES = "\n\n**Sources**\n"
"""What stands between an answer and the list of its sources."""
NonBlankText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000), NOT_BLANK
]


class LenientRequestModel(RequestModel):
    """A model of what chat clients send: what Citewell has no use for is not looked at."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="ignore")


class TextPart(LenientRequestModel):
    """A piece of text; other kinds of content cannot be read."""

    type: Literal["text"]
    """What it is."""
    text: NonBlankText
    """Its words."""


class UserMessage(LenientRequestModel):
    """What the reader says."""

    role: Literal["user"]
    """Who says it."""
    content: NonBlankText | Annotated[list[TextPart], Field(min_length=1, max_length=MAX_PARTS)]
    """The question, of 1 to 2,000 characters, or up to 8 pieces of it."""


class OtherPart(LenientRequestModel):
    """A piece of what was answered."""

    text: str | None = None
    """Its words, if it has any."""


class OtherMessage(LenientRequestModel):
    """What was answered, and what the client adds."""

    role: Literal["assistant", "system", "developer", "tool", "function"]
    """Who says it. Only answers are looked at, and only to understand a follow-up."""
    content: str | list[OtherPart] | None = None
    """What is said."""


Message = Annotated[UserMessage | OtherMessage, Field(discriminator="role")]


class StreamOptions(LenientRequestModel):
    """What a streamed answer holds."""

    include_usage: JsonBool | None = None
    """Whether the last chunk tells how many tokens were used."""


class TextFormat(LenientRequestModel):
    """The only form of an answer."""

    type: Literal["text"]
    """Text."""


class CompletionRequest(LenientRequestModel):
    """A conversation whose last question is to be answered.

    Fields that this does not list, such as `temperature`, are accepted and change nothing.
    """

    model: str = Field(max_length=64)
    """The book, by one of the ids of `/v1/models`."""
    messages: list[Message] = Field(
        min_length=1,
        max_length=MAX_MESSAGES,
        json_schema_extra={"contains": {"$ref": "#/components/schemas/UserMessage"}},
    )
    """The conversation; its last message of the role `user` is answered."""
    stream: JsonBool | None = None
    """Whether the answer comes sentence by sentence, each after its check."""
    stream_options: StreamOptions | None = None
    """What a streamed answer holds."""
    n: Literal[1] | None = None
    """How many answers; there is one."""
    response_format: TextFormat | None = None
    """The form of the answer."""
    tool_choice: Literal["none", "auto"] | None = None
    """Whether tools of the client are used; they never are."""

    @field_validator("messages")
    @classmethod
    def _asks(cls, value: list[Message]) -> list[Message]:
        if not any(message.role == "user" for message in value):
            raise ValueError("must hold a message of the role `user`")
        return value


class UrlCitation(WireModel):
    """The place in the book that proves a sentence."""

    url: str
    """Opens the page at the sentence that proves it."""
    title: str
    """Chapter and section."""
    start_index: int = Field(ge=0)
    """Where the proven words begin in the message, in Unicode code points."""
    end_index: int = Field(ge=0)
    """Where they end."""


class Annotation(WireModel):
    """One citation."""

    type: Literal["url_citation"] = "url_citation"
    """What it is."""
    url_citation: UrlCitation
    """What it points to."""


class CompletionMessage(WireModel):
    """The answer, or a refusal that says so."""

    role: Literal["assistant"] = "assistant"
    """Who says it."""
    content: str
    """The answer with `[n]` behind each sentence, and the list of its sources."""
    refusal: None = None
    """Nothing: that the book does not answer is an answer."""
    annotations: list[Annotation]
    """What proves each sentence."""


class Choice(WireModel):
    """The one answer."""

    index: Literal[0] = 0
    """Its place."""
    message: CompletionMessage
    """What is said."""
    logprobs: None = None
    """Nothing."""
    finish_reason: Literal["stop", "length"] = "stop"
    """Why it ended; `length` if a language model broke off."""


class Usage(WireModel):
    """Tokens of the language model, where there is one that counts them."""

    prompt_tokens: int = Field(ge=0)
    """Read."""
    completion_tokens: int = Field(ge=0)
    """Written, before the check."""
    total_tokens: int = Field(ge=0)
    """Both."""


class Proof(WireModel):
    """What other clients of Citewell are told of an answer."""

    answer_id: str
    """Its id; `/answers/{id}` has the full record."""
    status: AnswerStatus
    """What the answer is."""
    confidence: Literal["high", "medium", "low", "insufficient"]
    """How good the evidence is."""


class Completion(WireModel):
    """A checked answer."""

    id: str
    """Its id."""
    object: Literal["chat.completion"] = "chat.completion"
    """What it is."""
    created: int
    """When, in seconds since 1970."""
    model: str
    """The book."""
    choices: list[Choice]
    """The one answer."""
    usage: Usage
    """What it took."""
    system_fingerprint: str
    """The revision of the book."""
    citewell: Proof
    """What other clients of Citewell are told."""


def question_of(body: CompletionRequest) -> Question:
    """Read the request."""
    turns = _turns(body.messages)
    text, _ = turns.pop()
    return Question(text=text, book=body.model, earlier=tuple(turns), contract=NAME)


def completion_of(answer: Answer) -> Completion:
    """Write the whole response."""
    message = CompletionMessage(
        content=answer.text + source_list(answer), annotations=_annotations(answer)
    )
    return Completion(
        id=_id(answer.id),
        created=int(answer.created_at.timestamp()),
        model=answer.book,
        choices=[Choice(message=message, finish_reason=_finish(answer))],
        usage=_usage(answer),
        system_fingerprint=answer.revision,
        citewell=_proof(answer),
    )


class Chunks:
    """Writes the events of one answer as chunks, which are alike in all but what they add."""

    def __init__(self, model: str, created: int, *, usage: bool) -> None:
        """Answer for a book; with `usage`, tokens are told in a chunk of their own."""
        self._head: dict[str, Any] = {
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        self._usage = usage
        self._said = ""

    def write(self, event: Event) -> list[dict[str, Any]]:
        """Return the chunks of an event; none for what this dialect does not tell."""
        match event:
            case Started(_, answer_id):
                self._head = {"id": _id(answer_id), **self._head}
                return [self._chunk({"role": "assistant", "content": ""})]
            case Sentence(text):
                self._said += text
                return [self._chunk({"content": text})]
            case Done(answer):
                return [*self._end(answer)]
            case Retrieved() | Withheld() | Failed():
                return []

    def _end(self, answer: Answer) -> Iterator[dict[str, Any]]:
        self._head["system_fingerprint"] = answer.revision
        # What was said is its beginning; of a refusal nothing was.
        rest = answer.text.removeprefix(self._said) + source_list(answer)
        if rest:
            yield self._chunk({"content": rest})
        annotations = [dump(one) for one in _annotations(answer)]
        last = self._chunk({"annotations": annotations}, _finish(answer))
        yield {**last, "citewell": dump(_proof(answer))}
        if self._usage:
            yield {**self._head, "choices": [], "usage": dump(_usage(answer))}

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._head, "choices": [choice]}


def _finish(answer: Answer) -> Literal["stop", "length"]:
    return "length" if "incomplete" in answer.notices else "stop"


def lines_of(chunks: list[dict[str, Any]]) -> str:
    """Return chunks as one text, a line each; JSON has no line breaks of its own."""
    return "\n".join(json.dumps(chunk, ensure_ascii=False) for chunk in chunks)


def source_list(answer: Answer) -> str:
    """List what the `[n]` of an answer mean, for readers of the text alone."""
    lines: dict[int, str] = {}
    for citation in answer.citations:
        title = re.sub(r"([\[\]\\])", r"\\\1", _title(citation.chapter, citation.section))
        title = title.replace("<", "&lt;")  # some clients show HTML that stands in Markdown
        address = re.sub(r"[\s<>()]", lambda sign: quote(sign[0], safe=""), citation.url)
        shown = f"[{title}]({address})" if address else title
        lines.setdefault(citation.number, f"- [{citation.number}] {shown}")
    return SOURCES + "\n".join(lines.values()) if lines else ""


def _turns(messages: list[Message]) -> list[tuple[str, str]]:
    """Return the reader's messages, each with what was answered before the next one."""
    turns: list[tuple[str, str]] = []
    for message in messages:
        if isinstance(message, UserMessage):
            turns.append((_words(message.content), ""))
        elif message.role == "assistant" and turns:
            asked, answered = turns[-1]
            turns[-1] = (asked, "\n\n".join(filter(None, (answered, _answer(message)))))
    return turns


def _words(content: str | list[TextPart]) -> str:
    return content if isinstance(content, str) else "\n".join(part.text for part in content)


def _answer(message: OtherMessage) -> str:
    said = message.content or ""
    if not isinstance(said, str):
        said = "\n".join(part.text or "" for part in said)
    return said.partition(SOURCES)[0].strip()


def _annotations(answer: Answer) -> list[Annotation]:
    return [
        Annotation(
            url_citation=UrlCitation(
                url=citation.url,
                title=_title(citation.chapter, citation.section),
                start_index=claim.start,
                end_index=claim.end,
            )
        )
        for claim in _proven(answer)
        for citation in claim.citations
    ]


def _proven(answer: Answer) -> list[Claim]:
    return [claim for claim in answer.claims if claim.verdict in PROVEN_VERDICTS]


def _title(chapter: str, section: str) -> str:
    return " › ".join(dict.fromkeys((chapter, section)))


def _usage(answer: Answer) -> Usage:
    total, written = answer.tokens_used or 0, answer.tokens_written
    return Usage(prompt_tokens=total - written, completion_tokens=written, total_tokens=total)


def _proof(answer: Answer) -> Proof:
    return Proof(answer_id=answer.id, status=answer.status, confidence=answer.confidence.level)


def _id(answer_id: str) -> str:
    return f"chatcmpl-{answer_id}"
