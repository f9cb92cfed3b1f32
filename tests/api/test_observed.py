"""What an operator sees: figures, lines in the log, spans."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest
from asgi_lifespan import LifespanManager
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from citewell.api.app import create_app
from citewell.logging import JsonFormatter, LogOptions, TextFormatter, configure_logging
from citewell.telemetry import TracingOptions
from citewell.wiring import Services, with_answer_cache
from tests.api.sse import parse_sse

ASKED = {"message": "What is a Fresnel lens made of?"}
UNCOVERED = {"message": "Who invented the submarine telegraph?"}
CALLERS = "0af7651916cd43dd8448eb211c80319c"
Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def _figures(client: httpx.AsyncClient) -> Figures:
    reply = await client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(reply.text)
        for sample in family.samples
    }


def _grown(before: Figures, after: Figures, name: str, **labels: str) -> float:
    key = name, frozenset(labels.items())
    return after.get(key, 0.0) - before.get(key, 0.0)


async def test_the_figures_count_answers_refusals_stages_and_requests(
    client: httpx.AsyncClient,
) -> None:
    before = await _figures(client)
    await client.post("/chat/run", json=ASKED)
    await client.post("/chat/stream", json=UNCOVERED)
    await client.get("/nowhere/at/all")
    after = await _figures(client)

    answers = [
        (dict(labels)["status"], value - before.get((name, labels), 0.0))
        for (name, labels), value in after.items()
        if name == "citewell_answers_total"
    ]
    assert ("answered", 1.0) in answers
    assert ("not_in_book", 1.0) in answers
    for stage in ("retrieve", "answer", "verify", "total"):
        assert _grown(before, after, "citewell_stage_seconds_count", stage=stage) == 2
    run = {"method": "POST", "route": "/chat/run", "status": "200"}
    assert _grown(before, after, "citewell_http_requests_total", **run) == 1
    lost = {"method": "GET", "route": "none", "status": "404"}
    assert _grown(before, after, "citewell_http_requests_total", **lost) == 1
    assert _grown(before, after, "citewell_streams_total", event="done") == 1


async def test_the_figures_and_the_answer_tell_what_came_from_the_cache(tiny: Services) -> None:
    app = create_app(with_answer_cache(tiny, "embedded"))
    async with LifespanManager(app), _asking(app) as client:
        before = await _figures(client)
        first = (await client.post("/chat/run", json=ASKED)).json()
        again = (await client.post("/chat/run", json=ASKED)).json()
        streamed = parse_sse((await client.post("/chat/stream", json=ASKED)).text)
        receipt = (await client.get(f"/answers/{again['answer_id']}")).json()
        after = await _figures(client)

    assert first["cache_age_seconds"] is None
    assert again["cache_age_seconds"] >= 0
    assert receipt["cache_age_seconds"] == again["cache_age_seconds"]
    assert streamed[-1][2]["cache_age_seconds"] is not None
    assert [name for _, name, _ in streamed][:2] == ["start", "retrieved"]
    looked = {"cache": "answers"}
    assert _grown(before, after, "citewell_cache_total", **looked, result="miss") == 1
    assert _grown(before, after, "citewell_cache_total", **looked, result="hit") == 2
    assert _grown(before, after, "citewell_cache_age_seconds_count") == 2
    assert _grown(before, after, "citewell_stage_seconds_count", stage="retrieve") == 1


@pytest.mark.parametrize("allowed", [False, True])
async def test_words_are_logged_only_if_that_is_allowed(
    tiny: Services, caplog: pytest.LogCaptureFixture, allowed: bool
) -> None:
    caplog.set_level(logging.INFO, "citewell")
    settings = tiny.settings.model_copy(update={"log": LogOptions(questions=allowed)})
    app = create_app(replace(tiny, settings=settings))
    lines = io.StringIO()
    output = logging.StreamHandler(lines)
    output.setFormatter(JsonFormatter())
    logging.getLogger("citewell").addHandler(output)
    try:
        async with LifespanManager(app), _asking(app) as client:
            reply = await client.post("/chat/run", json=ASKED)
            await client.post("/chat/run", json={**ASKED, "book": "none"})
    finally:
        logging.getLogger("citewell").removeHandler(output)

    said = [json.loads(line) for line in lines.getvalue().splitlines()]
    (answered,) = [line for line in said if line["message"] == "answered"]
    body = reply.json()
    assert answered["request_id"] == reply.headers["x-request-id"]
    assert answered["answer_id"] == body["answer_id"]
    found = [source["chunk_id"] for source in body["retrieved"]]
    assert [chunk["id"] for chunk in answered["chunks"]] == found
    assert all(0 <= chunk["score"] <= 1 for chunk in answered["chunks"])
    assert answered["timings"]["total_ms"] > 0
    first, second = [line for line in said if line["message"] == "request"]
    assert (first["route"], first["status"], second["status"]) == ("/chat/run", 200, 404)
    assert any(line.get("code") == "UnknownBook" for line in said)
    assert (ASKED["message"] in lines.getvalue()) is allowed
    assert ("concentric rings" in lines.getvalue()) is allowed


def test_lines_for_people_have_the_same_fields() -> None:
    record = logging.makeLogRecord({"name": "citewell", "msg": "answered", "status": "refused"})

    assert TextFormatter().format(record).endswith("citewell: answered status=refused")
    record.exc_info = (ValueError, ValueError("broken"), None)
    assert "ValueError: broken" in json.loads(JsonFormatter().format(record))["error"]


def test_the_format_of_the_log_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    configure_logging("info", "json")
    monkeypatch.setattr(logging.getLogger("citewell"), "level", logging.NOTSET)

    (handler,) = root.handlers
    assert isinstance(handler.formatter, JsonFormatter)


async def test_stages_are_sent_as_spans_to_a_collector(tiny: Services) -> None:
    with _collector() as (endpoint, received):
        settings = tiny.settings.model_copy(update={"tracing": TracingOptions(endpoint=endpoint)})
        app = create_app(replace(tiny, settings=settings))
        async with LifespanManager(app), _asking(app) as client:
            headers = {"traceparent": f"00-{CALLERS}-{'1' * 16}-01"}
            await client.post("/chat/stream", json=ASKED, headers=headers)
    spans = [
        span
        for request in received
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]

    (request,) = [span for span in spans if span.name == "POST /chat/stream"]
    below = [span for span in spans if span.parent_span_id == request.span_id]
    assert {"retrieve", "model", "verify"} <= {span.name for span in below}
    assert {span.trace_id.hex() for span in spans} == {CALLERS}
    assert ASKED["message"] not in str(spans)


@contextmanager
def _collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """A receiver of OpenTelemetry's protocol over HTTP."""
    received: list[ExportTraceServiceRequest] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["content-length"]))
            received.append(ExportTraceServiceRequest.FromString(_unpacked(sent, self.headers)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _unpacked(sent: bytes, headers: object) -> bytes:
    import gzip

    return gzip.decompress(sent) if sent[:2] == b"\x1f\x8b" else sent


def _asking(app: object) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)  # type: ignore[arg-type]
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")
