import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.verify.agreement import find_disagreements


def kinds(claim: str, evidence: str) -> set[str]:
    return {one.kind for one in find_disagreements(claim, evidence)}


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The loop takes 100 ms.", "The loop takes 0.1 s."),
        ("The robot has 10 joints.", "The robot has ten joints."),
        ("It costs 3,000 cycles.", "It costs 3000 cycles."),
        ("The keeper sounds a horn in fog.", "In fog the keeper sounds a horn."),
        ("The keeper winds the clockwork.", "The keeper winds the heavy clockwork."),
        ("The lens is thin and light.", "The lens is thin. The lens is light."),
        ("Publish to `cmd_vel`.", "Publish to `cmd_vel` and subscribe to `odom`."),
        ("The gain is $K_p = 2$.", "The gain is $K_p=2$ here."),
        ("AMCL needs a map.", "AMCL needs a map of the building."),
        ("See [the page](/lens).", "See [the page](/lens) first."),
        ("A lamp is lit.", "A lamp is lit."),
    ],
)
def test_what_says_the_same_does_not_disagree(claim: str, evidence: str) -> None:
    assert find_disagreements(claim, evidence) == []


@pytest.mark.parametrize(
    ("claim", "evidence", "kind", "claimed", "found"),
    [
        ("It runs at 100 Hz.", "It runs at 10 Hz.", "number", "100 Hz", "10 Hz"),
        ("It runs at 10 kHz.", "It runs at 10 Hz.", "number", "10 kHz", "10 Hz"),
        ("It weighs 5 kg.", "It weighs 5 N.", "unit", "5 kg", "5 N"),
        ("It has 5 legs.", "It has four legs.", "number", "5", "four"),
        ("The lamp is lit.", "The lamp is not lit.", "negation", "", "not lit"),
        ("The lamp isn't lit.", "The lamp is lit.", "negation", "not lit", ""),
        ("It did not not sleep.", "It did not sleep.", "negation", "not sleep", ""),
        ("Turn left.", "Turn right.", "direction", "left", "right"),
        ("The rate increases.", "The rate decreases.", "direction", "increases", "decreases"),
        ("Wash before use.", "Wash after use.", "direction", "before", "after"),
    ],
)
def test_a_conflict_is_named_with_both_sides(
    claim: str, evidence: str, kind: str, claimed: str, found: str
) -> None:
    conflicts = [one for one in find_disagreements(claim, evidence) if one.is_conflict]

    assert [(c.kind, c.claimed, c.found) for c in conflicts] == [(kind, claimed, found)]


@pytest.mark.parametrize(
    ("claim", "evidence", "kind"),
    [
        ("It runs at 100 Hz.", "It runs.", "number"),
        ("I am a keeper of lamps.", "Someone is a keeper of lamps.", "name"),
        ("You are a lamp with a lens.", "It is a lamp with a lens.", "name"),
        ("It takes at most 5 s.", "It takes 5 s.", "bound"),
        ("It takes 5 s.", "It takes at least 5 s.", "bound"),
        ("Publish to `scan`.", "Publish to `odom`.", "name"),
        ("The DDS layer waits.", "The layer waits.", "name"),
        ("Set $a = b$.", "Set $a = c$.", "name"),
        ("Matrix P grows.", "Matrix Q grows.", "name"),
        ("See [the page](https://evil.example).", "See the page.", "link"),
        ("See the page https://evil.example/a.", "See the page.", "link"),
        ("![the page](x.png)", "the page", "link"),
        ("All robots drift.", "Robots drift.", "quantifier"),
        ("Robots drift.", "Some robots drift.", "quantifier"),
        ("Slip causes drift.", "Slip may cause drift.", "quantifier"),
        ("It has two teeth.", "It has two teeth fewer.", "quantifier"),
        ("The robot stops.", "The robot stops if it is pressed.", "condition"),
        ("It fails only in fog.", "It fails in fog.", "condition"),
        ("The man bites the dog.", "The dog bites the man.", "arrangement"),
        ("Convert degrees to radians.", "Convert radians to degrees.", "arrangement"),
        ("The lens is light.", "The lens is thin and the tower is light.", "arrangement"),
        ("The lens is light.", "The lens is thin. The tower is light.", "arrangement"),
        ("A lens has 5 kg.", "A lens has 3 kg and a lamp has 5 kg.", "arrangement"),
    ],
)
def test_what_the_evidence_does_not_say_is_named_without_a_conflict(
    claim: str, evidence: str, kind: str
) -> None:
    found = find_disagreements(claim, evidence)

    assert kind in {one.kind for one in found}
    assert not any(one.is_conflict for one in found)


def test_a_comparison_turned_round_is_a_conflict() -> None:
    found = find_disagreements("DDS is faster than Zenoh.", "Zenoh is faster than DDS.")

    assert any(one.is_conflict for one in found)


def test_a_weak_word_of_another_clause_does_not_count() -> None:
    assert "quantifier" not in kinds(
        "The lens turns.", "The lens turns, and sometimes fog covers everything."
    )


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_can_be_compared(claim: str, evidence: str) -> None:
    assert isinstance(find_disagreements(claim, evidence), list)


WORDS = st.sampled_from(
    ["lens", "turns", "10", "Hz", "5 m", "not", "left", "if", "`a_b`", ",", "."]
)


@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_no_text_disagrees_with_itself(text: str) -> None:
    assert find_disagreements(text, text) == []
