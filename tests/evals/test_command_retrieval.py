import json
from pathlib import Path

from tests.cli.conftest import Citewell

PAGES = {
    "lens": "A lens bends the light. Its glass is ground by hand.",
    "horn": "The horn sounds in the fog. It is blown by compressed air.",
    "keeper": "The keeper winds the clockwork every four hours.",
}
ASKED = [
    {"id": "1", "text": "What bends the light?", "gold_ids": ["lens"]},
    {"id": "2", "text": "When does the horn sound?", "gold_ids": ["horn"]},
    {"id": "3", "text": "Who painted the Sistine Chapel?", "answerable": False},
]


def write_set(folder: Path) -> Path:
    folder.mkdir(parents=True)
    corpus = [
        {"id": name, "page": name, "title": name, "text": text} for name, text in PAGES.items()
    ]
    for name, rows in (("corpus", corpus), ("queries", ASKED)):
        text = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    return folder


def test_every_set_of_the_shared_folder_is_measured_and_summed_up(
    evals: Citewell, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        write_set(tmp_path / "shared" / "data" / "retrieval" / name)
    floors = {"bm25": {"public/retrieval/first": {"page@1": 0.25, "n": 2}}}
    (tmp_path / "shared" / "data" / "BASELINES.json").write_text(json.dumps(floors), "utf-8")
    out = tmp_path / "reports"

    run = evals("retrieval", "--out", str(out), data=tmp_path / "data",
        CITEWELL_SHARED=str(tmp_path / "shared"), COLUMNS="80",
    )  # fmt: skip

    assert run.returncode == 0, run.stderr
    report = json.loads(next(out.glob("first-*[0-9].json")).read_text("utf-8"))
    seen = report["figures"]
    assert (seen["questions"], seen["hit@1"], seen["refusal_auroc"]) == (3, 1, 1)
    assert seen["embedded"] == 3
    assert min(stage["p50"] for stage in seen["ms"].values()) > 0
    assert seen["total_by_embedding"] > 1
    assert seen["peak_mb"] > 50
    assert "COVID-QA" in report["fitted_on"]
    summary = next(out.glob("retrieval-*.md")).read_text("utf-8")
    assert "| first | 3, 2 answerable | 1.000 (0.250) |" in summary
    assert "| second | 3, 2 answerable | 1.000 | 1.000 |" in summary
    # Too narrow for a table: a line a figure, none of them cut.
    assert "\nfirst\n  questions: 3, 2 answerable\n  page@1: 1.000 (0.250)\n" in run.stdout
    assert "│" not in run.stdout


def test_a_set_that_is_not_there_is_named(evals: Citewell, tmp_path: Path) -> None:
    run = evals("retrieval", "none", data=tmp_path)

    assert run.returncode != 0
    assert "holds corpus.jsonl" in run.stderr
