from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.verify.quantities import quantities


def keys(text: str) -> list[str]:
    return [quantity.key for quantity in quantities(text)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.1 s", "100 ms"),
        ("100 ms", "100 milliseconds"),
        ("100ms", "100 ms"),
        ("ten", "10"),
        ("twenty-five metres", "25 m"),
        ("two thousand and five", "2005"),
        ("2 million", "2,000,000"),
        ("3,000", "3000"),
        ("3\u202f000", "3000"),
        ("50 %", "0.5"),
        ("50 percent", "50%"),
        ("1.5 metres per second", "1.5 m/s"),
        ("9.81 m/s^2", "9.81 m/s²"),
        ("36 km/h", "10 m/s"),
        ("3 Nm", "3 N·m"),
        ("four hours", "240 minutes"),
        ("a 10-metre rope", "10 m"),
        ("64 KiB", "65536 B"),
        ("the 1st", "the first"),
        ("1e-3", "0.001"),
        ("−5 °C", "-5 °C"),
        ("5–10 Hz", "between 5 and 10 Hz"),
        ("5 to 10 kHz", "5 kHz, 10 kHz"),
    ],
)
def test_one_quantity_may_be_written_in_several_ways(one: str, other: str) -> None:
    assert keys(one) == keys(other) != []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("10 Hz", "100 Hz"),
        ("10 Hz", "10 kHz"),
        ("10 mV", "10 MV"),
        ("5 °C", "-5 °C"),
        ("50 %", "50"),
        ("10 m", "10 s"),
        ("5 m", "5 m/s"),
        ("third", "3"),
        ("1.5", "15"),
        ("8 bit", "8 B"),
        ("5 m²", "5 m"),
    ],
)
def test_different_quantities_differ(one: str, other: str) -> None:
    assert keys(one) != keys(other)


@pytest.mark.parametrize("text", ["", "Nav2", "version 2.0.1", "per second", "x_1", "none"])
def test_what_is_no_quantity_is_none(text: str) -> None:
    assert keys(text) == []


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("It is 10 m long.", ["10 m"]),
        ("It has 4 legs and weighs 30 kg.", ["4", "30 kg"]),
        ("It runs at 10 Hz.", ["10 Hz"]),
        ("There are one or two hundred.", ["one", "two hundred"]),
    ],
)
def test_a_quantity_says_where_it_stands(text: str, written: list[str]) -> None:
    assert [text[q.start : q.end] for q in quantities(text)] == written


HUGE = st.one_of(
    st.builds(
        "{}e{}{}".format,
        st.integers(0, 10**6),
        st.sampled_from(["", "-", "+"]),
        st.integers(0, 10**400),
    ),
    st.integers(1, 20_000).map("7".__mul__),
    st.integers(1, 5_000).map(lambda n: f"0.{'3' * n}"),
    st.integers(1, 5_000).map(lambda n: f"1{',000' * n}"),
    st.integers(1, 3_000).map(lambda n: " ".join(["hundred"] * n)),
)


@given(HUGE, st.sampled_from(["", " kg", " km/h", "th", " million", " %"]))
def test_no_number_is_too_large_to_be_read_or_written(number: str, unit: str) -> None:
    text = f"The robot weighs {number}{unit}."

    assert keys(text) == keys(text)
    assert all(one.value.denominator for one in quantities(text))


@pytest.mark.parametrize("written", ["1e999999999", "1e-999999999", "7" * 4400])
def test_a_number_too_long_to_compute_is_equal_to_itself_only(written: str) -> None:
    assert keys(f"{written} kg") == keys(f"{written} kg") != []
    assert keys(f"{written} kg") != keys(f"{written} m")
    assert keys(f"{written} kg") != keys(f"2{written} kg")


@pytest.mark.parametrize("text", ["version 20.0.1", "1e5.3", "version 22.04.5 runs"])
def test_the_beginning_of_a_version_is_no_number(text: str) -> None:
    assert keys(text) == []


@given(st.text("0123456789 .,-–%eE mskHz/°·to²^andone", max_size=30))
def test_any_text_can_be_read_and_quantities_do_not_overlap(text: str) -> None:
    found = quantities(text)

    assert all(0 <= one.start < one.end <= len(text) for one in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


@given(st.integers(-(10**6), 10**6), st.sampled_from([("m", "mm"), ("s", "ms"), ("kg", "g")]))
def test_a_thousand_small_units_are_a_large_one(number: int, units: tuple[str, str]) -> None:
    assert keys(f"{number} {units[0]}") == keys(f"{number * 1000} {units[1]}")
