"""How long each stage of a search takes, measured around its ports, and the peak of memory."""

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
"""The rest is what is done between the ports: fusing, cutting sentences, scoring."""


class Stopwatch:
    """The seconds that each stage of one question has taken."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._spent: dict[str, float] = defaultdict(float)
        self._begun = perf_counter()

    def restart(self) -> None:
        """Begin a question."""
        self._spent.clear()
        self._begun = perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add what is done within to a stage."""
        begun = perf_counter()
        try:
            yield
        finally:
            self._spent[name] += perf_counter() - begun

    def read(self) -> dict[str, float]:
        """Return the seconds of every stage since the question was begun."""
        total = perf_counter() - self._begun
        known = {name: self._spent[name] for name in (EMBEDDING, SEARCH, READING)}
        return {**known, REST: max(0.0, total - sum(known.values())), TOTAL: total}


class TimedEmbedder:
    """An embedder whose questions are timed."""

    def __init__(self, inner: Embedder, watch: Stopwatch) -> None:
        """Time `inner` by `watch`."""
        self.id, self.width, self.max_tokens = inner.id, inner.width, inner.max_tokens
        self._inner = inner
        self._watch = watch

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count tokens as the model sees them."""
        return self._inner.count_tokens(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages of the book, one row each."""
        return self._inner.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        """Embed one question as a single vector."""
        with self._watch.stage(EMBEDDING):
            return self._inner.embed_query(text)


class TimedReranker:
    """A reader that is timed."""

    def __init__(self, inner: Reranker, watch: Stopwatch) -> None:
        """Time `inner` by `watch`."""
        self.id = inner.id
        self._inner = inner
        self._watch = watch

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers the question."""
        with self._watch.stage(READING):
            return self._inner.score(question, texts)


class TimedIndex:
    """An index whose searches are timed."""

    def __init__(self, inner: Index, watch: Stopwatch) -> None:
        """Time `inner` by `watch`."""
        self.book, self.title, self.revision = inner.book, inner.title, inner.revision
        self.statistics, self.contents = inner.statistics, inner.contents
        self.vocabulary = inner.vocabulary
        self._inner = inner
        self._watch = watch

    def rank(self, text: str, vector: Vectors, *, filters: Filters, depth: int) -> Rankings:
        """Rank chunks by meaning and by keywords."""
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
        """Return a chunk with those around it."""
        with self._watch.stage(SEARCH):
            return self._inner.neighbours(identity, reach)

    def page(self, source_file: str) -> Sequence[Chunk]:
        """Return every chunk of one page."""
        with self._watch.stage(SEARCH):
            return self._inner.page(source_file)


def forget_peak() -> bool:
    """Begin the peak of memory anew; `False` where only Linux could."""
    try:
        Path("/proc/self/clear_refs").write_text("5", "utf-8")
    except OSError:
        return False
    return True


def peak_mb() -> float:
    """Return the most memory this process has held, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024))
