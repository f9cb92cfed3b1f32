"""The whole application with settings and keys of a test's own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
from asgi_lifespan import LifespanManager

from citewell.api.app import create_app
from citewell.options import AccessOptions, LimitOptions
from citewell.storage.keys import Scope, make_key
from citewell.wiring import Services, build_keys

ASKED = {"message": "What is a Fresnel lens made of?"}
ORIGIN = "https://book.example"
PROMPT = AccessOptions(refresh_seconds=0)
"""Keys are read again for each request, so that no test waits."""


def with_settings(services: Services, **changes: Any) -> Services:
    """Return the services with other settings, and keys that are noticed at once."""
    settings = services.settings.model_copy(update={"access": PROMPT, **changes})
    return replace(services, settings=settings)


async def new_key(
    services: Services,
    *scopes: Scope,
    origins: tuple[str, ...] = (),
    books: tuple[str, ...] = (),
) -> str:
    """Make a key and give its secret."""
    now = datetime.now(UTC)
    name = f"key {len(await build_keys(services.settings).all())}"
    key, secret = make_key(
        name, scopes=frozenset(scopes or ("ask",)), origins=origins, books=books, created_at=now
    )
    await build_keys(services.settings).add(key)
    return secret


@asynccontextmanager
async def serving(
    services: Services, *, address: str = "127.0.0.1", **changes: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """Serve, asked from one client address without a socket."""
    app = create_app(with_settings(services, **changes))
    async with LifespanManager(app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=(address, 4711))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


def bearer(secret: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}", **more}


def access(**options: Any) -> dict[str, Any]:
    return {"access": PROMPT.model_copy(update=options)}


def limits(**options: Any) -> dict[str, Any]:
    return {"limits": LimitOptions(**options)}
