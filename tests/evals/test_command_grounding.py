import json
from pathlib import Path

from tests.cli.conftest import Citewell
from tests.conftest import SAMPLE

ITEMS = SAMPLE.parent.parent / "evals/data/adversarial" / "physical-ai.jsonl"
PAGE = "docs/01-foundations/02-anatomy-of-a-robot.md"


def write_set(folder: Path) -> Path:
    folder.mkdir()
    rows = [
        {
            "id": str(number),
            "context": "The lamp burns oil. It is lit at dusk.",
            "response": "The lamp burns oil." if number % 2 else "The lamp burns gas [1].",
            "label": 1 - number % 2,
            "spans": [] if number % 2 else [{"start": 0, "end": 23}],
        }
        for number in range(20)
    ]
    (folder / "data.jsonl").write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    meta = {"licence": "ours", "reference": {"somebody": 0.5}}
    (folder / "META.json").write_text(json.dumps(meta), "utf-8")
    return folder


def test_a_labelled_set_is_measured_and_reported(evals: Citewell, tmp_path: Path) -> None:
    folder, out = write_set(tmp_path / "lamps"), tmp_path / "reports"

    run = evals("grounding", str(folder), "--limit", "12", "--out", str(out), data=tmp_path)

    assert run.returncode == 0, run.stderr
    assert "judge" in run.stdout
    report = json.loads(next(out.glob("lamps-*[0-9].json")).read_text("utf-8"))
    page = next(out.glob("lamps-*.md")).read_text("utf-8")
    rows = next(out.glob("lamps-*.runs.jsonl")).read_text("utf-8").splitlines()
    assert (report["figures"]["examples"], len(rows)) == (12, 12)
    assert report["figures"]["as_shown"]["f1"] == 1.0
    assert report["judge"]
    assert "somebody" in page
    assert "of this very set" in page


def test_sets_are_looked_for_in_the_shared_folder(evals: Citewell, tmp_path: Path) -> None:
    run = evals("grounding", data=tmp_path, CITEWELL_SHARED=str(tmp_path / "shared"))

    assert run.returncode != 0
    assert "holds no sets" in run.stderr


def test_altered_claims_are_reported_for_each_half(
    evals: Citewell, sample_data: Path, tmp_path: Path
) -> None:
    run = evals("adversarial", str(ITEMS), "--show", "--out", str(tmp_path), data=sample_data)

    assert run.returncode == 0, run.stderr
    page = next(tmp_path.glob("adversarial-physical-ai-*.md")).read_text("utf-8")
    assert "| dev | number |" in page
    assert "| test | role |" in page


def test_a_lying_model_fails_the_run_only_where_too_much_of_it_is_shown(
    evals: Citewell, sample_data: Path, tmp_path: Path
) -> None:
    lines = [line for line in ITEMS.read_text("utf-8").splitlines() if PAGE in line]
    path = tmp_path / "lies.jsonl"
    path.write_text("\n".join(lines[:8]), "utf-8")
    command = ("scripted", str(path), "--out", str(tmp_path / "reports"), "--at-most")

    fine = evals(*command, "1", data=sample_data)
    strict = evals(*command, "-1", data=sample_data)

    assert (fine.returncode, strict.returncode) == (0, 1), fine.stderr
    assert "shown without a verdict: 0" in fine.stdout
