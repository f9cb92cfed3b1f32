"""The table of `docs/contracts.md`: what each contract asks for, where that is, what proves it.

`python -m tests.api.contracts.table` writes it from the files in `rows/`.
"""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "contracts.md"
HERE = "tests/api/contracts"
OPENING = ROOT / HERE / "rows" / "opening.md"


@dataclass(frozen=True, slots=True)
class Row:
    """One field or rule."""

    what: str
    rule: str
    module: str
    name: str
    tests: tuple[str, ...]
    """Each as `file::test`."""


@dataclass(frozen=True, slots=True)
class Seed:
    """One contract's data model."""

    number: str
    contract: str
    rows: tuple[Row, ...]


def read_seeds() -> list[Seed]:
    return [_read(path) for path in sorted((ROOT / HERE / "rows").glob("*.txt"))]


def _read(path: Path) -> Seed:
    heading, *lines = path.read_text("utf-8").splitlines()
    tests: dict[str, str] = {}
    rows = []
    for line in filter(None, lines):
        cells = [cell.strip() for cell in line.split(" | ")]
        if len(cells) == 1:
            alias, _, test = (part.strip() for part in line.partition("="))
            own = f"{HERE}/test_seed_{path.stem}.py::{test}"
            tests[alias] = test if "::" in test else own
            continue
        what, rule, place, proofs = cells
        module, _, name = place.partition(":")
        known = module if module.startswith("citewell.") else f"citewell.api.contracts.{module}"
        proven = tuple(tests[alias.strip()] for alias in proofs.split(","))
        rows.append(Row(what, rule, known, name, proven))
    return Seed(path.stem, heading.removeprefix("# "), tuple(rows))


def render() -> str:
    return "\n".join([OPENING.read_text("utf-8"), *(_section(seed) for seed in read_seeds())])


def _section(seed: Seed) -> str:
    lines = [
        f"## {seed.number}: `{seed.contract}`",
        "",
        f"Tests without a file are in `{HERE}/test_seed_{seed.number}.py`.",
        "",
        "| field or rule | what holds | place | tests |",
        "| --- | --- | --- | --- |",
        *(_line(row, seed) for row in seed.rows),
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row, seed: Seed) -> str:
    file = row.module.removeprefix("citewell.").replace(".", "/") + ".py"
    what = f"`{row.what}`" if "." in row.what else row.what
    own = f"{HERE}/test_seed_{seed.number}.py::"
    tests = ", ".join(f"`{test.removeprefix(own)}`" for test in row.tests)
    return f"| {what} | {row.rule} | `{file}` `{row.name}` | {tests} |"


if __name__ == "__main__":
    DOCUMENT.write_text(render(), "utf-8")
