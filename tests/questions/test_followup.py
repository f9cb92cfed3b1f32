import pytest

from citewell.questions.followup import (
    Exchange,
    append_topic,
    standalone_question,
    topic_of,
)
from tests.retrieve.samples import follow


def test_without_history_a_question_is_unchanged() -> None:
    assert standalone_question("Is it fast?", []) == "Is it fast?"


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        (
            "What is AMCL?",
            "how does it recover from kidnapping?",
            "how does AMCL recover from kidnapping?",
        ),
        (
            "What is safe torque off?",
            "So does it brake the joint?",
            "does safe torque off brake the joint?",
        ),
        (
            "How does Isaac Sim render images?",
            "does it need a GPU?",
            "does Isaac Sim need a GPU?",
        ),
        ("How do I install Nav2?", "How do I configure it?", "How do I configure Nav2?"),
        ("What is a Kalman filter?", "When does it diverge?", "When does a Kalman filter diverge?"),
        (
            "Tell me about behaviour trees.",
            "How do they compare to state machines?",
            "How do behaviour trees compare to state machines?",
        ),
        (
            "Which sensors does a humanoid need?",
            "Do they need calibration?",
            "Do sensors need calibration?",
        ),
        ("What is AMCL?", "Does Nav2 need it?", "Does Nav2 need AMCL?"),
        ("Where is the lidar mounted?", "Does it spin?", "Does the lidar spin?"),
        ("Where is the depth camera?", "Does it spin?", "Does the depth camera spin?"),
        ("What's a node?", "Can it crash?", "Can a node crash?"),
        ("How does Gazebo simulate contact?", "Is it accurate?", "Is Gazebo accurate?"),
        (
            "How does the ROS 2 executor schedule callbacks?",
            "Can it run in threads?",
            "Can the ROS 2 executor run in threads?",
        ),
        ("What is AMCL?", "It drifts?", "AMCL drifts?"),
    ],
)
def test_a_pronoun_is_replaced_by_what_the_last_question_was_about(
    previous: str, question: str, expected: str
) -> None:
    assert follow(previous, question) == expected


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        (
            "What does RRT* add to RRT?",
            "Is its path guaranteed to be the best one?",
            "Is RRT*'s path guaranteed to be the best one?",
        ),
        (
            "What is a Kalman filter?",
            "What are its assumptions?",
            "What are the assumptions of a Kalman filter?",
        ),
        ("What are sensors?", "What are their limits?", "What are the limits of sensors?"),
        ("What is a lens?", "How sharp can its image be?", "How sharp can the image of a lens be?"),
        ("What is AMCL?", "Its inputs?", "the inputs of AMCL?"),
    ],
)
def test_a_possessive_pronoun_names_what_it_belongs_to(
    previous: str, question: str, expected: str
) -> None:
    assert follow(previous, question) == expected


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        ("What does the lidar measure?", "how accurately?", "how accurately (lidar measure)?"),
        ("What does the lidar measure?", "In which units?", "In which units (lidar measure)?"),
        (
            "Why does the costmap inflate obstacles?",
            "By how much?",
            "By how much (costmap inflate obstacles)?",
        ),
        ("What is a quaternion?", "Why not Euler angles?", "Why not Euler angles (quaternion)?"),
        ("What is a VLA model?", "name one", "name one (VLA model)?"),
        (
            "What is the difference between URDF and SDF?",
            "Which one supports closed loops?",
            "Which one supports closed loops (difference between URDF and SDF)?",
        ),
        (
            "Which sensors does a humanoid need?",
            "How many of them?",
            "How many of them (sensors humanoid)?",
        ),
        (
            "Can a client cancel a goal?",
            "Can the server refuse that?",
            "Can the server refuse that (client cancel a goal)?",
        ),
    ],
)
def test_what_no_name_can_replace_is_added_in_brackets(
    previous: str, question: str, expected: str
) -> None:
    assert follow(previous, question) == expected


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        (
            "What is a Kalman filter?",
            "How is that different from a particle filter?",
            "How is a Kalman filter different from a particle filter?",
        ),
        (
            "What is a quaternion?",
            "Can you explain that in more detail?",
            "Can you explain a quaternion in more detail?",
        ),
        (
            "What is domain randomization?",
            "Does this help with sim-to-real transfer?",
            "Does domain randomization help with sim-to-real transfer?",
        ),
        (
            "What is ZMP?",
            "What is the role of this in walking?",
            "What is the role of ZMP in walking?",
        ),
        ("What is a Kalman filter?", "Does this filter diverge?", "Does a Kalman filter diverge?"),
        ("What is PPO?", "Which actor does that train?", "Which actor does PPO train?"),
    ],
)
def test_this_and_that_name_a_thing_if_the_last_question_named_one(
    previous: str, question: str, expected: str
) -> None:
    assert follow(previous, question) == expected


