"""Searching over HTTP: what is shown is plain text, and nothing where nothing is relevant."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from citewell.api.app import create_app
from citewell.text.plain_text import preview
from citewell.wiring import Services

MARKUP = re.compile(r"```|~~~|\*\*\w|\w\*\*|\]\(|\]\[|\[\^|\$\$|:::|\| ?:?--|\{#|^#+ |title=")
QUERIES = (
    *("QoS profiles", "costmap layers", "equations of motion", "publisher in Python", "quaternion"),
    *("which parameters of Nav2", "colcon build", "particle filter", "launch file", "URDF joints"),
)


@pytest.fixture
async def client(sample: Services) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(sample), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def test_previews_are_plain_text(client: httpx.AsyncClient) -> None:
    for query in QUERIES:
        reply = await client.post("/search", json={"query": query, "top_k": 10})

        previews = [hit["preview"] for hit in reply.json()["results"]]
        assert previews, query
        assert not [one for one in previews if MARKUP.search(one) or "\n" in one]


@pytest.mark.parametrize("query", ["asdfghjkl qwerty", "recipe for apple pie", "capital of France"])
async def test_nothing_relevant_is_nothing_found(client: httpx.AsyncClient, query: str) -> None:
    found = await client.post("/search", json={"query": query})
    context = await client.post("/search_book", json={"query": query})

    assert found.json()["results"] == []
    assert context.json()["chunks"] == []


def test_every_passage_of_the_sample_book_has_a_plain_preview(sample: Services) -> None:
    index = sample.library.open(None)
    files = {heading.source_file for heading in index.contents.walk() if heading.source_file}
    chunks = [chunk for file in files for chunk in index.page(file)]

    assert len(chunks) > 100
    assert not [one.id for one in chunks if MARKUP.search(preview(one.text, 500))]
