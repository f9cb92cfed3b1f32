"""What comes back from a foreign embedder, checked before it is trusted."""

from typing import Any

import numpy as np

from quire.errors import EmbedderUnavailable
from quire.ports import Vectors


def unit_vectors(rows: Any, *, count: int, width: int, name: str) -> Vectors:
    """Give one vector of length 1 for each text, or refuse them all.

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
            "configured (QUIRE_EMBEDDING__WIDTH)."
        )
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    # The engine accepts NaN silently, so it is refused here; so is what has no direction.
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbedderUnavailable(
            f"The embedder {name!r} gave numbers that are not finite, or all zero."
        )
    unit: Vectors = (found / lengths).astype(np.float32)
    return unit
