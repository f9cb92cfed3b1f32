"""What every request passes before a route sees it: an id, a limit on its body, a last catch."""

import asyncio
import re
from email.message import Message as Mail
from uuid import uuid4

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.api.problems import problem, problem_response, unexpected_response
from citewell.logging import REQUEST_ID

BODY_TIMEOUT_SECONDS = 30.0
"""How long a request's body may take to arrive."""
MAX_DISCARDED_BYTES = 1_000_000
"""So much of a body that is too large is still taken in, unread: a connection that is closed on
bytes still coming is reset, and the sender never sees why."""


METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"}
)
"""Methods that HTTP knows. Any other word can stand in a request's first line."""
METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_REQUEST_ID = re.compile(r"[\w.-]{1,128}", re.ASCII)


class RequestIdMiddleware:
    """Returns each request an id, its own if it has one, and returns it as `X-Request-ID`."""

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

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), header]
            await send(message)

        token = REQUEST_ID.set(scope["request_id"])
        try:
            await self._app(scope, receive, marked)
        finally:
            REQUEST_ID.reset(token)


class KnownMethodsMiddleware:
    """Refuses methods that HTTP does not know, before anything can remember their names."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http" or scope["method"] in METHODS:
            await self._app(scope, receive, send)
            return
        refused = BodyRejected(
            501, "UnknownMethod", "HTTP has no such method.", "Use GET, POST, PATCH or DELETE."
        )
        await _refuse(refused, scope, receive, send)


class RecoveryMiddleware:
    """Answers for what nobody foresaw, inside of what adds headers that every answer has."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        begun = False

        async def send_tracked(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, send_tracked)
        except Exception as error:  # the edge: whatever it is, no word of it leaves
            if begun or scope["type"] != "http":
                raise
            await unexpected_response(error, scope)(scope, receive, send)


class BodyRejected(Exception):
    """A body that is not read any further."""

    def __init__(self, status: int, code: str, detail: str, action: str) -> None:
        super().__init__(detail)
        self.status, self.code, self.action = status, code, action


class BodyLimitMiddleware:
    """Refuses bodies that are too large, too slow or no JSON before anything parses them.

    The limit is for every method: a GET may come with a body, too, though nothing here reads it.
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
        except BodyRejected as error:
            await _refuse(error, scope, receive, send)
            return
        if body is None:
            return
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """Read the whole body; `None` if the sender left."""
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > MAX_DISCARDED_BYTES:
            raise self._too_large()
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
            raise BodyRejected(
                408, "BodyTooSlow", "The request took too long to arrive.", "Send it again."
            ) from error
        if size > self._limit:
            raise self._too_large()
        body = b"".join(parts)
        if body and scope["method"] in METHODS_WITH_BODY:
            _check_content_type(headers)
        return body

    def _too_large(self) -> BodyRejected:
        said = f"The request is larger than {self._limit} bytes."
        return BodyRejected(413, "BodyTooLarge", said, "Send a shorter request.")


def _check_content_type(headers: Headers) -> None:
    mail = Mail()
    mail["content-type"] = headers.get("content-type", "application/octet-stream")
    kind, charset = mail.get_content_type(), (mail.get_content_charset() or "utf-8")
    is_json = kind == "application/json" or kind.endswith("+json")
    plain = headers.get("content-encoding", "identity").lower() == "identity"
    if not is_json or charset not in ("utf-8", "utf8", "us-ascii") or not plain:
        raise BodyRejected(
            415,
            "UnsupportedMediaType",
            "The body has to be JSON in UTF-8, not compressed.",
            "Send the header `Content-Type: application/json`.",
        )


async def _refuse(error: BodyRejected, scope: Scope, receive: Receive, send: Send) -> None:
    body = problem(
        error.status,
        error.code,
        str(error),
        action=error.action,
        request_id=str(scope.get("request_id", "")),
    )
    # What is still on its way is not read: the connection cannot be used again.
    await problem_response(body, scope, {"Connection": "close"})(scope, receive, send)
