"""What the README shows is run as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SAMPLE

pytestmark = pytest.mark.slow

ROOT = SAMPLE.parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def _run(command: list[str], data: Path) -> str:
    environment = {**os.environ, "CITEWELL_DATA_DIR": str(data), "COLUMNS": "200"}
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return run.stdout


def test_the_python_example_prints_an_answer_and_its_quotes(sample_data: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)

    printed = _run([sys.executable, "-c", code], sample_data)

    assert "named object that performs one job" in printed


def test_the_example_of_receipts_prints_a_proven_answer_that_still_holds(sample_data: Path) -> None:
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs/receipts.md").read_text("utf-8"), re.S
    )

    text, place, mode, differs = _run([sys.executable, "-c", code], sample_data).splitlines()

    assert "must first notice that its confident belief is wrong. [1]" in text
    assert place.startswith("selection https://physical-ai.example/")
    assert mode.startswith("user_provided")
    assert differs == "nothing differs"


def test_the_folder_named_is_the_one_that_make_fills() -> None:
    named = re.search(r"^export CITEWELL_DATA_DIR=(\S+)", README, re.M)
    filled = re.search(
        r"^export CITEWELL_DATA_DIR \?= (\S+)$", (ROOT / "Makefile").read_text(), re.M
    )

    assert named
    assert filled
    assert named[1] == filled[1]


def test_the_questions_shown_are_answered_as_shown(sample_data: Path) -> None:
    shown = re.findall(r"```console\n\$ .venv/bin/citewell ask \"(.*?)\"\n(.*?)```", README, re.S)
    assert len(shown) == 2

    for question, expected in shown:
        printed = _run([sys.executable, "-m", "citewell", "ask", question], sample_data)

        for sentence in re.split(r"(?<=\])\s|\n\n", expected.partition("Sources")[0]):
            said = " ".join(sentence.split()).removesuffix("…").strip()
            assert said in " ".join(printed.split())
