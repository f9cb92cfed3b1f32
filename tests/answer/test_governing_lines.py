"""A manual says what must not be done: no such step is shown without the line above it."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from agents.testing import ScriptedModel, assistant_message
from asgi_lifespan import LifespanManager

from citewell.answer.models import ModelFactory
from citewell.api.app import create_app
from citewell.ingest.pipeline import ingest
from citewell.text.plain_text import plain
from tests.servers import HashEmbedder, build_services


@dataclass(frozen=True)
class Form:
    """One way to write that something is not so, or not to be done."""

    page: str
    question: str
    step: str
    governing: str
    """What has to stand before the step, with nothing between but what it governs, too."""
    after: str = ""
    """What has to stand right behind it."""


FORMS = {
    "list": Form(
        "## Draining\n\nDraining takes an hour.\n\nNever do this while the kettle is under"
        " pressure:\n\n- Unscrew the drain plug by hand.\n- Leave the hose in the gutter.\n",
        "May I unscrew the drain plug by hand?",
        "Unscrew the drain plug by hand.",
        "Never do this while the kettle is under pressure:",
    ),
    "second item": Form(
        "## Hoses\n\nThe following is forbidden in every plant:\n\n- Knot a hose.\n\n"
        "- Join two steam hoses with wire.\n",
        "How do I join two steam hoses with wire?",
        "Join two steam hoses with wire.",
        "The following is forbidden in every plant:",
    ),
    "ordered list": Form(
        "## Cleaning\n\nFrequent mistakes of apprentices:\n\n1. Scrub the gauge glass with sand.\n"
        "2. Rinse it with cold water.\n",
        "What do I scrub the gauge glass with?",
        "Scrub the gauge glass with sand.",
        "Frequent mistakes of apprentices:",
    ),
    "nested list": Form(
        "## Firing\n\nTwo kinds of habits exist:\n\n- Good ones:\n  - Open the flue first.\n"
        "- Ones to avoid:\n  - Feed wet coal into the glowing grate.\n",
        "Should I feed wet coal into the glowing grate?",
        "Feed wet coal into the glowing grate.",
        "Ones to avoid:",
    ),
    "paragraph": Form(
        "## Ignition\n\nWhat must not be done:\n\nIgnite the pilot with the flue closed.\n\n"
        "The pilot burns blue.\n",
        "How do I ignite the pilot?",
        "Ignite the pilot with the flue closed.",
        "What must not be done:",
    ),
    "admonition": Form(
        "## Water level\n\n:::danger[Wrong procedure]\n\nBridge the level switch with a coin during"
        " the night shift.\n\n:::\n",
        "What should I bridge the level switch with?",
        "Bridge the level switch with a coin during the night shift.",
        "Wrong procedure",
    ),
    "heading": Form(
        "## Myths\n\nA rusty pressure relief spring grows stronger every winter.\n",
        "Does a rusty pressure relief spring grow stronger every winter?",
        "A rusty pressure relief spring grows stronger every winter.",
        "Myths",
    ),
    "block quote": Form(
        "## Additives\n\nA dealer in Leeds claims, without any proof:\n\n"
        "> Vinegar in the feed water doubles the life of the tubes.\n",
        "Does vinegar in the feed water double the life of the tubes?",
        "Vinegar in the feed water doubles the life of the tubes.",
        "A dealer in Leeds claims, without any proof:",
    ),
    "question and answer": Form(
        "## Soot\n\nIs this true? Soot on the tubes saves fuel in spring. No.\n",
        "Does soot on the tubes save fuel in spring?",
        "Soot on the tubes saves fuel in spring.",
        "Is this true?",
        after="No.",
    ),
    "answer in the next paragraph": Form(
        "## Sealing\n\nOld stokers say:\n\n> Chewing gum seals a cracked manhole gasket.\n\n"
        "That is nonsense.\n",
        "Does chewing gum seal a cracked manhole gasket?",
        "Chewing gum seals a cracked manhole gasket.",
        "Old stokers say:",
        after="That is nonsense.",
    ),
    "table column": Form(
        "## Ash\n\n| Do | Don't |\n| --- | --- |\n| Let the ash cool. | Shovel glowing ash into a"
        " plastic bucket. |\n",
        "Can I shovel glowing ash into a plastic bucket?",
        "Shovel glowing ash into a plastic bucket.",
        "Don't",
    ),
    "sentence of its own": Form(
        "## The sump\n\nHere is what you should never do.\n\nPetrol may be poured into the sump."
        "\n\nThe sump holds four litres.\n",
        "What may be poured into the sump?",
        "Petrol may be poured into the sump.",
        "Here is what you should never do.",
    ),
    "following statement": Form(
        "## The whistle\n\nThe following is not true.\n\nThe whistle is made of blue glass.\n",
        "What is the whistle made of?",
        "The whistle is made of blue glass.",
        "The following is not true.",
    ),
    "summary": Form(
        "## The valve\n\n<details><summary>Answers that are wrong</summary>\n\nThe relief valve"
        " should be wired shut in summer.\n\n</details>\n",
        "Should the relief valve be wired shut in summer?",
        "The relief valve should be wired shut in summer.",
        "Answers that are wrong",
    ),
    "sentence before a listing": Form(
        "## Controller\n\nThis call ruins the controller. Do not run it:\n\n"
        '```python title="ruin.py"\ncontroller.overwrite_firmware(force=True)\n```\n',
        "Show me the code to overwrite firmware of the controller",
        "controller.overwrite_firmware(force=True)",
        "Do not run it:",
    ),
}


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the manual, one page for each form."""
    pages, data = tmp_path_factory.mktemp("manual"), tmp_path_factory.mktemp("manual-data")
    for name, form in FORMS.items():
        text = f"# The boiler: {name}\n\nThis page is about the boiler.\n\n{form.page}"
        (pages / f"{name.replace(' ', '-')}.md").write_text(text, "utf-8")
    ingest(pages, data / "books", HashEmbedder(), book="manual")
    return data


