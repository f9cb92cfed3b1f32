"""Embedders behind a wire: any OpenAI-compatible server, and all that LiteLLM reaches."""

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
"""Models that give fewer numbers when asked for fewer."""
MAX_TOKENS = 8_000
"""What OpenAI's models take is 8,191, counted by another tokenizer than ours."""
DEFAULT_MAX_TOKENS = 512
FIRST_WAIT = 0.5
MAX_ERROR_LENGTH = 200
"""How much of a server's own words is passed on, in characters."""

Row = tuple[int, Sequence[float]]
EmbedCall = Callable[[list[str]], list[Row]]
"""Sends one request; each vector comes with the place of its text."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a request is sent again, and the longest wait between."""

    retries: int
    max_wait: float


QUERY_RETRY_POLICY = RetryPolicy(retries=1, max_wait=2.0)
"""A reader is waiting."""


class RemoteEmbedder:
    """A model that a server runs; texts go there, unit vectors come back."""

    def __init__(self, name: str, options: EmbeddingOptions, tokens: GraniteEmbedder) -> None:
        """Reach the model `name`, `openai/…` or `litellm/…`; nothing is sent before it is needed.

        Tokens are counted by the embedded model's tokenizer, so that a book is cut the same way
        whichever model embeds it, and no server has to be asked for a count.

        Raises:
            BadSettings: the model's width has to be known, and is not.
        """
        self._name = name
        self._options = options
        self._tokens = tokens
        self._kind, _, self._model = name.partition("/")
        known = self._model.rpartition("/")[2]
        width = options.width or WIDTHS.get(known)
        if width is None:
            raise BadSettings(
                f"CITEWELL_EMBEDDING__WIDTH is not set: say how wide the vectors of {name!r} are."
            )
        self.width = width
        self.max_tokens = options.max_tokens or (
            MAX_TOKENS if known in WIDTHS else DEFAULT_MAX_TOKENS
        )
        self._shorten = width if known in SUPPORTS_DIMENSIONS and width != WIDTHS[known] else None
        self.id = f"{name}@{width}{_options_suffix(options)}"

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count tokens as the embedded model sees them."""
        return self._tokens.count_tokens(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed in order, a batch a request; what the server cannot do now is tried again."""
        retry_policy = RetryPolicy(self._options.retries, max_wait=60.0)
        size = self._options.batch
        prefix = self._options.passage_prefix
        parts = [
            self._embed([prefix + text for text in texts[start : start + size]], retry_policy)
            for start in range(0, len(texts), size)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.width), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Embed one question."""
        vector: Vectors = self._embed([self._options.query_prefix + text], QUERY_RETRY_POLICY)[0]
        return vector

    @cached_property
    def _call(self) -> EmbedCall:
        opened = {"openai": _open_openai, "litellm": _open_litellm}[self._kind]
        return opened(self._model, self._options, self._shorten)

    def _embed(self, texts: list[str], retry_policy: RetryPolicy) -> Vectors:
        # Servers refuse what is too long, and OpenAI's refuse what is empty.
        sent = [self._tokens.clip(text, self.max_tokens) or " " for text in texts]
        rows = sorted(self._send(sent, retry_policy), key=lambda row: row[0])
        if [place for place, _ in rows] != list(range(len(rows))):
            raise EmbedderUnavailable(
                f"The embedder {self._name!r} does not say which vector is of which text."
            )
        vectors = [vector for _, vector in rows]
        return unit_vectors(vectors, count=len(texts), width=self.width, name=self._name)

    def _send(self, texts: list[str], retry_policy: RetryPolicy) -> list[Row]:
        # Imported here: it takes a second, and only those who use it should wait. LiteLLM's errors
        # are subclasses of these.
        from openai import APIConnectionError, APIError, APIStatusError

        waits = _backoff(retry_policy)
        while True:
            try:
                return self._call(texts)
            except (APIConnectionError, APIStatusError) as error:
                wait = next(waits, None) if _is_transient(error) else None
                said = _retry_after(error)
                if wait is None or (said or 0.0) > retry_policy.max_wait:
                    raise self._failure(error) from error
                sleep(wait if said is None else said)
            except APIError as error:
                raise self._failure(error) from error
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise EmbedderUnavailable(
                    f"The embedder {self._name!r} answers with something else than embeddings."
                ) from error

    def _failure(self, error: Exception) -> EmbedderUnavailable:
        status = getattr(error, "status_code", None)
        name = f"The embedder {self._name!r}"
        if status in (401, 403):
            # Not in the server's words: they repeat parts of the key.
            return EmbedderUnavailable(
                f"{name} refuses the key ({status}); set CITEWELL_EMBEDDING__API_KEY."
            )
        said = " ".join(str(error).split())[:MAX_ERROR_LENGTH]
        if _is_transient(error):
            how = f"answers {status}" if status else "cannot be reached"
            return EmbedderUnreachable(f"{name} {how}: {said}")
        return EmbedderUnavailable(
            f"{name} refuses the request ({status}; texts too long for it are cut by "
            f"CITEWELL_EMBEDDING__MAX_TOKENS): {said}"
        )


def _options_suffix(options: EmbeddingOptions) -> str:
    """Name what else changes the vectors, if anything is set."""
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
    # LiteLLM gives a lost connection the status 500.
    return status is None or status in (408, 409, 429) or status >= 500  # noqa: PLR2004 - HTTP's


def _retry_after(error: Exception) -> float | None:
    """Return the seconds that the server asks to wait; a date is taken for nothing."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        return None


