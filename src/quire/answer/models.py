"""Model names to Agents SDK models."""

from collections.abc import Callable
from functools import partial

from agents import Model

from quire.answer.embedded import NAME, EmbeddedModel
from quire.errors import BadSettings
from quire.prose.terms import TermStatistics
from quire.retrieve.evidence import EvidenceReader

ModelFor = Callable[[TermStatistics], Model]
"""Gives the model for one book."""


def choose_model(name: str, evidence: EvidenceReader) -> ModelFor:
    """Find the model an operator named.

    Raises:
        BadSettings: there is no such model.
    """
    if name == NAME:
        return partial(EmbeddedModel, evidence)
    raise BadSettings(f"QUIRE_MODEL={name!r} is not known; this version has {NAME!r} only.")
