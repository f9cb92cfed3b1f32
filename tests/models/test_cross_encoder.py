"""The cross-encoder on its real weights."""

from pathlib import Path

import pytest

from citewell.errors import EmbedderUnavailable
from citewell.models import cross_encoder
from citewell.models.cross_encoder import CrossEncoder, verified_file

ANSWER = "A ROS node is a process that performs computation."
OTHER = "Boil the pasta in salted water for ten minutes."


@pytest.fixture(scope="module")
def reader() -> CrossEncoder:
    return CrossEncoder()


def test_an_answer_scores_above_a_text_that_is_none(reader: CrossEncoder) -> None:
    answer, other = reader.score("What is a ROS node?", [ANSWER, OTHER])

    assert answer > 0 > other


def test_a_score_is_the_same_whatever_is_read_beside_it(reader: CrossEncoder) -> None:
    question = "What is a ROS node?"
    texts = [*(f"{OTHER} " * (n % 4 + 1) for n in range(5)), ANSWER]

    assert reader.score(question, texts) == [reader.score(question, [t])[0] for t in texts]


def test_no_texts_have_no_scores(reader: CrossEncoder) -> None:
    assert reader.score("What is a ROS node?", []) == []


def test_only_the_beginning_of_a_long_text_is_read(reader: CrossEncoder) -> None:
    long = f"{ANSWER} " * 40

    one, other = reader.score("What is a ROS node?", [long + ANSWER, long + OTHER])

    assert one == other


@pytest.mark.parametrize("question", ["?" * 400, "机" * 400, "a b " * 100, "What? " * 500, ""])
@pytest.mark.parametrize("text", ["", ANSWER * 20])
def test_a_question_of_any_length_is_read(reader: CrossEncoder, question: str, text: str) -> None:
    (score,) = reader.score(question, [text])

    assert -20 < score < 20


@pytest.mark.parametrize("name", ["reader.onnx", "tokenizer.json"])
def test_a_file_with_other_bytes_is_damaged(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(cross_encoder.SHA256, name, "0" * 64)

    with pytest.raises(EmbedderUnavailable, match=rf"{name} is damaged \(SHA-256 differs\)"):
        CrossEncoder().score("lens", ["lens"])


def test_a_file_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cross_encoder, "FOLDER", tmp_path)

    with pytest.raises(EmbedderUnavailable, match=r"reader\.onnx is missing"):
        verified_file("reader.onnx")
