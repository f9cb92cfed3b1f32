"""Citewell with its Python API and embedded embedder, as in its README."""

import asyncio
from pathlib import Path

from protocol import TOP_K, Passage, Search, counted, measure

from citewell import Citewell


def ingest(book: Path, store: Path) -> Search:
    """Ingest the pages and return the search."""
    loop = asyncio.Runner()
    opened = loop.run(Citewell.open(book, data_dir=store))

    def search(question: str) -> list[Passage]:
        hits = loop.run(opened.search(question, top_k=TOP_K))
        return [(hit.chunk.source_file, hit.chunk.text) for hit in hits]

    return search


if __name__ == "__main__":
    from citewell.models.cross_encoder import CrossEncoder

    CrossEncoder.score = counted(CrossEncoder.score)
    measure(ingest)
