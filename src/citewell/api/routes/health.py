"""Is the service alive, and can it answer?"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from time import monotonic, perf_counter

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from citewell.api.problems import reader_message
from citewell.errors import CitewellError

Check = Callable[[], Awaitable[None]]
CHECK_SECONDS = 4.0
"""How long one dependency may take; less than the five seconds that probes usually wait."""
FRESH_SECONDS = 1.0
"""For so long a service that was found ready is not looked at again: anyone may ask, and looking
runs the embedding model."""


class Health(BaseModel):
    """The process runs."""

    status: str = "ok"


class Part(BaseModel):
    """One thing the service depends on."""

    ready: bool
    latency_ms: float
    detail: str = ""


class Readiness(BaseModel):
    """Whether questions can be answered now."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    ready: bool
    """Whether questions can be answered."""
    degraded: bool
    """Whether something is down without which answers are poorer, or not kept."""
    parts: dict[str, Part]


def health_router(checks: Mapping[str, Check], needed: Collection[str]) -> APIRouter:
    """Make `/health` and `/ready`; without one of the `needed` parts nothing can be answered."""
    router = APIRouter(tags=["health"])
    inspection = _ReadinessProbe(checks, needed)

    @router.get("/health")
    async def health() -> Health:
        """Tell that the process runs."""
        return Health()

    @router.get("/ready", responses={503: {"model": Readiness}})
    async def ready(response: Response) -> Readiness:
        """Try each dependency; 503 if one fails without which nothing can be answered.

        A store or language model that is down makes the service `degraded`, which is still 200: it
        answers, and a balancer that took it out would take out all of its kind.
        """
        found = await inspection.look()
        response.status_code = 200 if found.ready else 503
        return found

    return router


class _ReadinessProbe:
    """Tries the dependencies, once for all who ask at the same time."""

    def __init__(self, checks: Mapping[str, Check], needed: Collection[str]) -> None:
        self._checks, self._needed = checks, needed
        self._running: asyncio.Task[Readiness] | None = None
        self._good: Readiness | None = None
        self._looked_at = 0.0

    async def look(self) -> Readiness:
        if self._good and monotonic() - self._looked_at < FRESH_SECONDS:
            return self._good
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._try_all())
        return await asyncio.shield(self._running)  # who leaves does not end it for the others

    async def _try_all(self) -> Readiness:
        results = await asyncio.gather(*(_try(check) for check in self._checks.values()))
        parts = dict(zip(self._checks, results, strict=True))
        failed = {name for name, part in parts.items() if not part.ready}
        ready = not failed & set(self._needed)
        found = Readiness(ready=ready, degraded=ready and bool(failed), parts=parts)
        self._good, self._looked_at = None if failed else found, monotonic()
        return found


async def _try(check: Check) -> Part:
    begun = perf_counter()
    detail = ""
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await check()
    except CitewellError as error:
        detail = reader_message(error)
    except TimeoutError:
        detail = f"took longer than {CHECK_SECONDS:g} seconds"
    return Part(
        ready=not detail, latency_ms=round(1000 * (perf_counter() - begun), 2), detail=detail
    )
