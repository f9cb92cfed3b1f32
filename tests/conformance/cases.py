"""One case for each item of the five data models, and what is known of each."""

from typing import Any

import pytest

ITEMS: dict[str, str] = {}
"""What each item demands, by its number: the data model's, a dot, and its place there."""


def item(number: str, demand: str) -> pytest.MarkDecorator:
    """Return the mark of the test that proves an item; each has one."""
    if ITEMS.get(number, demand) != demand:
        raise ValueError(f"{number} stands for two items: {ITEMS[number]!r} and {demand!r}")
    ITEMS[number] = demand
    return pytest.mark.item(number, demand)


def case(number: str, demand: str, *values: Any, marks: Any = ()) -> Any:
    """Return the row of a table that proves an item."""
    return pytest.param(*values, id=number, marks=[item(number, demand), *marks])


def kept(*names: str) -> pytest.MarkDecorator:
    """Return the mark of a deviation kept on purpose.

    The test proves what is documented instead; docs/contracts.md has to list it under "Kept on
    purpose", by one of these names.
    """
    return pytest.mark.kept(*names)
