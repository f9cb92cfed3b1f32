"""How many follow-ups are understood; the shares are printed with `-s`."""

from pathlib import Path

import pytest

from citewell.errors import BadRequest
from evals.conversations import follow, read_conversations

SETS = Path(__file__).parents[2] / "evals/data/conversations"


def test_most_follow_ups_come_out_as_questions_that_stand_alone() -> None:
    results = [follow(one) for one in read_conversations(SETS / "dev.jsonl")]

    right = sum(result.right for result in results)
    print(f"{right} of {len(results)}")  # noqa: T201 - the figure itself
    assert right >= 50


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(
        '{"id": "1", "turns": ["What is oil?", "thanks", "Is it thick?"], "must": ["tar"],'
        ' "must_not": ["oil"]}\n',
        "utf-8",
    )

    (result,) = [follow(one) for one in read_conversations(path)]

    assert result.standalone == "Is oil thick?"
    assert result.wrong == ("+tar", "-oil")
    assert not result.right


@pytest.mark.parametrize("text", ["{", '{"id": "1"}'])
def test_a_file_that_is_no_set_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(text, "utf-8")

    with pytest.raises(BadRequest, match="is not a set of conversations"):
        read_conversations(path)