def _key(options: EmbeddingOptions) -> str | None:
    if options.api_key:
        return options.api_key.get_secret_value()
    # A server of one's own often needs no key, and is never sent the one for OpenAI.
    return "none" if options.base_url else None


def _open_openai(model: str, options: EmbeddingOptions, shorten: int | None) -> EmbedCall:
    from openai import OpenAI, OpenAIError, omit

    try:
        client = OpenAI(
            api_key=_key(options),
            base_url=options.base_url,
            timeout=options.timeout_seconds,
            max_retries=0,
        )
    except OpenAIError as error:
        raise BadSettings(
            f"CITEWELL_EMBEDDER='openai/{model}' needs a key: set CITEWELL_EMBEDDING__API_KEY or "
            "OPENAI_API_KEY, or CITEWELL_EMBEDDING__BASE_URL for a server without one."
        ) from error

    def call(texts: list[str]) -> list[Row]:
        answer = client.embeddings.create(
            model=model, input=texts, dimensions=shorten or omit, encoding_format="float"
        )
        return [(row.index, row.embedding) for row in answer.data]

    return call


def _open_litellm(model: str, options: EmbeddingOptions, shorten: int | None) -> EmbedCall:
    # Or it asks the network for prices when it is imported.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # noqa: TID251 - set, not read
    try:
        import litellm
    except ImportError as error:
        raise EmbedderUnavailable(
            f"CITEWELL_EMBEDDER='litellm/{model}' needs the package litellm: "
            "pip install 'citewell[litellm]'."
        ) from error

    more: dict[str, Any] = {"dimensions": shorten} if shorten else {}

    def call(texts: list[str]) -> list[Row]:
        answer = litellm.embedding(
            model=model,
            input=texts,
            api_key=_key(options),
            api_base=options.base_url,
            timeout=options.timeout_seconds,
            max_retries=0,
            encoding_format="float",
            **more,
        )
        return [(row["index"], row["embedding"]) for row in answer.data]

    return call


def unit_vectors(rows: Any, *, count: int, width: int, name: str) -> Vectors:
    """Return one vector of length 1 for each text, or refuse them all.

    Raises:
        EmbedderUnavailable: there are too few, they are of another width, or not of numbers.
    """
    try:
        found = np.array(rows, np.float64)
    except (TypeError, ValueError) as error:
        raise EmbedderUnavailable(
            f"The embedder {name!r} gave something else than vectors."
        ) from error
    if len(found) != count:
        raise EmbedderUnavailable(
            f"The embedder {name!r} gave {len(found)} vectors for {count} texts."
        )
    if found.shape != (count, width):
        raise EmbedderUnavailable(
            f"The embedder {name!r} gives vectors {found.shape[-1]} wide, but {width} is "
            "configured (CITEWELL_EMBEDDING__WIDTH)."
        )
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    # The engine accepts NaN silently, so it is refused here; so is what has no direction.
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbedderUnavailable(
            f"The embedder {name!r} gave numbers that are not finite, or all zero."
        )
    unit: Vectors = (found / lengths).astype(np.float32)
    return unit
