"""The native contract as the chat on a page asks it, at `/widget/run` and `/widget/stream`."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field, StringConstraints

from quire.api.contracts.chat import Chat, ChatRequest
from quire.api.sent import SAYS, Context
from quire.domain import Question

LongWords = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000), SAYS
]


class OnPageRequest(ChatRequest):
    """A question about the book, as long as a client of the workflows may write one."""

    message: LongWords
    """The question, of 1 to 2,000 characters."""
    user_context: Context | None = Field(None, validate_default=True)
    """The selected text, as in the native contract; or an object that says where the reader is. Its
    `chapter` is a hint: of passages that answer about as well, those of that chapter come first. It
    keeps nothing out, and does not decide whether the question is answered."""


class OnPageChat(Chat):
    """The native dialect, and its conversations; questions may be longer, and say where one is."""

    whole_path = "/widget/run"
    stream_path = "/widget/stream"
    request = OnPageRequest

    def question(self, body: ChatRequest) -> Question:
        """Read the request, with the chapter that the reader has open."""
        return replace(super().question(body), near=_chapter(body))


def _chapter(body: ChatRequest) -> str:
    page = body.user_context
    chapter = page.get("chapter") if isinstance(page, dict) else None
    return chapter if isinstance(chapter, str) else ""
