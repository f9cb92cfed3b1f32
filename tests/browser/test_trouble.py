"""What a reader sees when something goes wrong, and that nothing they wrote is lost."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from citewell.api.app import create_app
from citewell.wiring import Services
from tests.api.live_server import served
from tests.api.serving import limits, with_settings
from tests.browser.reader import Reader, hosted
from tests.browser.services import Script, Service, scripted_service
from tests.browser.test_chat import AMCL, SAID
from tests.servers import build_services

LENS = "What is a Fresnel lens made of?"
SENTENCES = ("The first sentence. ", "The second sentence. ", "The last sentence.")


@pytest.fixture
def services(tiny_copy: Path) -> Services:
    return build_services(tiny_copy)


class Gate:
    """Holds a scripted answer before one of its sentences."""

    def __init__(self, place: int) -> None:
        self._place = place
        self.opened = asyncio.Event()

    async def __call__(self, number: int) -> None:
        if number == self._place:
            await self.opened.wait()


async def test_a_reader_can_stop_an_answer_and_ask_again(
    chromium: Browser, services: Services
) -> None:
    gate = Gate(1)
    async with (
        scripted_service(services, Script(SENTENCES, gate)) as address,
        hosted(chromium, address) as reader,
    ):
        await reader.open()
        await reader.send(LENS)
        await expect(reader.turns).to_contain_text(SENTENCES[0].strip())
        await reader.look("streaming")

        await reader.button("Stop").click()

        await expect(reader.turns).to_contain_text("Stopped.")
        await expect(reader.turns).to_contain_text(SENTENCES[0].strip())
        await reader.look("stopped")
        gate.opened.set()
        await reader.button("Ask again").click()
        await expect(reader.turns).to_contain_text(SENTENCES[-1])


async def test_questions_wait_for_the_answer_before_them(
    chromium: Browser, services: Services
) -> None:
    gate = Gate(1)
    async with (
        scripted_service(services, Script(SENTENCES, gate)) as address,
        hosted(chromium, address) as reader,
    ):
        await reader.open()
        await reader.send(LENS)
        await expect(reader.turns).to_contain_text(SENTENCES[0].strip())
        await reader.send("And of what else?")
        await expect(reader.turns.nth(1)).to_contain_text("Next in line")
        await reader.look("queue")

        gate.opened.set()

        await expect(reader.turns.nth(1)).to_contain_text(SENTENCES[-1])


async def test_an_answer_goes_on_after_the_network_was_away(
    chromium: Browser, services: Services
) -> None:
    gate = Gate(1)
    async with (
        scripted_service(services, Script(SENTENCES, gate)) as address,
        hosted(chromium, address) as reader,
    ):
        await reader.open()
        await reader.send(LENS)
        await expect(reader.turns).to_contain_text(SENTENCES[0].strip())
        await reader.page.context.set_offline(True)
        gate.opened.set()
        await reader.page.context.set_offline(False)

        await expect(reader.turns).to_contain_text(SENTENCES[-1])
        answer = await reader.turns.inner_text()
        assert [answer.count(sentence.strip()) for sentence in SENTENCES] == [1, 1, 1]


async def test_a_question_asked_offline_is_asked_when_the_reader_is_back(reader: Reader) -> None:
    await reader.open()
    await reader.page.context.set_offline(True)

    await reader.send(AMCL)

    await expect(reader.turns).to_contain_text("You are offline")
    await reader.look("offline")
    await reader.page.context.set_offline(False)
    await expect(reader.turns).to_contain_text(SAID)


async def test_who_asks_too_often_is_told_how_long_to_wait(
    chromium: Browser, services: Services
) -> None:
    limited = with_settings(services, **limits(local=True, per_session="1/minute"))
    async with (
        served(create_app(limited)) as address,
        hosted(chromium, address) as reader,
    ):
        await reader.open()
        await reader.ask(LENS)
        await reader.ask(LENS)
        turn = await reader.ask("And of what else?")

        await expect(turn).to_contain_text("Too many questions at once")
        await expect(turn).to_contain_text("Try again in")
        await reader.look("rate-limited")


async def test_a_service_that_was_killed_is_asked_again_when_it_is_back(
    reader: Reader, service: Service
) -> None:
    await reader.open()
    await service.kill()

    turn = await reader.ask(AMCL)

    await expect(turn).to_contain_text("Can't reach the book right now")
    await expect(turn).to_contain_text(AMCL)
    await reader.look("server-down")
    await service.start()
    await turn.get_by_role("button", name="Try again").click()
    await expect(turn).to_contain_text(SAID)
