"""An OpenAI-compatible embeddings server on loopback that can be told to fail."""

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from citewell.ports import Embedder

STALLED = 30.0
"""How long a stalled answer is held back, in seconds, unless the server is closed before."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What one request gets instead of its embeddings."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent as it is, if given."""
    stall: bool = False
    """Hold the answer back until the server is closed."""
    change: Callable[[list[Any]], list[Any]] = list
    """Takes the rows of the answer, and gives those that are sent."""


class EmbeddingServer:
    """Serves `/v1/embeddings` with a real embedder behind it; `faults` are used up in order."""

    def __init__(self, embedder: Embedder) -> None:
        """Listen on a free port of loopback."""
        self.embedder = embedder
        self.faults: deque[Fault] = deque()
        self.requests: list[dict[str, Any]] = []
        """The body of every request, as it came."""
        self.keys: list[str] = []
        """What every request showed as its key."""
        self._closing = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL to configure."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def texts(self) -> list[str]:
        """Every text that was sent, in order."""
        return [text for request in self.requests for text in request["input"]]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: dict[str, Any], key: str) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body for one request."""
        self.requests.append(request)
        self.keys.append(key)
        fault = self.faults.popleft() if self.faults else Fault()
        if fault.stall:
            self._closing.wait(STALLED)
        if fault.body is not None or fault.status != 200:
            said = {"error": {"message": "told to fail", "type": "test", "code": "told"}}
            return fault.status, fault.headers, fault.body or json.dumps(said).encode()
        vectors = self.embedder.embed_passages(request["input"])
        rows = [
            {"object": "embedding", "index": place, "embedding": vector.tolist()}
            for place, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        body = {"object": "list", "data": fault.change(rows), "usage": usage}
        return 200, fault.headers, json.dumps(body | {"model": request["model"]}).encode()


def _handler(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path != "/v1/embeddings":
                self.send_error(404)
                return
            key = self.headers.get("authorization", "")
            status, headers, body = server.answer(request, key)
            try:
                self.send_response(status)
                for name, value in ({"content-type": "application/json"} | dict(headers)).items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # who asked has left

        def log_message(self, *_: object) -> None:
            """Say nothing: tests read what a command prints."""

    return Handler
