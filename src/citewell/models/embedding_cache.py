"""Embeddings of questions, remembered."""

from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock

from citewell.ports import Embedder, Vectors
from citewell.telemetry import CACHE


class CachedEmbedder:
    """An embedder that embeds a question once, also if several threads ask for it at once."""

    def __init__(self, inner: Embedder, size: int) -> None:
        """Remember the last `size` questions of `inner`."""
        self.id, self.max_tokens = inner.id, inner.max_tokens
        self._inner = inner
        self._size = size
        self._known: OrderedDict[str, Future[Vectors]] = OrderedDict()
        self._lock = Lock()

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        return self._inner.width

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count tokens as the model sees them."""
        return self._inner.count_tokens(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages of the book, one row each."""
        return self._inner.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question; it is shared, so it cannot be written to."""
        with self._lock:
            known = self._known.get(text)
            vector = known or self._known.setdefault(text, Future())
            self._known.move_to_end(text)
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        CACHE.labels("embeddings", "hit" if known else "miss").inc()
        return vector.result() if known else self._embed(text, vector)

    def _embed(self, text: str, vector: "Future[Vectors]") -> Vectors:
        try:
            made = self._inner.embed_query(text)
            made.setflags(write=False)
        except BaseException as error:
            with self._lock:
                self._known.pop(text, None)
            vector.set_exception(error)
            raise
        vector.set_result(made)
        return made
