import json
from pathlib import Path

import pytest

from quire.compose import books_folder
from quire.errors import BadRequest
from quire.evals.report import write_report
from quire.evals.retrieval import figures, read_set, run_set, write_book
from quire.ingest.pipeline import ingest
from quire.settings import Settings
from quire.testing import HashEmbedder, build_services

CORPUS = [
    {"id": "lens#1", "page": "lens", "title": "Lenses", "text": "A lens bends the light."},
    {"id": "lens#2", "page": "lens", "title": "Lenses", "text": "Glass of a lens is ground."},
    {"id": "horn#1", "page": "horn", "title": "Horns", "text": "The horn sounds in the fog."},
]
QUERIES = [
    {"id": 1, "text": "What bends light?", "gold_ids": ["lens#1"]},
    {"id": 2, "text": "When does the horn sound?", "gold_ids": ["horn#1"], "gold_pages": ["horn"]},
    {"id": 3, "text": "Who paints bridges?", "answerable": False},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "small-set"
    made.mkdir()
    for name, rows in (("corpus", CORPUS), ("queries", QUERIES)):
        text = "\n".join(json.dumps(row) for row in rows)
        (made / f"{name}.jsonl").write_text(text, "utf-8")
    (made / "META.json").write_text('{"reference": {"BM25": 0.5}}', "utf-8")
    return made


async def test_every_question_is_searched_and_scored(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    source = write_book(folder, tmp_path / "book")
    ingest(source, books_folder(Settings(data_dir=data)), HashEmbedder(), book="small")
    asked = read_set(folder)
    async with build_services(data) as services:
        found = await run_set(asked, services.searcher, services.library.open("small"))
    seen = figures(asked, found)

    assert [one.ids[0] for one in found[:2]] == ["lens#1", "horn#1"]
    assert (seen["page@1"], seen["hit@1"], seen["ndcg@10"]) == (1, 1, 1)
    assert (seen["questions"], seen["answerable"]) == (3, 2)
    assert seen["refusal_auroc"] == 1


async def test_the_report_holds_the_figures_and_those_of_others(
    folder: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    source = write_book(folder, tmp_path / "book")
    ingest(source, books_folder(Settings(data_dir=data)), HashEmbedder(), book="small")
    asked = read_set(folder)
    async with build_services(data) as services:
        found = await run_set(asked, services.searcher, services.library.open("small"))
    page = write_report(tmp_path / "out", asked, found, figures(asked, found))

    assert "| page@1 | 1.0 |" in page.read_text("utf-8")
    assert '"BM25": 0.5' in page.read_text("utf-8")
    kept = json.loads(page.with_suffix(".json").read_text("utf-8"))
    assert kept["figures"]["hit@5"] == 1
    runs = page.with_suffix(".runs.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(run)["id"] for run in runs] == ["1", "2", "3"]


@pytest.mark.parametrize("line", ["no json", "[1]", '{"id": 1}'])
def test_a_line_that_is_no_question_is_named(folder: Path, line: str) -> None:
    (folder / "queries.jsonl").write_text(f'{{"id": 1, "text": "x"}}\n{line}', "utf-8")

    with pytest.raises(BadRequest, match=r"queries\.jsonl, line 2"):
        read_set(folder)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=r"corpus\.jsonl cannot be read"):
        read_set(tmp_path)
