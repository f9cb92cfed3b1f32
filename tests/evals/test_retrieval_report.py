import json
from pathlib import Path

import pytest

from citewell.models.embedder import GraniteEmbedder
from evals.references import Published, fitted_on, floors_of, published_of, spread
from evals.retrieval import Found, Query, QuestionSet
from evals.retrieval_report import MAIN, figures, write_retrieval_report, write_summary
from evals.timing import STAGES

MS = {"query embedding": 4, "index search": 1, "reading": 10, "rest": 1, "total": 16}


def found(number: int, *ids: str, gold: str = "", sure: float, similar: float = 0.5) -> Found:
    pages = frozenset(gold.partition("#")[:1]) if gold else frozenset()
    answers = frozenset([gold]) if gold else frozenset()
    return Found(
        query=Query(id=str(number), text="?", answerable=bool(gold), gold=answers, pages=pages),
        standalone="?",
        ids=ids,
        similarities=(similar,) * len(ids),
        answerability=sure,
        stages={name: number * ms / 1000 for name, ms in MS.items()},
    )


RESULTS = [
    found(1, "a#1", "b#1", gold="a#1", sure=0.9),  # first
    found(2, "a#1", "a#2", gold="a#2", sure=0.8),  # the right page, the wrong passage first
    found(3, "b#1", "b#2", gold="a#1", sure=0.3),  # not found
    found(4, "b#1", "b#2", sure=0.7),  # nothing to find
]
PAGES = {identity: identity.partition("#")[0] for identity in ("a#1", "a#2", "b#1", "b#2")}
ASKED = QuestionSet(
    "lamps",
    tuple(one.query for one in RESULTS),
    PAGES,
    {"licence": "ours", "reference": {"nDCG@10": {"somebody": 0.7, "another": 0.8}}},
    {"BM25": {"page@1": 0.5, "n": 3.0}, "static dense": {"page@1": 0.6}},
)


def test_figures_are_those_counted_by_hand() -> None:
    seen = figures(ASKED, RESULTS)

    assert (seen["questions"], seen["answerable"], seen["found_of"]) == (4, 3, 3)
    assert (seen["page@1"], seen["page@5"]) == (0.6667, 0.6667)
    assert (seen["hit@1"], seen["hit@5"]) == (0.3333, 0.6667)
    assert seen["mrr@10"] == 0.5
    assert seen["ndcg@10"] == pytest.approx((1 + 0.6309) / 3, abs=1e-4)
    assert seen["recall@10"] == 0.6667
    # Of the three answerable ones two are surer than the one that is not.
    assert seen["refusal_auroc"] == 0.6667
    # The two surest are right, the third is not.
    assert seen["answered_at_5%_wrong"] == 0.5


def test_risk_is_told_for_each_tenth_of_the_questions() -> None:
    risk = dict(figures(ASKED, RESULTS)["risk_by_coverage"])

    assert list(risk) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert (risk[0.1], risk[0.5], risk[0.6], risk[1.0]) == (0, 0, 0.3333, 0.5)


def test_both_scores_are_held_against_what_they_say() -> None:
    seen = figures(ASKED, RESULTS)

    # Said .9, .8 (right) and .7, .3 (wrong), each alone in its tenth.
    assert seen["ece_confidence"] == pytest.approx((0.1 + 0.2 + 0.7 + 0.3) / 4)
    # Eight passages at .5, two of them right.
    assert seen["reliability_similarity"] == [(0.5, 0.25, 8)]
    assert seen["ece_similarity"] == 0.25


def test_every_main_figure_has_an_interval_that_is_the_same_again() -> None:
    first, again = figures(ASKED, RESULTS), figures(ASKED, RESULTS)

    for name in MAIN:
        low, high = first[f"{name}_95"]
        assert low <= first[name] <= high
        assert first[f"{name}_95"] == again[f"{name}_95"]


def test_time_is_told_by_stage_and_as_a_multiple_of_the_embedding() -> None:
    seen = figures(ASKED, RESULTS)

    assert tuple(seen["ms"]) == STAGES
    assert seen["ms"]["reading"] == {"p50": 30, "p95": 40}
    assert seen["total_by_embedding"] == 4


def test_without_questions_that_have_no_answer_there_is_no_refusal_to_measure() -> None:
    seen = figures(ASKED, RESULTS[:3])

    assert seen["refusal_auroc"] is None
    assert seen["refusal_auroc_95"] is None


