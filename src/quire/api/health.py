"""Is the service alive, and can it answer?"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter

from fastapi import APIRouter, Response
from pydantic import BaseModel

from quire.api.problems import said_to_readers
from quire.errors import QuireError

Check = Callable[[], Awaitable[None]]


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

    ready: bool
    parts: dict[str, Part]


def health_router(checks: Mapping[str, Check]) -> APIRouter:
    """Make `/health` and `/ready`."""
    router = APIRouter(tags=["health"])

    @router.get("/health")
    async def health() -> Health:
        """Tell that the process runs."""
        return Health()

    @router.get("/ready", responses={503: {"model": Readiness}})
    async def ready(response: Response) -> Readiness:
        """Try each dependency; 503 if one of them fails."""
        results = await asyncio.gather(*(_try(check) for check in checks.values()))
        parts = dict(zip(checks, results, strict=True))
        everything = all(part.ready for part in results)
        response.status_code = 200 if everything else 503
        return Readiness(ready=everything, parts=parts)

    return router


async def _try(check: Check) -> Part:
    begun = perf_counter()
    detail = ""
    try:
        async with asyncio.timeout(10):
            await check()
    except QuireError as error:
        detail = said_to_readers(error)
    except TimeoutError:
        detail = "took longer than 10 seconds"
    return Part(
        ready=not detail, latency_ms=round(1000 * (perf_counter() - begun), 2), detail=detail
    )
