"""Several books in one service: keys that open some of them, and a search across those named."""

from pathlib import Path
from shutil import copytree

import pytest
from agents.testing import ScriptedModel, assistant_message

from citewell.errors import BadRequest, BadSettings
from citewell.ingest.pipeline import ingest
from citewell.settings import read_settings
from citewell.storage.keys import make_key
from citewell.wiring import Services
from tests.api.serving import bearer, new_key, serving
from tests.servers import HashEmbedder, build_services

LAMPS = "# Lamps\n\n## Oil\n\nColza oil burns in the lamp of the lighthouse.\n"
HORNS = "# Horns\n\n## Fog\n\nA brass horn warns ships of the lighthouse in fog.\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    for name, text in {"lamps": LAMPS, "horns": HORNS}.items():
        source = folder / "sources" / name
        source.mkdir(parents=True)
        (source / "page.md").write_text(text)
        ingest(source, folder / "data" / "books", HashEmbedder(), book=name)
    return folder / "data"


@pytest.fixture
def services(data: Path, tmp_path: Path) -> Services:
    # A folder of its own: once a service has had keys, it answers nobody without one.
    return build_services(copytree(data, tmp_path / "data"))


async def test_a_key_for_one_book_knows_of_no_other(services: Services) -> None:
    key = bearer(await new_key(services, books=("lamps",)))
    (passage,) = services.library.open("horns").page("page.md")
    async with serving(services) as client:
        listed = await client.get("/books", headers=key)
        asked = await client.post("/chat/run", json={"message": "What burns?"}, headers=key)
        own = await client.get("/books/lamps/toc", headers=key)
        body = {"message": "What warns ships?", "book": "horns"}
        refused = [
            await client.post("/chat/run", json=body, headers=key),
            await client.post("/chat/stream", json=body, headers=key),
            await client.post("/search", json={"query": "horn", "book": "horns"}, headers=key),
            await client.post(
                "/search", json={"query": "horn", "books": ["lamps", "horns"]}, headers=key
            ),
            await client.post("/search_book", json={"query": "horn", "book": "horns"}, headers=key),
            await client.get("/books/horns/toc", headers=key),
            await client.get("/books/horns/sections/Fog", headers=key),
            await client.get(f"/books/horns/passages/{passage.id}", headers=key),
            await client.get("/read/horns/page.md", headers=key),
        ]

    assert [book["book"] for book in listed.json()] == ["lamps"]
    assert "Colza oil" in asked.json()["response"]
    assert own.status_code == 200
    assert {(r.status_code, r.json()["code"]) for r in refused} == {(404, "UnknownBook")}
    # In the same words as for a book that there never was.
    assert {r.json()["detail"] for r in refused} == {"There is no book 'horns'. Known: lamps."}


async def test_a_key_for_several_books_has_to_say_which(services: Services) -> None:
    key = bearer(await new_key(services, books=("horns", "lamps")))
    async with serving(services) as client:
        which = await client.post("/chat/run", json={"message": "What burns?"}, headers=key)
        named = await client.post(
            "/chat/run", json={"message": "What burns?", "book": "lamps"}, headers=key
        )

    assert which.json()["detail"] == "Say which book is meant. Known: horns, lamps."
    assert "Colza oil" in named.json()["response"]


async def test_a_key_without_books_opens_all(services: Services) -> None:
    key = bearer(await new_key(services))
    async with serving(services) as client:
        listed = await client.get("/books", headers=key)

    assert [book["book"] for book in listed.json()] == ["horns", "lamps"]


def test_a_key_for_some_books_may_only_ask(services: Services) -> None:
    with pytest.raises(BadRequest, match="may only have the scope ask"):
        make_key("reader", scopes=frozenset({"ask", "admin"}), books=("lamps",), created_at=None)


async def test_several_books_are_searched_at_once(services: Services) -> None:
    body = {"query": "lighthouse lamp horn", "top_k": 5}
    async with serving(services) as client:
        both = (await client.post("/search", json=body | {"books": ["lamps", "horns"]})).json()
        one = (await client.post("/search", json=body | {"books": ["lamps"]})).json()
        none = await client.post("/search", json=body | {"books": []})
        unknown = await client.post("/search", json=body | {"books": ["lamps", "tides"]})

    assert {hit["book"] for hit in both["results"]} == {"lamps", "horns"}
    scores = [hit["score"] for hit in both["results"]]
    assert scores == sorted(scores, reverse=True)
    assert {hit["book"] for hit in one["results"]} == {"lamps"}
    assert none.status_code == 422
    assert unknown.json()["code"] == "UnknownBook"


async def test_a_service_with_several_books_is_ready(services: Services) -> None:
    async with serving(services) as client:
        assert (await client.get("/ready")).status_code == 200


async def test_each_book_is_answered_for_as_it_is_set(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_DATABASE_URL", f"sqlite:///{tmp_path / 'threads.db'}")
    monkeypatch.setenv("CITEWELL_BOOKS", '[{"name": "horns", "unsupported": "allow"}]')
    said = "Colza oil burns in the lamp of the lighthouse. [1] Whales sing at night. [1]"
    horns = "A brass horn warns ships of the lighthouse in fog. [1] Whales sing at night. [1]"

    scripted = ScriptedModel([[assistant_message(said)], [assistant_message(horns)]])
    services = build_services(data, model=lambda _: scripted)
    async with serving(services) as client:
        strict = await client.post("/chat/run", json={"message": "What burns?", "book": "lamps"})
        lax = await client.post("/chat/run", json={"message": "What warns ships?", "book": "horns"})

    assert "Colza oil" in strict.json()["response"]
    assert "Whales" not in strict.json()["response"]
    assert "Whales" in lax.json()["response"]


def test_a_book_is_set_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_BOOKS", '[{"name": "a"}, {"name": "a"}]')

    with pytest.raises(BadSettings, match="two books have the same name"):
        read_settings()
