import httpx

LENS = "docs/lamps/01-lens.md"


async def test_the_table_of_contents_is_served(client: httpx.AsyncClient) -> None:
    body = (await client.get("/books/tiny/toc")).json()

    assert (body["title"], body["chapters"]) == ("The Tiny Book", 2)
    welcome, lamps = body["entries"]
    assert (welcome["kind"], welcome["number"], welcome["url"]) == (
        "page",
        None,
        "https://tiny.example/",
    )
    lens, keeper = lamps["children"]
    assert [(one["kind"], one["number"], one["title"]) for one in (lamps, lens, keeper)] == [
        ("part", None, "lamps"),
        ("chapter", 1, "The lens"),
        ("chapter", 2, "The keeper"),
    ]
    assert [one["id"] for one in lens["children"]] == [
        f"{LENS}#what-a-fresnel-lens-is",
        f"{LENS}#orders",
    ]


async def test_the_contents_may_be_kept_short(client: httpx.AsyncClient) -> None:
    body = (await client.get("/books/tiny/toc", params={"depth": 1})).json()

    assert [one["children"] for one in body["entries"][1]["children"]] == [[], []]


async def test_a_section_is_read_by_its_id(client: httpx.AsyncClient) -> None:
    body = (await client.get(f"/books/tiny/sections/{LENS}%23orders")).json()

    assert (body["title"], body["start"], body["total"]) == ("Orders of lenses", 1, 1)
    assert body["previous"] == f"{LENS}#what-a-fresnel-lens-is"
    assert body["next"] is None
    assert body["above"] == ["part:lamps", LENS]
    (passage,) = body["passages"]
    assert "sixth" in passage["text"]
    assert passage["heading"] == "lamps › The lens › Orders of lenses"
    assert (passage["role"], passage["piece"]) == ("text", "")


async def test_a_chapter_is_read_by_its_title_a_few_passages_at_a_time(
    client: httpx.AsyncClient,
) -> None:
    path = "/books/tiny/sections/The lens"
    whole = (await client.get(path)).json()
    second = (await client.get(path, params={"start": 2, "limit": 1})).json()

    assert whole["next"] == "docs/lamps/02-keeper.mdx"
    assert (second["start"], second["total"]) == (2, 2)
    assert second["passages"] == whole["passages"][1:]


async def test_a_passage_is_read_with_those_around_it(client: httpx.AsyncClient) -> None:
    toc = (await client.get("/books/tiny/toc")).json()
    lens = toc["entries"][1]["children"][0]
    first = lens["children"][0]["chunk_ids"][0]

    around = (await client.get(f"/books/tiny/passages/{first}")).json()
    alone = (await client.get(f"/books/tiny/passages/{first}", params={"around": 0})).json()

    assert [p["heading"] for p in around] == [
        "Welcome",
        "lamps › The lens › What a Fresnel lens is",
        "lamps › The lens › Orders of lenses",
    ]
    assert alone == around[1:2]


async def test_what_the_book_does_not_have_is_not_found(client: httpx.AsyncClient) -> None:
    for path in ("tiny/sections/Fog", "tiny/passages/nonsense", "nowhere/toc"):
        reply = await client.get(f"/books/{path}")

        assert reply.status_code == 404
        assert reply.json()["detail"]


async def test_an_answer_from_the_contents_says_that_it_quotes_headings(
    client: httpx.AsyncClient,
) -> None:
    asked = {"message": "What comes after the lens?"}
    body = (await client.post("/chat/run", json=asked)).json()

    assert body["response"] == "After “The lens” comes “The keeper”. [1][2]"
    (claim,) = body["claims"]
    for quote in claim["citations"]:
        (source,) = (one for one in body["sources"] if one["number"] == quote["number"])
        assert quote["of"] == "heading"
        assert source["heading"][quote["start"] : quote["end"]] == quote["quote"]
