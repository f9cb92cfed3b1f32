"""An OpenAI-compatible server that embeds everything alike, and answers from what it is shown."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

WIDTH = 4
LIE = "The moon is made of green cheese. [1]"
"""Said after the truth, to see it withheld."""


class StandIn(BaseHTTPRequestHandler):
    """Answers embeddings and streamed chat completions, and notes what it was asked."""

    protocol_version = "HTTP/1.1"
    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("/embeddings"):
            rows = [
                {"object": "embedding", "index": place, "embedding": [1.0] + [0.0] * (WIDTH - 1)}
                for place, _ in enumerate(request["input"])
            ]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            told = {"object": "list", "data": rows, "model": "oracle", "usage": usage}
            self._send("application/json", json.dumps(told))
            return
        self.asked.append(request)
        said = [f"data: {json.dumps(one)}\n\n" for one in _chunks(_reply(request["messages"]))]
        self._send("text/event-stream", "".join(said) + "data: [DONE]\n\n")

    def _send(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def _reply(messages: list[dict[str, Any]]) -> str:
    """Return the first sentence of the first passage in the messages, and a lie."""
    for message in messages:
        try:
            first = json.loads(message["content"])["passages"][0]
        except (ValueError, KeyError, TypeError, IndexError):
            continue
        return f"{first['text'].split('. ')[0].rstrip('.')}. [{first['number']}] {LIE}"
    return "NOT IN THE BOOK"


def _chunks(text: str) -> Iterator[dict[str, Any]]:
    deltas = [{"role": "assistant", "content": ""}, *({"content": f"{w} "} for w in text.split())]
    for place, delta in enumerate([*deltas, {}]):
        finish = "stop" if place == len(deltas) else None
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        yield {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "oracle"} | {
            "choices": [choice]
        }


@contextmanager
def running() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve on a free port; yield the base URL, and what is asked for completions."""
    asked: list[dict[str, Any]] = []
    handler = type("Handler", (StandIn,), {"asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        server.server_close()
