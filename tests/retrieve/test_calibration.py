import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import BadSettings
from citewell.models.embedder import GraniteEmbedder
from citewell.retrieve.calibration import (
    SHORT_BOOK,
    Calibration,
    LogisticModel,
    Risk,
    Signals,
    answerability_features,
    calibration_file,
    load_calibration,
    relevance_features,
)
from citewell.retrieve.rerank import Passage, SentenceReranker
from citewell.text.terms import TermStatistics
from tests.servers import WordReranker


def signals(question: str, *texts: str, floor: float = 0.2) -> Signals:
    statistics = TermStatistics.count(texts)
    passages = [Passage(n, text, "", 0.9) for n, text in enumerate(texts, start=1)]
    return Signals(
        question=question,
        texts=texts,
        cosines=[0.8 - n / 10 for n in range(len(texts))],
        floor=floor,
        evidence=SentenceReranker(WordReranker()).rank(question, passages, statistics),
        statistics=statistics,
    )


@pytest.mark.parametrize(
    "found", [signals("What turns?", "A lens turns.", "Fog is wet."), signals("What turns?")]
)
def test_the_shipped_calibration_finds_every_feature_it_weighs(found: Signals) -> None:
    calibration = load_calibration(GraniteEmbedder.id)

    assert 0 < calibration.answerability(answerability_features(found)) < 1


def test_the_shipped_calibration_likes_passages_that_answer() -> None:
    answerability = load_calibration(GraniteEmbedder.id).answerability
    texts = ("A lens turns slowly.", "Fog is wet.")

    right = answerability(answerability_features(signals("Does a lens turn slowly?", *texts)))
    wrong = answerability(answerability_features(signals("Who painted the Mona Lisa?", *texts)))

    assert right > wrong


@given(st.floats(-1e6, 1e6))
def test_a_logistic_is_a_probability_however_large_its_input(value: float) -> None:
    assert 0 <= LogisticModel(0.0, {"x": 1.0})({"x": value}) <= 1


def test_words_the_book_does_not_have_are_missed() -> None:
    features = answerability_features(signals("lens painting", "A lens turns."))

    assert features["unknown"] > 0
    assert features["together"] < 1


def test_similarity_belongs_to_the_passage() -> None:
    relevance = load_calibration(GraniteEmbedder.id).relevance
    found = signals("Does a lens turn slowly?", "A lens turns slowly.", "Paint is green.")

    right, paint = (relevance(relevance_features(place, found)) for place in range(2))

    assert right > paint


def test_a_passage_that_nobody_has_read_is_neither_liked_nor_disliked() -> None:
    unread = replace(signals("What turns?", "A lens turns."), evidence=())

    features = relevance_features(0, unread)

    assert (features["reader"], features["unread"]) == (0.0, 1.0)


def test_an_embedder_without_a_calibration_gets_one_that_reads_nothing_into_its_cosines() -> None:
    taken_over = load_calibration("openai/text-embedding-3-small@1536")
    near, far = (
        answerability_features(signals("What turns?", "A lens turns.", floor=floor))
        for floor in (-0.9, 0.7)
    )

    assert not taken_over.fitted
    assert near["lift"] > far["lift"]
    assert taken_over.answerability(near) == taken_over.answerability(far)
    assert load_calibration(GraniteEmbedder.id).fitted


def test_a_calibration_taken_over_still_likes_passages_that_answer() -> None:
    answerability = load_calibration("openai/text-embedding-3-small@1536").answerability
    texts = ("A lens turns slowly.", "Fog is wet.")

    right = answerability(answerability_features(signals("Does a lens turn slowly?", *texts)))
    wrong = answerability(answerability_features(signals("Who painted the Mona Lisa?", *texts)))

    assert right > 0.7
    assert wrong < 0.4


def test_a_calibration_that_the_operator_fitted_is_found(tmp_path: Path) -> None:
    fitted = {"answerability": {"bias": 1.5, "weights": {"lift": 2.0}}}
    (tmp_path / calibration_file("openai/some/model@8")).write_text(json.dumps(fitted), "utf-8")

    own = load_calibration("openai/some/model@8", tmp_path)

    assert own.fitted
    assert own.answerability == LogisticModel(1.5, {"lift": 2.0})
    # It was fitted before passages had a relevance of their own.
    assert own.relevance == load_calibration("openai/another@8").relevance


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"answerability": {"bias": null}}'])
def test_a_file_that_is_no_calibration_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / calibration_file("openai/model@8")
    file.write_text(content, "utf-8")

    with pytest.raises(BadSettings, match=r"openai--model\.json is no valid calibration"):
        load_calibration("openai/model@8", tmp_path)


def test_a_target_risk_is_met_by_the_lowest_threshold_that_was_safe_enough() -> None:
    risks = (Risk(0.5, 0.2, 0.9), Risk(0.7, 0.1, 0.8), Risk(0.9, 0.04, 0.5))
    calibration = Calibration(LogisticModel(0.0, {}), risks=risks)

    assert calibration.threshold_for(0.1) == 0.7
    assert calibration.threshold_for(0.05) == 0.9
    assert calibration.threshold_for(0.001) == 0.9
    assert Calibration(LogisticModel(0.0, {})).threshold_for(0.05) == 1.0


def test_what_ships_says_what_each_threshold_risks() -> None:
    shipped = load_calibration("granite-embedding-30m-english@x")

    answered = [risk.answered for risk in shipped.risks]
    assert answered == sorted(answered, reverse=True)
    assert shipped.threshold_for(0.05) > shipped.threshold_for(0.2)


def test_words_of_the_conversation_do_not_hide_that_the_word_asked_for_is_unknown() -> None:
    alone = signals("Does the heavy Fresnel lens work with sonar?", "The heavy Fresnel lens turns.")
    follow_up = replace(alone, original_question="Does it work with sonar?")

    most = 1 / (1 + SHORT_BOOK)
    assert 0 < answerability_features(alone)["unknown"] < most
    assert answerability_features(follow_up)["unknown"] == most


def test_a_word_that_a_short_book_never_says_tells_less_than_one_that_a_long_book_never_says() -> (
    None
):
    asked = signals("At what pressure does the valve open?", "The valve opens at 31 bar.")
    short, long = (
        replace(asked, statistics=TermStatistics(count, asked.statistics.frequency))
        for count in (35, 3_000)
    )

    assert answerability_features(short)["unknown"] < answerability_features(long)["unknown"] / 4
