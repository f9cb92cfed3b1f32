"""The native contract as the chat on a page asks it, at `/widget/run` and `/widget/stream`."""

from typing import Annotated

from pydantic import StringConstraints

from quire.api.contracts.chat import Chat, ChatRequest
from quire.api.sent import SAYS

LongWords = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000), SAYS
]


class OnPageRequest(ChatRequest):
    """A question about the book, as long as a client of the workflows may write one."""

    message: LongWords
    """The question, of 1 to 2,000 characters."""


class OnPageChat(Chat):
    """The native dialect, and its conversations; only questions may be longer."""

    whole_path = "/widget/run"
    stream_path = "/widget/stream"
    request = OnPageRequest
