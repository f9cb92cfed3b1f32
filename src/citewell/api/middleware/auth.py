"""Authentication, authorization, rate limits and CORS."""

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
    READER_HEADER,
    Caller,
    caller_of,
    client_address,
    identify,
)
from citewell.api.middleware.metrics import MetricsMiddleware
from citewell.api.middleware.requests import (
    READER_COOKIE,
    BodyLimitMiddleware,
    RecoveryMiddleware,
    RequestHeadMiddleware,
    RequestIdMiddleware,
)
from citewell.api.problems import error_response
from citewell.api.routes.static import chat_page_paths, widget_paths
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
    {"/health", "/ready", "/docs", "/redoc", "/openapi.json", *chat_page_paths(), *widget_paths()}
)
"""Paths without authentication. All others require it, even if a new router forgets its scope."""
PUBLIC_PREFIX = "/static-offline-docs/"
SESSION_LIMITED_PREFIX = "/assistant/"
"""The paths whose requests are counted for each session: the other contracts have no such limit."""
EXPOSED_HEADERS = (
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "Retry-After",
    READER_HEADER,
)
COOKIE_MAX_AGE = 365 * 24 * 3600
SessionCounter = Callable[[str], Awaitable[None]]

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    bearerFormat="cw_…",
    description="A key created by `citewell keys create`; a service in open mode needs none.",
)
_header = APIKeyHeader(
    name="X-API-Key", auto_error=False, scheme_name="key_header", description="The same key."
)


def require_scope(scope: KeyScope) -> Any:
    """Return a dependency that requires a scope for a route or router."""
    return Security(_check_scopes, scopes=[scope])


async def _check_scopes(
    request: Request,
    required: SecurityScopes,
    _: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    __: Annotated[str | None, Security(_header)],
) -> None:
    """Check the caller's scopes and the rate limit of the conversation."""
    caller = caller_of(request)
    missing = [scope for scope in required.scopes if scope not in caller.scopes]
    if missing:
        raise NotAllowed(f"This needs a key with the scope `{'`, `'.join(missing)}`.")
    count: SessionCounter | None = request.scope["state"].get("count_session")
    if count and request.url.path.startswith(SESSION_LIMITED_PREFIX):  # noqa: SIM102
        if session_id := await _requested_session_id(request):
            await count(session_id)


async def _requested_session_id(request: Request) -> str:
    """Return the session in the path or the body of a request."""
    fields: dict[str, Any] = dict(request.path_params)
    if request.method == "POST" and (body := await request.body()):
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            data = None  # the route reports the error
        fields |= data if isinstance(data, dict) else {}
    session_id = fields.get("session_id")
    return session_id if isinstance(session_id, str) else ""


class AuthMiddleware:
    """Rejects unauthenticated and rate-limited requests before their bodies are read."""

    def __init__(self, app: ASGIApp, access: AccessControl, settings: Settings) -> None:
        self._app = app
        self._key_cache, self._limiter = access.key_cache, access.limiter
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Identify the caller and pass the request on, or respond with an error."""
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
            return await identify(scope, self._key_cache, self._settings)
        except WrongKey:
            # Valid keys from the same address are not affected by this limit.
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

        async def count_session(session_id: str) -> None:
            # The owner is part of the identifier, so that nobody can exhaust the limit of another.
            # Readers without a token get a new one each time, so they share one counter per key.
            owner = caller.id if caller.issued_token else caller.owner
            # JSON may contain lone surrogates, which the route rejects later.
            name = f"{owner}\n{session_id}".encode(errors="surrogatepass")
            identifier = hashlib.sha256(name).hexdigest()
            await _count_request(limiter, limit_states, "session", identifier)

        state["count_session"] = count_session


async def _count_request(
    limiter: Limiter, limit_states: list[RateLimitState], kind: LimitKind, identifier: str
) -> None:
    try:
        state = await limiter.count(kind, identifier)
    except RateLimited as error:
        limit_states[:] = [RateLimitState(error.limit, 0, error.retry_after)]
        raise
    if state:
        limit_states.append(state)


def _is_public(path: str) -> bool:
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_PREFIX)


def _with_headers(
    send: Send, caller: Caller | None, limit_states: list[RateLimitState], scope: Scope
) -> Send:
    """Add the headers of the most exhausted rate limit and of a new reader token."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if limit_states:
                headers.update(min(limit_states, key=lambda state: state.remaining).headers)
            if caller and caller.issued_token:
                headers[READER_HEADER] = caller.issued_token
                if caller.kind == "anonymous":  # for the service's own page
                    headers.append("set-cookie", _reader_cookie(caller.issued_token, scope))
        await send(message)

    return send_with_headers


def _reader_cookie(token: str, scope: Scope) -> str:
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return (
        f"{READER_COOKIE}={token}; Path=/; Max-Age={COOKIE_MAX_AGE}; HttpOnly; SameSite=Lax{secure}"
    )


class ConcurrencyLimitMiddleware:
    """Rejects questions while the maximum number is being answered."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting it until its response is complete."""
        limited = scope["type"] == "http" and scope.get("state", {}).get("limited")
        if not self._limit or not limited or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        if self._active >= self._limit:
            error = TooBusy("Too many questions are being answered right now.")
            await error_response(error, scope)(scope, receive, send)
            return
        self._active += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._active -= 1


class KeyOriginCORSMiddleware(CORSMiddleware):
    """Allows the origins in the settings and those of publishable keys."""

    def __init__(self, app: ASGIApp, key_cache: KeyCache, origins: tuple[str, ...]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["*"],
            expose_headers=[*EXPOSED_HEADERS, "X-Request-ID"],
        )
        self._key_cache = key_cache

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refresh the keys for a request with an origin, then continue as usual."""
        if scope["type"] == "http" and "origin" in Headers(scope=scope):
            with suppress(StoreUnavailable):  # `AuthMiddleware` reports it
                await self._key_cache.refresh()
        await super().__call__(scope, receive, send)

    def is_allowed_origin(self, origin: str) -> bool:
        """Return whether the settings or a key allow the origin."""
        return super().is_allowed_origin(origin) or self._key_cache.allows_origin(origin)


def install_middleware(app: FastAPI, access: AccessControl, settings: Settings) -> None:
    """Install all middleware; the last one added is the outermost."""
    app.add_middleware(ConcurrencyLimitMiddleware, limit=settings.limits.answers_at_once)
    app.add_middleware(BodyLimitMiddleware, limit=settings.serve.max_body_bytes)
    app.add_middleware(AuthMiddleware, access=access, settings=settings)
    app.add_middleware(RecoveryMiddleware)
    app.add_middleware(
        KeyOriginCORSMiddleware, key_cache=access.key_cache, origins=settings.serve.cors_origins
    )
    app.add_middleware(RequestHeadMiddleware)
    app.add_middleware(MetricsMiddleware)
    app.add_middleware(RequestIdMiddleware)
