"""Books that are answered for in their own way, declared in the settings file."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from citewell.domain import Question
from citewell.errors import CitewellError
from citewell.events import Event
from citewell.options import AnswerOptions
from citewell.ports import Answerer, Library


class BookOptions(BaseModel):
    """What is different for one book; what is left out is as everywhere."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")
    """The book's name, as `citewell books` lists it."""
    model: str | None = None
    """Who writes the answers about it."""
    instructions: str = Field("", max_length=8_000)
    """What a language model is told besides all other instructions."""
    target_risk: float | None = Field(None, gt=0, lt=1)
    """The share of answers about it that may be wrong."""
    show_partly: bool | None = None
    """Whether claims that it supports only in part are shown."""
    unsupported: Literal["withhold", "mark", "allow"] | None = None
    """What happens to claims that it does not support."""
    context_tokens: int | None = Field(None, ge=500, le=1_000_000)
    """How many tokens the passages given to the model may have."""

    def answering(self, general: AnswerOptions) -> AnswerOptions:
        """Return the general options with this book's in their place."""
        names = ("target_risk", "show_partly", "unsupported", "context_tokens")
        own: dict[str, Any] = {n: v for n in names if (v := getattr(self, n)) is not None}
        told = [part for part in (general.instructions, self.instructions) if part]
        return general.model_copy(update=own | {"instructions": "\n\n".join(told)})


def require_unique_names(books: tuple[BookOptions, ...]) -> tuple[BookOptions, ...]:
    """Return the books back if each is named once.

    Raises:
        ValueError: one is named twice.
    """
    names = [one.name for one in books]
    if len(set(names)) < len(names):
        raise ValueError("one book is named twice")
    return books


class BookRouter:
    """Passes each question on to who answers for its book."""

    def __init__(self, general: Answerer, named: Mapping[str, Answerer], library: Library) -> None:
        """Ask one of `named` for the books of those names, and `general` for all others."""
        self._general = general
        self._named = named
        self._library = library

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer as it is set for the book."""
        try:
            index = await asyncio.to_thread(self._library.open, question.book)
            answerer = self._named.get(index.book, self._general)
        except CitewellError:
            answerer = self._general  # it meets the same, and knows what can be said without
        async with aclosing(answerer.answer(question)) as events:
            async for event in events:
                yield event
