"""The application: routes around one set of services."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi_offline import FastAPIOffline

from quire.answer.observed import ObservedAnswerer
from quire.api.answers import answers_router
from quire.api.contracts import CONTRACTS
from quire.api.conversations import threads_router
from quire.api.draining import draining
from quire.api.guards import BodyLimit, RequestId
from quire.api.health import Check, health_router
from quire.api.mount import mount
from quire.api.observed import Observed, metrics_router
from quire.api.page import page_router
from quire.api.problems import add_handlers
from quire.api.reading import reading_router
from quire.api.receipts import receipts_router
from quire.api.structure import structure_router
from quire.api.wire import streams_router
from quire.compose import Services, build_journal
from quire.errors import EmbedderUnreachable
from quire.settings import ServeOptions
from quire.streams.live import Streams
from quire.telemetry.spans import close_tracing, open_tracing
from quire.version import __version__


def create_app(services: Services, counted_in: str | None = None) -> FastAPI:
    """Build the HTTP application; its start-up opens the services, its end closes them.

    Several workers have a folder that they are `counted_in` together, for `/metrics`.
    """
    settings = services.settings
    streams = _streams(services)
    answerer = ObservedAnswerer(services.answerer, words=settings.log.questions)
    provider = open_tracing(settings.tracing)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with services, streams:
            # The first question should not pay for loading the model.
            # A server that is down now may be back by then, and `/ready` says whether it is.
            with suppress(EmbedderUnreachable):
                await asyncio.to_thread(services.embedder.embed_query, "ready")
            with draining(streams):
                yield
        if provider:
            await asyncio.to_thread(close_tracing, provider)

    app: FastAPI = FastAPIOffline(
        title="Quire",
        version=__version__,
        summary="Answers about a book, from the book alone, with every sentence proven.",
        lifespan=lifespan,
        # Requests are spans; what they are about and how fast they are is told in our own words.
        telemetry={
            "tracer_provider": provider,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
        },
    )
    add_handlers(app)
    for contract in CONTRACTS:
        app.include_router(mount(contract, answerer, streams))
    app.include_router(streams_router(streams))
    app.include_router(threads_router(services.threads))
    app.include_router(answers_router(services.threads))
    app.include_router(receipts_router(services.receipts))
    app.include_router(reading_router(services.library))
    app.include_router(structure_router(services.library))
    app.include_router(health_router(_checks(services)))
    app.include_router(metrics_router(counted_in))
    app.include_router(page_router())
    _guard(app, settings.serve)
    return app


def _guard(app: FastAPI, options: ServeOptions) -> None:
    """Put in front of every route what a request passes first; what is added last comes first."""
    app.add_middleware(BodyLimit, limit=options.max_body_bytes)
    if options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(options.cors_origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
        )
    app.add_middleware(Observed)
    app.add_middleware(RequestId)


def _streams(services: Services) -> Streams:
    async def stands(answer_id: str) -> bool:
        return await services.threads.answer(answer_id) is not None

    return Streams(build_journal(services.settings), services.settings.stream, stands)


def _checks(services: Services) -> dict[str, Check]:
    async def index() -> None:
        services.library.open(None)

    async def model() -> None:
        await asyncio.to_thread(services.embedder.embed_query, "ready")

    return {"index": index, "store": services.threads.ping, "embedder": model}
