"""What every request passes before a route sees it: an id, and a limit on its size."""

import json
from uuid import uuid4

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.api.problems import problem
from quire.log import REQUEST_ID


class RequestId:
    """Gives each request an id, and returns it as `X-Request-ID`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["request_id"] = f"req_{uuid4().hex}"
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


class BodyLimit:
    """Refuses bodies over a size before anything reads them as JSON."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        parts: list[bytes] = []
        size = 0
        more = scope["method"] in ("POST", "PUT", "PATCH")
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False)
            if size > self._limit:
                await self._refuse(scope, send)
                return
        body = b"".join(parts)
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)

    async def _refuse(self, scope: Scope, send: Send) -> None:
        body = problem(
            413,
            "BodyTooLarge",
            f"The request is larger than {self._limit} bytes.",
            action="Send a shorter request.",
            request_id=str(scope.get("request_id", "")),
        )
        headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})
