"""The chat's script as it is served, against its source."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from citewell.api.routes.static import WIDGET_DIR

SOURCE = Path(__file__).parents[2] / "widget"
NODE = 20
SECONDS = 600
"""That may pass on a busy machine."""


def _run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )


@pytest.mark.node
def test_a_rebuild_gives_the_bytes_that_are_served(tmp_path: Path) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        pytest.skip("Node and npm are not here: the script is not built again")
    major = int(_run(node, "--version", folder=tmp_path).stdout.strip("v\n").split(".")[0])
    if major < NODE:
        pytest.skip(f"the build needs Node {NODE}, here is {major}: the script is not built again")
    copy = tmp_path / "widget"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("node_modules"))
    installed = _run(npm, "ci", "--no-audit", "--no-fund", folder=copy)
    if installed.returncode:
        pytest.skip(f"npm cannot install, the script is not built again: {installed.stderr[-500:]}")

    built = _run(npm, "run", "build", "--", "--outDir", str(tmp_path / "built"), folder=copy)

    assert built.returncode == 0, built.stderr
    assert {file.name for file in (tmp_path / "built").iterdir()} == {
        file.name for file in WIDGET_DIR.iterdir()
    }
    for file in sorted(WIDGET_DIR.iterdir()):
        assert (tmp_path / "built" / file.name).read_bytes() == file.read_bytes(), file.name


def test_the_lock_file_names_no_registry() -> None:
    packages = json.loads((SOURCE / "package-lock.json").read_text("utf-8"))["packages"]

    assert not [name for name, package in packages.items() if "resolved" in package]
    assert all("integrity" in package for name, package in packages.items() if name)


@pytest.mark.parametrize(
    "path",
    [path for folder in ("src", "test") for path in sorted((SOURCE / folder).rglob("*.ts"))],
    ids=lambda path: path.relative_to(SOURCE).as_posix(),
)
def test_its_files_stay_small(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 400
