"""Whatever is asked and whatever a model writes, the question ends and the service stays awake."""

import asyncio
import threading
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx
import pytest

from citewell.wiring import Services
from tests.api.serving import ASKED, ORIGIN, bearer, new_key, serving
from tests.servers import build_services
from tests.servers.scripted import streams

HEALTH_SECONDS = 5.0
"""An idle machine answers within milliseconds; text that is read over and over holds it for far
longer than this."""
SELECTED = 16_000
SIGNS = ["[", "[a](", "<a@", "*a ", "![", "e.g. ", " "]
NUMBERS = ["1e999999999", "1e-999999999", "7" * 4_400, "1" + ",000" * 2_000]


def selection(text: str) -> dict[str, Any]:
    return {
        "message": "How much does the lens weigh?",
        "context_mode": "user_provided",
        "user_context": text,
    }


async def asked(
    client: httpx.AsyncClient, body: dict[str, Any], **headers: str
) -> tuple[httpx.Response, float]:
    """Ask, and give the answer and the longest that `/health` took meanwhile."""
    question = asyncio.create_task(client.post("/chat/run", json=body, headers=headers))
    longest = 0.0
    while not question.done():
        begun = perf_counter()
        assert (await client.get("/health")).status_code == 200
        longest = max(longest, perf_counter() - begun)
        await asyncio.wait([question], timeout=0.02)
    return question.result(), longest


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number[:11]}…")
async def test_a_selection_may_hold_any_number(client: httpx.AsyncClient, number: str) -> None:
    reply, waited = await asked(client, selection(f"The lens weighs {number} kg. It has two arms."))

    assert reply.status_code == 200, reply.text
    assert waited < HEALTH_SECONDS


@pytest.mark.parametrize("sign", SIGNS)
async def test_a_selection_of_nothing_but_signs_is_answered(
    client: httpx.AsyncClient, sign: str
) -> None:
    text = f"The lens weighs 3 kg. {sign * SELECTED}"[: SELECTED - 5] + " end."
    reply, waited = await asked(client, selection(text))

    assert reply.status_code == 200, reply.text
    assert waited < HEALTH_SECONDS


@pytest.mark.parametrize("delta", [" word", " e.g.", "[a]("])
async def test_a_model_that_loops_ends_and_nobody_waits_for_it(tiny_copy: Path, delta: str) -> None:
    looping = ["A Fresnel lens is a lens made of", *[delta] * 4_096]
    services = build_services(tiny_copy, model=lambda _: streams(looping, pause=0))
    async with serving(services) as client:
        reply, waited = await asked(client, ASKED)

    assert reply.status_code == 200, reply.text
    assert waited < HEALTH_SECONDS


async def test_readers_with_the_key_of_a_page_cannot_stop_the_service(tiny_copy: Path) -> None:
    services: Services = build_services(tiny_copy)
    widget = await new_key(services, origins=(ORIGIN,))
    async with serving(services) as client:
        body = selection("The lens weighs 1e999999999 kg. It has two arms.")
        reply, waited = await asked(client, body, **bearer(widget, Origin=ORIGIN))

    assert reply.status_code == 200, reply.text
    assert waited < HEALTH_SECONDS


async def test_a_question_does_not_wait_for_the_selections_of_others(tiny_copy: Path) -> None:
    services = build_services(tiny_copy)
    embed, at_once, most = services.embedder.embed_passages, 0, 0

    def slowly(texts: Any) -> Any:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        released.wait(30)
        at_once -= 1
        return embed(texts)

    released = threading.Event()
    services.embedder.embed_passages = slowly  # type: ignore[method-assign]
    async with serving(services) as client:
        text = "The lens weighs 3 kg. It has two arms."
        waiting = [
            asyncio.create_task(client.post("/chat/run", json=selection(f"{n}. {text}")))
            for n in range(24)
        ]
        try:
            begun = 0
            while begun < len(waiting):
                entries = await services.threads.answers(state="processing", limit=99, offset=0)
                begun = len(entries)
            async with asyncio.timeout(20):
                asked_beside = await client.post("/chat/run", json=ASKED)
        finally:
            released.set()
        selections = await asyncio.gather(*waiting)

    assert asked_beside.status_code == 200
    assert {reply.status_code for reply in selections} == {200}
    assert 1 <= most <= 2
