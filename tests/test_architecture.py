"""Rules about the code and its documents that no linter knows."""

import ast
import re
from pathlib import Path

import pytest

from citewell.settings import Settings

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MAX_FILE = 500
MAX_FUNCTION = 50


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text("utf-8")

    assert len(text.splitlines()) <= MAX_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= MAX_FUNCTION, f"{node.name} has {length} lines"


def _settings(model: type, prefix: str = "CITEWELL_") -> list[str]:
    names: list[str] = []
    for name, field in model.model_fields.items():
        nested = field.annotation
        if hasattr(nested, "model_fields"):
            names += _settings(nested, f"{prefix}{name.upper()}__")
        else:
            names.append(f"{prefix}{name.upper()}")
    return names


def test_every_setting_has_a_row_in_the_documentation() -> None:
    rows = re.findall(
        r"^\| `(CITEWELL_\w+)` \|", (ROOT / "docs/settings.md").read_text("utf-8"), re.M
    )

    assert rows == _settings(Settings)


def test_the_readme_stays_short_and_its_make_targets_exist() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)

    assert len(readme.splitlines()) <= 150
    for target in re.findall(r"make ([a-z]+)", readme):
        assert target in targets


def test_links_between_documents_lead_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for document in documents:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
