"""A cache of question embeddings."""

from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock

from citewell.ports import Embedder, Vectors
from citewell.telemetry import CACHE


class CachedEmbedder:
    """An LRU cache with single-flight: concurrent requests for a question share one embedding."""

    def __init__(self, inner: Embedder, size: int) -> None:
        """Cache the last `size` questions of `inner`."""
        self.id, self.max_tokens = inner.id, inner.max_tokens
        self._inner = inner
        self._size = size
        self._cache: OrderedDict[str, Future[Vectors]] = OrderedDict()
        self._lock = Lock()

    @property
    def width(self) -> int:
        """The dimension of the vectors."""
        return self._inner.width

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text."""
        return self._inner.count_tokens(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages, one row each."""
        return self._inner.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question; it is shared and therefore read-only."""
        with self._lock:
            cached = self._cache.get(text)
            vector = cached or self._cache.setdefault(text, Future())
            self._cache.move_to_end(text)
            if len(self._cache) > self._size:
                self._cache.popitem(last=False)
        CACHE.labels("embeddings", "hit" if cached else "miss").inc()
        return vector.result() if cached else self._embed(text, vector)

    def _embed(self, text: str, vector: "Future[Vectors]") -> Vectors:
        try:
            embedding = self._inner.embed_query(text)
            embedding.setflags(write=False)
        except BaseException as error:
            with self._lock:
                self._cache.pop(text, None)
            vector.set_exception(error)
            raise
        vector.set_result(embedding)
        return embedding
