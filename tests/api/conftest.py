from collections.abc import AsyncIterator

import httpx
import pytest
from asgi_lifespan import LifespanManager

from citewell.api.app import create_app
from citewell.wiring import Services


@pytest.fixture(scope="session")
async def client(tiny: Services) -> AsyncIterator[httpx.AsyncClient]:
    """The whole application over the tiny book, asked without a socket."""
    app = create_app(tiny)
    # A busy machine is no reason to fail.
    async with LifespanManager(app, startup_timeout=120, shutdown_timeout=120):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client
