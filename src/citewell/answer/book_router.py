"""Answer options per book, declared in the settings file."""

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
    """Options of one book; those left out fall back to the general ones."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")
    """The book's name, as `citewell books` lists it."""
    model: str | None = None
    """The model that writes answers about the book."""
    instructions: str = Field("", max_length=8_000)
    """Additional instructions for a language model."""
    target_risk: float | None = Field(None, gt=0, lt=1)
    """Accepted share of wrong answers."""
    show_partly: bool | None = None
    """Whether claims that the book supports only in part are shown."""
    unsupported: Literal["quote", "withhold", "mark", "allow"] | None = None
    """What happens to claims that the book does not support."""
    context_tokens: int | None = Field(None, ge=500, le=1_000_000)
    """Token budget for the passages given to the model."""

    def answer_options(self, general: AnswerOptions) -> AnswerOptions:
        """Return the general options, overridden by those of this book."""
        names = ("target_risk", "show_partly", "unsupported", "context_tokens")
        overrides: dict[str, Any] = {n: v for n in names if (v := getattr(self, n)) is not None}
        instructions = [part for part in (general.instructions, self.instructions) if part]
        return general.model_copy(update=overrides | {"instructions": "\n\n".join(instructions)})


def require_unique_names(books: tuple[BookOptions, ...]) -> tuple[BookOptions, ...]:
    """Return the books unchanged.

    Raises:
        ValueError: two have the same name.
    """
    names = [book.name for book in books]
    if len(set(names)) < len(names):
        raise ValueError("two books have the same name")
    return books


class BookRouter:
    """Routes each question to the answerer of its book."""

    def __init__(
        self, default: Answerer, by_book: Mapping[str, Answerer], library: Library
    ) -> None:
        """Use `by_book` for the books it names, and `default` for all others."""
        self._default = default
        self._by_book = by_book
        self._library = library

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Answer with the options of the book."""
        try:
            index = await asyncio.to_thread(self._library.open, question.book)
            answerer = self._by_book.get(index.book, self._default)
        except CitewellError:
            answerer = self._default  # meets the same error, and turns it into events
        async with aclosing(answerer.answer(question)) as events:
            async for event in events:
                yield event
