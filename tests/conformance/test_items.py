"""Every item of every data model has a case."""

import importlib
from pathlib import Path

from tests.conformance.cases import ITEMS

COUNTS = {"000": 83, "001": 57, "002": 71, "003": 116, "004": 68}
"""How many items each data model has, as they were counted in its text."""


def test_every_item_of_every_data_model_has_a_case() -> None:
    for path in Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(f"tests.conformance.{path.stem}")

    wanted = {f"{seed}.{n:02}" for seed, count in COUNTS.items() for n in range(1, count + 1)}

    assert sorted(wanted - ITEMS.keys()) == []
    assert sorted(ITEMS.keys() - wanted) == []
