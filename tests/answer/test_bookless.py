"""A workflow whose book goes away while it answers."""

from collections.abc import AsyncGenerator

import pytest

from quire.answer.bookless import Bookless
from quire.compose import Services
from quire.domain import Question
from quire.errors import EmbedderUnreachable, ModelTimedOut, QuireError
from quire.events import Event, Retrieved, Started
from tests.verify.samples import SURE

QUESTION = Question(text="Why?", contract="workflow")


class Breaks:
    """An answerer that gets so far and no further."""

    def __init__(self, error: QuireError, *events: Event) -> None:
        self._error = error
        self._events = events

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        for event in self._events:
            yield event
        raise self._error


@pytest.mark.parametrize(
    "answerer",
    [
        Breaks(EmbedderUnreachable("gone"), Started("t", "a"), Retrieved("Why?", (), SURE)),
        Breaks(ModelTimedOut("slow")),
    ],
    ids=["the answer had begun", "not the book but the model"],
)
async def test_what_is_no_lack_of_the_book_or_comes_too_late_stays_an_error(
    tiny: Services, answerer: Breaks
) -> None:
    events = Bookless(answerer, tiny.threads, rag=True).answer(QUESTION)

    with pytest.raises(QuireError):
        async for _ in events:
            pass
