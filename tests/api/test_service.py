"""What the service does around its contracts: errors, health, size limits, pages."""

import logging
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from asgi_lifespan import LifespanManager

from citewell import errors
from citewell.api.app import create_app
from citewell.api.problems import STATUS_BY_ERROR
from citewell.api.routes.pages import BookLinks, render_page
from citewell.domain import Question
from citewell.errors import CitewellError, ModelUnavailable
from citewell.events import Event, Started
from citewell.options import StreamOptions
from citewell.settings import ServeOptions
from citewell.wiring import Services
from tests.api.sse import parse_sse

ASKED = {"message": "What is a Fresnel lens made of?"}


class Broken:
    """A pipeline that fails where it is told to."""

    def __init__(self, error: Exception, *, started: bool) -> None:
        self.error, self.started, self.closed = error, started, False

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        try:
            if self.started:
                yield Started("thread", "answer")
            raise self.error
        finally:
            self.closed = True


def _client(services: Services) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(create_app(services), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


def test_every_error_has_a_status() -> None:
    tree = {
        e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, CitewellError)
    }

    assert set(STATUS_BY_ERROR) == tree


async def test_a_retryable_failure_says_when_to_come_back(tiny: Services) -> None:
    down = Broken(ModelUnavailable("The model is away."), started=False)
    async with _client(replace(tiny, answerer=down)) as client:
        for path in ("/chat/run", "/chat/stream"):
            reply = await client.post(path, json=ASKED)

            assert reply.status_code == 503
            assert reply.headers["retry-after"] == "5"
            assert reply.json()["detail"] == "The model cannot be used right now."
            assert reply.json()["request_id"] == reply.headers["x-request-id"]


async def test_a_failure_after_the_start_is_the_last_event(tiny: Services) -> None:
    broken = Broken(ModelUnavailable("The model is away."), started=True)
    async with _client(replace(tiny, answerer=broken)) as client:
        reply = await client.post("/chat/stream", json=ASKED)

    assert reply.status_code == 200
    (_, first, _), (_, last, problem) = parse_sse(reply.text)
    assert (first, last) == ("start", "error")
    assert problem["code"] == "ModelUnavailable"
    assert broken.closed


