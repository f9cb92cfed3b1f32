import json
from pathlib import Path

import pytest

from citewell.errors import BadRequest
from citewell.ingest.pipeline import ingest
from citewell.options import SearchOptions
from citewell.retrieve.rerank import SentenceReranker
from citewell.retrieve.search import Searcher
from citewell.settings import Settings
from citewell.wiring import books_folder
from evals.retrieval import read_set, run_set, write_book
from evals.retrieval_report import figures
from evals.timing import STAGES, TOTAL, Stopwatch, TimedEmbedder, TimedReranker
from tests.servers import HashEmbedder, WordReranker, build_services
from tests.servers.services import PLAIN_CALIBRATION

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
    return made


@pytest.fixture
def data(folder: Path, tmp_path: Path) -> Path:
    source = write_book(folder, tmp_path / "book")
    books = books_folder(Settings(data_dir=tmp_path / "data"))
    ingest(source, books, HashEmbedder(), book="small")
    return tmp_path / "data"


async def test_every_question_is_searched_and_scored(folder: Path, data: Path) -> None:
    asked = read_set(folder)
    async with build_services(data) as services:
        found = await run_set(asked, services.searcher, services.library.open("small"))
    seen = figures(asked, found)

    assert [one.ids[0] for one in found[:2]] == ["lens#1", "horn#1"]
    assert (seen["page@1"], seen["hit@1"], seen["ndcg@10"]) == (1, 1, 1)
    assert (seen["questions"], seen["answerable"]) == (3, 2)
    assert seen["refusal_auroc"] == 1


async def test_a_follow_up_is_searched_for_as_the_service_would(folder: Path, data: Path) -> None:
    history = [
        {"role": "user", "text": "When does the horn sound?"},
        {"role": "assistant", "text": "The horn sounds in the fog."},
    ]
    row = {"id": 4, "text": "Why?", "gold_ids": ["horn#1"], "history": history}
    (folder / "queries.jsonl").write_text(json.dumps(row), "utf-8")
    asked = read_set(folder)
    async with build_services(data) as services:
        found = await run_set(asked, services.searcher, services.library.open("small"))

    assert found[0].standalone == "Why: When does the horn sound?"
    assert found[0].ids[0] == "horn#1"


async def test_what_is_no_question_is_not_searched_for(folder: Path, data: Path) -> None:
    (folder / "queries.jsonl").write_text('{"id": 5, "text": "Thank you!"}', "utf-8")
    async with build_services(data) as services:
        index = services.library.open("small")
        found = await run_set(read_set(folder), services.searcher, index)

    assert (found[0].ids, found[0].answerability) == ((), 0)


async def test_every_stage_is_timed(folder: Path, data: Path) -> None:
    asked, watch = read_set(folder), Stopwatch()
    embedder = TimedEmbedder(HashEmbedder(), watch)
    evidence = SentenceReranker(TimedReranker(WordReranker(), watch))
    searcher = Searcher(embedder, evidence, PLAIN_CALIBRATION, SearchOptions())
    async with build_services(data) as services:
        found = await run_set(asked, searcher, services.library.open("small"), watch)

    for one in found:
        assert set(one.stages) == set(STAGES)
        assert min(one.stages.values()) > 0
        parts = sum(seconds for name, seconds in one.stages.items() if name != TOTAL)
        assert parts == pytest.approx(one.stages[TOTAL])
    assert figures(asked, found)["total_by_embedding"] > 1


def test_a_sample_is_the_same_every_time_and_in_order(folder: Path) -> None:
    rows = [json.dumps({"id": n, "text": f"What is {n}?"}) for n in range(50)]
    (folder / "queries.jsonl").write_text("\n".join(rows), "utf-8")

    first, again = (read_set(folder, limit=10).queries for _ in range(2))

    assert first == again
    assert [int(q.id) for q in first] == sorted(int(q.id) for q in first)
    assert len(first) == 10


@pytest.mark.parametrize("line", ["no json", "[1]", '{"id": 1}'])
def test_a_line_that_is_no_question_is_named(folder: Path, line: str) -> None:
    (folder / "queries.jsonl").write_text(f'{{"id": 1, "text": "x"}}\n{line}', "utf-8")

    with pytest.raises(BadRequest, match=r"queries\.jsonl, line 2"):
        read_set(folder)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=r"corpus\.jsonl cannot be read"):
        read_set(tmp_path)
