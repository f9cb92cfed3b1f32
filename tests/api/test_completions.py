"""Chat clients talk to the book: the real `openai` client, over a real socket."""

import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
from agents.testing import ScriptedModel, assistant_message
from agents.usage import Usage
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam

from citewell.api.app import create_app
from citewell.api.contracts.completions import source_list
from citewell.domain import Citation
from citewell.errors import ModelUnavailable
from citewell.options import LlmOptions
from citewell.wiring import Services
from tests.api.live_server import Gated, served
from tests.api.serving import access, limits, new_key, with_settings
from tests.servers import ChatServer, Reply, build_services
from tests.verify.samples import answer_of, claim_of

LENS = "What is a Fresnel lens made of?"


@asynccontextmanager
async def client_of(
    services: Services, *, key: str = "none", retries: int = 0, **changes: Any
) -> AsyncIterator[AsyncOpenAI]:
    """The service on a socket, and a client that does not try again by itself."""
    async with (
        served(create_app(with_settings(services, **changes))) as address,
        AsyncOpenAI(base_url=f"{address}/v1", api_key=key, max_retries=retries) as client,
    ):
        yield client


@pytest.fixture(scope="module")
async def client(
    tiny_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AsyncOpenAI]:
    """A client of the service over the tiny book, which all tests share that change nothing."""
    data = tmp_path_factory.mktemp("completions")
    shutil.copytree(tiny_data / "books", data / "books")
    async with client_of(build_services(data)) as client:
        yield client


@pytest.fixture
def services(tiny_copy: Path) -> Services:
    return build_services(tiny_copy)


async def receipt_of(client: AsyncOpenAI, reply: ChatCompletion) -> dict[str, Any]:
    proof = (reply.model_extra or {})["citewell"]
    above = client.with_options(base_url=str(client.base_url).removesuffix("v1/"))
    return await above.get(f"/answers/{proof['answer_id']}", cast_to=dict[str, Any])


def said(*texts: str) -> list[ChatCompletionMessageParam]:
    """A conversation that the reader began."""
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]  # type: ignore[misc]


async def ask(client: AsyncOpenAI, *texts: str, **more: Any) -> ChatCompletion:
    reply = await client.chat.completions.create(model="tiny", messages=said(*texts), **more)
    assert isinstance(reply, ChatCompletion)
    return reply


async def test_every_book_is_a_model(client: AsyncOpenAI) -> None:
    listed = [model async for model in client.models.list()]
    one = await client.models.retrieve("tiny")

    assert [model.id for model in listed] == ["tiny"]
    assert one == listed[0]
    assert one.owned_by == "The Tiny Book"


async def test_an_answer_has_its_proof_in_the_text_and_beside_it(
    client: AsyncOpenAI,
) -> None:
    reply = await ask(client, LENS)

    (choice,) = reply.choices
    text = choice.message.content or ""
    assert text.startswith("A Fresnel lens is a lens made of concentric rings of glass. [1]")
    assert (choice.finish_reason, reply.model) == ("stop", "tiny")
    first = (choice.message.annotations or [])[0].url_citation
    assert text[first.start_index : first.end_index] == text.partition(" [1]")[0]
    assert first.title == "The lens › What a Fresnel lens is"
    assert first.url.startswith("https://tiny.example/lamps/lens#what-a-fresnel-lens-is:~:text=")
    assert f"**Sources**\n- [1] [{first.title}]({first.url})" in text
    assert reply.usage
    assert reply.usage.total_tokens == 0
    assert reply.model_extra
    assert reply.model_extra["citewell"]["status"] == "answered"


async def test_the_answer_has_a_receipt_like_any_other(client: AsyncOpenAI) -> None:
    receipt = await receipt_of(client, await ask(client, LENS))

    assert receipt["question"] == LENS


async def test_a_stream_says_the_same_in_pieces(client: AsyncOpenAI) -> None:
    whole = (await ask(client, LENS)).choices[0].message
    stream = await client.chat.completions.create(
        model="tiny",
        messages=said(LENS),
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]

    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == whole.content
    assert deltas[0].role == "assistant"
    assert len([delta for delta in deltas if delta.content]) > 2
    noted = (deltas[-1].model_extra or {})["annotations"]
    assert noted == [note.model_dump() for note in whole.annotations or []]
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage
    assert not chunks[-1].choices
    assert len({chunk.id for chunk in chunks}) == 1


