"""Every figure that `/metrics` shows."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

REGISTRY = CollectorRegistry()
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
AGES = (1, 10, 60, 300, 900, 3600, 14_400, 86_400)

REQUESTS = Counter(
    "quire_http_requests", "Requests", ["method", "route", "status"], registry=REGISTRY
)
REQUEST_SECONDS = Histogram(
    "quire_http_request_seconds",
    "Seconds until a response was complete",
    ["route"],
    buckets=SECONDS,
    registry=REGISTRY,
)
LIMITED = Counter("quire_limited", "Requests refused by a limit", ["route"], registry=REGISTRY)
ANSWERS = Counter(
    "quire_answers",
    "Answers by what they came to; all but answered and small_talk are refusals",
    ["book", "status", "level"],
    registry=REGISTRY,
)
FLAGGED = Counter(
    "quire_answers_flagged",
    "Answers whose model said what the book does not support",
    ["book"],
    registry=REGISTRY,
)
FAILURES = Counter("quire_failures", "Questions that failed", ["code"], registry=REGISTRY)
STAGE_SECONDS = Histogram(
    "quire_stage_seconds",
    "Seconds spent in each stage of an answer that was made",
    ["stage"],
    buckets=SECONDS,
    registry=REGISTRY,
)
TOKENS = Counter("quire_model_tokens", "Tokens of the model", ["kind"], registry=REGISTRY)
DOLLARS = Counter(
    "quire_model_dollars", "Cost of models whose price is known", ["model"], registry=REGISTRY
)
MODELS = Counter(
    "quire_model_answers",
    "What models came to: proven, unproven, or how they failed",
    ["model", "result"],
    registry=REGISTRY,
)
CACHE = Counter(
    "quire_cache",
    "Look-ups; shared waited for the same question of another reader, skipped lean on a thread",
    ["cache", "result"],
    registry=REGISTRY,
)
CACHE_AGE = Histogram(
    "quire_cache_age_seconds",
    "Age of the answers that came from the cache",
    buckets=AGES,
    registry=REGISTRY,
)
STREAMS = Counter(
    "quire_streams", "Streams begun, resumed, done, or ended by an error", ["event"],
    registry=REGISTRY,
)  # fmt: skip


def exposition(folder: str | None = None) -> bytes:
    """Give every figure as Prometheus reads it; of all workers, if they count into `folder`."""
    if folder is None:
        return generate_latest(REGISTRY)
    gathered = CollectorRegistry()
    MultiProcessCollector(gathered, path=folder)  # type: ignore[no-untyped-call]
    return generate_latest(gathered)
