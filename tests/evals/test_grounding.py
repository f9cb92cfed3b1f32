import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from citewell.domain import Verdict
from citewell.errors import BadRequest
from citewell.verify.judge import LexicalJudge
from evals.grounding import (
    DATA,
    PASSAGE,
    example_of,
    judge_examples,
    judge_name,
    judge_threshold,
    passages_of,
    read_grounding,
)
from evals.grounding_report import figures
from evals.sets import find_sets

ROW = {
    "id": "r1",
    "question": "",
    "context": "The lamp burns oil. It is lit at dusk.",
    "response": "The lamp burns oil. It is made of gold.",
    "label": 1,
    "spans": [{"start": 20, "end": 39, "text": "It is made of gold.", "label_type": "made up"}],
}


class Sayings:
    """Returns each claim the probability it was told."""

    id = "sayings@1"
    threshold = 0.7

    def __init__(self, **said: float) -> None:
        self.said = said

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        supported = next(p for word, p in self.said.items() if word in claim)
        return Verdict(
            kind="supported" if supported > 0.9 else "unsupported", probability=supported
        )


def row(**fields: object) -> dict[str, object]:
    return ROW | fields


def test_a_row_becomes_an_example() -> None:
    example = example_of(row())

    assert (example.id, example.unsupported, example.label) == ("r1", True, "unsupported")
    assert example.spans == ((20, 39),)


def test_a_set_with_names_for_its_labels_keeps_them() -> None:
    assert example_of(row(label_name="contradicted")).label == "contradicted"


def test_numbered_passages_are_taken_apart() -> None:
    context = "passage 1:Oil burns.\n\npassage 2:Fog is\n\nwet.\n\npassage 3: Done."

    assert passages_of(row(context=context)) == ["Oil burns.", "Fog is\n\nwet.", "Done."]


def test_given_sentences_stay_apart_from_each_other() -> None:
    sentences = ["About us", "Oil burns.", "x" * PASSAGE]

    assert passages_of(row(context_sentences=sentences)) == [
        "About us\n\nOil burns.",
        "x" * PASSAGE,
    ]


def test_a_long_paragraph_is_cut_between_sentences_and_loses_none() -> None:
    paragraph = " ".join(f"Lamp number {n} burns oil all night long." for n in range(100))

    passages = passages_of(row(context=f"Title\n\n{paragraph}"))

    assert len(passages) > 3
    assert all(len(passage) <= PASSAGE for passage in passages)
    assert " ".join(passages) == f"Title {paragraph}".replace("Title ", passages[0][:5] + "\n\n", 1)


def test_every_claim_of_a_response_counts() -> None:
    (judged,) = judge_examples([example_of(row())], Sayings(oil=0.95, gold=0.2))

    assert [claim.place for claim in judged.claims] == [(0, 19), (20, 39)]
    assert judged.score == pytest.approx(1 - (0.95 * 0.2) ** 0.5)
    assert judged.withheld


def test_a_response_that_claims_nothing_is_not_unsupported() -> None:
    (judged,) = judge_examples([example_of(row(response="Is it?"))], LexicalJudge())

    assert (judged.score, judged.withheld, judged.claims) == (0.0, False, ())


def test_the_floor_is_the_share_of_words_that_the_context_lacks() -> None:
    (judged,) = judge_examples([example_of(row(response="The lamp burns gold."))], LexicalJudge())

    assert judged.floor == pytest.approx(1 / 3)


def test_figures_of_a_run() -> None:
    rows = [
        row(),
        row(response="The lamp burns oil.", label=0, spans=[]),
        row(response="The lamp is lit at noon.", label=1, label_name="contradicted", spans=[]),
    ]
    judge = Sayings(oil=0.95, gold=0.05, noon=0.4)
    results = judge_examples([example_of(one) for one in rows], judge)

    seen = figures(results, 0.7)

    assert (seen["examples"], seen["unsupported"], seen["claims"]) == (3, 2, 4)
    assert (seen["judge"]["precision"], seen["judge"]["recall"]) == (1.0, 0.5)
    assert seen["judge"]["auroc"] == 1.0
    assert seen["judge"]["f1_at_best_threshold_here"] == 1.0
    assert seen["as_shown"]["recall"] == 1.0
    assert seen["spans"]["f1"] == 1.0
    assert seen["by_label"]["contradicted"]["flagged"] == 0
    assert seen["by_label"]["contradicted"]["withheld"] == 1
    assert seen["by_label"]["contradicted"]["auroc_against_supported"] == 1.0
    assert seen["contradiction"]["recall"] == 0.0


def test_a_set_without_spans_has_no_figure_of_spans() -> None:
    results = judge_examples([example_of(row(spans=[]))], LexicalJudge())

    assert figures(results, 0.5)["spans"] is None


def test_a_judge_may_have_a_name_and_a_threshold() -> None:
    assert (judge_name(Sayings()), judge_threshold(Sayings())) == ("sayings@1", 0.7)
    assert (judge_name(LexicalJudge()), judge_threshold(LexicalJudge())) == ("LexicalJudge", 0.5)


def write_set(folder: Path, rows: Sequence[object]) -> Path:
    folder.mkdir(parents=True)
    (folder / "data.jsonl").write_text("\n".join(json.dumps(one) for one in rows), "utf-8")
    return folder


def test_sets_are_found_by_path_by_name_or_all(tmp_path: Path) -> None:
    named = write_set(tmp_path / "shared" / "data" / "grounding" / "named", [ROW])
    by_path = write_set(tmp_path / "mine", [ROW])

    assert find_sets([str(by_path), "named"], named.parent, DATA) == [by_path, named]
    assert find_sets([], named.parent, DATA) == [named]
    with pytest.raises(BadRequest, match=r"other holds data\.jsonl"):
        find_sets(["other"], named.parent, DATA)
    with pytest.raises(BadRequest, match="CITEWELL_SHARED"):
        find_sets([], tmp_path / "none", DATA)


def test_a_sample_is_the_same_every_time_and_in_order(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", [row(id=n) for n in range(50)])

    first, again = (read_grounding(folder, limit=10).examples for _ in range(2))

    assert first == again
    ids = [int(example.id) for example in first]
    assert (len(ids), ids) == (10, sorted(ids))
    assert ids != list(range(10))


@pytest.mark.parametrize("line", ["no JSON", "[]", '{"id": 1}', '{"id": 1, "label": "x"}'])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    folder = write_set(tmp_path / "set", [ROW])
    with (folder / "data.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"\n{line}")

    with pytest.raises(BadRequest, match="line 2"):
        read_grounding(folder)
