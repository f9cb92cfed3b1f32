"""What an operator sees of requests: a line each in the log, and `/metrics`."""

import logging
from time import perf_counter

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.api.middleware.limits import METHODS
from citewell.telemetry import RATE_LIMITED_REQUESTS, REQUEST_SECONDS, REQUESTS, exposition

LOG = logging.getLogger("citewell.requests")
CLIENT_CLOSED_REQUEST = "499"
TOO_MANY_REQUESTS = "429"


class MetricsMiddleware:
    """Counts, times and logs each request; of its address, only the route is told."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = perf_counter(), CLIENT_CLOSED_REQUEST

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._note(scope, status, perf_counter() - begun)

    def _note(self, scope: Scope, status: str, seconds: float) -> None:
        # A closed set: each label value is kept for as long as the process runs.
        method = scope["method"] if scope["method"] in METHODS else "other"
        route = getattr(scope.get("route"), "path", "none")
        REQUESTS.labels(method, route, status).inc()
        REQUEST_SECONDS.labels(route).observe(seconds)
        if status == TOO_MANY_REQUESTS:
            RATE_LIMITED_REQUESTS.labels(route).inc()
        fields = {"method": method, "route": route, "status": int(status)}
        LOG.info("request", extra={**fields, "ms": round(1000 * seconds, 1)})


def metrics_router(metrics_dir: str | None) -> APIRouter:
    """Make `/metrics`, of this process or of all that are `metrics_dir` a folder."""
    router = APIRouter(tags=["health"])

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        """Show every figure as Prometheus reads it."""
        return Response(exposition(metrics_dir), media_type=CONTENT_TYPE_LATEST)

    return router
