"""Embedders of the fastembed collection, run in process."""

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
    """A model that fastembed names; it knows the prefixes that its models want."""

    max_tokens = 512
    """Models cut longer texts by themselves; some read more."""

    def __init__(
        self, model: str, options: EmbeddingOptions, tokens: GraniteEmbedder, folder: Path
    ) -> None:
        """Keep the model's files below `folder`; nothing is loaded before it is needed.

        Tokens are counted by the embedded model's tokenizer, so that a book is cut the same way
        whichever model embeds it.
        """
        self.id = f"fastembed/{model}@1"
        self._model = model
        self._options = options
        self._tokens = tokens
        self._folder = folder

    @cached_property
    def width(self) -> int:
        """How wide fastembed says the model's vectors are."""
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
        assert self.width, "an unknown model is named as such before its files are looked for"
        place = self._options.model_dir
        more = {"specific_model_path": str(place.expanduser())} if place else {}
        try:
            return self._library.TextEmbedding(
                self._model,
                cache_dir=str(self._folder / "fastembed"),
                threads=self._tokens.threads or None,
                **more,
            )
        # What a download or a damaged file raises has no base class in common.
        except Exception as error:
            raise EmbedderUnavailable(
                f"The fastembed model {self._model!r} cannot be loaded; it is downloaded once, or "
                "read from CITEWELL_EMBEDDING__MODEL_DIR."
            ) from error

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count tokens as the embedded model sees them."""
        return self._tokens.count_tokens(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed in order."""
        if not texts:
            return np.empty((0, self.width), np.float32)
        rows = self._embedding.passage_embed(list(texts), batch_size=self._options.batch)
        return self._checked(rows, len(texts))

    def embed_query(self, text: str) -> Vectors:
        """Embed one question."""
        vector: Vectors = self._checked(self._embedding.query_embed(text), 1)[0]
        return vector

    def _checked(self, rows: Iterable[Any], count: int) -> Vectors:
        return unit_vectors(list(rows), count=count, width=self.width, name=self.id)
