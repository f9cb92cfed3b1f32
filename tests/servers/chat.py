"""An OpenAI-compatible chat server on loopback that can be told to fail, in all ways they do."""

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import TracebackType
from typing import Any, Literal, Self

STALLED = 60.0
"""How long a stalled answer is held back, in seconds, unless the server is closed before."""
End = Literal["stop", "length", "none", "cut", "stall", "endless"]
"""How a stream ends: as it should, at the limit of tokens, without a word, with the connection cut,
never (and silent), or never (and talking)."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one request gets."""

    text: str = "NOT IN THE BOOK"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent as it is, if given."""
    tool_calls: Sequence[tuple[str, str]] = ()
    """Names and arguments of tools to call, instead of a text."""
    stall: bool = False
    """Hold even the first byte back until the server is closed."""
    end: End = "stop"
    pause: float = 0.0
    """Seconds between two words."""
    usage: bool = True
    """Whether tokens are counted."""


class ChatServer:
    """Serves `/v1/chat/completions`; `replies` are used up in order, the last one over and over."""

    def __init__(self, *replies: Reply) -> None:
        """Listen on a free port of loopback."""
        self.replies: deque[Reply] = deque(replies)
        self.requests: list[dict[str, Any]] = []
        """The body of every request, as it came."""
        self.keys: list[str] = []
        """What every request showed as its key."""
        self.closing = Event()
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Handler", (_Handler,), {"chat": self})
        )
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL to configure."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def next_reply(self, request: dict[str, Any], key: str) -> Reply:
        """Note a request, and give what it gets."""
        self.requests.append(request)
        self.keys.append(key)
        return self.replies.popleft() if len(self.replies) > 1 else self.replies[0]


def _chunks(reply: Reply, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a streamed answer."""
    yield _chunk({"role": "assistant", "content": ""})
    for place, (name, arguments) in enumerate(reply.tool_calls):
        function = {"name": name, "arguments": arguments}
        call = {"index": place, "id": f"call-{place}", "type": "function", "function": function}
        yield _chunk({"tool_calls": [call]})
    if not reply.tool_calls:
        for word in _words(reply.text):
            yield _chunk({"content": word})
    while reply.end == "endless":
        for word in _words(f" {reply.text}"):
            yield _chunk({"content": word})
    if reply.end in ("stop", "length"):
        yield _chunk({}, "tool_calls" if reply.tool_calls else reply.end)
        if reply.usage and request.get("stream_options", {}).get("include_usage"):
            yield {**_chunk({}), "choices": [], "usage": _usage(reply, request)}


def _words(text: str) -> list[str]:
    return [f"{word} " for word in text.split(" ")]


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "chat-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "told",
        "choices": [choice],
    }


def _whole(reply: Reply, request: dict[str, Any]) -> bytes:
    message = {"role": "assistant", "content": reply.text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 0,
        "model": "told",
        "choices": [choice],
        "usage": _usage(reply, request),
    }
    return json.dumps(body).encode()


def _usage(reply: Reply, request: dict[str, Any]) -> dict[str, int]:
    read, written = len(str(request["messages"])) // 4, len(reply.text) // 4
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


class _Handler(BaseHTTPRequestHandler):
    chat: ChatServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = self.chat.next_reply(request, self.headers.get("authorization", ""))
        if reply.stall:
            self.chat.closing.wait(STALLED)
        try:
            self._send(reply, request)
        except OSError:
            self.close_connection = True  # who asked has left

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True  # who asked has left before the next request

    def _send(self, reply: Reply, request: dict[str, Any]) -> None:
        if reply.body is not None or reply.status != 200:
            said = {"error": {"message": "told to fail", "type": "test", "code": "told"}}
            self._plain(reply, reply.body or json.dumps(said).encode())
        elif request.get("stream"):
            self._stream(reply, request)
        else:
            self._plain(reply, _whole(reply, request))

    def _plain(self, reply: Reply, body: bytes) -> None:
        self.send_response(reply.status)
        for name, value in ({"content-type": "application/json"} | dict(reply.headers)).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Reply, request: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for chunk in _chunks(reply, request):
            self._event(json.dumps(chunk))
            if self.chat.closing.wait(reply.pause):
                return
        if reply.end == "stall":
            self.chat.closing.wait(STALLED)
        if reply.end in ("cut", "stall"):
            self.close_connection = True  # in the middle of the body: there is no last chunk
            return
        if reply.end != "none":
            self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, data: str) -> None:
        line = f"data: {data}\n\n".encode()
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing: tests read what a command prints."""