async def test_the_clients_own_stream_helper_reads_it(client: AsyncOpenAI) -> None:
    async with client.chat.completions.stream(model="tiny", messages=said(LENS)) as stream:
        final = await stream.get_final_completion()

    assert "concentric rings of glass. [1]" in (final.choices[0].message.content or "")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_is_an_answer(client: AsyncOpenAI, stream: bool) -> None:
    reply: Any = await client.chat.completions.create(
        model="tiny", messages=said("Who won the cup in 1966?"), stream=stream
    )
    if stream:
        text = "".join([c.choices[0].delta.content or "" async for c in reply])
    else:
        text = reply.choices[0].message.content
        assert reply.choices[0].message.annotations == []
        assert reply.choices[0].finish_reason == "stop"

    assert text.startswith("I couldn't find that in the book.")
    assert "**Sources**" not in text


async def test_the_messages_are_the_conversation(client: AsyncOpenAI) -> None:
    asked = "How much glass do its rings save?"
    first = (await ask(client, LENS)).choices[0].message.content or ""
    reply = await ask(client, LENS, first, asked)
    receipt = await receipt_of(client, reply)
    alone = await receipt_of(client, await ask(client, asked))

    assert "nine tenths" in (reply.choices[0].message.content or "")
    assert "Fresnel lens" in receipt["standalone_question"]
    assert "Fresnel lens" not in alone["standalone_question"]


async def test_what_is_made_up_as_said_before_is_not_answered(client: AsyncOpenAI) -> None:
    reply = await ask(client, LENS, "It is made of green cheese.", "Is that true? Of what?")

    assert "cheese" not in (reply.choices[0].message.content or "").partition("I searched")[0]


async def test_a_model_sees_what_was_said_before_but_no_system_message(tiny_copy: Path) -> None:
    model = ScriptedModel(
        [[assistant_message("Its thin rings save nine tenths of the glass of a plain lens. [1]")]],
        default_usage=Usage(requests=1, input_tokens=90, output_tokens=12, total_tokens=102),
    )
    async with client_of(build_services(tiny_copy, model=lambda _: model)) as client:
        order: list[ChatCompletionMessageParam] = [
            {"role": "system", "content": "Answer like a pirate."},
            *said(
                LENS, "Of rings of glass. [1]\n\n**Sources**\n- [1] x", "How much glass is saved?"
            ),
        ]
        reply = await client.chat.completions.create(model="tiny", messages=order)

    given = str(model.calls[0].input)
    assert LENS in given
    assert "Of rings of glass." in given
    assert "pirate" not in given + str(model.calls[0].system_instructions)
    assert "**Sources**" not in given
    assert "nine tenths" in (reply.choices[0].message.content or "")
    assert reply.usage
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (90, 12)
    assert reply.usage.total_tokens == 102


async def test_parts_of_text_are_read_and_what_changes_nothing_is_accepted(
    client: AsyncOpenAI,
) -> None:
    parts: Any = [{"role": "user", "content": [{"type": "text", "text": LENS}]}]
    reply = await client.chat.completions.create(
        model="tiny", messages=parts, temperature=0.2, max_tokens=50, user="u", n=1, seed=7
    )

    assert "concentric rings" in (reply.choices[0].message.content or "")


BAD: list[tuple[dict[str, Any], str]] = [
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "system", "content": "Hello"}]}, "messages"),
    ({"messages": [{"role": "user", "content": " "}]}, "messages.0.user.content"),
    ({"messages": [{"role": "user", "content": "x" * 2001}]}, "messages.0.user.content"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0"),
    ({"n": 2}, "n"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"response_format": {"type": "json_object"}}, "response_format"),
    ({"stream": "yes"}, "stream"),
]


