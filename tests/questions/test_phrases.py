import pytest

from citewell.questions.phrases import Phrase, parse_question


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("What is a topic in ROS 2?", ["a topic", "ROS 2"]),
        ("At what rate does RT-2 run?", ["rate", "RT-2"]),
        ("How many joints does the arm have?", ["joints", "the arm"]),
        ("How accurate is the lidar?", ["the lidar"]),
        ("Can a client cancel a goal?", ["a client", "a goal"]),
        ("How do I set up Nav2?", ["Nav2"]),
        ("What happens if the e-stop is pressed?", ["the e-stop", "pressed"]),
        ("What happens if it is pressed?", ["pressed"]),
        ("Explain safe torque off.", ["safe torque off"]),
        ("What is a lens, lamp or horn?", ["a lens", "lamp", "horn"]),
        ("Why is `cmd_vel` ignored?", ["`cmd_vel`"]),
        ("", []),
    ],
)
def test_a_question_names_its_things_in_order(question: str, things: list[str]) -> None:
    assert [thing.full for thing in parse_question(question).phrases] == things


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("What is the focal length of a lens?", "the focal length of a lens"),
        ("What happens if the e-stop is pressed?", "the e-stop"),
        ("How do I create a publisher in rclpy?", "a publisher in rclpy"),
        ("Does the policy run at 50 Hz?", "the policy"),
        ("Who works?", ""),
    ],
)
def test_the_topic_is_the_subject_or_all_that_is_named(question: str, topic: str) -> None:
    assert parse_question(question).topic == topic


@pytest.mark.parametrize("question", ["At what rate does RT-2 run?", "Why is the lens thin?"])
def test_things_stand_where_they_say(question: str) -> None:
    things = parse_question(question).phrases

    assert things
    assert all(question[thing.start : thing.end] == thing.text for thing in things)


def test_names_and_plurals_are_told_by_their_letters() -> None:
    assert Phrase(0, 0, "cmd_vel").is_name
    assert not Phrase(0, 0, "lens order").is_name
    assert Phrase(0, 0, "horns").is_plural
    assert not Phrase(0, 0, "chassis").is_plural
    assert not Phrase(0, 0, "glass").is_plural


def test_a_scrap_is_not_a_whole_question() -> None:
    assert not parse_question("how accurately?").is_complete
    assert parse_question("how accurate is it?").is_complete
