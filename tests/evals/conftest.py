"""What the tests of `python -m evals` share."""

import pytest

from citewell.cli import main
from evals.commands import command
from tests.cli.conftest import Citewell, runner


@pytest.fixture
def evals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Citewell:
    return runner(monkeypatch, capsys, lambda: main(command))
