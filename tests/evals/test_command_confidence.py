import json
from pathlib import Path

from tests.cli.conftest import Citewell
from tests.evals.test_command_retrieval import write_set


def test_what_is_said_of_answers_is_compared_with_the_truth(
    evals: Citewell, tmp_path: Path
) -> None:
    folder = write_set(tmp_path / "lamps")
    out = tmp_path / "reports"

    run = evals("confidence", str(folder), "--out", str(out), data=tmp_path / "data", COLUMNS="80")

    assert run.returncode == 0, run.stderr
    report = json.loads(next(out.glob("confidence-lamps-*[0-9].json")).read_text("utf-8"))
    seen = report["figures"]
    assert seen["questions"] == 3
    assert seen["right"] <= seen["answered"] <= 2
    assert seen["statements"] == seen["statements_proven"] >= seen["answered"]
    assert 0 <= seen["ece"] <= 1
    assert sum(count for *_, count in seen["reliability"]) == seen["answered"]
    page = next(out.glob("confidence-lamps-*.md")).read_text("utf-8")
    assert "| said (mean) | right | answers |" in page
    assert "\nlamps\n  questions: 3\n" in run.stdout
