"""Prometheus metrics and OpenTelemetry traces."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.propagate import set_global_textmap
from opentelemetry.trace import Span, StatusCode, Tracer, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from pydantic import BaseModel, ConfigDict

from citewell.errors import BadSettings
from citewell.version import __version__

REGISTRY = CollectorRegistry()
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
AGE_BUCKETS = (1, 10, 60, 300, 900, 3600, 14_400, 86_400)

REQUESTS = Counter(
    "citewell_http_requests", "Requests", ["method", "route", "status"], registry=REGISTRY
)
REQUEST_SECONDS = Histogram(
    "citewell_http_request_seconds",
    "Seconds until a response was complete",
    ["route"],
    buckets=BUCKETS,
    registry=REGISTRY,
)
RATE_LIMITED_REQUESTS = Counter(
    "citewell_limited", "Requests refused by a limit", ["route"], registry=REGISTRY
)
ANSWERS = Counter(
    "citewell_answers",
    "Answers by status; all but answered and small_talk are refusals",
    ["book", "status", "level"],
    registry=REGISTRY,
)
FLAGGED = Counter(
    "citewell_answers_flagged",
    "Answers with claims that the book does not support",
    ["book"],
    registry=REGISTRY,
)
FAILURES = Counter("citewell_failures", "Questions that failed", ["code"], registry=REGISTRY)
STAGE_SECONDS = Histogram(
    "citewell_stage_seconds",
    "Seconds spent in each stage of an answer",
    ["stage"],
    buckets=BUCKETS,
    registry=REGISTRY,
)
TOKENS = Counter("citewell_model_tokens", "Tokens of the model", ["kind"], registry=REGISTRY)
MODEL_COST_DOLLARS = Counter(
    "citewell_model_dollars", "Cost of models with a known price", ["model"], registry=REGISTRY
)
MODELS = Counter(
    "citewell_model_answers",
    "Results of models: proven, unproven, or the failure",
    ["model", "result"],
    registry=REGISTRY,
)
CACHE = Counter(
    "citewell_cache",
    "Cache lookups; shared waited for a concurrent one, skipped depend on a thread",
    ["cache", "result"],
    registry=REGISTRY,
)
CACHE_AGE = Histogram(
    "citewell_cache_age_seconds",
    "Age of answers from the cache",
    buckets=AGE_BUCKETS,
    registry=REGISTRY,
)
STREAMS = Counter(
    "citewell_streams", "Streams by event: begun, resumed, done or error", ["event"],
    registry=REGISTRY,
)  # fmt: skip


def exposition(folder: str | None = None) -> bytes:
    """Return all metrics in the Prometheus text format; of all workers, if they share `folder`."""
    if folder is None:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


class TracingOptions(BaseModel):
    """Options of tracing."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    endpoint: str | None = None
    """URL of an OpenTelemetry collector, such as `http://127.0.0.1:4318/v1/traces`; none by
    default. Requires `pip install 'citewell[otel]'`."""


NAME = "citewell"
EXPORT_TIMEOUT_SECONDS = 5


class _Tracing:
    """The current tracer, by default the process's global no-op tracer."""

    tracer: Tracer = trace.get_tracer(NAME, __version__)


@contextmanager
def span(name: str, **attributes: str | int | float) -> Iterator[Span]:
    """Run the body in a child span of the current request.

    It does not become the current span, which a generator would leak to its consumer.
    """
    child = _Tracing.tracer.start_span(name, attributes=attributes)
    try:
        yield child
    except Exception as error:
        child.set_status(StatusCode.ERROR, type(error).__name__)
        raise
    finally:
        child.end()


def open_tracing(options: TracingOptions) -> TracerProvider | None:
    """Export spans to the configured endpoint, if any, and return the provider.

    Raises:
        BadSettings: the packages for the export are not installed.
    """
    if options.endpoint is None:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider as Provider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise BadSettings(
            "CITEWELL_TRACING__ENDPOINT needs the extra: pip install 'citewell[otel]'."
        ) from error
    provider = Provider(
        resource=Resource.create({"service.name": NAME, "service.version": __version__}),
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(options.endpoint, timeout=EXPORT_TIMEOUT_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    _Tracing.tracer = provider.get_tracer(NAME, __version__)
    # The default also parses `baggage`, which nothing reads, and in quadratic time.
    set_global_textmap(TraceContextTextMapPropagator())
    return provider


def close_tracing(provider: TracerProvider) -> None:
    """Export the remaining spans and stop tracing."""
    _Tracing.tracer = trace.get_tracer(NAME, __version__)
    shutdown: Callable[[], None] = getattr(provider, "shutdown", lambda: None)
    shutdown()
