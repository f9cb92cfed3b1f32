"""Citewell as a Python library."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
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
    """A book to ask questions about."""

    def __init__(self, services: Services, book: str | None) -> None:
        """Answer about `book` with these services; `Citewell.open` builds both."""
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
        """Open a book: ingest the one at `path` if it changed, or use a previously ingested one.

        Raises:
            IngestError: The path cannot be read as a book.
            UnknownBook: No path was given and there is no such book.
        """
        settings = read_settings(**({"data_dir": Path(data_dir)} if data_dir else {}))
        services = wire_services(settings)
        if path is not None:
            report = ingest_book(
                settings, Path(path), services.embedder, book=book, progress=progress
            )
            book = report.book
        # Keep the name, since `None` becomes ambiguous once a second book is ingested.
        book = services.library.open(book).book
        await services.__aenter__()
        return cls(services, book)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all files and connections."""
        await self._services.__aexit__(None, None, None)

    async def ask(
        self,
        question: str,
        *,
        thread_id: str | None = None,
        filters: Filters | None = None,
        selected_text: str | None = None,
    ) -> Answer:
        """Return the complete verified answer; pass its `thread_id` to ask a follow-up.

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
        """Return the events of an answer; each sentence is verified before it is streamed."""
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
        """Return the full record of an answer.

        Raises:
            UnknownAnswer: The answer does not exist, or its conversation was deleted.
        """
        return await self._services.receipts.read(answer_id)

    async def replay(self, answer_id: str) -> Replay:
        """Repeat the search and verification of an answer against the current book.

        Raises:
            UnknownAnswer: The answer does not exist, or its conversation was deleted.
        """
        return await self._services.receipts.replay(answer_id)

    async def search(
        self, question: str, *, top_k: int = 5, filters: Filters | None = None
    ) -> Sequence[Hit]:
        """Return the passages most relevant to a question, best first."""
        index = self._services.library.open(self._book)
        result = await self._services.searcher.search(
            index, question, filters=filters or Filters(), top_k=top_k
        )
        return result.hits

    async def table_of_contents(self) -> Contents:
        """Return the headings, figures and definitions of the book."""
        return self._services.library.open(self._book).contents

    async def read_section(
        self, section: str, *, start: int = 1, limit: int = SECTION_PAGE_SIZE
    ) -> OpenedSection:
        """Return passages of a section, given by id or title, and of its subsections.

        Raises:
            UnknownPage: There is no such section, or the title is ambiguous.
        """
        index = self._services.library.open(self._book)
        return open_section(index, section, start=start, limit=limit)

    async def neighbours(self, chunk_id: str, *, reach: int = 1) -> Sequence[Chunk]:
        """Return a passage with the `reach` passages before and after it, in reading order."""
        return self._services.library.open(self._book).neighbours(chunk_id, reach)