def test_an_abbreviation_beside_its_long_form_is_no_other_thing() -> None:
    previous = "What is adaptive Monte Carlo localisation (AMCL)?"

    assert follow(previous, "Is it fast?") == "Is AMCL fast?"


def test_of_several_sentences_the_one_that_asks_counts() -> None:
    previous = "My lens is broken. What is a Fresnel lens?"

    assert follow(previous, "Is it heavy?") == "Is a Fresnel lens heavy?"


def test_what_is_too_long_for_a_name_is_added_in_brackets_and_cut() -> None:
    previous = "What are the many heavy thick round old glass rings of the tall white tower?"

    rewritten = follow(follow(previous, "Is it heavy?"), "Is it old?")

    assert rewritten.startswith("Is it old (")
    assert rewritten.count("(") == 1


def test_who_is_unknown_stays_unknown() -> None:
    assert follow("Who lit the lamp?", "when did he light it?") == "when did he light the lamp?"


@pytest.mark.parametrize(
    "question",
    [
        "What is PPO?",
        "What are services?",
        "What is inertia?",
        "What is a digital twin?",
        "And what is loop closure?",
        "Who wrote Gazebo?",
        "How does a robot know its position?",
        "How do nodes share their memory?",
        "Why does a robot fall when it walks?",
        "How does a node that publishes find its peers?",
        "What is a rotation that is not smooth?",
        "Is it true that PID controllers need tuning?",
        "Is it possible to use two lidars?",
        "Is it still safe to open the lid?",
        "How long does it take to charge a cell?",
        "What do you mean by inertia?",
        "What does this book say about torque?",
        "How does AMCL differ from SLAM?",
    ],
)
def test_a_question_that_stands_alone_is_unchanged(question: str) -> None:
    assert follow("What is AMCL?", question) == question


def test_only_the_last_exchange_counts() -> None:
    history = [Exchange("What is SLAM?"), Exchange("What is AMCL?")]

    assert standalone_question("Is it fast?", history) == "Is AMCL fast?"


def test_a_rewritten_question_can_be_followed_up() -> None:
    first = follow("What is AMCL?", "how does it recover from kidnapping?")

    assert follow(first, "and from drift?") == "how does AMCL recover from drift?"


def test_the_heading_of_the_answer_is_the_topic_when_the_question_names_none() -> None:
    exchange = Exchange("What is it about?", ("Fresnel lenses", "Orders"))

    assert topic_of(exchange) == "Fresnel lenses"
    assert standalone_question("Is it heavy?", [exchange]) == "Is Fresnel lenses heavy?"


@pytest.mark.parametrize(
    ("previous", "expected"),
    [
        ([], None),
        ([Exchange("Why?")], None),
        ([Exchange("Which noise is loud?")], None),
        ([Exchange("What is a horn?")], "Which noise is loud (a horn)?"),
    ],
    ids=["no history", "no topic", "names it itself", "topic"],
)
def test_the_topic_can_be_put_beside_a_question(
    previous: list[Exchange], expected: str | None
) -> None:
    assert append_topic("Which noise is loud?", previous) == expected


def test_a_question_after_one_about_nothing_is_unchanged() -> None:
    assert follow("Why?", "What is it?") == "What is it?"


def test_a_very_long_scrap_is_read_at_once() -> None:
    # A pattern that tries every way of splitting it would take days.
    assert follow("What is AMCL?", "and " + "a" * 5000 + ",") != ""


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        ("What is a lidar?", "What is the range?", "What is the range of a lidar?"),
        ("Explain SLAM", "what's the main drawback?", "what's the main drawback of SLAM?"),
        (
            "What is domain randomization?",
            "Is there any downside?",
            "Is there any downside of domain randomization?",
        ),
    ],
)
def test_what_is_asked_for_without_its_owner_is_asked_of_the_topic(
    previous: str, question: str, expected: str
) -> None:
    assert follow(previous, question) == expected


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        ("What does a joint servo do?", "how fast is it?", "how fast is a joint servo?"),
        (
            "What does the controller server of Nav2 do?",
            "Is it fast?",
            "Is the controller server of Nav2 fast?",
        ),
        (
            "Which simulator is best for ROS 2?",
            "Is it free?",
            "Is the simulator that is best for ROS 2 free?",
        ),
        ("What is slam_toolbox built on?", "Is it free?", "Is slam_toolbox free?"),
        ("What is a Fresnel lens made of?", "How heavy is it?", "How heavy is a Fresnel lens?"),
        ("What is CAN?", "how fast is it?", "how fast is CAN?"),
        (
            "How often does Adaptive Monte Carlo localisation (AMCL) update?",
            "Is it slow?",
            "Is AMCL slow?",
        ),
    ],
)
def test_the_topic_is_all_that_the_question_before_names(
    previous: str, question: str, expected: str
) -> None:
    assert follow(previous, question) == expected
