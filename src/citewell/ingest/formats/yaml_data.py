"""Load YAML from untrusted files with limits, and convert scalars to text."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import yaml

MAX_NODES = 100_000
"""Limit against YAML aliases that expand to billions of values."""


class TooManyValues(yaml.YAMLError):
    """A document expands to more than `MAX_NODES` values."""


def load_yaml(text: str, loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> Any:
    """Load a YAML document as plain data.

    Aliases share memory and are not expanded: callers that walk the data must limit their steps.

    Raises:
        yaml.YAMLError: the text is not YAML.
        TooManyValues: merge keys expand to too many values.
        ValueError: a scalar is invalid, such as a date.
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
    """Load a document whose expanded size, aliases included, is limited.

    Raises:
        yaml.YAMLError: the text is not YAML.
        TooManyValues: aliases expand to too many values.
        ValueError: a scalar is invalid, such as a date.
    """
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is not None and _expanded_size(node, {}) > MAX_NODES:
        raise TooManyValues(f"it expands to more than {MAX_NODES:,} values")
    return load_yaml(text)


def _check_merges(top: yaml.Node) -> None:
    """Check the size of merge keys (`<<`): unlike aliases, they copy values."""
    sizes: dict[int, int] = {}
    stack, seen = [top], {id(top)}
    while stack:
        node = stack.pop()
        merges = isinstance(node, yaml.MappingNode) and any(
            key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value
        )
        if merges and _expanded_size(node, sizes) > MAX_NODES:
            raise TooManyValues(f"it expands to more than {MAX_NODES:,} values")
        for child in _children(node):
            if id(child) not in seen:
                seen.add(id(child))
                stack.append(child)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    for part in node.value if isinstance(node.value, list) else ():
        yield from part if isinstance(part, tuple) else (part,)


def _expanded_size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Return the number of values of a node with all aliases expanded."""
    if id(node) not in sizes:
        sizes[id(node)] = MAX_NODES + 1  # a node that contains itself is infinite
        size = 1 + sum(_expanded_size(child, sizes) for child in _children(node))
        sizes[id(node)] = min(size, MAX_NODES + 1)
    return sizes[id(node)]


def scalar(value: object) -> str:
    """Return a scalar as text; empty for lists, mappings and missing values."""
    return str(value) if isinstance(value, str | int | float | date) else ""
