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

from citewell.api.middleware.callers import (
    READER_COOKIE,
    READER_HEADER,
    Caller,
    caller_of,
    client_address,
    identify,
)
from citewell.api.middleware.limits import (
    BodyLimitMiddleware,
    KnownMethodsMiddleware,
    RecoveryMiddleware,
    RequestIdMiddleware,
)
from citewell.api.middleware.metrics import MetricsMiddleware
from citewell.api.problems import error_response
from citewell.api.routes.static import page_paths, widget_paths
from citewell.auth.key_cache import KeyCache
from citewell.auth.rate_limits import Limiter, LimitKind, RateLimitState
from citewell.errors import (
    CitewellError,
    NotAllowed,
    RateLimited,
    StoreUnavailable,
    TooBusy,
    WrongKey,
)
from citewell.settings import Settings
from citewell.storage.keys import Scope as KeyScope
from citewell.wiring import AccessControl

PUBLIC_PATHS = frozenset(
    {"/health", "/ready", "/docs", "/redoc", "/openapi.json", *page_paths(), *widget_paths()}
)
"""What anyone may see. All else is closed, also what a new router forgets to say of itself."""
PUBLIC_PREFIX = "/static-offline-docs/"
SESSION_FIELDS = ("session_id", "thread_id", "conversation_id", "sessionId", "conversationId")
"""What contracts call a conversation, in bodies and paths."""
EXPOSED_HEADERS = (
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "Retry-After",
    READER_HEADER,
)
COOKIE_MAX_AGE = 365 * 24 * 3600
CountSession = Callable[[str], Awaitable[None]]

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    bearerFormat="cw_…",
    description="A key of `citewell keys create`; none is needed on a service that is open.",
)
_header = APIKeyHeader(
    name="X-API-Key", auto_error=False, scheme_name="key_header", description="The same key."
)


def require_scope(scope: KeyScope) -> Any:
    """Make a route's or router's dependency on a scope."""
    return Security(_check_scopes, scopes=[scope])


async def _check_scopes(
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
    count: CountSession | None = request.scope["state"].get("count_session")
    if count:
        for session in await _session_ids(request):
            await count(session)


async def _session_ids(request: Request) -> list[str]:
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
    texts = (named.get(name) for name in SESSION_FIELDS)
    return list(dict.fromkeys(text for text in texts if text and isinstance(text, str)))


class AuthMiddleware:
    """Turns away who may not come in or comes too often, before anything reads what they sent."""

    def __init__(self, app: ASGIApp, access: AccessControl, settings: Settings) -> None:
        self._app = app
        self._cached_keys, self._limiter = access.cached_keys, access.limiter
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its caller, or answer it here."""
        if scope["type"] != "http" or _is_public(scope["path"]):
            await self._app(scope, receive, send)
            return
        limit_states: list[RateLimitState] = []
        try:
            caller = await self._identify(scope, limit_states)
            await self._count(scope, caller, limit_states)
        except CitewellError as error:
            await error_response(error, scope)(
                scope, receive, _with_headers(send, None, limit_states, scope)
            )
            return
        await self._app(scope, receive, _with_headers(send, caller, limit_states, scope))

    async def _identify(self, scope: Scope, limit_states: list[RateLimitState]) -> Caller:
        try:
            return await identify(scope, self._cached_keys, self._settings)
        except WrongKey:
            # Only what is wrong is counted: others who share the address keep their right keys.
            address = client_address(scope, self._settings.access.trusted_proxies)
            await _count_request(self._limiter, limit_states, "wrong_key", address)
            raise

    async def _count(
        self, scope: Scope, caller: Caller, limit_states: list[RateLimitState]
    ) -> None:
        state = scope.setdefault("state", {})
        state["caller"] = caller
        if caller.kind == "local" and not self._settings.limits.local:
            return
        state["limited"] = True
        limiter = self._limiter
        if caller.kind == "secret":
            await _count_request(limiter, limit_states, "key", caller.id)
        else:
            await _count_request(limiter, limit_states, "ip", caller.address)

        async def count_session(session: str) -> None:
            # Named by its owner too: nobody can use up what is another's. Who sends no token gets a
            # new one each time, and is counted with all others of the key who send none.
            owner = caller.id if caller.issued_token else caller.owner
            # JSON can hold half a character, which the route refuses and UTF-8 cannot write.
            named = f"{owner}\n{session}".encode(errors="surrogatepass")
            who = hashlib.sha256(named).hexdigest()
            await _count_request(limiter, limit_states, "session", who)

        state["count_session"] = count_session


async def _count_request(
    limiter: Limiter, limit_states: list[RateLimitState], kind: LimitKind, who: str
) -> None:
    try:
        standing = await limiter.count(kind, who)
    except RateLimited as error:
        limit_states[:] = [RateLimitState(error.limit, 0, error.retry_after)]
        raise
    if standing:
        limit_states.append(standing)


def _is_public(path: str) -> bool:
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_PREFIX)


def _with_headers(
    send: Send, caller: Caller | None, limit_states: list[RateLimitState], scope: Scope
) -> Send:
    """Add where the caller stands with the limit that comes first, and a reader's new id."""

    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if limit_states:
                headers.update(min(limit_states, key=lambda one: one.remaining).headers)
            if caller and caller.issued_token:
                headers[READER_HEADER] = caller.issued_token
                if caller.kind == "anonymous":  # the service's own page; others send the header
                    headers.append("set-cookie", _cookie(caller.issued_token, scope))
        await send(message)

    return marked


def _cookie(reader: str, scope: Scope) -> str:
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return (
        f"{READER_COOKIE}={reader}; Path=/; Max-Age={COOKIE_MAX_AGE}; HttpOnly; "
        f"SameSite=Lax{secure}"
    )


class ConcurrencyLimitMiddleware:
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
            await error_response(error, scope)(scope, receive, send)
            return
        self._working += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._working -= 1


class KeyOriginCORSMiddleware(CORSMiddleware):
    """Lets pages of the sites read answers that the settings or a publishable key names."""

    def __init__(self, app: ASGIApp, cached_keys: KeyCache, origins: tuple[str, ...]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["*"],
            expose_headers=[*EXPOSED_HEADERS, "X-Request-ID"],
        )
        self._cached_keys = cached_keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look up the keys' origins where a browser asks, then go on as usual."""
        if scope["type"] == "http" and "origin" in Headers(scope=scope):
            with suppress(StoreUnavailable):  # the door says so, where it has to know
                await self._cached_keys.refresh()
        await super().__call__(scope, receive, send)

    def is_allowed_origin(self, origin: str) -> bool:
        """Ask the settings, then the keys."""
        return super().is_allowed_origin(origin) or self._cached_keys.allows_origin(origin)


def install_middleware(app: FastAPI, access: AccessControl, settings: Settings) -> None:
    """Put everything before the routes that a request passes, the last line outermost."""
    app.add_middleware(ConcurrencyLimitMiddleware, limit=settings.limits.answers_at_once)
    app.add_middleware(BodyLimitMiddleware, limit=settings.serve.max_body_bytes)
    app.add_middleware(AuthMiddleware, access=access, settings=settings)
    app.add_middleware(RecoveryMiddleware)
    app.add_middleware(
        KeyOriginCORSMiddleware, cached_keys=access.cached_keys, origins=settings.serve.cors_origins
    )
    app.add_middleware(KnownMethodsMiddleware)
    app.add_middleware(MetricsMiddleware)
    app.add_middleware(RequestIdMiddleware)
