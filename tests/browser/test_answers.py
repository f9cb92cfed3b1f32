"""What answers look like that the embedded model does not give: every verdict, and formulas."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from citewell.domain import Citation, Claim, VerdictKind
from tests.browser.reader import hosted
from tests.browser.services import Script, scripted_service
from tests.servers import build_services

VERDICTS: dict[VerdictKind, str] = {
    "supported": "Proven",
    "partly": "Partly proven",
    "unsupported": "Not proven",
    "contradicted": "The book says otherwise",
}
MARK = " [1] "
FORMULA = "The area is\n\n$$\\frac{a}{b} = \\sum_i c_i$$\n\nof the lens."
PROOF = Citation(
    number=1,
    chunk_id="c1",
    chapter="The lens",
    section="Orders",
    quote="A passage of the book.",
    start=0,
    end=22,
    url="https://book.example/lens#orders",
)


def judged(number: int, claim: Claim) -> Claim:
    """Give a claim the verdict that its place says, and its proof where it can have one."""
    verdict = list(VERDICTS)[number]
    words = claim.text.removesuffix(MARK).strip()
    return replace(
        claim,
        text=words,
        end=claim.start + len(words),
        verdict=verdict,
        citations=() if verdict == "unsupported" else (PROOF,),
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_mark_tells_what_the_check_found(
    chromium: Browser, tiny_copy: Path, scheme: Any
) -> None:
    pieces = tuple(
        f"This sentence is {verdict}.{' ' if verdict == 'unsupported' else MARK}"
        for verdict in VERDICTS
    )
    async with (
        scripted_service(build_services(tiny_copy), Script(pieces, checked=judged)) as address,
        hosted(chromium, address, f'data-theme="{scheme}"') as reader,
    ):
        await reader.open()
        turn = await reader.ask("What is proven?")

        for said in VERDICTS.values():
            mark = turn.locator(".mark").nth(list(VERDICTS.values()).index(said))
            await expect(mark).to_have_accessible_name(
                f"Source 1: The lens › Orders. {said}" if said != "Not proven" else said
            )
            await mark.click()
            await expect(turn.get_by_role("complementary")).to_contain_text(said)
            if said != "Proven":
                await reader.look(f"verdict-{said.lower().replace(' ', '-')}-{scheme}")


async def test_what_draws_formulas_is_loaded_with_the_first_one(
    chromium: Browser, tiny_copy: Path
) -> None:
    async with (
        scripted_service(
            build_services(tiny_copy),
            lambda asked: Script((FORMULA if "area" in asked else asked,)),
        ) as address,
        hosted(chromium, address) as reader,
    ):
        loaded: list[str] = []
        reader.page.on("request", lambda one: loaded.append(one.url))
        await reader.open()
        await reader.ask("What is a lens?")
        assert f"{address}/widget-math.js" not in loaded

        turn = await reader.ask("What is its area?")

        await expect(turn.locator("math")).to_be_visible()
        assert f"{address}/widget-math.js" in loaded
        await reader.look("formula")
