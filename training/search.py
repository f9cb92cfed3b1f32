"""Finds the passages of a book that are nearest to a text, by words and by meaning."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.text.terms import terms

K1, B = 1.2, 0.75
FUSION = 20
"""How much less a later rank counts when the two orders are joined."""


class Words:
    """Ranks texts by BM25."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Count the terms of every text."""
        self._count = len(texts)
        counted = [terms(text) for text in texts]
        lengths = np.array([len(found) for found in counted], np.float32)
        norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1)) if len(texts) else lengths
        postings: dict[str, tuple[list[int], list[float]]] = {}
        for place, found in enumerate(counted):
            for term in set(found):
                times = found.count(term)
                places, weights = postings.setdefault(term, ([], []))
                places.append(place)
                weights.append(times * (K1 + 1) / (times + norm[place]))
        self._postings = {
            term: (np.array(places), np.array(weights, np.float32))
            for term, (places, weights) in postings.items()
        }

    def idf(self, term: str) -> float:
        """Return how rare a term is."""
        known = len(self._postings[term][0]) if term in self._postings else 0
        return float(np.log(1 + (self._count - known + 0.5) / (known + 0.5)))

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return the score of every text."""
        found = np.zeros(self._count, np.float32)
        for term in set(terms(query)):
            if term in self._postings:
                places, weights = self._postings[term]
                found[places] += self.idf(term) * weights
        return found

    def nearest(self, query: str, count: int, *, but: Sequence[int] = ()) -> list[int]:
        """Return the places of the best texts that share a term with the query."""
        found = self.scores(query)
        found[list(but)] = 0
        return [int(p) for p in np.argsort(-found, kind="stable")[:count] if found[p] > 0]


class Shelf:
    """The passages of one book, ranked by words and, where its weights are, by the embedder."""

    def __init__(self, texts: Sequence[str], cache: Path | None) -> None:
        """Keep the vectors of the texts in `cache`; `None` ranks by words alone."""
        self._texts = texts
        self._cache = cache
        self.words = Words(texts)

    @cached_property
    def _vectors(self) -> NDArray[np.float32] | None:
        embedder = _embedder(self._cache)
        if embedder is None or self._cache is None:
            return None
        key = hashlib.sha256("\0".join(self._texts).encode()).hexdigest()[:16]
        stored = self._cache / f"vectors-{key}.npy"
        if not stored.exists():
            np.save(stored, embedder.embed_passages(list(self._texts)))
        return np.load(stored)

    def nearest(self, query: str, count: int, *, but: Sequence[int] = ()) -> list[int]:
        """Return the places of the nearest passages, both orders joined."""
        orders = [self.words.nearest(query, 50, but=but)]
        if self._vectors is not None:
            near = np.argsort(-(self._vectors @ _embedder(self._cache).embed_query(query)))
            orders.append([int(place) for place in near[:50] if place not in but])
        fused: dict[int, float] = {}
        for order in orders:
            for rank, place in enumerate(order):
                fused[place] = fused.get(place, 0.0) + 1 / (FUSION + rank)
        return sorted(fused, key=lambda place: (-fused[place], place))[:count]


_LOADED: dict[Path, object] = {}


def _embedder(folder: Path | None):
    """Return the product's embedder, or `None` without its weights."""
    if folder is None:
        return None
    if folder not in _LOADED:
        from citewell.errors import EmbedderUnavailable
        from citewell.models.embedder import GraniteEmbedder

        folder.mkdir(parents=True, exist_ok=True)
        embedder = GraniteEmbedder(folder)
        try:
            embedder.embed_query("ready?")
        except EmbedderUnavailable:
            embedder = None
        _LOADED[folder] = embedder
    return _LOADED[folder]
