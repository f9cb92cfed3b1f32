"""Converters: every public set and the written one, as rows the models learn from.

A converter takes the folder of the data, a random generator and a folder for what takes long to
make, and yields rows. Recipes name them.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

from training.rows import Entailment, Reading

Row = Reading | Entailment
Converter = Callable[[Path, random.Random, Path], Iterator[Row]]


def converters() -> dict[str, Converter]:
    """Return all converters by name."""
    from training.sets import entailment, made, reading, written

    return {
        name: convert
        for module in (reading, entailment, written, made)
        for name, convert in module.CONVERTERS.items()
    }
