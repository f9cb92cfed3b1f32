"""Searching the book without asking it: what the agent would be shown."""

from fastapi import APIRouter

from quire.api.contract import Clock
from quire.api.contracts.assistant import SearchRequest, SearchResponse, found
from quire.api.contracts.workflow import RAGContext, SearchBookRequest, rag_context
from quire.api.door import needs
from quire.api.fields import BookFilters
from quire.ports import Library
from quire.retrieve.search import Searcher


def search_router(library: Library, searcher: Searcher, clock: Clock) -> APIRouter:
    """Make `/search` and `/search_book`."""
    router = APIRouter(dependencies=[needs("ask")])

    @router.post("/search", tags=["assistant"])
    async def search(body: SearchRequest) -> SearchResponse:
        """Find the passages nearest to a question, best first."""
        filters = (body.filters or BookFilters()).read()
        index = library.open(body.book)
        result = await searcher.search(index, body.query, filters=filters, top_k=body.top_k)
        return found(body.query, result.hits)

    @router.post("/search_book", tags=["workflow"])
    async def search_book(body: SearchBookRequest) -> RAGContext:
        """Find the passages nearest to a question, as a workflow would use them."""
        filters = (body.filters or BookFilters()).read()
        index = library.open(body.book)
        result = await searcher.search(index, body.query, filters=filters, top_k=body.topK)
        return rag_context(body.query, result.hits, clock())

    return router
