from collections.abc import AsyncIterator

import httpx
import pytest

from quire.compose import Services
from tests.api.contracts.serving import Hands, serving


@pytest.fixture
def hands() -> Hands:
    """The clock of the service."""
    return Hands()


@pytest.fixture
async def client(tiny: Services, hands: Hands) -> AsyncIterator[httpx.AsyncClient]:
    """The whole application over the tiny book, whose clock can be put forward."""
    async with serving(tiny, hands) as client:
        yield client
