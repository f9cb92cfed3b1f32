"""Sites that the real Docusaurus built, once for the same sources."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.ingest.ingest_helpers import Files

REPOSITORY = Path(__file__).parents[3]
SAMPLE = REPOSITORY / "examples" / "physical-ai"
WORKSHOP = REPOSITORY / ".node"
NODE = 20
INSTALL = 900
BUILD = 900
"""Seconds that may pass on a busy machine."""


def sample_files() -> Files:
    """Return the sample book, as far as a build needs it."""
    names = [
        path.relative_to(SAMPLE).as_posix()
        for path in sorted(SAMPLE.rglob("*"))
        if path.is_file() and not {"node_modules", "build", ".docusaurus"} & {*path.parts}
    ]
    return {name: (SAMPLE / name).read_text("utf-8") for name in names}


def require_docusaurus() -> Path:
    """Install what the sample book names, unless it is there; skip where that cannot be done."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        pytest.skip("Node and npm are not here: nothing is checked against a real Docusaurus")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip("v\n").split(".")[0]) < NODE:
        pytest.skip(f"Docusaurus needs Node {NODE}, here is {version.strip()}: nothing is checked")
    wanted = (SAMPLE / "package.json").read_text("utf-8")
    command = WORKSHOP / "node_modules" / ".bin" / "docusaurus"
    named = WORKSHOP / "package.json"
    if not command.exists() or not named.exists() or named.read_text("utf-8") != wanted:
        WORKSHOP.mkdir(exist_ok=True)
        named.write_text(wanted, "utf-8")
        install = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock"]
        done = subprocess.run(
            install, cwd=WORKSHOP, capture_output=True, text=True, timeout=INSTALL, check=False
        )
        if done.returncode:
            named.unlink()
            pytest.skip(f"npm cannot install Docusaurus, nothing is checked: {done.stderr[-500:]}")
    return command


def build_site(name: str, files: Files, *arguments: str) -> Path:
    """Return the folder of the site, built; the same sources are not built twice."""
    command = require_docusaurus()
    said = hashlib.sha256((SAMPLE / "package.json").read_bytes() + repr(arguments).encode())
    for file, text in sorted(files.items()):
        said.update(f"{file}\0{text}\0".encode())
    site = WORKSHOP / f"{name}-{said.hexdigest()[:16]}"
    if (site / "built").exists():
        return site
    for old in WORKSHOP.glob(f"{name}-*"):
        shutil.rmtree(old)
    for file, text in files.items():
        path = site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    if "package.json" not in files:
        (site / "package.json").write_text('{"private": true}')
    done = subprocess.run(
        [str(command), "build", "--no-minify", *arguments],
        cwd=site,
        env={**os.environ, "NO_UPDATE_NOTIFIER": "1"},
        capture_output=True,
        text=True,
        timeout=BUILD,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (site / "built").touch()
    return site
