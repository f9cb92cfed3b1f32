"""The application: routes around one set of services."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi_offline import FastAPIOffline

from quire.api.answers import answers_router
from quire.api.contracts import CONTRACTS
from quire.api.conversations import threads_router
from quire.api.guards import BodyLimit, RequestId
from quire.api.health import Check, health_router
from quire.api.mount import mount
from quire.api.page import page_router
from quire.api.problems import add_handlers
from quire.api.reading import reading_router
from quire.api.receipts import receipts_router
from quire.api.structure import structure_router
from quire.compose import Services
from quire.errors import EmbedderUnreachable
from quire.threads.lifecycle import kept_in_order
from quire.version import __version__


def create_app(services: Services) -> FastAPI:
    """Build the HTTP application; its start-up opens the services, its end closes them."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with services, kept_in_order(services.threads, services.settings.threads):
            # The first question should not pay for loading the model.
            # A server that is down now may be back by then, and `/ready` says whether it is.
            with suppress(EmbedderUnreachable):
                await asyncio.to_thread(services.embedder.embed_query, "ready")
            yield

    app: FastAPI = FastAPIOffline(
        title="Quire",
        version=__version__,
        summary="Answers about a book, from the book alone, with every sentence proven.",
        lifespan=lifespan,
    )
    add_handlers(app)
    for contract in CONTRACTS:
        app.include_router(mount(contract, services.answerer))
    app.include_router(threads_router(services.threads))
    app.include_router(answers_router(services.threads))
    app.include_router(receipts_router(services.receipts))
    app.include_router(reading_router(services.library))
    app.include_router(structure_router(services.library))
    app.include_router(health_router(_checks(services)))
    app.include_router(page_router())
    settings = services.settings.serve
    app.add_middleware(BodyLimit, limit=settings.max_body_bytes)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
        )
    app.add_middleware(RequestId)
    return app


def _checks(services: Services) -> dict[str, Check]:
    async def index() -> None:
        services.library.open(None)

    async def model() -> None:
        await asyncio.to_thread(services.embedder.embed_query, "ready")

    return {"index": index, "store": services.threads.ping, "embedder": model}
