"""Timing of the stages of a search, and the peak memory."""

import resource
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from citewell.domain import Chunk, Filters
from citewell.ports import Embedder, Index, Rankings, Reranker, Vectors

EMBEDDING = "query embedding"
SEARCH = "index search"
READING = "reading"
REST = "rest"
TOTAL = "total"
STAGES = (EMBEDDING, SEARCH, READING, REST, TOTAL)
"""The rest is fusion, sentence splitting and scoring."""


class Stopwatch:
    """The seconds spent in each stage of a question."""

    def __init__(self) -> None:
        """Start with no measurements."""
        self._spent: dict[str, float] = defaultdict(float)
        self._begun = perf_counter()

    def restart(self) -> None:
        """Start a question."""
        self._spent.clear()
        self._begun = perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the duration of the body to a stage."""
        begun = perf_counter()
        try:
            yield
        finally:
            self._spent[name] += perf_counter() - begun

    def read(self) -> dict[str, float]:
        """Return the seconds of every stage since the start of the question."""
        total = perf_counter() - self._begun
        known = {name: self._spent[name] for name in (EMBEDDING, SEARCH, READING)}
        return {**known, REST: max(0.0, total - sum(known.values())), TOTAL: total}


class TimedEmbedder:
    """An embedder with timed questions."""

    def __init__(self, inner: Embedder, watch: Stopwatch) -> None:
        """Time `inner` with `watch`."""
        self.id, self.width, self.max_tokens = inner.id, inner.width, inner.max_tokens
        self._inner = inner
        self._watch = watch

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text."""
        return self._inner.count_tokens(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages, one row each."""
        return self._inner.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        """Embed one question as a single vector."""
        with self._watch.stage(EMBEDDING):
            return self._inner.embed_query(text)


class TimedReranker:
    """A reranker with timing."""

    def __init__(self, inner: Reranker, watch: Stopwatch) -> None:
        """Time `inner` with `watch`."""
        self.id = inner.id
        self._inner = inner
        self._watch = watch

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers the question."""
        with self._watch.stage(READING):
            return self._inner.score(question, texts)


class TimedIndex:
    """An index with timed searches."""

    def __init__(self, inner: Index, watch: Stopwatch) -> None:
        """Time `inner` with `watch`."""
        self.book, self.title, self.revision = inner.book, inner.title, inner.revision
        self.statistics, self.contents = inner.statistics, inner.contents
        self.vocabulary = inner.vocabulary
        self._inner = inner
        self._watch = watch

    def rank(self, text: str, vector: Vectors, *, filters: Filters, depth: int) -> Rankings:
        """Return both rankings."""
        with self._watch.stage(SEARCH):
            return self._inner.rank(text, vector, filters=filters, depth=depth)

    def fetch(self, ids: Sequence[str]) -> Sequence[tuple[Chunk, Vectors]]:
        """Return chunks with their vectors."""
        with self._watch.stage(SEARCH):
            return self._inner.fetch(ids)

    def read(self, ids: Sequence[str]) -> Sequence[Chunk]:
        """Return chunks."""
        with self._watch.stage(SEARCH):
            return self._inner.read(ids)

    def neighbours(self, identity: str, reach: int) -> Sequence[Chunk]:
        """Return a chunk with its neighbours."""
        with self._watch.stage(SEARCH):
            return self._inner.neighbours(identity, reach)

    def page(self, source_file: str) -> Sequence[Chunk]:
        """Return every chunk of one page."""
        with self._watch.stage(SEARCH):
            return self._inner.page(source_file)


def forget_peak() -> bool:
    """Reset the peak memory; return `False` except on Linux."""
    try:
        Path("/proc/self/clear_refs").write_text("5", "utf-8")
    except OSError:
        return False
    return True


def peak_mb() -> float:
    """Return the peak memory of this process in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024))