async def asked(
    data: Path, question: str, model: ModelFactory | str = "embedded"
) -> dict[str, Any]:
    services = build_services(data, model=model)
    async for client in _client(create_app(services)):
        body = {"message": question, "similarity_threshold": 0.0}
        reply = await client.post("/chat/run", json=body)
        assert reply.status_code == 200, reply.text
        return dict(reply.json())
    raise AssertionError


async def _client(app: object) -> AsyncIterator[httpx.AsyncClient]:
    async with LifespanManager(app, startup_timeout=120, shutdown_timeout=120):  # type: ignore[arg-type]
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


def words(text: str) -> str:
    return " ".join(plain(re.sub(r"\[\d+\]", "", text)).split())


@pytest.mark.parametrize("name", FORMS)
async def test_a_step_is_quoted_with_the_line_that_forbids_it(manual: Path, name: str) -> None:
    form = FORMS[name]

    reply = await asked(manual, form.question)

    said = words(str(reply["response"]))
    assert reply["unsupported_claims"] == []
    at = said.find(words(form.step))
    assert at >= 0, said
    before = said[:at].rstrip()
    governed = before[before.rfind(form.governing) + len(form.governing) :]
    assert form.governing in before, said
    # Between the two stands nothing but what the page has there.
    assert governed.strip() in words(form.page)
    assert said[at:].removeprefix(words(form.step)).strip().startswith(form.after), said


@pytest.mark.parametrize("name", FORMS)
async def test_a_model_that_says_the_step_alone_is_not_proven_right(
    manual: Path, name: str
) -> None:
    form = FORMS[name]
    true = "This page is about the boiler."
    step = f"```\n{form.step}\n```" if "(" in form.step else form.step

    def model(_: object) -> ScriptedModel:
        return ScriptedModel([[assistant_message(f"{true} [1]\n\n{step} [1]")]])

    reply = await asked(manual, form.question, model)

    assert not [one for one in reply["claims"] if form.step in one["text"]]


async def test_a_model_that_says_the_line_as_well_may_say_the_step(manual: Path) -> None:
    form = FORMS["second item"]
    text = f"{form.governing}\n\n- Knot a hose.\n- {form.step}"

    def model(_: object) -> ScriptedModel:
        return ScriptedModel([[assistant_message(text)]])

    reply = await asked(manual, form.question, model)

    said = words(str(reply["response"]))
    assert said == f"{form.governing} Knot a hose. {form.step}"


HARMLESS = {
    "What is the drum rinsed with?": "Wet ropes are bad for the winch. It squeaks.\n\n"
    "The drum is rinsed with soft water.\n",
    "What is the hatch closed with?": "This does not apply to the deck.\n\n"
    "The hatch is closed with a brass pin.\n",
    "What is the mast painted with?": "Avoid sharp edges.\n\n"
    "The mast is painted with white lead.\n",
}


@pytest.mark.parametrize("question", HARMLESS)
async def test_a_line_that_forbids_something_else_governs_nothing(
    tmp_path: Path, question: str
) -> None:
    page = HARMLESS[question]
    (tmp_path / "page.md").write_text(f"# The ship\n\n## Its care\n\n{page}")
    ingest(tmp_path / "page.md", tmp_path / "data" / "books", HashEmbedder(), book="manual")
    step = page.strip().split("\n\n")[-1]

    def model(_: object) -> ScriptedModel:
        return ScriptedModel([[assistant_message(f"{step} [1]")]])

    reply = await asked(tmp_path / "data", question, model)

    assert [one["verdict"] for one in reply["claims"] if one["text"] == step] == ["supported"]
