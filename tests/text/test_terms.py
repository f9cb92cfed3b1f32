import sys
from concurrent.futures import ThreadPoolExecutor
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.text.terms import TermStatistics, stem, terms, words

TERM = st.text("abcdef", min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/cmd_vel", ("cmd_vel", "cmd", "vel")),
        ("tf2", ("tf2", "tf")),
        ("snake_case_name", ("snake_case_name", "snake", "case", "name")),
        ("C++", ("c++",)),
        ("ROS 2", ("ros", "2")),
        (
            "sensor_msgs/LaserScan",
            ("sensor_msgs/laserscan", "laserscan", "sensor", "msgs", "laser", "scan"),
        ),
        ("LaserScan", ("laserscan", "laser", "scan")),
        ("robotModel", ("robotmodel", "robot", "model")),
        ("PointCloud2", ("pointcloud2", "point", "cloud")),
        ("MoveIt", ("moveit", "move")),
        ("QoS LoRA IoU SLAM", ("qos", "lora", "iou", "slam")),
        ("robot's", ("robot",)),
        ("robot’s", ("robot",)),
        ("0.5", ("0.5",)),
        ("naïve café", ("naïv", "café")),
        ("Übung", ("übung",)),
    ],
)
def test_identifiers_are_kept_whole_and_in_parts(text: str, expected: tuple[str, ...]) -> None:
    assert terms(text) == expected


def test_words_that_carry_no_meaning_are_left_out() -> None:
    assert terms("What is the meaning of a node?") == ("node",)


def test_a_shortened_word_carries_no_more_meaning_than_the_whole_one() -> None:
    assert terms("What's the price? It’s why I can't and don't buy.") == ("price", "buy")


def test_forms_of_a_word_share_a_stem() -> None:
    assert terms("planning planned plans") == (stem("plan"),) * 3


def test_single_letters_are_left_out_and_single_digits_kept() -> None:
    assert terms("x 7") == ("7",)


def test_words_are_given_as_written() -> None:
    assert words("Use rclcpp::Node, C++!") == ["Use", "rclcpp", "Node", "C++"]


def test_a_rare_term_weighs_more_than_a_common_one_and_an_unknown_one_most() -> None:
    statistics = TermStatistics.count(["lens lamp lamp", "lens", "lens horn"])

    assert statistics.documents == 3
    assert statistics.frequency == {"len": 3, "lamp": 1, "horn": 1}
    assert statistics.weight("len") == log(1 + 3.5 / 3.5)
    assert statistics.weight("len") < statistics.weight("lamp") < statistics.weight("fog")


def test_no_texts_at_all_still_give_weights() -> None:
    assert TermStatistics.count([]) == TermStatistics()
    assert TermStatistics().weight("lens") == log(2)


def test_coverage_is_the_share_of_the_wanted_weight() -> None:
    statistics = TermStatistics.count(["lens", "lens lamp"])
    lens, lamp = statistics.weight("len"), statistics.weight("lamp")

    assert statistics.coverage(["len", "lamp"], ["lamp"]) == pytest.approx(lamp / (lens + lamp))
    assert statistics.coverage(["len"], ["lamp"]) == 0
    assert statistics.coverage([], ["lamp"]) == 0


@given(st.lists(TERM), st.lists(TERM), st.dictionaries(TERM, st.integers(1, 50)))
def test_coverage_is_from_0_to_1_and_1_when_all_is_present(
    wanted: list[str], present: list[str], frequency: dict[str, int]
) -> None:
    statistics = TermStatistics(50, frequency)

    assert 0 <= statistics.coverage(wanted, present) <= 1
    assert not wanted or statistics.coverage(wanted, [*present, *wanted]) == 1


@given(st.text())
def test_any_text_gives_terms_of_more_than_one_letter(text: str) -> None:
    assert all(len(term) > 1 or term.isdigit() for term in terms(text))


def test_questions_that_are_read_at_once_stem_their_words_as_one_alone_would() -> None:
    lens = [f"{'ab' * size}{end}" for size in range(1, 60) for end in ("ational", "iveness")]
    alone = [stem(word) for word in lens]

    def together(_: int) -> list[str]:
        return [stem.__wrapped__(word) for word in lens]  # what nobody has asked for before

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(together, range(8)))
    finally:
        sys.setswitchinterval(usual)

    assert all(one == alone for one in found)
