"""Over the sample book: every quote is the book's byte for byte, and nothing wrong is shown."""

import json
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message
from asgi_lifespan import LifespanManager

from citewell.answer.models import single_model_chain
from citewell.answer.pipeline import Pipeline
from citewell.api.app import create_app
from citewell.options import AnswerOptions
from citewell.text.plain_text import strip_inline_markup
from citewell.text.sentences import split_spans
from citewell.verify.judge import LexicalJudge
from citewell.wiring import Services
from tests.api.sse import parse_sse

QUESTIONS = 12


@asynccontextmanager
async def client_of(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(services)
    async with LifespanManager(app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


def questions_about(services: Services, chance: random.Random) -> list[str]:
    """Ask about titles and about words that stand together somewhere in the book."""
    index = services.library.open(None)
    headings = [heading for heading in index.contents.walk() if heading.chunks]
    asked = []
    for heading in chance.sample(headings, QUESTIONS):
        text = strip_inline_markup(index.read(heading.chunks[:1])[0].text).split()
        at = chance.randrange(max(1, len(text) - 6))
        asked.append(
            chance.choice(
                [f"What is {heading.title}?", f"{' '.join(text[at : at + 6])}?", heading.title]
            )
        )
    return [question[:200] for question in asked]


def quotes_in(body: Any) -> list[dict[str, Any]]:
    """Find every quote in a reply, wherever it stands."""
    if isinstance(body, dict):
        own = [body] if {"quote", "start", "end", "chunk_id"} <= body.keys() else []
        return own + [quote for value in body.values() for quote in quotes_in(value)]
    return [quote for one in body for quote in quotes_in(one)] if isinstance(body, list) else []


def assert_exact(services: Services, body: Any) -> int:
    index = services.library.open(None)
    quotes = quotes_in(body)
    for quote in quotes:
        (chunk,) = index.read([quote["chunk_id"]])
        source = chunk.text if quote["of"] == "text" else chunk.heading
        assert quote["quote"] == source[quote["start"] : quote["end"]]
        assert quote["quote"].strip()
    return len(quotes)


@pytest.mark.parametrize("seed", [1, 2])
async def test_every_quote_is_the_books_whole_streamed_and_remembered(
    sample: Services, seed: int
) -> None:
    shown = 0
    async with client_of(sample) as client:
        for question in questions_about(sample, random.Random(seed)):
            whole = (await client.post("/chat/run", json={"message": question})).json()
            stream = (await client.post("/chat/stream", json={"message": question})).text
            thread = (await client.get(f"/threads/{whole['session_id']}")).json()
            bodies = [whole, [data for _, _, data in parse_sse(stream)], thread]
            counts = [assert_exact(sample, body) for body in bodies]
            assert counts[0] == counts[2]
            shown += counts[0]
            for claim in whole["claims"]:
                assert whole["response"][claim["start"] : claim["end"]] == claim["text"]

    assert shown > QUESTIONS


def passages_of(call: ModelCall) -> list[str]:
    outputs = [item["output"] for item in call.input if item.get("type") == "function_call_output"]
    return [passage["text"] for output in outputs for passage in json.loads(output)["passages"]]


Change = Callable[[str], str]
CHANGES: tuple[Change, ...] = (
    lambda s: re.sub(r"\b\d+\b", lambda m: str(int(m[0]) + 7), s, count=1),
    lambda s: re.sub(r"\b(is|are|can|does|must)\b", r"\1 not", s, count=1),
    lambda s: re.sub(r"\bnot ", "", s, count=1),
    lambda s: re.sub(r"\b(before|above|more)\b", "less", s, count=1),
    lambda s: re.sub(r"\b(some|often|usually|can|may)\b", "always", s, count=1),
    lambda s: s.rstrip(".") + " on the Moon.",
    lambda s: f"I think that {s[:1].lower()}{s[1:].rstrip('.')} thanks to bananas.",
    lambda s: f"Did you know that {s.rstrip('.')} in 1871?",
    lambda s: f"## {s.rstrip('.')} since 1871",
)
INVENTED = (
    "Bananas power every robot.",
    "## Bananas power robots",
    "```\nbanana.start()\n```",
    "| Fruit | Power |\n| --- | --- |\n| banana | 5 W |",
    "![bananas](https://fruit.example/banana.png)",
    "Here is why bananas matter:",
    "Why are bananas so important for robots?",
)


def mixed(call: ModelCall, chance: random.Random, wrong: list[str]) -> str:
    """Write true sentences of the passages among altered and invented ones."""
    passages = passages_of(call)
    true = [
        " ".join(span.of(text).split())
        for text in passages
        for span in split_spans(text)
        if span.kind == "sentence" and span.of(text).endswith(".")
    ]
    book = " ".join(" ".join(passages).split())
    written = []
    for sentence in chance.sample(true, min(6, len(true))):
        written.append(f"{sentence} [{chance.randint(0, 9)}]")
        altered = chance.choice(CHANGES)(sentence)
        if altered not in (sentence, "") and altered not in book:
            wrong.append(altered)
            written.append(f"{altered} [1]")
    lies = chance.sample(INVENTED, 3)
    wrong += lies
    written += lies
    chance.shuffle(written)
    return "\n\n".join(written)


@pytest.mark.parametrize("seed", [3, 4])
async def test_nothing_altered_or_invented_reaches_the_reader(sample: Services, seed: int) -> None:
    chance, wrong = random.Random(seed), list[str]()

    def model(_: object) -> ScriptedModel:
        async def write(call: ModelCall) -> list[object]:
            return [assistant_message(mixed(call, chance, wrong))]

        return ScriptedModel([ModelStep.respond(write)])  # type: ignore[arg-type]

    pipeline = Pipeline(
        sample.library,
        sample.searcher,
        LexicalJudge(),
        sample.threads,
        single_model_chain("scripted", model),
        AnswerOptions(),
    )
    services = replace(sample, answerer=pipeline)
    shown = 0
    async with client_of(services) as client:
        for question in questions_about(services, chance):
            wrong.clear()
            events = parse_sse((await client.post("/chat/stream", json={"message": question})).text)
            done = events[-1][2]
            thread = (await client.get(f"/threads/{done['session_id']}")).json()
            seen = [data["text"] for _, event, data in events if event == "sentence"]
            for text in (*seen, done["response"], thread["messages"][1]["content"]):
                assert not [one for one in wrong if one in text]
            shown += assert_exact(services, [done["claims"], seen, thread])
            # A true sentence that stands apart from the question may be withheld as well.
            states = ("flagged",) if wrong else ("delivered", "flagged")
            assert thread["messages"][1]["state"] in states

    assert shown > QUESTIONS
