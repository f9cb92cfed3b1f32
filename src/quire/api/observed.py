"""What an operator sees of requests: a line each in the log, and `/metrics`."""

import logging
from time import perf_counter

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.api.guards import METHODS
from quire.telemetry.metrics import LIMITED, REQUEST_SECONDS, REQUESTS, exposition

LOG = logging.getLogger("quire.requests")
LEFT = "499"
TOO_MANY = "429"


class Observed:
    """Counts, times and logs each request; of its address, only the route is told."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = perf_counter(), LEFT

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
        if status == TOO_MANY:
            LIMITED.labels(route).inc()
        fields = {"method": method, "route": route, "status": int(status)}
        LOG.info("request", extra={**fields, "ms": round(1000 * seconds, 1)})


def metrics_router(counted_in: str | None) -> APIRouter:
    """Make `/metrics`, of this process or of all that are `counted_in` a folder."""
    router = APIRouter(tags=["health"])

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        """Show every figure as Prometheus reads it."""
        return Response(exposition(counted_in), media_type=CONTENT_TYPE_LATEST)

    return router
