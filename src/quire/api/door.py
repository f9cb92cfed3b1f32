"""The door: who comes in, how often, and with what right."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any

from fastapi import FastAPI, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.access.keys import Scope as KeyScope
from quire.access.limits import Kind, Limiter, Standing
from quire.access.ring import Keyring
from quire.api.callers import COOKIE, READER, Caller, caller_of, client_address, identify
from quire.api.guards import BodyLimit, KnownMethods, Recovery, RequestId
from quire.api.observed import Observed
from quire.api.page import page_paths
from quire.api.problems import refusal
from quire.api.widget import widget_paths
from quire.compose import Access
from quire.errors import NotAllowed, QuireError, RateLimited, StoreUnavailable, TooBusy, WrongKey
from quire.settings import Settings

OPEN = frozenset(
    {"/health", "/ready", "/docs", "/redoc", "/openapi.json", *page_paths(), *widget_paths()}
)
"""What anyone may see. All else is closed, also what a new router forgets to say of itself."""
OPEN_BELOW = "/static-offline-docs/"
SESSIONS = ("session_id", "thread_id", "conversation_id", "sessionId", "conversationId")
"""What contracts call a conversation, in bodies and paths."""
EXPOSED = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After", READER)
YEAR = 365 * 24 * 3600
Count = Callable[[str], Awaitable[None]]

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    bearerFormat="qk_…",
    description="A key of `quire keys create`; none is needed on a service that is open.",
)
_header = APIKeyHeader(
    name="X-API-Key", auto_error=False, scheme_name="key_header", description="The same key."
)


def needs(scope: KeyScope) -> Any:
    """Make a route's or router's dependency on a scope."""
    return Security(_entitled, scopes=[scope])


async def _entitled(
    request: Request,
    wanted: SecurityScopes,
    _: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    __: Annotated[str | None, Security(_header)],
) -> None:
    """Let a caller go on who may do this, and has not asked in this conversation too often."""
    caller = caller_of(request)
    lacking = [scope for scope in wanted.scopes if scope not in caller.scopes]
    if lacking:
        raise NotAllowed(f"This needs a key with the scope `{'`, `'.join(lacking)}`.")
    count: Count | None = request.scope["state"].get("count_session")
    if count:
        for session in await _sessions(request):
            await count(session)


async def _sessions(request: Request) -> list[str]:
    """Return the conversations that a request names, in its path or its body.

    All are counted: fields that a contract does not know are ignored there, and must not hide
    the one that it does.
    """
    named: dict[str, Any] = dict(request.path_params)
    if request.method in ("POST", "PATCH") and (body := await request.body()):
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            said = None  # the route says what is wrong with it
        named |= said if isinstance(said, dict) else {}
    texts = (named.get(name) for name in SESSIONS)
    return list(dict.fromkeys(text for text in texts if text and isinstance(text, str)))


class Door:
    """Turns away who may not come in or comes too often, before anything reads what they sent."""

    def __init__(self, app: ASGIApp, access: Access, settings: Settings) -> None:
        self._app = app
        self._ring, self._limiter = access.ring, access.limiter
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its caller, or answer it here."""
        if scope["type"] != "http" or _is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        standings: list[Standing] = []
        try:
            caller = await self._identify(scope, standings)
            await self._count(scope, caller, standings)
        except QuireError as error:
            await refusal(error, scope)(scope, receive, _marked(send, None, standings, scope))
            return
        await self._app(scope, receive, _marked(send, caller, standings, scope))

    async def _identify(self, scope: Scope, standings: list[Standing]) -> Caller:
        try:
            return await identify(scope, self._ring, self._settings)
        except WrongKey:
            # Only what is wrong is counted: others who share the address keep their right keys.
            address = client_address(scope, self._settings.access.trusted_proxies)
            await _note(self._limiter, standings, "wrong_key", address)
            raise

    async def _count(self, scope: Scope, caller: Caller, standings: list[Standing]) -> None:
        state = scope.setdefault("state", {})
        state["caller"] = caller
        if caller.kind == "local" and not self._settings.limits.local:
            return
        state["limited"] = True
        limiter = self._limiter
        if caller.kind == "secret":
            await _note(limiter, standings, "key", caller.id)
        else:
            await _note(limiter, standings, "ip", caller.address)

        async def count_session(session: str) -> None:
            # Named by its owner too: nobody can use up what is another's. Who sends no token gets a
            # new one each time, and is counted with all others of the key who send none.
            owner = caller.id if caller.new_reader else caller.owner
            # JSON can hold half a character, which the route refuses and UTF-8 cannot write.
            named = f"{owner}\n{session}".encode(errors="surrogatepass")
            who = hashlib.sha256(named).hexdigest()
            await _note(limiter, standings, "session", who)

        state["count_session"] = count_session


async def _note(limiter: Limiter, standings: list[Standing], kind: Kind, who: str) -> None:
    try:
        standing = await limiter.count(kind, who)
    except RateLimited as error:
        standings[:] = [Standing(error.limit, 0, error.retry_after)]
        raise
    if standing:
        standings.append(standing)


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(OPEN_BELOW)


def _marked(send: Send, caller: Caller | None, standings: list[Standing], scope: Scope) -> Send:
    """Add where the caller stands with the limit that comes first, and a reader's new id."""

    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if standings:
                headers.update(min(standings, key=lambda one: one.remaining).headers)
            if caller and caller.new_reader:
                headers[READER] = caller.new_reader
                if caller.kind == "anonymous":  # the service's own page; others send the header
                    headers.append("set-cookie", _cookie(caller.new_reader, scope))
        await send(message)

    return marked


def _cookie(reader: str, scope: Scope) -> str:
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return f"{COOKIE}={reader}; Path=/; Max-Age={YEAR}; HttpOnly; SameSite=Lax{secure}"


class AnswersAtOnce:
    """Refuses questions while as many are being answered as the process can take."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._working = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count it until its last byte is sent."""
        limited = scope["type"] == "http" and scope.get("state", {}).get("limited")
        if not self._limit or not limited or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        if self._working >= self._limit:
            error = TooBusy("Too many questions are being answered right now.")
            await refusal(error, scope)(scope, receive, send)
            return
        self._working += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._working -= 1


class Cors(CORSMiddleware):
    """Lets pages of the sites read answers that the settings or a publishable key names."""

    def __init__(self, app: ASGIApp, ring: Keyring, origins: tuple[str, ...]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["*"],
            expose_headers=[*EXPOSED, "X-Request-ID"],
        )
        self._ring = ring

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look up the keys' origins where a browser asks, then go on as usual."""
        if scope["type"] == "http" and "origin" in Headers(scope=scope):
            with suppress(StoreUnavailable):  # the door says so, where it has to know
                await self._ring.refresh()
        await super().__call__(scope, receive, send)

    def is_allowed_origin(self, origin: str) -> bool:
        """Ask the settings, then the keys."""
        return super().is_allowed_origin(origin) or self._ring.allows(origin)


def hang_door(app: FastAPI, access: Access, settings: Settings) -> None:
    """Put everything before the routes that a request passes, the last line outermost."""
    app.add_middleware(AnswersAtOnce, limit=settings.limits.answers_at_once)
    app.add_middleware(BodyLimit, limit=settings.serve.max_body_bytes)
    app.add_middleware(Door, access=access, settings=settings)
    app.add_middleware(Recovery)
    app.add_middleware(Cors, ring=access.ring, origins=settings.serve.cors_origins)
    app.add_middleware(KnownMethods)
    app.add_middleware(Observed)
    app.add_middleware(RequestId)
