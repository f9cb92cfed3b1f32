"""Citewell as a Python library."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from citewell.answer.record import Receipt
from citewell.answer.replay import Replay
from citewell.domain import Answer, Chunk, Contents, Filters, Hit, Question
from citewell.events import Done, Event
from citewell.ingest.pipeline import Progress
from citewell.questions.toc import SECTION_PAGE_SIZE, OpenedSection, open_section
from citewell.settings import read_settings
from citewell.wiring import Services, ingest_book, wire_services


class Citewell:
    """A book that answers questions about itself."""

    def __init__(self, services: Services, book: str | None) -> None:
        """Use `Citewell.open` instead."""
        self._services = services
        self._book = book

    @classmethod
    async def open(
        cls,
        path: str | Path | None = None,
        *,
        book: str | None = None,
        data_dir: str | Path | None = None,
        progress: Progress = lambda *_: None,
    ) -> Self:
        """Open a book: ingest the folder at `path` if it changed, or use one ingested before.

        Raises:
            IngestError: the folder cannot be read as a book.
            UnknownBook: no path was given and there is no such book.
        """
        settings = read_settings(**({"data_dir": Path(data_dir)} if data_dir else {}))
        services = wire_services(settings)
        if path is not None:
            report = ingest_book(
                settings, Path(path), services.embedder, book=book, progress=progress
            )
            book = report.book
        # Named from here on: “the only book” is another question once a second one is ingested.
        book = services.library.open(book).book
        await services.__aenter__()
        return cls(services, book)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close files and connections."""
        await self._services.__aexit__(None, None, None)

    async def ask(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        filters: Filters | None = None,
        selected_text: str | None = None,
    ) -> Answer:
        """Return the whole checked answer; pass its `thread_id` on to ask a follow-up.

        With `selected_text`, the answer comes from that text alone.
        """
        answer: Answer | None = None
        async for event in self.stream(
            question, thread_id=thread_id, filters=filters, selected_text=selected_text
        ):
            if isinstance(event, Done):
                answer = event.answer
        assert answer is not None, "the pipeline ended without `Done`"
        return answer

    def stream(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        filters: Filters | None = None,
        selected_text: str | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Return the events of an answer as it is made; each sentence after its check."""
        return self._services.answerer.answer(
            Question(
                text=question,
                book=self._book,
                thread_id=thread_id,
                filters=filters or Filters(),
                selected_text=selected_text,
            )
        )

    async def receipt(self, answer_id: str) -> Receipt:
        """Return the full record of an answer by its id.

        Raises:
            UnknownAnswer: there is none of that id, or its conversation was deleted.
        """
        return await self._services.receipts.read(answer_id)

    async def replay(self, answer_id: str) -> Replay:
        """Search and check again for an answer, against the book as it is now.

        Raises:
            UnknownAnswer: there is none of that id, or its conversation was deleted.
        """
        return await self._services.receipts.replay(answer_id)

    async def search(
        self, question: str, *, top_k: int = 5, filters: Filters | None = None
    ) -> Sequence[Hit]:
        """Return the passages nearest to a question, best first."""
        index = self._services.library.open(self._book)
        found = await self._services.searcher.search(
            index, question, filters=filters or Filters(), top_k=top_k
        )
        return found.hits

    async def table_of_contents(self) -> Contents:
        """Return how the book is built: its headings, figures and definitions."""
        return self._services.library.open(self._book).contents

    async def read_section(
        self, section: str, *, start: int = 1, limit: int = SECTION_PAGE_SIZE
    ) -> OpenedSection:
        """Return passages of a section and of all below it; it is named by its id or its title.

        Raises:
            UnknownPage: there is no such section, or there are several.
        """
        index = self._services.library.open(self._book)
        return open_section(index, section, start=start, limit=limit)

    async def neighbours(self, chunk_id: str, *, reach: int = 1) -> Sequence[Chunk]:
        """Return a passage with the `reach` before and after it, in reading order."""
        return self._services.library.open(self._book).neighbours(chunk_id, reach)
