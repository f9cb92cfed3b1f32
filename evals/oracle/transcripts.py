"""Transcripts of HTTP and MCP conversations with golden and unusual questions."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

import httpx

from evals.oracle.normal import Normal, events, read
from evals.oracle.product import COMMAND, REPOSITORY, Product

# The questions that are for looking at; those for reporting stay closed.
GOLDEN = REPOSITORY / "evals/data/golden/physical-ai-dev.jsonl"
ODD = Path(__file__).parent / "cases.jsonl"
SELECTION = "A lidar measures distance with light. It turns ten times a second."
HIDDEN = re.compile(
    r"date|content-length|server|transfer-encoding|x-request-id|ratelimit-re.*|etag|last-modified"
)
BOOK = "physical-ai"
Send = Callable[[str, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question, its earlier questions, and further fields."""

    id: str
    question: Any
    history: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The endpoint and field names of a contract."""

    whole: str
    streamed: str
    asks: str
    continues: str = "session_id"
    began: str = "session_id"

    def body(self, case: Case, thread: str | None) -> dict[str, Any]:
        """Return a request body."""
        body = {self.asks: case.question} | ({self.continues: thread} if thread else {})
        if self.asks == "queryText":
            body |= {"timestamp": datetime.now(UTC).isoformat(), "sessionId": "oracle"}
        return body | case.more


CONTRACTS = {
    "chat": Contract(whole="/chat/run", streamed="/chat/stream", asks="message"),
    "widget": Contract(whole="/widget/run", streamed="/widget/stream", asks="message"),
    "agent": Contract(
        whole="/agent/ask",
        streamed="/agent/ask/stream",
        asks="query_text",
        continues="conversation_id",
        began="conversation_id",
    ),
    "assistant": Contract(
        whole="/assistant/chat", streamed="/assistant/chat/stream", asks="message"
    ),
    "workflow": Contract(
        whole="/workflows/book/chat",
        streamed="/workflows/book/chat/stream",
        asks="queryText",
        continues="conversationId",
        began="threadId",
    ),
    "query": Contract(whole="/query", streamed="/query/stream", asks="query"),
}
READS = (
    "/",
    "/health",
    "/ready",
    "/books",
    "/workflows",
    "/v1/models",
    "/v1/models/physical-ai",
    "/v1/models/none",
    "/threads?limit=3",
    "/answers?limit=3",
    "/feedback",
    "/books/none/toc",
    "/books/physical-ai/toc?depth=1",
    "/books/physical-ai/sections/Latency budget",
    "/read/physical-ai/docs/04-autonomy/03-perception.md",
    "/nowhere",
)


def cases_of(path: Path) -> list[Case]:
    """Read questions, one JSON object a line."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Case(**{name: one[name] for name in Case.__slots__ if name in one}) for one in lines]


def said(reply: httpx.Response) -> dict[str, Any]:
    """Return a reply: status, headers, and the body or its events."""
    kind = reply.headers.get("content-type", "")
    shown = {name: value for name, value in reply.headers.items() if not HIDDEN.fullmatch(name)}
    body = events(reply.text) if "event-stream" in kind else read(reply.text)
    return {"status": reply.status_code, "headers": shown, "body": body}


def ask(client: httpx.Client, contract: Contract, case: Case, path: str) -> dict[str, Any]:
    """Ask the earlier questions and then the question at `path`, in one conversation."""
    thread = None
    for earlier in case.history:
        asked = contract.body(Case(id="", question=earlier), thread)
        began = said(client.post(contract.whole, json=asked))["body"]
        thread = began.get(contract.began) if isinstance(began, dict) else None
    return said(client.post(path, json=contract.body(case, thread)))


def contract_record(client: httpx.Client, contract: Contract, cases: list[Case]) -> dict[str, Any]:
    """Ask every question of one contract, with and without streaming."""
    return {
        case.id: {
            path: Normal().record(ask(client, contract, case, path))
            for path in (contract.whole, contract.streamed)
        }
        for case in cases
    }


def completions_record(client: httpx.Client, cases: list[Case]) -> dict[str, Any]:
    """Ask through the OpenAI-compatible API, with the earlier messages in the request."""

    def asked(case: Case, stream: bool) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        for question in (*case.history, case.question):
            messages.append({"role": "user", "content": question})
            body = {"model": BOOK, "messages": messages, "stream": stream} | case.more
            if question is not case.question:
                text = client.post(path, json=body | {"stream": False}).json()
                messages.append(text["choices"][0]["message"])
        return Normal().record(said(client.post(path, json=body)))

    path = "/v1/chat/completions"
    return {case.id: {"whole": asked(case, False), "streamed": asked(case, True)} for case in cases}