def test_the_page_shows_each_figure_beside_floors_and_what_others_report(tmp_path: Path) -> None:
    seen = figures(ASKED, RESULTS)
    seen |= {"peak_mb": 300, "peak_mb_indexing": 500, "embedded": 4}

    path = write_retrieval_report(tmp_path, ASKED, RESULTS, seen, GraniteEmbedder.id)

    page = path.read_text("utf-8")
    assert "| figure | Citewell | 95 % | BM25 | static dense | published |" in page
    assert "| page@1 | 0.667 | 0.000 to 1.000 | 0.5 | 0.6 |  |" in page
    assert "| 0.700 to 0.800 (2) |" in page
    assert "| ndcg@10 | somebody | 0.7 | 0.5436 | META.json of the set |" in page
    assert "| 50% | 0.000 |\n| 60% | 0.333 |" in page
    assert "| 0.5 | 0.25 | 8 |" in page
    assert "| reading | the cross-encoder over sentences of what was found | 30.0 | 40.0 |" in page
    assert "takes 4.0× its embedding" in page
    assert "Peak memory: 300 MB while asking, 500 MB while indexing (4 passages" in page
    assert "fitted on COVID-QA" in page
    assert "no question or passage of this set was used" in page
    assert "so of others" not in page

    kept = json.loads(path.with_suffix(".json").read_text("utf-8"))
    assert (kept["figures"]["hit@5"], kept["floors"]["BM25"]["page@1"]) == (0.6667, 0.5)
    runs = path.with_suffix(".runs.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(run)["id"] for run in runs] == ["1", "2", "3", "4"]


def test_floors_of_other_questions_are_called_so(tmp_path: Path) -> None:
    seen = figures(ASKED, RESULTS[:2])

    path = write_retrieval_report(tmp_path, ASKED, RESULTS[:2], seen, GraniteEmbedder.id)

    assert "The floors are of 3 questions" in path.read_text("utf-8")


def test_a_plot_is_drawn_where_it_can_be(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `bench`")

    path = write_retrieval_report(
        tmp_path, ASKED, RESULTS, figures(ASKED, RESULTS), GraniteEmbedder.id
    )

    assert path.with_suffix(".svg").read_text("utf-8").count('id="axes_') == 3
    assert f"]({path.stem}.svg)" in path.read_text("utf-8")


def test_a_summary_has_a_row_a_set_with_the_best_floor(tmp_path: Path) -> None:
    other = QuestionSet("horns", ASKED.queries, PAGES)
    seen = figures(ASKED, RESULTS)

    page = write_summary(tmp_path, [(ASKED, seen), (other, seen)]).read_text("utf-8")

    assert "| lamps | 4, 3 answerable | 0.667 (0.600) | 0.667 |" in page
    assert "| horns | 4, 3 answerable | 0.667 | 0.667 |" in page


def test_floors_lie_beside_the_sets(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "retrieval" / "lamps"
    folder.mkdir(parents=True)
    assert floors_of(folder) == {}
    known = {
        "bm25": {
            "public/retrieval/lamps": {"hit@1": 0.5, "refusal_auroc_topscore": 0.6},
            "public/retrieval/lamps [rewrite]": {"hit@1": 0.9},
        },
        "wordllama": {
            "public/retrieval/lamps": {
                "dense": {"hit@1": 0.4},
                "hybrid": {"hit@1": 0.7},
                "refusal_auroc_dense": 0.8,
            }
        },
    }
    (tmp_path / "data" / "BASELINES.json").write_text(json.dumps(known), "utf-8")

    assert floors_of(folder) == {
        "BM25": {"hit@1": 0.5, "refusal_auroc": 0.6},
        "static dense": {"hit@1": 0.4, "refusal_auroc": 0.8},
        "RRF of both": {"hit@1": 0.7},
    }
    assert floors_of(folder.parent / "horns") == {}


def test_published_figures_are_known_by_our_names_however_they_are_nested() -> None:
    meta = {
        "reference_runs": {"bge/lastturn": {"R@10": 0.38}},
        "reference_macro": {"BM25": {"rewrite": [0.22, 0.25]}},
        "reference_source": "somewhere",
        "licence": "ours",
    }

    told = published_of("lamps", meta, MAIN)

    assert told == [
        Published("recall@10", "bge/lastturn, runs", "0.38", "somewhere"),
        Published("", "BM25, rewrite, macro", "0.22 / 0.25", "somewhere"),
    ]
    assert spread(told, "recall@10") == "0.380"
    assert spread(told, "page@1") == ""
    assert published_of("ray-docs", {}, MAIN)[0].figure == "page@5"


def test_a_set_that_the_calibration_was_fitted_on_is_called_so() -> None:
    assert "among them" in fitted_on(GraniteEmbedder.id, "covid-qa")
    assert "among them" not in fitted_on(GraniteEmbedder.id, "OpenStax Anatomy")
    assert fitted_on("other@1", "x") == "No fitted calibration is known for other@1."
