"""The probability that sentences support a claim."""

from hypothesis import given
from hypothesis import strategies as st

from citewell.verify.judge import CLAIM_FEATURES, claim_features, load_judge_calibration

SENTENCES = [
    "The keeper climbs the tower every evening.",
    "The lamp burns for twelve hours.",
    "Each lens weighs 300 kg.",
]
SCALE = load_judge_calibration("citewell-judge@1")
shares = st.dictionaries(
    st.sampled_from(CLAIM_FEATURES), st.floats(0, 1), min_size=len(CLAIM_FEATURES)
)


def test_what_stands_in_the_sentences_is_not_missing() -> None:
    assert set(claim_features("The lamp burns for twelve hours.", SENTENCES, (1,)).values()) == {
        0.0
    }


def test_what_is_missing_is_told_apart() -> None:
    signs = claim_features("The keeper weighs the lamp at 90 kg in Dover.", SENTENCES, (0,))

    assert signs["name"] == 1.0
    assert signs["number"] == 1.0
    assert 0 < signs["absent"] < signs["apart"] <= signs["unread"] <= 1


def test_a_claim_without_words_of_meaning_lacks_none() -> None:
    assert set(claim_features("It is so.", SENTENCES, ()).values()) == {0.0}


@given(
    signs=shares, sign=st.sampled_from(CLAIM_FEATURES), more=st.floats(0, 1), logit=st.floats(-2, 2)
)
def test_what_is_missing_never_makes_a_claim_more_likely(
    signs: dict[str, float], sign: str, more: float, logit: float
) -> None:
    worse = signs | {sign: signs[sign] + more}

    assert SCALE.probability(worse, logit) <= SCALE.probability(signs, logit)


@given(signs=shares, logit=st.floats(-2, 1), more=st.floats(0, 1))
def test_what_the_model_finds_never_makes_a_claim_less_likely(
    signs: dict[str, float], logit: float, more: float
) -> None:
    assert SCALE.probability(signs, logit + more) >= SCALE.probability(signs, logit)
