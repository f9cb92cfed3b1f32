"""The seams: what each stage needs from the next, without saying who provides it."""

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
    """Turns text into unit vectors."""

    id: str
    """Names the model and everything that changes its vectors; recorded in each index."""
    max_tokens: int

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count tokens as the model sees them."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages of the book, one row each."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Embed one question as a single vector."""
        ...


class Reranker(Protocol):
    """Reads a question and a text together."""

    id: str

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers the question; higher is better, around 0 undecided."""
        ...


@dataclass(frozen=True, slots=True)
class EntailmentLogits:
    """How a claim stands to evidence, in logits."""

    supported: float
    contradicted: float
    unsupported: float


class EntailmentScorer(Protocol):
    """Reads a claim and evidence together."""

    id: str

    def predict_entailment(self, pairs: Sequence[tuple[str, str]]) -> list[EntailmentLogits]:
        """Say of each (claim, evidence) how likely the evidence says what the claim says."""
        ...


@dataclass(frozen=True, slots=True)
class Rankings:
    """Chunk ids with scores, best first, by each way of searching; those that tie, by id."""

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
        """Rank chunks by meaning and by keywords, at most `depth` each."""
        ...

    def fetch(self, ids: Sequence[str]) -> Sequence[tuple[Chunk, Vectors]]:
        """Return chunks with their vectors, in the order of `ids`; unknown ids are left out."""
        ...

    def read(self, ids: Sequence[str]) -> Sequence[Chunk]:
        """Return chunks in the order of `ids`; unknown ids are left out."""
        ...

    def neighbours(self, identity: str, reach: int) -> Sequence[Chunk]:
        """Return a chunk with the `reach` before and after it in the book; nothing if unknown."""
        ...

    def page(self, source_file: str) -> Sequence[Chunk]:
        """Return every chunk of one page, in order."""
        ...


class Library(Protocol):
    """Every ingested book."""

    def open(self, book: str | None) -> Index:
        """Return the current revision of a book; of the only one if `book` is `None`.

        Raises:
            UnknownBook: there is no such book, or the choice is not clear.
            IndexUnavailable: the index cannot be opened.
            IndexMismatch: another embedder built it.
        """
        ...


class Judge(Protocol):
    """Decides whether passages support a claim made in words; code and tables are compared."""

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        """Check one claim; `cited` are the indices of the passages it names.

        The evidence is that for the claim or, if it is contradicted, that against it.
        """
        ...


class ThreadStore(Protocol):
    """Conversations that last."""

    def turn(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Hold the thread for one question and its answer, so that turns never interleave."""
        ...

    async def resume(
        self, thread_id: str, *, owner: str | SharedKeyUser | None = None, contract: str = "chat"
    ) -> ThreadRef:
        """Return where a conversation goes on: in another one, if it is over."""
        ...

    async def load(
        self,
        thread_id: str,
        *,
        last: int | None = None,
        owner: Caller = None,
        contract: str | None = None,
    ) -> Thread | None:
        """Read a thread, with its last messages only if `last` is given.

        With a `contract`, only one that it shows.
        """
        ...

    async def begun(self, thread_id: str, *, owner: Caller, contract: str) -> Thread | None:
        """Return a thread whose first answer is being made, and which has no message yet."""
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
        """Read messages from the first one on, also archived ones; `None` if there is no thread."""
        ...

    async def answer(self, answer_id: str, *, owner: Caller = None) -> Message | None:
        """Read one finished answer with its record, whichever thread it stands in."""
        ...

    async def unfinished(self, answer_id: str, *, owner: Caller = None) -> AnswerEntry | None:
        """Read the log's line of an answer that is being made, or was never finished."""
        ...

    def answering(self, entry: AnswerEntry) -> AbstractAsyncContextManager[None]:
        """Log an answer while it is made; one that is given up leaves nothing behind."""
        ...

    async def append(
        self,
        answer: Answer,
        messages: Sequence[Message],
        *,
        owner: str | None = None,
        contract: str = "chat",
        beginning: ThreadStart = ...,
    ) -> None:
        """Add a question and its answer, creating the thread if it is new."""
        ...

    async def deliver(self, answer_id: str) -> None:
        """Note that the reader has got all of an answer; one that is flagged stays so."""
        ...

    async def answers(
        self, *, state: AnswerState | None, limit: int, offset: int, owner: Caller = None
    ) -> Sequence[AnswerEntry]:
        """Return logged answers, in one state if it is named, the newest first."""
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
        """Return threads without their messages, the newest activity first.

        With a `contract`, only those that it shows.
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
        """Return a thread the summary that someone wrote for it; `False` if there is none.

        One that was written by hand stays; no other replaces it.
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
        """Keep what a client says about a thread, in place of what it said; `False` if none is."""
        ...

    async def delete(
        self, thread_id: str, *, owner: Caller = None, contract: str | None = None
    ) -> bool:
        """Delete a thread and all that belongs to it; `False` if there was none."""
        ...


class FeedbackStore(Protocol):
    """What readers think of answers."""

    async def save(self, feedback: Feedback, *, owner: Caller = None) -> None:
        """Keep what a reader thinks, in place of what they thought of that answer before.

        Raises:
            UnknownAnswer: there is none of that id that the caller may see.
        """
        ...

    async def list(
        self, *, verdict: ReaderVerdict | None, limit: int, offset: int
    ) -> Sequence[FeedbackEntry]:
        """Return what readers think, of one verdict if it is named, the newest first."""
        ...


class Answerer(Protocol):
    """The one way into the pipeline."""

    def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield events ending in exactly one `Done`, or raise a `CitewellError`."""
        ...
