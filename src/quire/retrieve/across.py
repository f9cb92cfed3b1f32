"""One question to several books: each is searched for itself, and the best of all are given."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from quire.domain import Filters, Hit
from quire.ports import Index
from quire.retrieve.search import Searcher


async def search_across(
    searcher: Searcher, indexes: Sequence[Index], question: str, *, filters: Filters, top_k: int
) -> tuple[Hit, ...]:
    """Return the `top_k` best passages of all books that say something to the question.

    Similarity is calibrated, a probability, and so it can be compared from book to book; the ranks
    and scores of the searches behind it cannot.
    """
    found = await asyncio.gather(
        *(searcher.search(index, question, filters=filters, top_k=top_k) for index in indexes)
    )
    hits = [hit for result in found for hit in result.relevant]
    hits.sort(key=lambda hit: (-hit.similarity, hit.rank, hit.chunk.id))
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits[:top_k], start=1))
