"""Who may come in: keys, scopes, sites and readers."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from fastapi import APIRouter, Request

from citewell.api.app import create_app
from citewell.api.middleware.auth import PUBLIC_PATHS, require_scope
from citewell.api.middleware.callers import caller_of, owner_of
from citewell.settings import ServeOptions
from citewell.storage.keys import make_key
from citewell.wiring import Services, build_keys
from tests.api.serving import ASKED, ORIGIN, access, bearer, new_key, serving, with_settings
from tests.servers import build_services

PUBLIC = {"serve": ServeOptions(host="0.0.0.0")}
ME = "r" * 22
OTHER = "s" * 22
FOR_OPERATORS = {("get", "/answers"), ("get", "/feedback"), ("get", "/metrics")}


@pytest.fixture
def services(tiny_copy: Path) -> Services:
    return build_services(tiny_copy)


async def test_a_service_on_loopback_without_keys_lets_its_operator_do_everything(
    services: Services,
) -> None:
    async with serving(services) as client:
        asked = await client.post("/chat/run", json=ASKED)
        listed = await client.get("/answers")

    assert (asked.status_code, listed.status_code) == (200, 200)
    assert "ratelimit-limit" not in asked.headers


@pytest.mark.parametrize(
    "header",
    [
        *("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Via"),
        *("X-Real-IP", "CF-Connecting-IP", "True-Client-IP", "X-Scheme", "X-Original-URL"),
        *("X-Azure-ClientIP", "X-ProxyUser-Ip", "X-Varnish", "X-Cloud-Trace-Context"),
        *("Tailscale-User-Login", "A-Header-Of-A-Proxy-To-Come"),
    ],
)
async def test_what_a_proxy_passes_on_is_not_the_operator(services: Services, header: str) -> None:
    async with serving(services) as client:
        reply = await client.get("/threads", headers={header: "203.0.113.9"})

    assert reply.status_code == 401
    assert header.lower() in reply.json()["detail"]


async def test_headers_of_browsers_libraries_and_chat_programs_are_the_operators(
    services: Services,
) -> None:
    sent = {
        "Accept-Language": "en",
        "Cache-Control": "no-cache",
        "DNT": "1",
        "Pragma": "no-cache",
        "Sec-Fetch-Site": "same-origin",
        "Sec-GPC": "1",
        "Upgrade-Insecure-Requests": "1",
        "Referer": "http://localhost/",
        "Priority": "u=1",
        "If-None-Match": "x",
        "TE": "trailers",
        "Last-Event-ID": "1",
        "X-Requested-With": "XMLHttpRequest",
        "X-Request-ID": "mine",
        "X-Stainless-Lang": "python",
        "OpenAI-Organization": "me",
        "Authorization": "Bearer x",
        "HTTP-Referer": "http://app",
        "X-Title": "App",
        "Mcp-Protocol-Version": "2025-06-18",
    }
    async with serving(services) as client:
        assert (await client.get("/threads", headers=sent)).status_code == 200


async def test_losing_the_database_of_the_keys_opens_nothing(services: Services) -> None:
    await new_key(services, "admin")
    for file in services.settings.data_dir.glob("threads.db*"):
        file.unlink()
    async with serving(services) as client:
        found = [await client.get(path) for path in ("/answers", "/metrics", "/threads")]

    assert [reply.status_code for reply in found] == [401] * 3


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "[::1]:8000", "LocalHost", "127.9.9.9"])
async def test_an_open_service_on_loopback_may_be_called_by_every_name_of_loopback(
    services: Services, host: str
) -> None:
    async with serving(services) as client:
        assert (await client.get("/threads", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8000", "localhost.evil.example", "192.0.2.1", "[", ""),
        *("evil@localhost", "localhost#x", "localhost/x", "localhost:80:80", "localhost?"),
    ],
)
async def test_a_site_whose_name_is_made_to_mean_this_machine_reads_nothing(
    services: Services, host: str
) -> None:
    async with serving(services) as client:
        read = await client.get("/threads", headers={"Host": host})
        asked = await client.post("/chat/run", json=ASKED, headers={"Host": host})

    for reply in (read, asked):
        assert (reply.status_code, reply.json()["code"]) == (403, "WrongHost")


async def test_other_names_can_be_allowed_and_then_no_others_are_answered(
    services: Services,
) -> None:
    named = access(allowed_hosts=("Book.example",))
    here, elsewhere = {"Host": "book.example:8000"}, {"Host": "evil.example"}
    async with serving(services, **named) as client:
        local = [(await client.get("/books", headers=one)).status_code for one in (here, elsewhere)]
    secret = await new_key(services)
    async with serving(services) as client:
        keyed = await client.get("/books", headers=bearer(secret, **elsewhere))
    async with serving(services, **PUBLIC, **named) as client:
        other = await client.get("/books", headers=bearer(secret, **elsewhere))
        health = await client.get("/health", headers=elsewhere)

    assert local == [200, 403]
    assert keyed.status_code == 200, "with a key, any name will do"
    assert other.status_code == 403
    assert health.status_code == 200


async def test_once_there_is_a_key_it_is_needed_on_loopback_too(services: Services) -> None:
    secret = await new_key(services)
    async with serving(services) as client:
        without = await client.post("/chat/run", json=ASKED)
        wrong = await client.post("/chat/run", json=ASKED, headers=bearer("cw_guessed"))
        right = await client.post("/chat/run", json=ASKED, headers=bearer(secret))
        header = await client.post("/chat/run", json=ASKED, headers={"X-API-Key": secret})

    assert (without.status_code, without.json()["code"]) == (401, "KeyNeeded")
    assert without.headers["www-authenticate"].startswith("Bearer")
    assert without.headers["content-type"] == "application/problem+json"
    assert without.json()["request_id"] == without.headers["x-request-id"]
    assert (wrong.status_code, wrong.json()["code"]) == (401, "WrongKey")
    assert (right.status_code, header.status_code) == (200, 200)


async def test_no_key_is_asked_for_before_the_body_is_read(services: Services) -> None:
    async with serving(services, **PUBLIC) as client:
        reply = await client.post("/chat/run", content=b"{not json")

    assert reply.status_code == 401


async def test_a_key_that_expired_or_was_revoked_opens_nothing_and_leaves_nothing_open(
    services: Services,
) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=2)
    expired, secret = make_key(
        "old",
        scopes=frozenset({"ask"}),
        created_at=long_ago,
        expires_at=long_ago + timedelta(days=1),
    )
    await build_keys(services.settings).add(expired)
    revoked = await new_key(services)
    async with serving(services) as client:
        before = await client.get("/threads", headers=bearer(revoked))
        await build_keys(services.settings).revoke("key 1", datetime.now(UTC))
        after = [await client.get("/threads", headers=bearer(one)) for one in (secret, revoked)]
        without = await client.get("/threads")

    assert before.status_code == 200
    assert [reply.status_code for reply in after] == [401, 401]
    assert without.status_code == 401


async def test_no_script_and_no_other_site_can_use_a_readers_cookie(services: Services) -> None:
    async with serving(services, **PUBLIC, **access(mode="open")) as client:
        plain = await client.get("/threads")
        secure = await client.get("https://localhost/threads", headers={"Cookie": ""})

    for reply, wanted in ((plain, set()), (secure, {"secure"})):
        name, *flags = reply.headers["set-cookie"].split("; ")
        assert name.startswith("citewell_reader=")
        assert {"httponly", "samesite=lax", "path=/"} | wanted <= {flag.lower() for flag in flags}
    assert "secure" not in plain.headers["set-cookie"].lower()


async def test_revoking_the_last_key_opens_nothing(services: Services) -> None:
    secret = await new_key(services, "admin")
    async with serving(services) as client:
        before = await client.get("/answers", headers=bearer(secret))
        await build_keys(services.settings).revoke("key 0", datetime.now(UTC))
        after = [await client.get(path) for path in ("/answers", "/metrics", "/threads")]
    async with serving(services) as client:
        restarted = await client.get("/answers")

    assert before.status_code == 200
    assert [reply.status_code for reply in (*after, restarted)] == [401] * 4


async def test_every_route_but_the_open_ones_needs_a_key_and_says_so(services: Services) -> None:
    schema = create_app(services).openapi()
    routes = [
        (path, method, operation)
        for path, operations in schema["paths"].items()
        for method, operation in operations.items()
    ]
    async with serving(services, **PUBLIC) as client:
        for path, method, operation in routes:
            address = path.replace("{", "").replace("}", "")
            reply = await client.request(method, address, json={})
            if path in PUBLIC_PATHS:
                assert reply.status_code in (200, 503)
                assert "security" not in operation
            else:
                assert reply.status_code == 401, path
                security = operation["security"]
                wanted = ["admin"] if (method, path) in FOR_OPERATORS else ["ask"]
                assert security == [{"key": wanted}, {"key_header": wanted}], path
        assert (await client.get("/nowhere")).status_code == 401
        for address in ("/", "/reader.js", "/docs", "/openapi.json"):
            assert (await client.get(address)).status_code == 200

    assert set(schema["components"]["securitySchemes"]) == {"key", "key_header"}


async def test_a_key_does_what_its_scopes_say_and_nothing_else(services: Services) -> None:
    asks, admin = await new_key(services, "ask"), await new_key(services, "admin")
    async with serving(services) as client:
        refused = await client.get("/answers", headers=bearer(asks))
        listed = await client.get("/answers", headers=bearer(admin))
        asked = await client.post("/chat/run", json=ASKED, headers=bearer(admin))

    assert (refused.status_code, refused.json()["code"]) == (403, "NotAllowed")
    assert refused.json()["detail"] == "This needs a key with the scope `admin`."
    assert listed.status_code == 200
    assert asked.status_code == 403


async def test_a_publishable_key_asks_from_its_own_site_only(services: Services) -> None:
    secret = await new_key(services, origins=(ORIGIN,))
    async with serving(services) as client:
        at_home = await client.post("/chat/run", json=ASKED, headers=bearer(secret, Origin=ORIGIN))
        elsewhere = await client.post(
            "/chat/run", json=ASKED, headers=bearer(secret, Origin="https://evil.example")
        )
        nowhere = await client.post("/chat/run", json=ASKED, headers=bearer(secret))

    assert at_home.status_code == 200
    assert at_home.headers["access-control-allow-origin"] == ORIGIN
    assert "RateLimit-Remaining" in at_home.headers["access-control-expose-headers"]
    assert (elsewhere.status_code, nowhere.status_code) == (403, 403)
    assert "access-control-allow-origin" not in elsewhere.headers


async def test_a_browser_may_ask_ahead_for_a_site_that_a_key_names(services: Services) -> None:
    ahead = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key"}
    await new_key(services, origins=(ORIGIN,))
    async with serving(services) as client:
        named = await client.options("/chat/run", headers={"Origin": ORIGIN, **ahead})
        await build_keys(services.settings).revoke("key 0", datetime.now(UTC))
        revoked = await client.options("/chat/run", headers={"Origin": ORIGIN, **ahead})

    assert named.status_code == 200
    assert named.headers["access-control-allow-origin"] == ORIGIN
    assert revoked.status_code == 400


async def test_an_open_service_lets_anyone_ask_but_not_look_behind(services: Services) -> None:
    async with serving(services, **PUBLIC, **access(mode="open")) as client:
        asked = await client.post("/chat/run", json=ASKED)
        listed = await client.get("/answers")

    assert asked.status_code == 200
    assert listed.status_code == 403


async def test_where_nobody_needs_a_key_on_loopback_one_may_be_demanded(services: Services) -> None:
    async with serving(services, **access(mode="keys")) as client:
        assert (await client.post("/chat/run", json=ASKED)).status_code == 401


def _owners(services: Services, **changes: object) -> object:
    """Serve a route that tells whose conversations the caller would see."""
    app = create_app(with_settings(services, **changes))
    router = APIRouter(dependencies=[require_scope("ask")])

    @router.get("/me")
    async def me(request: Request) -> list[str | None]:
        return [owner_of(request), caller_of(request).id]

    app.include_router(router)
    return app


async def test_every_reader_owns_their_conversations_alone(services: Services) -> None:
    secret, widget = await new_key(services), await new_key(services, origins=(ORIGIN,))
    app = _owners(services, **PUBLIC, **access(mode="open"))
    transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
    site = bearer(widget, Origin=ORIGIN)

    async def owner(**headers: str) -> str:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return str((await client.get("/me", headers=headers)).json()[0])

    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        first = (await browser.get("/me")).json()[0]
        second = await browser.get("/me")
        stolen = browser.cookies["citewell_reader"]

    assert second.json()[0] == first, "the page's cookie keeps a reader the same"
    assert "set-cookie" not in second.headers
    assert stolen not in first, "who sees an owner cannot become it"
    owners = [
        first,
        await owner(),
        await owner(**{"X-Citewell-Reader": ME}),
        await owner(**site, **{"X-Citewell-Reader": ME}),
        await owner(**site, **{"X-Citewell-Reader": OTHER}),
        await owner(**site),
        await owner(**bearer(secret)),
        await owner(**bearer(secret), **{"X-Citewell-Reader": ME}),
    ]
    assert len(set(owners)) == len(owners)
    assert await owner(**site, **{"X-Citewell-Reader": ME}) == owners[3]
    assert await owner(**bearer(secret)) == owners[6]


async def test_a_reader_without_an_id_is_given_one(services: Services) -> None:
    widget = await new_key(services, origins=(ORIGIN,))
    async with serving(services) as client:
        site = bearer(widget, Origin=ORIGIN)
        first = await client.get("/threads", headers=site)
        given = first.headers["x-citewell-reader"]
        second = await client.get("/threads", headers={**site, "X-Citewell-Reader": given})
        guessable = await client.get("/threads", headers={**site, "X-Citewell-Reader": "me"})

    assert len(given) >= 32
    assert "set-cookie" not in first.headers
    assert "x-citewell-reader" not in second.headers
    assert (guessable.status_code, guessable.json()["code"]) == (422, "BadRequest")


async def test_keys_known_before_go_on_working_while_the_database_is_down(
    services: Services, tiny_copy: Path
) -> None:
    secret = await new_key(services)
    async with serving(services) as client:
        assert (await client.get("/books", headers=bearer(secret))).status_code == 200
        _break(tiny_copy)
        known = await client.get("/books", headers=bearer(secret))
        without = await client.get("/books")

    assert (known.status_code, without.status_code) == (200, 401)


async def test_where_keys_were_never_read_nobody_comes_in(
    services: Services, tiny_copy: Path
) -> None:
    app = create_app(with_settings(services))
    _break(tiny_copy)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        reply = await client.get("/books", headers={"Origin": ORIGIN})
        alive = await client.get("/health", headers={"Origin": ORIGIN})

    assert (reply.status_code, reply.json()["code"]) == (503, "StoreUnavailable")
    assert reply.headers["retry-after"] == "5"
    assert alive.status_code == 200


def _break(data: Path) -> None:
    for file in data.glob("threads.db*"):
        file.unlink()
    (data / "threads.db").write_bytes(b"no database" * 1000)