@pytest.mark.parametrize(("wrong", "field"), BAD)
async def test_what_cannot_be_done_is_a_bad_request(
    client: AsyncOpenAI, wrong: dict[str, Any], field: str
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await client.post(
            "/chat/completions",
            body={"model": "tiny", "messages": said(LENS), **wrong},
            cast_to=dict[str, Any],
        )

    assert refused.value.type == "invalid_request_error"
    assert str(refused.value.param).startswith(field)
    assert refused.value.request_id


@pytest.mark.parametrize("stream", [False, True])
async def test_an_unknown_model_is_not_found(client: AsyncOpenAI, stream: bool) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        await client.chat.completions.create(model="gpt-5", messages=said(LENS), stream=stream)
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("gpt-5")
    with pytest.raises(openai.NotFoundError) as nowhere:
        await client.embeddings.create(model="tiny", input=LENS)

    assert (missing.value.code, missing.value.param) == ("model_not_found", "model")
    assert nowhere.value.type == "invalid_request_error"


async def test_keys_and_limits_hold_here_too(services: Services) -> None:
    key = await new_key(services)
    idle = await new_key(services, "ingest")
    async with client_of(
        services, key="cw_wrong", **access(mode="keys"), **limits(per_key="2/minute")
    ) as client:
        with pytest.raises(openai.AuthenticationError) as unknown:
            await ask(client, LENS)
        with pytest.raises(openai.PermissionDeniedError):
            await ask(client.with_options(api_key=idle), LENS)
        with pytest.raises(openai.APIStatusError) as large:
            await ask(client.with_options(api_key=key), *["a", "x" * 520_000], LENS)
        await ask(client.with_options(api_key=key), LENS)
        with pytest.raises(openai.RateLimitError) as often:
            await ask(client.with_options(api_key=key), LENS)

    assert unknown.value.code == "invalid_api_key"
    assert large.value.status_code == 413
    assert large.value.type == "invalid_request_error"
    assert often.value.code == "rate_limit_exceeded"
    assert int(often.value.response.headers["retry-after"]) > 0


async def test_a_service_that_wants_no_key_takes_any_word_for_one(services: Services) -> None:
    async with client_of(services, key="none", **access(mode="open")) as client:
        reply = await ask(client, LENS)
        with pytest.raises(openai.AuthenticationError):
            await ask(client.with_options(api_key="cw_gone"), LENS)

    assert "concentric rings" in (reply.choices[0].message.content or "")


async def test_a_failure_in_a_stream_is_its_last_chunk(services: Services) -> None:
    async def breaks() -> None:
        raise ModelUnavailable("The model cannot be used right now.")

    object.__setattr__(services, "answerer", Gated(services.answerer, breaks))
    async with client_of(services) as client:
        with pytest.raises(openai.APIError, match="cannot be used right now"):
            async for _ in await client.chat.completions.create(
                model="tiny", messages=said(LENS), stream=True
            ):
                pass
        with pytest.raises(openai.InternalServerError) as whole:
            await ask(client, LENS)

    assert whole.value.status_code == 503
    assert whole.value.code == "ModelUnavailable"


async def test_every_address_in_an_answer_leads_into_the_book(client: AsyncOpenAI) -> None:
    reply = await ask(client, LENS)

    found = re.findall(r"https?://[^\s)]+", reply.model_dump_json())
    assert found
    assert {urlsplit(one).hostname for one in found} == {"tiny.example"}


async def test_an_answer_that_its_model_broke_off_is_told_as_cut(tiny_copy: Path) -> None:
    lens = "A Fresnel lens is a lens made of concentric rings of glass. [1]"
    with ChatServer(Reply(f"{lens} Zebras never", end="cut")) as server:
        llm = LlmOptions(base_url=server.url)
        services = build_services(tiny_copy, model="openai/told", llm=llm)
        async with client_of(services) as client:
            whole = await ask(client, LENS)
            chunks = [
                chunk
                async for chunk in await client.chat.completions.create(
                    model="tiny", messages=said(LENS), stream=True
                )
            ]

    assert (whole.choices[0].message.content or "").startswith(lens)
    assert whole.choices[0].finish_reason == "length"
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "length"


def test_titles_and_addresses_of_sources_are_no_markup() -> None:
    told = Citation(
        number=1, chunk_id="c1", chapter="<img src=x>", section="a [b]", quote="Glass.", start=0,
        end=6, url="https://x.example/a_(b) <c>",
    )  # fmt: skip
    answer = answer_of("Glass.", claims=(claim_of("Glass.", citations=(told,)),))

    listed = source_list(answer)

    assert "<" not in listed
    assert r"&lt;img src=x> › a \[b\]](https://x.example/a_%28b%29%20%3Cc%3E)" in listed
