"""Request logs and metrics, and the route `/metrics`."""

import logging
from time import perf_counter

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.api.middleware.requests import KNOWN_METHODS
from citewell.telemetry import RATE_LIMITED_REQUESTS, REQUEST_SECONDS, REQUESTS, exposition

LOG = logging.getLogger("citewell.requests")
CLIENT_CLOSED_REQUEST = "499"
TOO_MANY_REQUESTS = "429"


class MetricsMiddleware:
    """Counts, times and logs each request by its route, without the path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = perf_counter(), CLIENT_CLOSED_REQUEST

        async def send_tracked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_tracked)
        finally:
            self._record(scope, status, perf_counter() - start)

    def _record(self, scope: Scope, status: str, seconds: float) -> None:
        # Only known methods: label values stay in memory for the lifetime of the process.
        method = scope["method"] if scope["method"] in KNOWN_METHODS else "other"
        route = getattr(scope.get("route"), "path", "none")
        REQUESTS.labels(method, route, status).inc()
        REQUEST_SECONDS.labels(route).observe(seconds)
        if status == TOO_MANY_REQUESTS:
            RATE_LIMITED_REQUESTS.labels(route).inc()
        fields = {"method": method, "route": route, "status": int(status)}
        LOG.info("request", extra={**fields, "ms": round(1000 * seconds, 1)})


def metrics_router(metrics_dir: str | None) -> APIRouter:
    """Return the router of `/metrics`, for this process or all that share `metrics_dir`."""
    router = APIRouter(tags=["health"])

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        """Return the metrics in Prometheus format."""
        return Response(exposition(metrics_dir), media_type=CONTENT_TYPE_LATEST)

    return router
