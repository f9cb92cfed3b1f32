"""Middleware for request ids, unexpected errors and limits on the head and body of requests."""

import asyncio
import re
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
MAX_TARGET_BYTES = 8_000
MAX_HEADER_BYTES = 16_000
READER_COOKIE = "citewell_reader"
OWN_COOKIE = re.compile(rb"(?<![^;\s])citewell_reader=[\w-]{22,128}(?![^;\s])", re.ASCII)
METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
JSON_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii"})
_CHARSET = re.compile(r"charset\s*=\s*\"?([\w-]+)")
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
        client_id = Headers(scope=scope).get("x-request-id", "")
        scope["request_id"] = (
            client_id if _REQUEST_ID.fullmatch(client_id) else f"req_{uuid4().hex}"
        )
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


class RequestHeadMiddleware:
    """Rejects unknown methods and large heads, and passes on only the service's own cookie.

    Parsers of headers may take quadratic time; in particular, FastAPI parses the cookies of every
    request, and `http.cookies` before Python 3.11.10 and 3.12.6 is quadratic.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or reject it."""
        if scope["type"] == "http":
            if error := _check_head(scope):
                await _send_rejection(error, scope, receive, send)
                return
            headers = [header for header in scope["headers"] if header[0] != b"cookie"]
            cookies = b";".join(value for name, value in scope["headers"] if name == b"cookie")
            own_cookie = [(b"cookie", cookie) for cookie in OWN_COOKIE.findall(cookies)[-1:]]
            scope["headers"] = headers + own_cookie
        await self._app(scope, receive, send)


def _check_head(scope: Scope) -> "RequestRejected | None":
    # Unknown methods must not become metric labels or log fields.
    if scope["method"] not in KNOWN_METHODS:
        advice = "Use GET, POST, PATCH or DELETE."
        return RequestRejected(501, "UnknownMethod", "HTTP has no such method.", advice)
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET_BYTES:
        detail = f"The address is longer than {MAX_TARGET_BYTES} bytes."
        return RequestRejected(414, "AddressTooLong", detail, "Use a shorter address.")
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
        detail = f"The headers are larger than {MAX_HEADER_BYTES} bytes."
        advice = "Send fewer headers and cookies."
        return RequestRejected(431, "HeadersTooLarge", detail, advice)
    return None


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
    # The parser of the standard library takes quadratic time.
    media_type, _, parameters = headers.get("content-type", "").lower().partition(";")
    is_json = media_type.strip() == "application/json" or media_type.strip().endswith("+json")
    charset = _CHARSET.search(parameters)
    is_compressed = headers.get("content-encoding", "identity").lower() != "identity"
    if not is_json or (charset and charset[1] not in JSON_CHARSETS) or is_compressed:
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
