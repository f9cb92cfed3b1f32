from pathlib import Path

from tests.cli.conftest import Citewell


def test_follow_ups_of_a_set_are_counted_and_the_wrong_ones_shown(
    evals: Citewell, tmp_path: Path
) -> None:
    right = '{"id": "1", "turns": ["What is oil?", "Is it thick?"], "must": ["oil", "thick"]}'
    wrong = '{"id": "2", "turns": ["What is tar?", "What is oil?"], "must": ["tar"]}'
    (tmp_path / "few.jsonl").write_text(f"{right}\n{wrong}\n", "utf-8")

    run = evals("conversations", str(tmp_path / "few.jsonl"), data=tmp_path)

    assert run.stdout == "What is tar? / What is oil? → What is oil? (+tar)\nfew: 1/2\n"


def test_what_reading_loses_of_a_book_is_counted_without_ingesting_it(
    evals: Citewell, tmp_path: Path
) -> None:
    (tmp_path / "whole.md").write_text("# Lamps\n\nA lens bends light.\n", "utf-8")
    (tmp_path / "lossy.html").write_text(
        "<main><p>A lens.</p><div class='pager'>Lost here</div></main>", "utf-8"
    )

    whole = evals("reading", str(tmp_path / "whole.md"), data=tmp_path / "data")
    lossy = evals("reading", "--show", str(tmp_path / "lossy.html"), data=tmp_path)

    assert (whole.returncode, lossy.returncode) == (0, 1)
    assert "  passages: 1\n" in whole.stdout
    assert "  words lost: 0 of 4 (0.00%)\n" in whole.stdout
    assert "  words lost: 2 of 4 (50.00%)\n  lost most often: lost (1), here (1)" in lossy.stdout
    assert not (tmp_path / "data" / "books").exists()


def test_golden_scores_fail_when_they_fall_short(
    evals: Citewell, sample_data: Path, tmp_path: Path
) -> None:
    (tmp_path / "set.jsonl").write_text(
        '{"id": "1", "kind": "covered", "question": "What is AMCL?",'
        ' "must_contain": [["particle"]]}\n'
        '{"id": "2", "kind": "uncovered", "question": "How do I bake bread?"}\n',
        "utf-8",
    )

    passed = evals("golden", "set.jsonl", "--at-least", "1", "0", "1", data=sample_data)
    failed = evals("golden", "set.jsonl", "--at-least", "2", "0", "1", data=sample_data)

    assert "covered: 1/1" in passed.stdout
    assert (passed.returncode, failed.returncode) == (0, 1)


def test_a_set_that_is_missing_is_one_sentence(evals: Citewell, tmp_path: Path) -> None:
    run = evals("golden", "none.jsonl", data=tmp_path)

    assert run.returncode == 1
    assert "none.jsonl cannot be read" in run.stderr
