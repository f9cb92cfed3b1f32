"""Embedders: text to unit vectors."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from quire.errors import EmbedderUnavailable
from quire.index.granite import MODEL_ID, prepare_granite
from quire.index.session import OnnxModel
from quire.ports import Vectors


class GraniteEmbedder:
    """granite-embedding-30m-english on onnxruntime: 384 wide, first-token pooling, no prefixes."""

    id = f"{MODEL_ID}@1"
    width = 384
    max_tokens = 512

    def __init__(
        self, folder: Path, *, threads: int = 0, say: Callable[[str], None] = lambda _: None
    ) -> None:
        """Keep the model in `folder`; nothing is loaded before it is needed."""
        self._folder = folder
        self.threads = threads
        self._say = say

    @cached_property
    def _tokenizer(self) -> Any:
        # Imported here: the command line answers `--help` without it.
        from tokenizers import Tokenizer

        path = prepare_granite(self._folder, self._say) / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:
            if type(error) is not Exception:  # all that the library raises for a damaged file
                raise
            raise EmbedderUnavailable(
                f"The tokenizer {path} cannot be loaded; delete its folder to make it again."
            ) from error
        tokenizer.enable_truncation(self.max_tokens)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _counter(self) -> Any:
        from tokenizers import Tokenizer

        counter = Tokenizer.from_str(self._tokenizer.to_str())
        counter.no_truncation()
        return counter

    @cached_property
    def _model(self) -> OnnxModel:
        path = prepare_granite(self._folder, self._say) / "model.onnx"
        try:
            return OnnxModel(path, self.threads)
        except Exception as error:
            # The errors of onnxruntime share a module, but no base class of their own.
            if not type(error).__module__.startswith("onnxruntime."):
                raise
            raise EmbedderUnavailable(
                f"The embedding model {path} cannot be loaded; delete its folder to make it again."
            ) from error

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count tokens, without the two that mark beginning and end."""
        # Fast: without the places of the tokens in the text.
        encoded = self._counter.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(one.ids) for one in encoded]

    def clip(self, text: str, limit: int) -> str:
        """Give the beginning of a text, at most `limit` tokens of it."""
        if len(text.encode()) <= limit:
            return text  # a token is at least one byte
        encoded = self._counter.encode(text, add_special_tokens=False)
        if len(encoded.ids) <= limit:
            return text
        # A character may be several tokens; one that is only begun is left out.
        return text[: min(encoded.offsets[limit - 1][1], encoded.offsets[limit][0])]

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed each text by itself."""
        if not texts:
            return np.empty((0, self.width), np.float32)
        return np.stack(self._model.each(self.embed_query, texts))

    def embed_query(self, text: str) -> Vectors:
        """Embed one question."""
        encoded = self._tokenizer.encode(text)
        vector: Vectors = self._model.run(
            {
                "input_ids": np.array([encoded.ids], np.int64),
                "attention_mask": np.array([encoded.attention_mask], np.int64),
            }
        )[0]
        # The engine accepts NaN silently, so it is refused here.
        if not np.isfinite(vector).all():
            raise EmbedderUnavailable("The embedding model gave numbers that are not finite.")
        return vector
