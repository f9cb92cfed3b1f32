"""Searching the book without asking it: what the agent would be shown."""

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter, Request

from citewell.api.contract import Clock
from citewell.api.contracts.assistant import SearchRequest, SearchResponse, found
from citewell.api.contracts.workflow import RAGContext, SearchBookRequest, rag_context
from citewell.api.middleware.auth import require_scope
from citewell.api.middleware.callers import requested_book
from citewell.api.schemas import BookFilters
from citewell.ports import Library
from citewell.retrieve.search import Searcher, search_across


def search_router(library: Library, searcher: Searcher, clock: Clock) -> APIRouter:
    """Make `/search` and `/search_book`."""
    router = APIRouter(dependencies=[require_scope("ask")])

    @router.post("/search", tags=["assistant"])
    async def search(body: SearchRequest, request: Request) -> SearchResponse:
        """Find the passages about a question, best first, in one book or in several."""
        filters = (body.filters or BookFilters()).read()
        wanted: Sequence[str | None] = body.books or [body.book]
        named = dict.fromkeys(requested_book(request, book) for book in wanted)
        indexes = [await asyncio.to_thread(library.open, book) for book in named]
        hits = await search_across(searcher, indexes, body.query, filters=filters, top_k=body.top_k)
        return found(body.query, hits)

    @router.post("/search_book", tags=["workflow"])
    async def search_book(body: SearchBookRequest, request: Request) -> RAGContext:
        """Find the passages about a question, as a workflow would use them."""
        filters = (body.filters or BookFilters()).read()
        index = await asyncio.to_thread(library.open, requested_book(request, body.book))
        result = await searcher.search(index, body.query, filters=filters, top_k=body.topK)
        return rag_context(body.query, result.relevant, clock())

    return router
