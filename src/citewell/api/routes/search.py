"""Search routes, which return passages without an answer."""

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter, Request

from citewell.api.contract import Clock
from citewell.api.contracts.assistant import SearchRequest, SearchResponse, to_search_response
from citewell.api.contracts.workflow import RAGContext, SearchBookRequest, rag_context
from citewell.api.middleware.auth import require_scope
from citewell.api.middleware.callers import requested_book
from citewell.api.schemas import BookFilters
from citewell.ports import Library
from citewell.retrieve.search import Searcher, search_across


def search_router(library: Library, searcher: Searcher, clock: Clock) -> APIRouter:
    """Return the router of `/search` and `/search_book`."""
    router = APIRouter(dependencies=[require_scope("ask")])

    @router.post("/search", tags=["assistant"])
    async def search(body: SearchRequest, request: Request) -> SearchResponse:
        """Search one or several books; the most relevant passages come first."""
        filters = (body.filters or BookFilters()).to_filters()
        names: Sequence[str | None] = body.books or [body.book]
        books = dict.fromkeys(requested_book(request, name) for name in names)
        indexes = [await asyncio.to_thread(library.open, book) for book in books]
        hits = await search_across(searcher, indexes, body.query, filters=filters, top_k=body.top_k)
        return to_search_response(body.query, hits)

    @router.post("/search_book", tags=["workflow"])
    async def search_book(body: SearchBookRequest, request: Request) -> RAGContext:
        """Search one book, with the result in the format of the workflow contract."""
        filters = (body.filters or BookFilters()).to_filters()
        index = await asyncio.to_thread(library.open, requested_book(request, body.book))
        result = await searcher.search(index, body.query, filters=filters, top_k=body.topK)
        return rag_context(body.query, result.relevant, clock())

    return router
