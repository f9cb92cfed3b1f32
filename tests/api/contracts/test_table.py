"""`docs/contracts.md` says what is, and leaves nothing out."""

import ast
import os
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.api.contracts.table import DOCUMENT, ROOT, Row, Seed, read_seeds, render

SEEDS = read_seeds()
SHARED = Path(os.environ.get("CITEWELL_SHARED", ROOT.parent / "shared")) / "seeds"
ROWS = [pytest.param(row, id=f"{seed.number} {row.what}") for seed in SEEDS for row in seed.rows]
FIELD = re.compile(
    r"- `([\w.\[\]]+)` \(|- \*\*(\w+)\*\*: .*\(|\| `?(\w+)`? \| `?[\w\[\], ]+`? \| |- `(\w+)`: \w+"
)


def test_the_document_is_the_one_that_the_rows_give() -> None:
    assert DOCUMENT.read_text("utf-8") == render(), "run python -m tests.api.contracts.table"


def test_no_cell_is_empty() -> None:
    for line in DOCUMENT.read_text("utf-8").splitlines():
        if line.startswith("|"):
            assert all(cell.strip() for cell in line.strip("|").split("|")), line


@cache
def _tests(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in tree.body if isinstance(node, kinds)}


@pytest.mark.parametrize("row", ROWS)
def test_every_place_and_every_test_that_is_named_exists(row: Row) -> None:
    found: object = import_module(row.module)
    for name in row.name.split("."):
        fields = {
            **getattr(found, "model_fields", {}),
            **getattr(found, "__dataclass_fields__", {}),
        }
        assert name in fields or hasattr(found, name), f"{row.module} has no {row.name}"
        found = getattr(found, name, None)
    for test in row.tests:
        path, _, name = test.partition("::")
        assert name in _tests(path), test


def _fields_of(text: str) -> set[str]:
    """Return the fields that a data model defines, each with its entity."""
    entity, found = "", set()
    for line in text.splitlines():
        if heading := re.match(r"#{2,4} (?:\d+\. )?(.+)", line):
            entity = re.sub(r"[^A-Za-z]", "", heading[1].partition("(")[0])
        if nested := re.match(r"\*\*Nested Type: (\w+)\*\*", line):
            entity = nested[1]
        if field := FIELD.match(line):
            name = next(group for group in field.groups() if group)
            if name not in ("Field", "Constant"):
                found.add(f"{entity}.{name}")
    return found


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.number)
def test_every_field_of_the_data_model_has_a_row(seed: Seed) -> None:
    if not SHARED.is_dir():
        pytest.skip(f"the data models are not here: {SHARED}; set CITEWELL_SHARED")
    (model,) = SHARED.glob(f"{seed.number}_*")

    fields = _fields_of(model.read_text("utf-8"))

    assert len(fields) > 20
    assert fields - {row.what for row in seed.rows} == set()
