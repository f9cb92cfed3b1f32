"""Middleware for request ids, unknown methods, unexpected errors and limits on the body."""

import asyncio
import re
from email.message import Message as MimeMessage
from uuid import uuid4

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.api.problems import problem, problem_response, unexpected_response
from citewell.logging import REQUEST_ID

BODY_TIMEOUT_SECONDS = 30.0
"""How long a request's body may take to arrive."""
MAX_DISCARDED_BYTES = 1_000_000
"""How much of a body that is too large is read and discarded. Closing the connection earlier would
reset it, and the client would not receive the response."""
KNOWN_METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"}
)
"""The methods of HTTP; a request line may contain any other token."""
METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_REQUEST_ID = re.compile(r"[\w.-]{1,128}", re.ASCII)


class RequestIdMiddleware:
    """Assigns each request an id, or accepts the client's, and returns it as `X-Request-ID`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = Headers(scope=scope).get("x-request-id", "")
        scope["request_id"] = sent if _REQUEST_ID.fullmatch(sent) else f"req_{uuid4().hex}"
        header = (b"x-request-id", scope["request_id"].encode())

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), header]
            await send(message)

        token = REQUEST_ID.set(scope["request_id"])
        try:
            await self._app(scope, receive, send_with_id)
        finally:
            REQUEST_ID.reset(token)


class KnownMethodsMiddleware:
    """Rejects unknown methods before they can become metric labels or log fields."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or reject it."""
        if scope["type"] != "http" or scope["method"] in KNOWN_METHODS:
            await self._app(scope, receive, send)
            return
        error = RequestRejected(
            501, "UnknownMethod", "HTTP has no such method.", "Use GET, POST, PATCH or DELETE."
        )
        await _send_rejection(error, scope, receive, send)


class RecoveryMiddleware:
    """Turns unexpected errors into responses, inside the middleware that adds headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        started = False

        async def send_tracked(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, send_tracked)
        except Exception as error:  # the response must not contain details
            if started or scope["type"] != "http":
                raise
            await unexpected_response(error, scope)(scope, receive, send)


class RequestRejected(Exception):
    """A request that is rejected without reading the rest of its body."""

    def __init__(self, status: int, code: str, detail: str, action: str) -> None:
        super().__init__(detail)
        self.status, self.code, self.action = status, code, action


class BodyLimitMiddleware:
    """Rejects bodies that are too large, too slow or not JSON before they are parsed.

    The limit applies to every method, since a GET may have a body too.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(scope, receive)
        except RequestRejected as error:
            await _send_rejection(error, scope, receive, send)
            return
        if body is None:
            return
        replayed = False

        async def replay() -> Message:
            nonlocal replayed
            if replayed:
                return await receive()
            replayed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """Read the whole body, or return `None` if the client disconnects."""
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > MAX_DISCARDED_BYTES:
            raise self._body_too_large()
        parts: list[bytes] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    part = message.get("body", b"")
                    size += len(part)
                    more = message.get("more_body", False) and size <= MAX_DISCARDED_BYTES
                    if size <= self._limit:
                        parts.append(part)
        except TimeoutError as error:
            raise RequestRejected(
                408, "BodyTooSlow", "The request took too long to arrive.", "Send it again."
            ) from error
        if size > self._limit:
            raise self._body_too_large()
        body = b"".join(parts)
        if body and scope["method"] in METHODS_WITH_BODY:
            _check_content_type(headers)
        return body

    def _body_too_large(self) -> RequestRejected:
        detail = f"The request is larger than {self._limit} bytes."
        return RequestRejected(413, "BodyTooLarge", detail, "Send a shorter request.")


def _check_content_type(headers: Headers) -> None:
    parser = MimeMessage()
    parser["content-type"] = headers.get("content-type", "application/octet-stream")
    media_type, charset = parser.get_content_type(), (parser.get_content_charset() or "utf-8")
    is_json = media_type == "application/json" or media_type.endswith("+json")
    is_compressed = headers.get("content-encoding", "identity").lower() != "identity"
    if not is_json or charset not in ("utf-8", "utf8", "us-ascii") or is_compressed:
        raise RequestRejected(
            415,
            "UnsupportedMediaType",
            "The body must be uncompressed JSON in UTF-8.",
            "Send the header `Content-Type: application/json`.",
        )


async def _send_rejection(
    error: RequestRejected, scope: Scope, receive: Receive, send: Send
) -> None:
    body = problem(
        error.status,
        error.code,
        str(error),
        action=error.action,
        request_id=str(scope.get("request_id", "")),
    )
    # The rest of the body is not read, so the connection cannot be reused.
    await problem_response(body, scope, {"Connection": "close"})(scope, receive, send)
