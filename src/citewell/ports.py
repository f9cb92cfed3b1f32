"""The interfaces between the stages of the pipeline, as protocols."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from citewell.conversation import (
    AnswerEntry,
    Caller,
    Feedback,
    FeedbackEntry,
    Message,
    ReaderVerdict,
    SharedKeyUser,
    Thread,
    ThreadRef,
    ThreadStart,
    ThreadState,
)
from citewell.domain import Answer, AnswerState, Chunk, Contents, Filters, Question, Verdict
from citewell.events import Event
from citewell.text.terms import TermStatistics
from citewell.text.vocabulary import Vocabulary

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Embeds text as unit vectors."""

    id: str
    """Identifies the model and every option that changes its vectors; stored in each index."""
    max_tokens: int

    @property
    def width(self) -> int:
        """The dimension of the vectors."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages, one row each."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Embed one question as a single vector."""
        ...


class Reranker(Protocol):
    """A cross-encoder that scores texts against a question."""

    id: str

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return a logit for each text: how well it answers the question."""
        ...


@dataclass(frozen=True, slots=True)
class EntailmentLogits:
    """The logits of a claim's relation to its evidence."""

    supported: float
    contradicted: float
    unsupported: float


class EntailmentScorer(Protocol):
    """A natural-language inference model for claims and evidence."""

    id: str

    def predict_entailment(self, pairs: Sequence[tuple[str, str]]) -> list[EntailmentLogits]:
        """Return the logits of each (claim, evidence) pair."""
        ...


@dataclass(frozen=True, slots=True)
class Rankings:
    """Chunk ids with scores from each search, best first; ties are ordered by id."""

    dense: Sequence[tuple[str, float]]
    keyword: Sequence[tuple[str, float]]


class Index(Protocol):
    """One revision of one book, ready to search."""

    book: str
    title: str
    revision: str
    statistics: TermStatistics
    contents: Contents
    vocabulary: Vocabulary

    def rank(self, text: str, vector: Vectors, *, filters: Filters, depth: int) -> Rankings:
        """Return the `depth` best chunks by dense and by keyword search."""
        ...

    def fetch(self, ids: Sequence[str]) -> Sequence[tuple[Chunk, Vectors]]:
        """Return chunks with their vectors, in the order of `ids`; skip unknown ids."""
        ...

    def read(self, ids: Sequence[str]) -> Sequence[Chunk]:
        """Return chunks in the order of `ids`; skip unknown ids."""
        ...

    def neighbours(self, chunk_id: str, count: int) -> Sequence[Chunk]:
        """Return a chunk with the `count` chunks before and after it; none if it is unknown."""
        ...

    def page(self, source_file: str) -> Sequence[Chunk]:
        """Return every chunk of a page, in order."""
        ...


class Library(Protocol):
    """The ingested books."""

    def open(self, book: str | None) -> Index:
        """Return the current revision of a book; `None` means the default or only book.

        Raises:
            UnknownBook: there is no such book, or `None` is ambiguous.
            IndexUnavailable: the index cannot be opened.
            IndexMismatch: another embedder built it.
        """
        ...


class Judge(Protocol):
    """Decides whether passages support a claim in prose."""

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        """Check one claim; `cited` are the indices of the passages it cites.

        The verdict's evidence supports the claim or, if it is contradicted, contradicts it.
        """
        ...


class ThreadStore(Protocol):
    """Stored conversations, called threads."""

    def turn(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Lock the thread for one question and its answer, so that turns never interleave."""
        ...

    async def resume(
        self, thread_id: str, *, owner: str | SharedKeyUser | None = None, contract: str = "chat"
    ) -> ThreadRef:
        """Return the thread in which to continue: a new one if the given one has ended."""
        ...

    async def find_by_alias(self, alias: str, *, owner: Caller, contract: str) -> str | None:
        """Return the id of the latest thread with that other id, if the caller may open it."""
        ...

    async def load(
        self,
        thread_id: str,
        *,
        last: int | None = None,
        owner: Caller = None,
        contract: str | None = None,
    ) -> Thread | None:
        """Return a thread with all of its messages, or only the `last` ones.

        If `contract` is given, the thread must be visible to it.
        """
        ...

    async def pending(self, thread_id: str, *, owner: Caller, contract: str) -> Thread | None:
        """Return a thread that has no messages yet because its first answer is in progress."""
        ...

    async def messages(
        self,
        thread_id: str,
        *,
        limit: int,
        offset: int,
        owner: Caller = None,
        contract: str | None = None,
    ) -> Sequence[Message] | None:
        """Return a page of messages, archived ones included; `None` if there is no thread."""
        ...

    async def answer(self, answer_id: str, *, owner: Caller = None) -> Message | None:
        """Return one finished answer with its record, from any thread."""
        ...

    async def unfinished(self, answer_id: str, *, owner: Caller = None) -> AnswerEntry | None:
        """Return the log entry of an answer that is in progress or was never finished."""
        ...

    def track_answer(self, entry: AnswerEntry) -> AbstractAsyncContextManager[None]:
        """Log an answer while it is in progress; remove the entry if it is aborted."""
        ...

    async def append(
        self,
        answer: Answer,
        messages: Sequence[Message],
        *,
        owner: str | None = None,
        contract: str = "chat",
        start: ThreadStart = ...,
    ) -> None:
        """Append a question and its answer, creating the thread if it is new."""
        ...

    async def mark_delivered(self, answer_id: str) -> None:
        """Record that the reader has received all of an answer; a flagged one stays flagged."""
        ...

    async def answers(
        self, *, state: AnswerState | None, limit: int, offset: int, owner: Caller = None
    ) -> Sequence[AnswerEntry]:
        """Return logged answers, optionally in one state, newest first."""
        ...

    async def list(
        self,
        *,
        limit: int,
        offset: int,
        owner: Caller = None,
        state: ThreadState | None = None,
        contract: str | None = None,
    ) -> Sequence[Thread]:
        """Return threads without their messages, most recently updated first.

        If `contract` is given, only the threads visible to it.
        """
        ...

    async def describe(
        self,
        thread_id: str,
        summary: str,
        *,
        owner: Caller = None,
        by_hand: bool = True,
        contract: str | None = None,
    ) -> bool:
        """Set a thread's summary; return `False` if there is no such thread.

        A summary written by hand is never replaced by a generated one.
        """
        ...

    async def set_metadata(
        self,
        thread_id: str,
        metadata: Mapping[str, Any],
        *,
        owner: Caller = None,
        contract: str | None = None,
    ) -> bool:
        """Replace a thread's client metadata; return `False` if there is no such thread."""
        ...

    async def delete(
        self, thread_id: str, *, owner: Caller = None, contract: str | None = None
    ) -> bool:
        """Delete a thread and everything in it; return `False` if there was none."""
        ...


class FeedbackStore(Protocol):
    """Readers' feedback on answers."""

    async def save(self, feedback: Feedback, *, owner: Caller = None) -> None:
        """Store feedback, replacing any earlier feedback on the same answer.

        Raises:
            UnknownAnswer: there is no answer with that id that the caller may see.
        """
        ...

    async def list(
        self, *, verdict: ReaderVerdict | None, limit: int, offset: int
    ) -> Sequence[FeedbackEntry]:
        """Return feedback, optionally with one verdict, newest first."""
        ...


class Answerer(Protocol):
    """The entry point of the pipeline."""

    def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield events, the last of which is a `Done`, or raise a `CitewellError`."""
        ...
