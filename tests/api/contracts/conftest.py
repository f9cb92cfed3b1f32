from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from tests.api.contracts.serving import Hands, serving
from tests.servers import build_services


@pytest.fixture(scope="module")
def clock() -> Hands:
    return Hands()


@pytest.fixture
def hands(clock: Hands) -> Iterator[Hands]:
    """The clock of the service; put right after the test."""
    yield clock
    clock.ahead = timedelta()


@pytest.fixture(scope="module")
async def client(tiny_data: Path, clock: Hands) -> AsyncIterator[httpx.AsyncClient]:
    """The whole application over the tiny book, whose clock can be put forward."""
    async with serving(build_services(tiny_data), clock) as client:
        yield client
