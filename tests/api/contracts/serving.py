"""Asking a contract over HTTP, and breaking what it answers."""

import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from agents.testing import ScriptedModel, assistant_message
from agents.usage import Usage
from asgi_lifespan import LifespanManager
from pydantic import BaseModel, ValidationError

from citewell.api.app import create_app
from citewell.wiring import Services
from tests.api.sse import parse_sse

COVERED = "What is a Fresnel lens made of?"
UNCOVERED = "Who invented the submarine telegraph?"
LENS = "A Fresnel lens is a lens made of concentric rings of glass."
INVENTED = "Fresnel lenses were invented on the Moon."
Body = dict[str, Any]


class Hands:
    """A clock that can be put forward."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@asynccontextmanager
async def serving(services: Services, clock: Any = None) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(services, clock=clock or Hands())
    # A busy machine is no reason to fail.
    async with LifespanManager(app, startup_timeout=120, shutdown_timeout=120):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


def says(text: str, tokens: int = 0) -> Any:
    """Give what makes a model that says this, and counts so many tokens."""
    usage = Usage(requests=1, total_tokens=tokens, input_tokens=tokens)
    return lambda _: ScriptedModel([[assistant_message(text)]], default_usage=usage)


async def ask(client: httpx.AsyncClient, path: str, body: Body) -> Body:
    reply = await client.post(path, json=body)
    assert reply.status_code == 200, reply.text
    answer: Body = reply.json()
    return answer


async def ask_streamed(client: httpx.AsyncClient, path: str, body: Body) -> list[tuple[str, Any]]:
    reply = await client.post(path, json=body)
    assert reply.status_code == 200, reply.text
    return [(name, data) for _, name, data in parse_sse(reply.text)]


async def assert_refused(client: httpx.AsyncClient, path: str, body: Body, field: str) -> None:
    """Both ways of asking say which field is wrong, and nothing is answered."""
    for way in (path, f"{path}/stream") if not path.endswith("/run") else (path, "/chat/stream"):
        reply = await client.post(way, json=body)

        assert reply.status_code == 422
        assert reply.headers["content-type"] == "application/problem+json"
        assert field in {error["field"] for error in reply.json()["errors"]}


def assert_unfit(model: type[BaseModel], body: Body, place: str, value: Any) -> None:
    """The response as it came is one of the contract; with one field changed it is none."""
    model.model_validate(body)
    changed: Any = copy.deepcopy(body)
    *way, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    inner = changed
    for part in way:
        inner = inner[part]
    if value is MISSING:
        del inner[last]
    else:
        inner[last] = value
    with pytest.raises(ValidationError):
        model.model_validate(changed)


MISSING = object()


def without_id(field: str, body: Body) -> Body:
    return {name: value for name, value in body.items() if name != field}
