"""A fake OpenAI-compatible server with constant embeddings and scripted answers."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

WIDTH = 4
CALL = "call-1"
TOOL = "table_of_contents"
SENTENCES = 5
LIE = "The moon is made of green cheese."
"""A false sentence that has to be withheld."""


class StandIn(BaseHTTPRequestHandler):
    """Handles embeddings and streamed chat completions, and records the requests."""

    protocol_version = "HTTP/1.1"
    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        """Handle one request."""
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
        said = [f"data: {json.dumps(one)}\n\n" for one in _chunks(_deltas(request))]
        self._send("text/event-stream", "".join(said) + "data: [DONE]\n\n")

    def _send(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Suppress logging."""


def _deltas(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a tool call first, if there are tools, and then the answer."""
    offered = [tool["function"]["name"] for tool in request.get("tools") or ()]
    called = [one["tool_call_id"] for one in request["messages"] if one["role"] == "tool"]
    if TOOL in offered and CALL not in called:
        function = {"name": TOOL, "arguments": "{}"}
        call = {"index": 0, "id": CALL, "type": "function", "function": function}
        return [{"role": "assistant", "tool_calls": [call]}]
    shown = "\n".join(str(one["content"]) for one in request["messages"])
    # As a prompt shows the first passage, or as a tool does.
    found = re.search(
        r'(?s)\[1\] .*?\n(.+?)\n+(?:\[2\]|</)|"number": 1,.*?"text": "(.+?)"[,}]', shown
    )
    text = "NOT IN THE BOOK"
    if found:
        passage = found[1] or found[2].replace("\\n", "\n")
        sentences = re.split(r"(?<=\.)\s+", passage)[:SENTENCES]
        text = " ".join(f"{one} [1]" for one in (*sentences, LIE))
    return [{"role": "assistant", "content": f"{word} "} for word in text.split()]


def _chunks(deltas: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    ends = "tool_calls" if "tool_calls" in deltas[0] else "stop"
    for delta in (*deltas, {}):
        choice = {"index": 0, "delta": delta, "finish_reason": None if delta else ends}
        common = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "oracle"}
        yield common | {"choices": [choice]}


@contextmanager
def running() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve on a free port; yield the base URL and the recorded chat requests."""
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
