"""OpenTelemetry spans around the stages of an answer; they cost next to nothing unless sent."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.trace import Span, StatusCode, Tracer, TracerProvider

from quire.errors import BadSettings
from quire.telemetry.options import TracingOptions
from quire.version import __version__

NAME = "quire"
SECONDS = 5
"""How long a collector may take."""


class _Tracing:
    """The tracer in use: the process's own, which does nothing unless somebody sets one up."""

    tracer: Tracer = trace.get_tracer(NAME, __version__)


@contextmanager
def span(name: str, **attributes: str | int | float) -> Iterator[Span]:
    """Time what is done within, below the request that is being answered.

    It does not become the current span: a generator would leak that to whoever iterates it.
    """
    timed = _Tracing.tracer.start_span(name, attributes=attributes)
    try:
        yield timed
    except Exception as error:
        timed.set_status(StatusCode.ERROR, type(error).__name__)
        raise
    finally:
        timed.end()


def open_tracing(options: TracingOptions) -> TracerProvider | None:
    """Begin to send spans to the endpoint, if there is one; give who provides them.

    Raises:
        BadSettings: an endpoint is named, but what reaches it is not installed.
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
            "QUIRE_TRACING__ENDPOINT needs the extra: pip install 'quire[otel]'."
        ) from error
    provider = Provider(
        resource=Resource.create({"service.name": NAME, "service.version": __version__}),
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(options.endpoint, timeout=SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    _Tracing.tracer = provider.get_tracer(NAME, __version__)
    return provider


def close_tracing(provider: TracerProvider) -> None:
    """Send what is left, and stop."""
    _Tracing.tracer = trace.get_tracer(NAME, __version__)
    shutdown: Callable[[], None] = getattr(provider, "shutdown", lambda: None)
    shutdown()