async def test_no_word_of_an_unforeseen_error_leaves_the_server(
    tiny: Services, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    for started in (False, True):
        broken = Broken(RuntimeError("secret path"), started=started)
        async with _client(replace(tiny, answerer=broken)) as client:
            for path in ("/chat/run", "/chat/stream"):
                reply = await client.post(path, json=ASKED)

                assert "secret" not in reply.text
                assert "Something went wrong on our side." in reply.text
    assert "secret path" in caplog.text


async def test_a_quiet_spell_is_filled_with_keep_alives(
    tiny: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = tiny.settings.model_copy(update={"stream": StreamOptions(keep_alive_seconds=0.001)})
    tiny = replace(tiny, settings=quick)
    async with _client(tiny) as client, LifespanManager(create_app(tiny)):
        reply = await client.post("/chat/stream", json=ASKED)

    assert ": still working" in reply.text
    assert parse_sse(reply.text)[-1][1] == "done"


async def test_routes_that_do_not_exist_answer_in_the_one_shape(client: httpx.AsyncClient) -> None:
    missing = await client.get("/nowhere")
    wrong = await client.get("/chat/run")

    assert (missing.status_code, missing.json()["code"]) == (404, "NotFound")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "MethodNotAllowed")


async def test_what_is_not_json_is_refused(client: httpx.AsyncClient) -> None:
    reply = await client.post(
        "/chat/run", content=b"{not json", headers={"content-type": "application/json"}
    )

    assert reply.status_code == 422
    assert reply.json()["code"] == "InvalidRequest"


async def test_a_body_over_the_limit_is_refused_unread(client: httpx.AsyncClient) -> None:
    reply = await client.post("/chat/run", content=b"x" * 512_001)

    assert reply.status_code == 413
    assert reply.json()["code"] == "BodyTooLarge"


async def test_health_and_readiness(client: httpx.AsyncClient) -> None:
    assert (await client.get("/health")).json() == {"status": "ok"}
    ready = await client.get("/ready")

    assert ready.status_code == 200
    assert set(ready.json()["parts"]) == {"index", "store", "embedder", "model"}
    assert all(part["latency_ms"] >= 0 for part in ready.json()["parts"].values())


async def test_not_ready_without_an_index_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    from tests.servers import build_services

    services = build_services(tmp_path)
    app = create_app(services)
    async with LifespanManager(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            ready = await client.get("/ready")

    assert ready.status_code == 503
    assert ready.json()["parts"]["index"]["ready"] is False
    assert "No book has been ingested" in ready.json()["parts"]["index"]["detail"]
    assert ready.json()["parts"]["store"]["ready"] is True


async def test_other_sites_may_not_call_unless_they_are_named(tiny: Services) -> None:
    origin = {"Origin": "https://book.example"}
    named = tiny.settings.model_copy(
        update={"serve": ServeOptions(cors_origins=("https://book.example",))}
    )
    async with _client(tiny) as closed, _client(replace(tiny, settings=named)) as opened:
        assert (
            "access-control-allow-origin"
            not in (await closed.get("/health", headers=origin)).headers
        )
        allowed = (await opened.get("/health", headers=origin)).headers
        assert allowed["access-control-allow-origin"] == "https://book.example"


async def test_books_are_listed(client: httpx.AsyncClient) -> None:
    (book,) = (await client.get("/books")).json()

    assert (book["book"], book["title"], book["pages"]) == ("tiny", "The Tiny Book", 3)


async def test_a_citation_can_be_read_in_its_page(client: httpx.AsyncClient) -> None:
    page = await client.get("/read/tiny/docs/lamps/01-lens.md")

    assert page.status_code == 200
    assert '<h2 id="orders">Orders of lenses</h2>' in page.text
    assert "A Fresnel lens is a lens made of concentric rings of glass." in page.text
    assert "<table " in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"


async def test_markup_in_a_books_text_stays_text_where_it_is_read(tiny: Services) -> None:
    (chunk, *_) = tiny.library.open("tiny").page("docs/lamps/01-lens.md")
    hostile = (
        '<img src=x onerror="alert(1)">\n\n<script>alert(2)</script>\n\n[a](javascript:alert(3))'
    )

    links = BookLinks(tiny.library.open("tiny").contents)

    page = render_page([replace(chunk, text=hostile, chapter="<b>Lens</b>")], links)

    assert "&lt;img src=x" in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;Lens" in page
    for markup in ("<img", "<script", 'href="javascript:', "<b>"):
        assert markup not in page


async def test_the_chat_page_runs_no_script_but_its_own(client: httpx.AsyncClient) -> None:
    for address in ("/", "/reader.js"):
        page = await client.get(address)
        policy = dict(
            rule.strip().split(" ", 1)
            for rule in page.headers["content-security-policy"].split(";")
        )

        assert policy["default-src"] == "'self'"
        assert "'unsafe-inline'" not in policy.get("script-src", "")
        assert policy["frame-ancestors"] == "'self'"
        assert policy["base-uri"] == "'none'"
        assert page.headers["x-content-type-options"] == "nosniff"


async def test_a_page_that_is_not_in_the_book_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.get("/read/tiny/docs/none.md")).status_code == 404
    assert (await client.get("/read/none/docs/none.md")).status_code == 404


async def test_the_chat_page_and_the_api_documentation_are_served(
    client: httpx.AsyncClient,
) -> None:
    page = await client.get("/")
    schema = (await client.get("/openapi.json")).json()

    assert page.headers["content-type"].startswith("text/html")
    files = re.findall(r'(?:href|src)="([\w.-]+)"', page.text)
    assert {"book.css", "reader.css", "reader.js", "widget.js"} <= set(files)
    for file in files:
        assert (await client.get(f"/{file}")).status_code == 200
    documentation = await client.get("/docs")
    script = re.search(r'src="([^"]+)"', documentation.text)
    assert script is not None
    assert (await client.get(script[1])).status_code == 200
    assert "https://" not in documentation.text
    fields = schema["components"]["schemas"]["ChatRequest"]["properties"]
    assert fields["similarity_threshold"]["description"].startswith("Minimum similarity")
