import pytest

from tests.retrieve.samples import follow


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        ("At what rate does RT-2 run?", "and OpenVLA?", "At what rate does OpenVLA run?"),
        (
            "How do I create a publisher in rclpy?",
            "and a subscriber?",
            "How do I create a subscriber in rclpy?",
        ),
        (
            "How do I create a publisher in rclpy?",
            "What about rclcpp?",
            "How do I create a publisher in rclcpp?",
        ),
        (
            "How often does the controller run?",
            "And the planner?",
            "How often does the planner run?",
        ),
        (
            "What does the lidar measure?",
            "And the depth camera?",
            "What does the depth camera measure?",
        ),
        ("Who wrote Gazebo?", "And Isaac Sim?", "Who wrote Isaac Sim?"),
        ("How do I call a service?", "And for an action?", "How do I call an action?"),
        (
            "How do I call a service from the shell?",
            "And for an action?",
            "How do I call an action from the shell?",
        ),
        (
            "How is a relative topic name resolved?",
            "And one that starts with a tilde?",
            "How is a topic name that starts with a tilde resolved?",
        ),
        (
            "How is a name resolved?",
            "And one with a tilde?",
            "How is a name with a tilde resolved?",
        ),
        ("What is PPO?", "thanks! and SAC?", "What is SAC?"),
        ("What is PPO?", "SAC?", "What is SAC?"),
        ("How tall is Everest?", "K2?", "How tall is K2?"),
        (
            "What is the first law of motion?",
            "and the second?",
            "What is the second law of motion?",
        ),
        ("How is cheese made?", "Is the same true for butter?", "How is butter made?"),
        ("What is a pointer in C?", "what about C++?", "What is a pointer in C++?"),
        ("How do I open the lid?", "and close it?", "How do I close the lid?"),
        ("What is the speed of the fan?", "and the pump?", "What is the speed of the pump?"),
        ("How do I turn off the lidar?", "and the camera?", "How do I turn off the camera?"),
        (
            "How many joints does the arm have?",
            "And the hand?",
            "How many joints does the hand have?",
        ),
        (
            "What is the maximum payload of the arm?",
            "and its reach?",
            "What is the reach of the arm?",
        ),
        (
            "What is the focal length of a first-order lens?",
            "what about a sixth-order one?",
            "What is the focal length of a sixth-order lens?",
        ),
        (
            "How does Isaac Sim render images?",
            "and point clouds?",
            "How does Isaac Sim render point clouds?",
        ),
    ],
)
def test_and_x_asks_the_last_question_again_about_x(
    previous: str, question: str, expected: str
) -> None:
    assert follow(previous, question) == expected


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        ("Which QoS is used for topics?", "and for services?", "Which QoS is used for services?"),
        (
            "How do I create a publisher in rclpy?",
            "and in C++?",
            "How do I create a publisher in C++?",
        ),
        ("Does the policy run at 50 Hz?", "and at 10 Hz?", "Does the policy run at 10 Hz?"),
        ("What does a keeper do in fog?", "and at night?", "What does a keeper do at night?"),
        (
            "How do topics differ from services?",
            "And from actions?",
            "How do topics differ from actions?",
        ),
        ("How do I install Nav2?", "on Windows?", "How do I install Nav2 on Windows?"),
        (
            "How long does the battery last?",
            "What about under load?",
            "How long does the battery last under load?",
        ),
        (
            "What happens if the e-stop is pressed?",
            "and if it is released?",
            "What happens if the e-stop is released?",
        ),
        ("At what rate does RT-2 run?", "at night?", "At what rate does RT-2 run at night?"),
        ("Is the lamp lit for now?", "and for ships?", "Is the lamp lit for now for ships?"),
    ],
)
def test_a_preposition_takes_the_place_of_its_like_or_comes_last(
    previous: str, question: str, expected: str
) -> None:
    assert follow(previous, question) == expected


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        ("Does the lens rotate?", "why?", "Why does the lens rotate?"),
        ("Does the lens rotate?", "and how?", "How does the lens rotate?"),
        ("What is a quaternion?", "why?", "Why: What is a quaternion?"),
        ("Why: What is a quaternion?", "how?", "How: What is a quaternion?"),
        ("What is a quaternion?", "Tell me more", "Tell me more: What is a quaternion?"),
        (
            "What is inverse kinematics?",
            "give me an example",
            "Give me an example: What is inverse kinematics?",
        ),
        ("What is AMCL?", "what about it?", "What is AMCL?"),
    ],
)
def test_a_bare_word_asks_the_last_question_again(
    previous: str, question: str, expected: str
) -> None:
    assert follow(previous, question) == expected


def test_and_x_after_one_about_nothing_is_added() -> None:
    assert follow("Why?", "and OpenVLA?") == "Why: OpenVLA?"
