"""Plain data from files that strangers wrote: YAML in measure, and the text of single values."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import yaml

MAX_NODES = 100_000
"""A few lines of YAML can stand for billions of values by pointing at each other."""


class TooManyValues(yaml.YAMLError):
    """A document that stands for more values than anybody writes."""


def load_yaml(text: str, loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> Any:
    """Return what a YAML document says, as plain data.

    Values that point at each other share their memory: who walks through them has to count.

    Raises:
        yaml.YAMLError: it is not YAML.
        TooManyValues: it puts too many values together.
        ValueError: one of its values is not what it looks like.
    """
    reader = loader(text)
    try:
        node = reader.get_single_node()
        if node is None:
            return None
        _check_merges(node)
        return reader.construct_document(node)
    finally:
        reader.dispose()


def load_small_yaml(text: str) -> Any:
    """Return what a document says that can be no larger than it looks.

    Raises:
        yaml.YAMLError: it is not YAML.
        TooManyValues: it stands for more than it says.
        ValueError: one of its values is not what it looks like.
    """
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is not None and _size(node, {}) > MAX_NODES:
        raise TooManyValues(f"it stands for more than {MAX_NODES:,} values")
    return load_yaml(text)


def _check_merges(top: yaml.Node) -> None:
    """Make sure that no `<<` copies too much: a copy takes memory, an alias takes none."""
    known: dict[int, int] = {}
    waiting, seen = [top], {id(top)}
    while waiting:
        node = waiting.pop()
        merges = isinstance(node, yaml.MappingNode) and any(
            key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value
        )
        if merges and _size(node, known) > MAX_NODES:
            raise TooManyValues(f"it stands for more than {MAX_NODES:,} values")
        for child in _children(node):
            if id(child) not in seen:
                seen.add(id(child))
                waiting.append(child)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    for part in node.value if isinstance(node.value, list) else ():
        yield from part if isinstance(part, tuple) else (part,)


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Return how many values a node stands for, each alias counted as what it points at."""
    if id(node) not in known:
        known[id(node)] = MAX_NODES + 1  # what holds itself never ends
        size = 1 + sum(_size(child, known) for child in _children(node))
        known[id(node)] = min(size, MAX_NODES + 1)
    return known[id(node)]


def scalar(value: object) -> str:
    """Return the text of a single value; empty for lists, tables, and what is missing."""
    return str(value) if isinstance(value, str | int | float | date) else ""
