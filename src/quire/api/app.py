"""The application: routes around one set of services."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

from fastapi import APIRouter, FastAPI
from fastapi_offline import FastAPIOffline

from quire.answer.observed import ObservedAnswerer
from quire.api.answers import answers_router
from quire.api.completions import completions_router
from quire.api.contract import Clock
from quire.api.contracts import CONTRACTS, REMEMBERING
from quire.api.conversations import threads_router
from quire.api.door import hang_door, needs
from quire.api.draining import draining
from quire.api.feedback import feedback_router
from quire.api.health import Check, health_router
from quire.api.mcp import mcp_server
from quire.api.mcp_http import McpOverHttp
from quire.api.mount import mount
from quire.api.observed import metrics_router
from quire.api.onpage import OnPageChat
from quire.api.page import page_router
from quire.api.problems import PROBLEMS, add_handlers
from quire.api.reading import reading_router
from quire.api.receipts import receipts_router
from quire.api.search import search_router
from quire.api.sessions import InSession, sessions_router
from quire.api.structure import structure_router
from quire.api.widget import widget_router
from quire.api.wire import streams_router
from quire.api.workflows import workflows_router
from quire.compose import (
    Access,
    Services,
    build_access,
    build_feedback,
    build_journal,
    check_space,
)
from quire.conversation import ANYONE, rules_of
from quire.errors import EmbedderUnreachable
from quire.ports import Answerer
from quire.streams.live import Streams
from quire.telemetry.spans import close_tracing, open_tracing
from quire.threads.lifecycle import kept_in_order
from quire.version import __version__

OWN_WORDS = ("metrics", "logs", "operation_spans")
NEEDED = ("index", "embedder", "redis")
"""Parts without which no question can be answered; Redis is one only where that is wanted."""


def create_app(
    services: Services, counted_in: str | None = None, *, clock: Clock | None = None
) -> FastAPI:
    """Build the HTTP application; its start-up opens the services, its end closes them.

    Several workers have a folder that they are `counted_in` together, for `/metrics`.
    """
    settings = services.settings
    # One clock for conversations, whoever looks at it.
    services.threads.clock = clock or services.threads.clock
    access = build_access(settings)
    streams = _streams(services)
    provider = open_tracing(settings.tracing)
    tools = mcp_server(services, placed(services, services.answerer))
    over_http = McpOverHttp(tools, access.ring, settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with services, streams, kept_in_order(services.threads, settings.threads):
            await access.ring.refresh()
            # The first question should not pay for loading the model.
            # A server that is down now may be back by then, and `/ready` says whether it is.
            with suppress(EmbedderUnreachable):
                await asyncio.to_thread(services.embedder.embed_query, "ready")
            async with over_http.sessions.run():
                with draining(streams):
                    yield
            await access.limiter.close()
        if provider:
            await asyncio.to_thread(close_tracing, provider)

    app: FastAPI = FastAPIOffline(
        title="Quire",
        version=__version__,
        summary="Answers about a book, from the book alone, with every sentence proven.",
        lifespan=lifespan,
        responses=PROBLEMS,
        # Requests are spans; what they are about and how fast they are is told in our own words.
        telemetry={"tracer_provider": provider, **dict.fromkeys(OWN_WORDS, False)},
    )
    add_handlers(app)
    _add_contracts(app, services, streams)
    for router in _beside_them(services):
        app.include_router(router)
    app.include_router(health_router(_checks(services, access), NEEDED))
    app.include_router(metrics_router(counted_in), dependencies=[needs("admin")])
    app.router.routes.append(over_http.route)
    hang_door(app, access, settings)
    return app


def placed(services: Services, answerer: Answerer) -> Answerer:
    """Have an answerer observed, and keep to the rules of each contract's conversations."""
    observed = ObservedAnswerer(answerer, words=services.settings.log.questions)
    return InSession(observed, services.threads)


def _add_contracts(app: FastAPI, services: Services, streams: Streams) -> None:
    """Mount each contract whole and streamed, with its conversations."""
    place = partial(placed, services)
    answerer = place(services.answerer)
    for contract in (*CONTRACTS, OnPageChat()):
        app.include_router(mount(contract, answerer, streams))
    declared = services.settings.workflows
    app.include_router(workflows_router(declared, services.workflows, place, streams))
    app.include_router(completions_router(services.library, answerer, streams))
    app.include_router(streams_router(streams))
    threads = services.threads
    for remembering in REMEMBERING:
        rules = rules_of(remembering.name, threads.rules)
        app.include_router(sessions_router(remembering, threads, threads.clock, rules))


def _beside_them(services: Services) -> list[APIRouter]:
    """Give the routes that belong to no contract, or to all."""
    return [
        search_router(services.library, services.searcher, services.threads.clock),
        threads_router(services.threads),
        answers_router(services.threads),
        feedback_router(build_feedback(services.threads), services.threads.clock),
        receipts_router(services.receipts),
        reading_router(services.library),
        structure_router(services.library),
        page_router(),
        widget_router(),
    ]


def _streams(services: Services) -> Streams:
    async def stands(answer_id: str) -> bool:
        return await services.threads.answer(answer_id, owner=ANYONE) is not None

    return Streams(build_journal(services.settings), services.settings.stream, stands)


def _checks(services: Services, access: Access) -> dict[str, Check]:
    async def index() -> None:
        await asyncio.to_thread(services.library.ping)

    async def model() -> None:
        await asyncio.to_thread(services.embedder.embed_query, "ready")

    async def store() -> None:
        await services.threads.ping()
        await asyncio.to_thread(check_space, services.settings)

    checks: dict[str, Check] = {"index": index, "store": store, "embedder": model}
    if services.writers:
        checks["model"] = services.writers[0].check
    # Without Redis each process counts for itself, unless the operator wants nothing without it.
    if services.settings.redis_url and services.settings.limits.without_redis == "refuse":
        checks["redis"] = access.limiter.ping
    return checks
