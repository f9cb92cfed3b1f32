"""The chat on a page of a book, in a real browser, against the real service."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from citewell.settings import Settings
from citewell.wiring import build_feedback, build_threads
from tests.browser.reader import Reader, opened
from tests.browser.services import Service

AMCL = "What is AMCL?"
SAID = "Adaptive Monte Carlo localisation (AMCL) is a particle filter"
ODOMETRY = "Odometry is the estimation of motion from sensors on the robot itself"


@pytest.mark.smoke
async def test_a_reader_asks_and_every_sentence_comes_with_its_proof(reader: Reader) -> None:
    await reader.look("page")
    await reader.open()
    await expect(reader.page.get_by_role("list", name="Start reading")).to_be_visible()
    await reader.look("welcome")

    turn = await reader.ask(AMCL)

    await expect(turn).to_contain_text(SAID)
    await expect(turn).to_contain_text(re.compile(r"\d quotes? · \d sections?"))
    await reader.look("answer")
    await reader.marks.first.click()
    await expect(reader.quote).to_contain_text("Proven")
    await expect(reader.quote).to_contain_text(SAID)
    await expect(reader.quote).to_contain_text("Localisation › AMCL")
    await reader.look("quote")


async def test_a_citation_lights_up_its_sentence_without_loading_the_page_again(
    reader: Reader,
) -> None:
    await reader.page.evaluate("window.loadedOnce = true")
    await reader.open()
    await reader.ask(AMCL)
    await reader.marks.first.click()

    await reader.page.get_by_role("link", name="Show in book").click()

    (lit,) = await reader.highlighted()
    assert lit.startswith(SAID)
    assert await reader.page.evaluate("window.loadedOnce")
    await reader.look("highlighted")


async def test_a_citation_of_another_page_opens_it_at_the_sentence_with_the_thread(
    chromium: Browser, service: Service, site: str
) -> None:
    async with opened(chromium, f"{site}/physical-ai/book/autonomy/slam") as reader:
        await reader.open()
        await reader.ask(AMCL)
        await reader.marks.first.click()

        await reader.page.get_by_role("link", name="Show in book").click()

        await reader.page.wait_for_url("**/book/autonomy/localisation*")
        await expect(reader.turns).to_have_count(1)
        await expect(reader.turns).to_contain_text(SAID)
        (lit,) = await reader.highlighted()
        assert lit.startswith(SAID)
        await reader.look("other-page")


async def test_every_chapter_to_start_with_opens(
    chromium: Browser, service: Service, site: str
) -> None:
    async with opened(chromium, f"{site}/physical-ai/book/autonomy/slam") as reader:
        await reader.open()
        chapters = reader.page.get_by_role("list", name="Start reading").get_by_role("link")
        await expect(chapters).to_have_count(4)

        for address in [await one.get_attribute("href") for one in await chapters.all()]:
            page = await reader.page.request.get(str(address))

            assert page.ok, address


async def test_styles_of_the_site_do_not_reach_into_the_chat(reader: Reader) -> None:
    await reader.open()
    # Made by a script: the site's policy allows no style in the page.
    await reader.page.evaluate(
        """() => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync("* { letter-spacing: 9px; text-transform: uppercase; }");
          document.adoptedStyleSheets = [sheet];
        }"""
    )

    said = reader.panel.get_by_text("Ask this book anything.")
    shown = "node => [getComputedStyle(node).letterSpacing, getComputedStyle(node).textTransform]"

    assert await said.evaluate(shown) == ["normal", "none"]


async def test_a_follow_up_is_understood(reader: Reader) -> None:
    await reader.open()
    await reader.ask(AMCL)

    turn = await reader.ask("What is it in Nav2?")

    await expect(reader.turns).to_have_count(2)
    await expect(turn.get_by_role("button", name=re.compile("^Source"))).not_to_have_count(0)
    await expect(turn).to_contain_text("AMCL")
    await reader.look("follow-up")


async def test_what_the_book_does_not_say_is_refused_and_nothing_counted(reader: Reader) -> None:
    await reader.open()

    turn = await reader.ask("Who won the football world cup in 1998?")

    await expect(turn).to_contain_text(
        re.compile("couldn't find that|couldn't find a direct answer")
    )
    await expect(turn).not_to_contain_text(re.compile(r"\d quotes?"))
    await expect(reader.marks).to_have_count(0)
    await reader.look("refusal")


async def test_a_selection_is_the_only_source_until_the_reader_asks_the_whole_book(
    reader: Reader,
) -> None:
    await reader.select(ODOMETRY)
    await expect(reader.selection).to_be_visible()
    await reader.look("selection")
    await reader.selection.click()
    await expect(reader.panel).to_contain_text("Selected text")
    await reader.look("selection-chip")

    inside = await reader.ask("What is odometry?")
    await expect(inside).to_contain_text(ODOMETRY)
    await expect(inside).to_contain_text("Selected text")
    await reader.look("selection-answer")

    outside = await reader.ask(AMCL)
    await expect(outside).to_contain_text("The selected text doesn't answer that.")
    await reader.look("selection-refusal")
    await outside.get_by_role("button", name="Search the whole book").click()
    await expect(reader.turns.nth(2)).to_contain_text(SAID)
    await expect(reader.page.get_by_role("button", name="Remove the selection")).to_have_count(0)


async def test_a_reload_and_another_page_keep_the_thread_and_another_tab_has_its_own(
    reader: Reader,
) -> None:
    await reader.open()
    await reader.ask(AMCL)

    await reader.page.reload()
    await expect(reader.turns).to_contain_text(SAID)
    await reader.page.goto(reader.page.url.replace("autonomy/localisation", "autonomy/slam"))
    await expect(reader.turns).to_contain_text(SAID)
    await reader.look("restored")
    await reader.ask("What is it in Nav2?")
    await expect(reader.turns).to_have_count(2)

    other = Reader(await reader.page.context.new_page())
    await other.page.goto(reader.page.url)
    await other.open()
    await expect(other.turns).to_have_count(0)


async def test_a_new_conversation_forgets_the_one_before(reader: Reader) -> None:
    await reader.open()
    await reader.ask(AMCL)

    await reader.button("New conversation").click()

    await expect(reader.turns).to_have_count(0)
    await expect(reader.question).to_be_focused()
    await reader.look("cleared")
    await reader.page.reload()
    await expect(reader.question).to_be_visible()
    await expect(reader.turns).to_have_count(0)
    stored: str = await reader.page.evaluate("JSON.stringify({...sessionStorage})")
    assert "AMCL" not in stored


async def test_what_a_reader_thinks_reaches_the_operator(
    reader: Reader, service: Service, book_folder: Path
) -> None:
    await reader.open()
    turn = await reader.ask(AMCL)

    await turn.get_by_role("button", name="Not helpful").click()
    await reader.look("feedback")
    await turn.get_by_label("Something is missing").check()
    await turn.get_by_role("textbox").fill("Which sampling?")
    await turn.get_by_role("button", name="Send").click()

    await expect(turn).to_contain_text("Thanks, that helps.")
    await expect(turn.get_by_role("button", name="Not helpful")).to_have_attribute(
        "aria-pressed", "true"
    )
    await reader.look("thanked")
    threads = build_threads(Settings(data_dir=book_folder))
    (entry, *_) = await build_feedback(threads).list(verdict="down", limit=1, offset=0)
    await threads.close()
    assert (entry.question, entry.feedback.reason) == (AMCL, "incomplete")
    assert entry.feedback.comment == "Which sampling?"
