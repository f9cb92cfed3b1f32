"""Remote embedders: OpenAI-compatible servers and the providers of LiteLLM."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import sleep
from typing import Any

import numpy as np

from citewell.errors import BadSettings, EmbedderUnavailable, EmbedderUnreachable
from citewell.models.embedder import GraniteEmbedder
from citewell.options import EmbeddingOptions
from citewell.ports import Vectors

WIDTHS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
SUPPORTS_DIMENSIONS = ("text-embedding-3-small", "text-embedding-3-large")
"""Models that can shorten their vectors."""
MAX_TOKENS = 8_000
"""OpenAI's limit is 8,191 tokens, counted by another tokenizer."""
DEFAULT_MAX_TOKENS = 512
FIRST_WAIT = 0.5
MAX_ERROR_LENGTH = 200
"""Characters of a server's error message that are passed on."""

Row = tuple[int, Sequence[float]]
EmbedCall = Callable[[list[str]], list[Row]]
"""Sends one request and returns each vector with the index of its text."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a failed request is repeated, and the longest wait in between."""

    retries: int
    max_wait: float


QUERY_RETRY_POLICY = RetryPolicy(retries=1, max_wait=2.0)
"""Short, because a reader is waiting."""


class RemoteEmbedder:
    """An embedding model behind an API."""

    def __init__(self, name: str, options: EmbeddingOptions, tokenizer: GraniteEmbedder) -> None:
        """Use the model `name`, `openai/…` or `litellm/…`, without connecting.

        The tokenizer is that of the embedded model, so that all embedders share the same chunks.

        Raises:
            BadSettings: the width of the model's vectors is unknown.
        """
        self._name = name
        self._options = options
        self._tokenizer = tokenizer
        self._kind, _, self._model = name.partition("/")
        short_name = self._model.rpartition("/")[2]
        width = options.width or WIDTHS.get(short_name)
        if width is None:
            raise BadSettings(
                f"CITEWELL_EMBEDDING__WIDTH is not set; {name!r} needs the width of its vectors."
            )
        self.width = width
        self.max_tokens = options.max_tokens or (
            MAX_TOKENS if short_name in WIDTHS else DEFAULT_MAX_TOKENS
        )
        can_shorten = short_name in SUPPORTS_DIMENSIONS and width != WIDTHS[short_name]
        self._dimensions = width if can_shorten else None
        self.id = f"{name}@{width}{_options_suffix(options)}"

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count tokens with the embedded model's tokenizer."""
        return self._tokenizer.count_tokens(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages in batches, one row each, and retry transient failures."""
        retry_policy = RetryPolicy(self._options.retries, max_wait=60.0)
        size = self._options.batch
        prefix = self._options.passage_prefix
        parts = [
            self._embed([prefix + text for text in texts[start : start + size]], retry_policy)
            for start in range(0, len(texts), size)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.width), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Embed one question as a single vector."""
        vector: Vectors = self._embed([self._options.query_prefix + text], QUERY_RETRY_POLICY)[0]
        return vector

    @cached_property
    def _call(self) -> EmbedCall:
        connect = {"openai": _connect_openai, "litellm": _connect_litellm}[self._kind]
        return connect(self._model, self._options, self._dimensions)

    def _embed(self, texts: list[str], retry_policy: RetryPolicy) -> Vectors:
        # Servers reject texts that are too long, and OpenAI's reject empty ones.
        inputs = [self._tokenizer.clip(text, self.max_tokens) or " " for text in texts]
        rows = sorted(self._send(inputs, retry_policy), key=lambda row: row[0])
        if [index for index, _ in rows] != list(range(len(rows))):
            raise EmbedderUnavailable(
                f"The embedder {self._name!r} returned invalid indices with its vectors."
            )
        vectors = [vector for _, vector in rows]
        return unit_vectors(vectors, count=len(texts), width=self.width, name=self._name)

    def _send(self, texts: list[str], retry_policy: RetryPolicy) -> list[Row]:
        # Importing openai takes a second. LiteLLM's errors are subclasses of these.
        from openai import APIConnectionError, APIError, APIStatusError

        waits = _backoff(retry_policy)
        while True:
            try:
                return self._call(texts)
            except (APIConnectionError, APIStatusError) as error:
                wait = next(waits, None) if _is_transient(error) else None
                retry_after = _retry_after(error)
                if wait is None or (retry_after or 0.0) > retry_policy.max_wait:
                    raise self._failure(error) from error
                sleep(wait if retry_after is None else retry_after)
            except APIError as error:
                raise self._failure(error) from error
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise EmbedderUnavailable(
                    f"The embedder {self._name!r} did not return embeddings."
                ) from error

    def _failure(self, error: Exception) -> EmbedderUnavailable:
        status = getattr(error, "status_code", None)
        name = f"The embedder {self._name!r}"
        if status in (401, 403):
            # The server's message is omitted, because it can contain parts of the key.
            return EmbedderUnavailable(
                f"{name} refuses the key ({status}); set CITEWELL_EMBEDDING__API_KEY."
            )
        message = " ".join(str(error).split())[:MAX_ERROR_LENGTH]
        if _is_transient(error):
            problem = f"answers {status}" if status else "cannot be reached"
            return EmbedderUnreachable(f"{name} {problem}: {message}")
        return EmbedderUnavailable(
            f"{name} refuses the request ({status}; if texts are too long, lower "
            f"CITEWELL_EMBEDDING__MAX_TOKENS): {message}"
        )


def _options_suffix(options: EmbeddingOptions) -> str:
    """Return a hash of the options that change the vectors, if any is set."""
    changed = (options.query_prefix, options.passage_prefix, options.max_tokens)
    return f"-{hashlib.sha256(repr(changed).encode()).hexdigest()[:8]}" if any(changed) else ""


def _backoff(retry_policy: RetryPolicy) -> Iterator[float]:
    for attempt in range(retry_policy.retries):
        yield min(retry_policy.max_wait, FIRST_WAIT * 2**attempt)


def _is_transient(error: Exception) -> bool:
    """Return whether the same request may succeed later."""
    if getattr(error, "code", None) == "insufficient_quota":
        return False
    status = getattr(error, "status_code", None)
    # LiteLLM reports a lost connection as status 500.
    return status is None or status in (408, 409, 429) or status >= 500  # noqa: PLR2004 - HTTP's


def _retry_after(error: Exception) -> float | None:
    """Return the seconds of the `Retry-After` header; ignore a date."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        return None


def _api_key(options: EmbeddingOptions) -> str | None:
    if options.api_key:
        return options.api_key.get_secret_value()
    # A custom server often needs no key, and must not receive that for OpenAI.
    return "none" if options.base_url else None


def _connect_openai(model: str, options: EmbeddingOptions, dimensions: int | None) -> EmbedCall:
    from openai import OpenAI, OpenAIError, omit

    try:
        client = OpenAI(
            api_key=_api_key(options),
            base_url=options.base_url,
            timeout=options.timeout_seconds,
            max_retries=0,
        )
    except OpenAIError as error:
        raise BadSettings(
            f"CITEWELL_EMBEDDER='openai/{model}' needs a key: set CITEWELL_EMBEDDING__API_KEY or "
            "OPENAI_API_KEY, or CITEWELL_EMBEDDING__BASE_URL for a server that needs none."
        ) from error

    def call(texts: list[str]) -> list[Row]:
        response = client.embeddings.create(
            model=model, input=texts, dimensions=dimensions or omit, encoding_format="float"
        )
        return [(row.index, row.embedding) for row in response.data]

    return call


def _connect_litellm(model: str, options: EmbeddingOptions, dimensions: int | None) -> EmbedCall:
    # Otherwise, importing it downloads a list of prices.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # noqa: TID251 - set, not read
    try:
        import litellm
    except ImportError as error:
        raise EmbedderUnavailable(
            f"CITEWELL_EMBEDDER='litellm/{model}' needs the package litellm: "
            "pip install 'citewell[litellm]'."
        ) from error

    extra: dict[str, Any] = {"dimensions": dimensions} if dimensions else {}

    def call(texts: list[str]) -> list[Row]:
        response = litellm.embedding(
            model=model,
            input=texts,
            api_key=_api_key(options),
            api_base=options.base_url,
            timeout=options.timeout_seconds,
            max_retries=0,
            encoding_format="float",
            **extra,
        )
        return [(row["index"], row["embedding"]) for row in response.data]

    return call


def unit_vectors(rows: Any, *, count: int, width: int, name: str) -> Vectors:
    """Return the rows as vectors of length 1.

    Raises:
        EmbedderUnavailable: their number or width is wrong, or they are not finite numbers.
    """
    try:
        vectors = np.array(rows, np.float64)
    except (TypeError, ValueError) as error:
        raise EmbedderUnavailable(f"The embedder {name!r} did not return vectors.") from error
    if len(vectors) != count:
        raise EmbedderUnavailable(
            f"The embedder {name!r} returned {len(vectors)} vectors for {count} texts."
        )
    if vectors.shape != (count, width):
        raise EmbedderUnavailable(
            f"The embedder {name!r} returns vectors of width {vectors.shape[-1]}, but {width} is "
            "configured (CITEWELL_EMBEDDING__WIDTH)."
        )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    # The engine would accept NaN silently, and a zero vector has no direction.
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbedderUnavailable(
            f"The embedder {name!r} returned numbers that are not finite, or all zero."
        )
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit
