"""The agent's memory is the thread that the reader sees."""

from pathlib import Path

from agents.memory import Session
from agents.testing import ScriptedModel, assistant_message

from citewell.answer.session import ThreadSession
from citewell.domain import Answer, Question
from citewell.events import Done
from citewell.wiring import Services
from tests.servers import build_services
from tests.storage.turns import turn_of

LENS = "A Fresnel lens is a lens made of concentric rings of glass."
WRONG = "A first-order lens has a focal length of 940 mm."


async def ask(services: Services, text: str, **more: object) -> Answer:
    async for event in services.answerer.answer(Question(text=text, **more)):  # type: ignore[arg-type]
        if isinstance(event, Done):
            return event.answer
    raise AssertionError("no answer")


async def test_a_model_remembers_what_was_shown_and_nothing_else(tiny_data: Path) -> None:
    models: list[ScriptedModel] = []

    def model(_: object) -> ScriptedModel:
        models.append(ScriptedModel([[assistant_message(f"{LENS} [1] {WRONG} [2]")]]))
        return models[-1]

    async with build_services(tiny_data, model=model) as services:
        first = await ask(services, "What is a Fresnel lens?")
        await ask(services, "What is a Fresnel lens made of?", thread_id=first.thread_id)
        thread = await services.threads.load(first.thread_id)

    fresh, later = (one.first_call.input for one in models if one.first_call)
    assert [item.get("role") for item in fresh] == ["user", None, None]
    assert later[0] == {"role": "user", "content": "What is a Fresnel lens?"}
    assert later[1]["role"] == "assistant"
    assert later[1]["content"].startswith(LENS)
    assert WRONG not in later[1]["content"]
    assert later[2]["role"] == "user"
    assert thread is not None
    assert [message.role for message in thread.messages] == ["user", "assistant"] * 2
    assert WRONG not in "".join(message.content for message in thread.messages)


async def test_another_readers_thread_is_not_remembered(tiny: Services) -> None:
    async with tiny:
        hers = await ask(tiny, "What is a Fresnel lens?", owner="alice")

        assert await ThreadSession(tiny.threads, hers.thread_id, last=6).get_items() == []
        own = ThreadSession(tiny.threads, hers.thread_id, owner="alice", last=6)
        assert len(await own.get_items()) == 2


async def test_what_a_run_says_is_taken_back_without_touching_the_thread(tiny: Services) -> None:
    async with tiny:
        await tiny.threads.append(*turn_of("remembered", "one"))
        session = ThreadSession(tiny.threads, "remembered", last=6)
        assert isinstance(session, Session)

        await session.add_items(
            [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
        )
        assert [item["content"] for item in await session.get_items(2)] == ["a", "b"]
        assert await session.pop_item() == {"role": "user", "content": "b"}
        await session.clear_session()

        assert await session.pop_item() is None
        said = [item["content"] for item in await session.get_items()]
        assert said == ["question one", "answer one"]
        assert await session.get_items(0) == []
        await tiny.threads.delete("remembered")


async def test_of_what_lies_further_back_a_model_is_told_what_was_asked(tiny: Services) -> None:
    async with tiny:
        for number in range(5):
            await tiny.threads.append(*turn_of("long", f"number {number} {'and on ' * 30}"))
        told, *recent = await ThreadSession(tiny.threads, "long", last=6).get_items()
        short = await ThreadSession(tiny.threads, "long", last=10).get_items()
        await tiny.threads.delete("long")

    assert told["role"] == "user"
    said = str(told["content"])
    assert said.startswith("Earlier in this conversation the reader asked: ")
    assert "question number 0" in said
    assert "question number 1" in said
    assert "number 2" not in said
    assert "answer" not in said
    assert len(said) < 500
    assert [item["role"] for item in recent] == ["user", "assistant"] * 3
    assert len(short) == 10
