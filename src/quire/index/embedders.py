"""Embedder names to embedders."""

from pathlib import Path

from quire.errors import BadSettings
from quire.index.embed import GraniteEmbedder
from quire.index.options import EmbeddingOptions
from quire.ports import Embedder

NAME = "embedded"
"""The embedder that comes with Quire."""


def choose_embedder(
    name: str, embedded: GraniteEmbedder, options: EmbeddingOptions, folder: Path
) -> Embedder:
    """Find the embedder an operator named; nothing is loaded or sent yet.

    Raises:
        BadSettings: there is no such embedder, or a setting that it needs is missing.
    """
    kind, _, model = name.partition("/")
    if name == NAME:
        return embedded
    if model and kind in ("openai", "litellm"):
        from quire.index.served import ServedEmbedder

        return ServedEmbedder(name, options, embedded)
    if model and kind == "fastembed":
        from quire.index.fastembedder import FastEmbedder

        return FastEmbedder(model, options, embedded, folder)
    raise BadSettings(
        f"QUIRE_EMBEDDER={name!r} is not known: {NAME!r}, 'openai/NAME', 'litellm/NAME' or "
        "'fastembed/NAME'."
    )
