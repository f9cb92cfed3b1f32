"""The liveness and readiness routes."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from time import monotonic, perf_counter

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from citewell.api.problems import reader_message
from citewell.errors import CitewellError

Check = Callable[[], Awaitable[None]]
CHECK_TIMEOUT_SECONDS = 4.0
"""Less than the five seconds that health probes usually wait."""
CACHE_SECONDS = 1.0
"""How long a positive result is cached: the route is public, and a check runs the embedding
model."""


class Health(BaseModel):
    """The process is running."""

    status: str = "ok"


class Part(BaseModel):
    """The result of checking one dependency."""

    ready: bool
    latency_ms: float
    detail: str = ""


class Readiness(BaseModel):
    """Whether questions can be answered now."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    ready: bool
    """Whether questions can be answered."""
    degraded: bool
    """Whether an optional dependency is down: answers are then worse, or are not stored."""
    parts: dict[str, Part]


def health_router(checks: Mapping[str, Check], required: Collection[str]) -> APIRouter:
    """Return the router of `/health` and `/ready`, which needs the `required` checks to pass."""
    router = APIRouter(tags=["health"])
    probe = _ReadinessProbe(checks, required)

    @router.get("/health")
    async def health() -> Health:
        """Report that the process is running."""
        return Health()

    @router.get("/ready", responses={503: {"model": Readiness}})
    async def ready(response: Response) -> Readiness:
        """Check every dependency; the status is 503 if a required one fails.

        If the store or the language model is down, the service is `degraded`, but the status is
        200: it still answers, and a load balancer would otherwise remove every instance.
        """
        readiness = await probe.check()
        response.status_code = 200 if readiness.ready else 503
        return readiness

    return router


class _ReadinessProbe:
    """Runs the checks, once for concurrent requests."""

    def __init__(self, checks: Mapping[str, Check], required: Collection[str]) -> None:
        self._checks, self._required = checks, required
        self._running: asyncio.Task[Readiness] | None = None
        self._last_ready: Readiness | None = None
        self._checked_at = 0.0

    async def check(self) -> Readiness:
        if self._last_ready and monotonic() - self._checked_at < CACHE_SECONDS:
            return self._last_ready
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run_checks())
        return await asyncio.shield(self._running)  # a disconnect must not cancel it for others

    async def _run_checks(self) -> Readiness:
        results = await asyncio.gather(*(_run_check(check) for check in self._checks.values()))
        parts = dict(zip(self._checks, results, strict=True))
        failed = {name for name, part in parts.items() if not part.ready}
        ready = not failed & set(self._required)
        readiness = Readiness(ready=ready, degraded=ready and bool(failed), parts=parts)
        self._last_ready, self._checked_at = None if failed else readiness, monotonic()
        return readiness


async def _run_check(check: Check) -> Part:
    start = perf_counter()
    detail = ""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_SECONDS):
            await check()
    except CitewellError as error:
        detail = reader_message(error)
    except TimeoutError:
        detail = f"took longer than {CHECK_TIMEOUT_SECONDS:g} seconds"
    return Part(
        ready=not detail, latency_ms=round(1000 * (perf_counter() - start), 2), detail=detail
    )
