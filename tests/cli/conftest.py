"""What the tests of the command line share."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from citewell.cli import main


@dataclass
class Run:
    returncode: int
    stdout: str
    stderr: str


Citewell = Callable[..., Run]


def runner(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    start: Callable[[], None] = main,
) -> Citewell:
    """Return what runs a command as the console script does, within this process."""

    def run(*arguments: str, data: Path, **more: str) -> Run:
        for name, value in {"CITEWELL_DATA_DIR": str(data), "COLUMNS": "200", **more}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["citewell", *arguments])
        capsys.readouterr()
        try:
            start()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        printed = capsys.readouterr()
        return Run(code, printed.out, printed.err)

    return run


@pytest.fixture
def citewell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Citewell:
    return runner(monkeypatch, capsys)
