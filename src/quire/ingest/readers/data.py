"""Plain data from files that strangers wrote: YAML in measure, and the text of single values."""

from datetime import date
from typing import Any

import yaml

MAX_NODES = 100_000
"""A few lines of YAML can stand for billions of values by pointing at each other."""


def load_yaml(text: str, loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> Any:
    """Return what a YAML document says, as plain data.

    Raises:
        yaml.YAMLError: it is not YAML, or holds more values than it seems to.
        ValueError: one of its values is not what it looks like.
    """
    reader = loader(text)
    try:
        node = reader.get_single_node()
        if node is None:
            return None
        if _size(node, {}) > MAX_NODES:
            raise yaml.YAMLError(f"it stands for more than {MAX_NODES:,} values")
        return reader.construct_document(node)
    finally:
        reader.dispose()


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Return how many values a node stands for, each alias counted as what it points at."""
    if id(node) not in known:
        known[id(node)] = MAX_NODES + 1  # what holds itself never ends
        inner = node.value if isinstance(node.value, list) else []
        pairs = [part if isinstance(part, tuple) else (part,) for part in inner]
        size = 1 + sum(_size(child, known) for pair in pairs for child in pair)
        known[id(node)] = min(size, MAX_NODES + 1)
    return known[id(node)]


def scalar(value: object) -> str:
    """Return the text of a single value; empty for lists, tables, and what is missing."""
    return str(value) if isinstance(value, str | int | float | date) else ""
