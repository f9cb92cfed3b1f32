"""Embedder names to embedders."""

from pathlib import Path

from citewell.errors import BadSettings
from citewell.models.embedder import GraniteEmbedder
from citewell.options import EmbeddingOptions
from citewell.ports import Embedder

NAME = "embedded"
"""The embedder that comes with Citewell."""


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
        from citewell.models.remote_embedder import RemoteEmbedder

        return RemoteEmbedder(name, options, embedded)
    if model and kind == "fastembed":
        from citewell.models.fastembed import FastEmbedder

        return FastEmbedder(model, options, embedded, folder)
    raise BadSettings(
        f"CITEWELL_EMBEDDER={name!r} is not known: {NAME!r}, 'openai/NAME', 'litellm/NAME' or "
        "'fastembed/NAME'."
    )
