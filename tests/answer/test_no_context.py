"""A workflow whose book goes away while it answers."""

from collections.abc import AsyncGenerator

import pytest

from citewell.answer.no_context import NoContextAnswerer
from citewell.domain import Claim, Question
from citewell.errors import CitewellError, EmbedderUnreachable, ModelTimedOut, StoreUnavailable
from citewell.events import Event, Sentence, Started
from citewell.wiring import Services

CLAIM = Claim(text="So.", start=0, end=3, verdict="supported", probability=1.0)
BEGUN = Sentence("So.", CLAIM)
QUESTION = Question(text="Why?", contract="workflow")


class Breaks:
    """An answerer that gets so far and no further."""

    def __init__(self, error: CitewellError, *events: Event) -> None:
        self._error = error
        self._events = events

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        for event in self._events:
            yield event
        raise self._error


@pytest.mark.parametrize(
    "answerer",
    [
        Breaks(EmbedderUnreachable("gone"), Started("t", "a"), BEGUN),
        Breaks(ModelTimedOut("slow"), Started("t", "a"), BEGUN),
        Breaks(StoreUnavailable("gone")),
    ],
    ids=["the answer had begun", "the model had begun", "neither the book nor the model"],
)
async def test_what_is_no_lack_of_book_and_model_or_comes_too_late_stays_an_error(
    tiny: Services, answerer: Breaks
) -> None:
    events = NoContextAnswerer(answerer, tiny.threads, rag=True).answer(QUESTION)

    with pytest.raises(CitewellError):
        async for _ in events:
            pass
