"""Data model 004: sessions of `/query` and their interactions."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.conformance.access import assert_followed_up_by_id, assert_isolated
from tests.conformance.ageing import age
from tests.conformance.cases import case, item, kept
from tests.conformance.sample import COVERED
from tests.conformance.serving import Body, Service, eventually, instant, now
from tests.conformance.shapes import at, is_list, is_object, is_text, is_utc
from tests.conformance.slow import Slow, assert_stamped_on_arrival

QUERY = "/query"


def asked(query: str = COVERED, **fields: Any) -> Body:
    return {"query": query, **fields}


def session(service: Service, name: str) -> Body:
    found: Body = service.get(f"/sessions/{name}")
    return found


@pytest.fixture(scope="module")
def begun(main: Service) -> tuple[Body, list[Body]]:
    """A session of two interactions, and their answers."""
    name = str(uuid4())
    answers = [main.ask(QUERY, asked(q, session_id=name)) for q in (COVERED, "What is SLAM?")]
    return session(main, name), answers


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        case("004.37", "SessionData.session_id", "session_id", is_text),
        case("004.38", "SessionData.conversation_history", "conversation_history", is_list),
        case("004.41", "SessionData.last_activity", "last_activity", is_utc),
        case(
            "004.46",
            "Interaction.session_id is its session",
            "conversation_history[].session_id",
            is_text,
        ),
        case("004.47", "Interaction.query", "conversation_history[].query", is_text),
        case("004.48", "Interaction.response", "conversation_history[].response", is_text),
        case("004.49", "Interaction.metadata", "conversation_history[].metadata", is_object),
    ],
)
def test_a_session_has_every_field(begun: tuple[Body, list[Body]], path: str, fits: Any) -> None:
    assert all(fits(value) for value in at(begun[0], path))


@item("004.39", "SessionData.user_context is kept across the session")
def test_the_users_context_is_kept(main: Service) -> None:
    name, said = str(uuid4()), {"level": "beginner"}
    main.ask(QUERY, asked(session_id=name, user_context=said))
    main.ask(QUERY, asked("What is SLAM?", session_id=name))

    assert session(main, name)["user_context"] == said


@item("004.40", "SessionData.created_at is when the first query came")
def test_a_session_begins_with_its_first_query(told: Service, slow: dict[str, Slow]) -> None:
    found = session(told, slow["004"].session)

    assert_stamped_on_arrival(instant(found["created_at"]), slow["004"])


@item("004.42", "created_at is not after last_activity")
def test_a_session_begins_before_it_was_used(begun: tuple[Body, list[Body]]) -> None:
    assert instant(begun[0]["created_at"]) <= instant(begun[0]["last_activity"])


@item("004.43", "conversation_history has fewer than 100 interactions")
def test_a_long_session_shows_its_last_interactions(main: Service) -> None:
    name = str(uuid4())
    for number in range(101):
        main.ask(QUERY, asked(f"thanks {number}", session_id=name))

    said = session(main, name)["conversation_history"]
    assert 90 <= len(said) < 100
    assert said[-1]["query"] == "thanks 100"


@pytest.mark.parametrize(
    "name",
    ["s" * 37, "s" * 200, "class seven", "user:7/42"],
    ids=["37", "200", "blanks", "slash"],
)
@item("004.44", "session_id is any string, of up to 200 characters")
def test_an_id_is_any_string(main: Service, name: str) -> None:
    for _ in range(2):
        assert main.ask(QUERY, asked(session_id=name))["response"]
    if "/" not in name:
        assert len(session(main, name)["conversation_history"]) == 2


@item("004.45", "Interaction.interaction_id is unique: the id of its answer")
def test_an_interaction_is_its_answer(begun: tuple[Body, list[Body]]) -> None:
    found, answers = begun

    assert at(found, "conversation_history[].interaction_id") == [
        answer["query_id"] for answer in answers
    ]


@item("004.50", "Interaction.timestamp is not in the future")
def test_an_interaction_is_not_in_the_future(begun: tuple[Body, list[Body]]) -> None:
    times = [instant(one) for one in at(begun[0], "conversation_history[].timestamp")]

    assert times == sorted(times)
    assert times[-1] <= now()


@item("004.51", "sessions are the service's own, in SQLite by default")
@kept("SQLiteSession")
def test_sessions_are_kept_in_sqlite(main: Service, begun: tuple[Body, list[Body]]) -> None:
    turns = main.turns(begun[0]["session_id"])

    assert [content for _, content, _ in turns][::2] == [COVERED, "What is SLAM?"]


@item("004.59", "sessions of one user are nothing to another")
def test_another_key_sees_nothing(keyed: Service, keys: dict[str, dict[str, str]]) -> None:
    begin = (QUERY, asked(session_id=str(uuid4())))
    assert_isolated(keyed, keys, begin, "", "/sessions/{}", "session_id")


@item("004.60", "history is kept across interactions, and used")
def test_a_follow_up_is_understood(main: Service) -> None:
    name = str(uuid4())
    main.ask(QUERY, asked(session_id=name))

    found = main.ask(QUERY, asked("How does it recover from kidnapping?", session_id=name))

    assert "random particles" in found["response"]


@item("004.61", "sessions are cleaned up in the end")
def test_an_old_session_is_deleted(main: Service) -> None:
    name = str(uuid4())
    main.ask(QUERY, asked(session_id=name))
    age(main, name, timedelta(days=400))

    assert eventually(lambda: main.turns(name) == [])
    assert main.status("GET", f"/sessions/{name}") == 404


@item("004.68", "a follow-up by session_id alone, open to all or with a publishable key")
def test_the_id_alone_continues_a_session(
    public: Service, keyed: Service, keys: dict[str, dict[str, str]]
) -> None:
    begin = (QUERY, asked(session_id=str(uuid4())))
    assert_followed_up_by_id(public, keyed, keys, begin, "", "session_id")
