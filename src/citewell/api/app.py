"""The FastAPI application."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from types import FrameType

from fastapi import APIRouter, FastAPI
from fastapi_offline import FastAPIOffline

from citewell.answer.observed import ObservedAnswerer
from citewell.api.contract import Clock
from citewell.api.contracts import CONTRACTS, SESSION_CONTRACTS
from citewell.api.contracts.chat import WidgetChat
from citewell.api.middleware.auth import install_middleware, require_scope
from citewell.api.middleware.metrics import metrics_router
from citewell.api.problems import PROBLEM_RESPONSES, add_handlers
from citewell.api.routes.answers import answers_router, receipts_router
from citewell.api.routes.completions import completions_router
from citewell.api.routes.feedback import feedback_router
from citewell.api.routes.health import Check, health_router
from citewell.api.routes.mcp import McpHttpApp, mcp_server
from citewell.api.routes.pages import books_router
from citewell.api.routes.search import search_router
from citewell.api.routes.static import chat_page_router, widget_router
from citewell.api.routes.threads import SessionAnswerer, sessions_router, threads_router
from citewell.api.routes.toc import toc_router
from citewell.api.routes.workflows import workflows_router
from citewell.api.sse import mount_contract, streams_router
from citewell.conversation import ANY_OWNER, retention_policy_for
from citewell.errors import EmbedderUnreachable
from citewell.logging import configure_logging
from citewell.ports import Answerer
from citewell.settings import Settings
from citewell.storage.sweeper import run_sweeper
from citewell.streaming.hub import StreamHub
from citewell.telemetry import close_tracing, open_tracing
from citewell.version import __version__
from citewell.wiring import (
    AccessControl,
    Services,
    build_access,
    build_feedback,
    build_stream_log,
    check_disk_space,
    wire_services,
)

DISABLED_FASTAPI_TELEMETRY = ("metrics", "logs", "operation_spans")
REQUIRED_CHECKS = ("index", "embedder", "redis")
"""Checks that must pass for the service to be ready; Redis is only checked if required."""


def create_app(
    services: Services, metrics_dir: str | None = None, *, clock: Clock | None = None
) -> FastAPI:
    """Build the HTTP application, whose lifespan opens and closes the services.

    Several workers share a `metrics_dir` for `/metrics`.
    """
    settings = services.settings
    services.threads.clock = clock or services.threads.clock
    access = build_access(settings)
    streams = _build_stream_hub(services)
    provider = open_tracing(settings.tracing)
    tools = mcp_server(services, wrap_answerer(services, services.answerer))
    mcp_app = McpHttpApp(tools, access.key_cache, settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with services, streams, run_sweeper(services.threads, settings.threads):
            await access.key_cache.refresh()
            # Load the model before the first question. An embedding server that is down now may
            # be back by then; `/ready` reports it.
            with suppress(EmbedderUnreachable):
                await asyncio.to_thread(services.embedder.embed_query, "ready")
            async with mcp_app.sessions.run():
                with _drain_on_signal(streams):
                    yield
            await access.limiter.close()
        if provider:
            await asyncio.to_thread(close_tracing, provider)

    app: FastAPI = FastAPIOffline(
        title="Citewell",
        version=__version__,
        summary="Answers about a book, from the book alone, with every sentence proven.",
        lifespan=lifespan,
        responses=PROBLEM_RESPONSES,
        # FastAPI's own OpenTelemetry: it traces requests, and Citewell does the rest itself.
        telemetry={"tracer_provider": provider, **dict.fromkeys(DISABLED_FASTAPI_TELEMETRY, False)},
    )
    add_handlers(app)
    _add_contracts(app, services, streams)
    for router in _shared_routers(services):
        app.include_router(router)
    app.include_router(health_router(_readiness_checks(services, access), REQUIRED_CHECKS))
    app.include_router(metrics_router(metrics_dir), dependencies=[require_scope("admin")])
    app.router.routes.append(mcp_app.route)
    install_middleware(app, access, settings)
    return app


def wrap_answerer(services: Services, answerer: Answerer) -> Answerer:
    """Wrap an answerer so that it logs, records metrics, and applies each retention policy."""
    observed = ObservedAnswerer(answerer, log_text=services.settings.log.questions)
    return SessionAnswerer(observed, services.threads)


def _add_contracts(app: FastAPI, services: Services, streams: StreamHub) -> None:
    """Add the routes of each contract, an API format: its paths, request and response models."""
    wrap = partial(wrap_answerer, services)
    answerer = wrap(services.answerer)
    for contract in (*CONTRACTS, WidgetChat()):
        app.include_router(mount_contract(contract, answerer, streams))
    workflows = services.settings.workflows
    app.include_router(workflows_router(workflows, services.workflows, wrap, streams))
    app.include_router(completions_router(services.library, answerer, streams))
    app.include_router(streams_router(streams))
    threads = services.threads
    for session_contract in SESSION_CONTRACTS:
        policy = retention_policy_for(session_contract.name, threads.policies)
        app.include_router(sessions_router(session_contract, threads, threads.clock, policy))


def _shared_routers(services: Services) -> list[APIRouter]:
    return [
        search_router(services.library, services.searcher, services.threads.clock),
        threads_router(services.threads),
        answers_router(services.threads),
        feedback_router(build_feedback(services.threads), services.threads.clock),
        receipts_router(services.receipts),  # a receipt is the full record of an answer
        books_router(services.library),
        toc_router(services.library),
        chat_page_router(),
        widget_router(),
    ]


def _build_stream_hub(services: Services) -> StreamHub:
    async def answer_exists(answer_id: str) -> bool:
        return await services.threads.answer(answer_id, owner=ANY_OWNER) is not None

    return StreamHub(build_stream_log(services.settings), services.settings.stream, answer_exists)


def _readiness_checks(services: Services, access: AccessControl) -> dict[str, Check]:
    async def index() -> None:
        await asyncio.to_thread(services.library.ping)

    async def embedder() -> None:
        await asyncio.to_thread(services.embedder.embed_query, "ready")

    async def store() -> None:
        await services.threads.ping()
        await asyncio.to_thread(check_disk_space, services.settings)

    checks: dict[str, Check] = {"index": index, "store": store, "embedder": embedder}
    if services.model_chains:  # the first is that of the configured model
        checks["model"] = services.model_chains[0].check
    # By default, each process limits requests on its own while Redis is down, so readiness does
    # not need Redis.
    if services.settings.redis_url and services.settings.limits.without_redis == "refuse":
        checks["redis"] = access.limiter.ping
    return checks


SHUTDOWN_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def _drain_on_signal(streams: StreamHub) -> Iterator[None]:
    """Start draining the streams on a shutdown signal, then call the server's own handler."""
    # Python handles signals only in the main thread. Elsewhere, the lifespan closes the streams.
    previous = {}
    if threading.current_thread() is threading.main_thread():
        previous = {number: signal.getsignal(number) for number in SHUTDOWN_SIGNALS}
    loop = asyncio.get_running_loop()

    def handle_signal(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(streams.drain)
        handler = previous[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number, handler in previous.items():
        if callable(handler):
            signal.signal(number, handle_signal)
    try:
        yield
    finally:
        for number, handler in previous.items():
            if signal.getsignal(number) is handle_signal:
                signal.signal(number, handler)


def create_worker_app(settings: Settings, metrics_dir: str | None = None) -> FastAPI:
    """Build the application and its services in a worker process."""
    configure_logging(settings.log_level, settings.log.format)
    return create_app(wire_services(settings, use_caches=True), metrics_dir)
