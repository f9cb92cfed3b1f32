"""Embedders from the fastembed library, run in process."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from citewell.errors import BadSettings, EmbedderUnavailable
from citewell.models.embedder import GraniteEmbedder
from citewell.models.remote_embedder import unit_vectors
from citewell.options import EmbeddingOptions
from citewell.ports import Vectors


class FastEmbedder:
    """A fastembed model; fastembed adds the prefixes that the model expects."""

    max_tokens = 512
    """Models truncate longer texts; some accept more."""

    def __init__(
        self, model: str, options: EmbeddingOptions, tokenizer: GraniteEmbedder, folder: Path
    ) -> None:
        """Store the model's files in `folder`; the model is loaded on first use.

        The tokenizer is that of the embedded model, so that all embedders share the same chunks.
        """
        self.id = f"fastembed/{model}@1"
        self._model = model
        self._options = options
        self._tokenizer = tokenizer
        self._folder = folder

    @cached_property
    def width(self) -> int:
        """The dimension of the model's vectors."""
        try:
            return int(self._library.TextEmbedding.get_embedding_size(self._model))
        except ValueError as error:
            raise BadSettings(
                f"CITEWELL_EMBEDDER='fastembed/{self._model}': fastembed has no such model."
            ) from error

    @cached_property
    def _library(self) -> Any:
        try:
            import fastembed
        except ImportError as error:
            raise EmbedderUnavailable(
                f"CITEWELL_EMBEDDER='fastembed/{self._model}' needs the package fastembed: "
                "pip install 'citewell[fastembed]'."
            ) from error
        return fastembed

    @cached_property
    def _embedding(self) -> Any:
        assert self.width, "raises if the model is unknown, before any download"
        folder = self._options.model_dir
        path = {"specific_model_path": str(folder.expanduser())} if folder else {}
        try:
            return self._library.TextEmbedding(
                self._model,
                cache_dir=str(self._folder / "fastembed"),
                threads=self._tokenizer.threads or None,
                **path,
            )
        # Failed downloads and damaged files raise unrelated exceptions.
        except Exception as error:
            raise EmbedderUnavailable(
                f"The fastembed model {self._model!r} cannot be loaded; it is downloaded once, or "
                "read from CITEWELL_EMBEDDING__MODEL_DIR."
            ) from error

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count tokens with the embedded model's tokenizer."""
        return self._tokenizer.count_tokens(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages, one row each."""
        if not texts:
            return np.empty((0, self.width), np.float32)
        rows = self._embedding.passage_embed(list(texts), batch_size=self._options.batch)
        return self._normalize(rows, len(texts))

    def embed_query(self, text: str) -> Vectors:
        """Embed one question as a single vector."""
        vector: Vectors = self._normalize(self._embedding.query_embed(text), 1)[0]
        return vector

    def _normalize(self, rows: Iterable[Any], count: int) -> Vectors:
        return unit_vectors(list(rows), count=count, width=self.width, name=self.id)