def reads_record(client: httpx.Client) -> dict[str, Any]:
    """Ask a question and read every resource of its answer."""
    found = {"ask": said(client.post("/chat/run", json={"message": "What is SLAM?"}))}
    found["stream"] = said(client.post("/chat/stream", json={"message": "What is a quaternion?"}))
    stream = found["stream"]["body"][0]["data"]["answer_id"]
    answer, thread = (found["ask"]["body"][name] for name in ("answer_id", "session_id"))
    chunk = found["ask"]["body"]["sources"][0]["chunk_id"]
    sent = [
        ("POST", f"/answers/{answer}/replay", None),
        ("POST", "/feedback", {"answer_id": answer, "verdict": "down", "reason": "wrong"}),
        ("POST", "/feedback", {"answer_id": answer, "verdict": "up", "comment": "Good."}),
        ("PATCH", f"/threads/{thread}", {"topic_summary": "Mapping"}),
        ("POST", "/search", {"query": "What is latency?", "top_k": 3}),
        ("POST", "/search_book", {"query": "What is latency?", "topK": 3}),
        ("GET", f"/answers/{answer}", None),
        ("GET", f"/threads/{thread}", None),
        ("GET", f"/threads/{thread}/messages", None),
        ("GET", f"/streams/{stream}", None),
        ("GET", f"/streams/{answer}", None),
        ("GET", f"/books/{BOOK}/passages/{chunk}?around=1", None),
        *(("GET", path, None) for path in READS),
        ("DELETE", f"/threads/{thread}", None),
        ("GET", f"/threads/{thread}", None),
        ("GET", f"/agent/sessions/{thread}", None),
        ("GET", "/chat/run", None),
    ]
    for place, (method, path, body) in enumerate(sent):
        found[f"{place:02} {method} {path}"] = said(client.request(method, path, json=body))
    ids = {answer: "<answer>", thread: "<thread>", stream: "<stream>"}
    return {Normal(ids).text(name): Normal(ids).record(one) for name, one in found.items()}


def mcp_record(send: Send, cases: list[Case]) -> dict[str, Any]:
    """List and call the MCP tools; `send` exchanges one message."""

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        return send("tools/call", {"name": tool, "arguments": arguments})

    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "oracle", "version": "1"},
    }
    found = {"initialize": send("initialize", hello), "tools": send("tools/list", {})}
    for case in cases:
        more: dict[str, Any] = {}
        for earlier in case.history:
            reply = call("ask", question=earlier, **more)["result"]["structuredContent"]
            more = {"conversation": reply["conversation"]}
        found[case.id] = call("ask", question=case.question, **more)
    found |= {
        "selection": call("ask", question="How often does it turn?", selected_text=SELECTION),
        "unknown book": call("ask", question="What is SLAM?", book="none"),
        "unknown field": call("ask", question="What is SLAM?", colour="red"),
        "no question": call("ask"),
        "search": call("search_textbook", query="What is SLAM?"),
        "section": call("read_section", section="Latency budget"),
        "no section": call("read_section", section="No such section"),
        "contents": call("table_of_contents"),
        "chapter": call("table_of_contents", chapter="Perception"),
        "no tool": call("no_such_tool"),
    }
    return {name: Normal().record(one) for name, one in found.items()}


def over_http(client: httpx.Client) -> Send:
    """Return a function that exchanges MCP messages over HTTP."""
    accept = {"accept": "application/json, text/event-stream"}

    def send(method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply: dict[str, Any] = client.post("/mcp", json=message, headers=accept).json()
        return reply

    return send


def stdio_record(product: Product, cases: list[Case]) -> dict[str, Any]:
    """Exchange MCP messages over standard input and output."""
    process = product.start(COMMAND, "mcp", settings={}, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)

    def write(message: dict[str, Any]) -> None:
        process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        process.stdin.flush()

    def send(method: str, params: dict[str, Any]) -> dict[str, Any]:
        write({"id": 1, "method": method, "params": params})
        reply: dict[str, Any] = json.loads(process.stdout.readline())
        if method == "initialize":
            write({"method": "notifications/initialized"})
        return reply

    try:
        return mcp_record(send, cases)
    finally:
        process.communicate()
