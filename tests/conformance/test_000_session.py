"""Data model 000: sessions of `/agent/ask`, how long they live, and states of answers."""

from datetime import timedelta
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest

from tests.conformance.access import assert_followed_up_by_id, assert_isolated
from tests.conformance.ageing import age
from tests.conformance.cases import case, item, kept
from tests.conformance.sample import AMCL, COVERED, LIE, QUOTABLE
from tests.conformance.serving import Body, Model, Service, eventually, instant
from tests.conformance.shapes import at, is_role, is_text, is_uuid, pairs
from tests.conformance.slow import Slow, assert_stamped_on_arrival, assert_stamped_when_answered
from tests.servers import Reply

ASK = "/agent/ask"


def asked(conversation: str | None = None, **fields: Any) -> Body:
    return {"query_text": COVERED, "conversation_id": conversation, **fields}


def session(service: Service, conversation: str) -> Body:
    found: Body = service.get(f"/agent/sessions/{conversation}")
    return found


@pytest.fixture(scope="module")
def begun(main: Service) -> Body:
    return session(main, main.ask(ASK, asked())["conversation_id"])


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        case("000.58", "conversation_history[].role", "conversation_history[].role", is_role),
        case("000.59", "conversation_history[].content", "conversation_history[].content", is_text),
    ],
)
def test_a_session_has_every_field(begun: Body, path: str, fits: Any) -> None:
    assert all(fits(value) for value in at(begun, path))


@item("000.51", "session_id is unique")
def test_sessions_are_told_apart(main: Service) -> None:
    first, second = (main.ask(ASK, asked())["conversation_id"] for _ in range(2))

    assert first != second
    assert session(main, first)["session_id"] == first
    assert main.status("DELETE", f"/agent/sessions/{first}") == 204
    assert main.status("GET", f"/agent/sessions/{first}") == 404
    assert main.status("GET", f"/agent/sessions/{second}") == 200


@item("000.52", "openai_thread_id is there, and is the service's own thread")
@kept("openai_thread_id")
def test_a_session_names_its_thread(begun: Body) -> None:
    assert is_text(begun["openai_thread_id"])


@item("000.53", "created_at is when the first question came")
def test_a_session_begins_with_its_first_question(told: Service, slow: dict[str, Slow]) -> None:
    found = session(told, slow["000"].session)

    assert_stamped_on_arrival(instant(found["created_at"]), slow["000"])


@item("000.54", "last_interaction is that of the last message")
def test_a_session_was_last_used_by_its_last_message(main: Service) -> None:
    name = main.ask(ASK, asked())["conversation_id"]
    first = session(main, name)
    main.ask(ASK, asked(name))
    second = session(main, name)

    assert instant(first["created_at"]) <= instant(first["last_interaction"])
    assert instant(first["last_interaction"]) < instant(second["last_interaction"])
    assert second["last_interaction"] == second["conversation_history"][-1]["timestamp"]


@item("000.55", "user_id: a client can say whose session it is")
def test_a_session_can_have_a_user(main: Service) -> None:
    whose = {"user_id": "reader-7"}
    name = main.ask(ASK, asked(**whose, metadata=whose))["conversation_id"]
    for path in (f"/threads/{name}", f"/agent/sessions/{name}"):
        main.client.patch(path, json={"metadata": whose})

    assert session(main, name)["user_id"] == "reader-7"


@item("000.56", "context_mode is the session's current one")
def test_a_session_shows_the_last_mode(main: Service, begun: Body) -> None:
    name = begun["session_id"]
    own = {"context_mode": "user_provided", "user_context": "AMCL is a particle filter."}
    main.ask(ASK, asked(name, **own))

    assert begun["context_mode"] == "retrieval_pipeline"
    assert session(main, name)["context_mode"] == "user_provided"


@item("000.57", "active_filters are those of the last question")
@kept("active_filters")
def test_a_session_shows_the_last_filters(main: Service) -> None:
    name = main.ask(ASK, asked(filters={"chapter": "Localisation"}))["conversation_id"]
    first = session(main, name)["active_filters"]
    main.ask(ASK, asked(name))

    assert first == {"chapter": ["Localisation"]}
    assert not session(main, name)["active_filters"]


@item("000.60", "conversation_history[].timestamp is when each message was exchanged")
def test_question_and_answer_have_times_of_their_own(told: Service, slow: dict[str, Slow]) -> None:
    question, answer = session(told, slow["000"].session)["conversation_history"]

    assert_stamped_on_arrival(instant(question["timestamp"]), slow["000"])
    assert_stamped_when_answered(instant(answer["timestamp"]), slow["000"])


@item("000.61", "conversation_history has at most 100 messages")
def test_a_long_session_shows_its_last_hundred_messages(main: Service) -> None:
    name = str(uuid4())
    for number in range(52):
        main.ask(ASK, asked(name, query_text=f"thanks {number}"))

    said = session(main, name)["conversation_history"]
    assert len(said) == 100
    assert said[0]["content"] == "thanks 2"


def rows(service: Service, name: str) -> int:
    counts = service.rows(
        "SELECT (SELECT count(*) FROM threads WHERE id = ?),"
        " (SELECT count(*) FROM messages WHERE thread_id = ?)",
        name,
        name,
    )
    return sum(counts[0])


@item("000.62", "cleaned up after 24 hours without a message")
def test_a_day_later_nothing_is_left(main: Service) -> None:
    name = main.ask(ASK, asked())["conversation_id"]
    age(main, name, timedelta(hours=23, minutes=50))
    assert main.status("GET", f"/agent/sessions/{name}") == 200
    age(main, name, timedelta(minutes=20))

    assert main.status("GET", f"/agent/sessions/{name}") == 404
    assert eventually(lambda: rows(main, name) == 0)
    main.ask(ASK, asked(name))
    assert len(session(main, name)["conversation_history"]) == 2


@item("000.65", "a session contains its pairs of request and response")
def test_a_session_is_its_questions_and_answers(main: Service) -> None:
    name = str(uuid4())
    questions = [COVERED, "What is dead reckoning?", "thanks"]
    answers = [main.ask(ASK, asked(name, query_text=q))["response_text"] for q in questions]

    said = list(pairs(session(main, name)["conversation_history"]))
    assert [(q["role"], a["role"]) for q, a in said] == [("user", "assistant")] * 3
    assert [q["content"] for q, _ in said] == questions
    assert [a["content"] for _, a in said] == answers


class Working:
    """A question that the model is busy with."""

    def __init__(self, service: Service, model: Model, body: Body) -> None:
        model.says(Reply(AMCL, pause=0.15))
        self._thread = Thread(target=service.ask, args=(ASK, body))
        self._model = model

    def __enter__(self) -> None:
        self._thread.start()
        assert eventually(lambda: self._model.requests)

    def __exit__(self, *_: object) -> None:
        self._thread.join()


@item("000.66", "state Created: the session is there before its first answer")
def test_a_session_is_there_before_its_first_answer(told: Service, model: Model) -> None:
    name = str(uuid4())
    with Working(told, model, asked(name)):
        early = told.client.get(f"/agent/sessions/{name}")

    assert early.status_code == 200, early.text
    assert early.json()["state"] == "created"
    assert session(told, name)["state"] == "active"


@item("000.67", "state Active: an ongoing conversation")
def test_a_session_in_use_is_active(begun: Body) -> None:
    assert begun["state"] == "active"


@item("000.68", "state Inactive: no recent activity, but kept")
def test_a_resting_session_is_inactive(main: Service) -> None:
    name = main.ask(ASK, asked())["conversation_id"]
    age(main, name, timedelta(hours=2))

    assert session(main, name)["state"] == "inactive"
    main.ask(ASK, asked(name))
    assert session(main, name)["state"] == "active"


@item("000.69", "state Expired: gone")
def test_an_expired_session_is_gone(main: Service) -> None:
    name = main.ask(ASK, asked())["conversation_id"]
    age(main, name, timedelta(hours=25))

    assert main.status("GET", f"/agent/sessions/{name}") == 404
    assert len(session_after(main, name)["conversation_history"]) == 2


def session_after(service: Service, name: str) -> Body:
    """Return a session after one more question."""
    service.ask(ASK, asked(name))
    return session(service, name)


def states(service: Service, session_id: str) -> list[tuple[str, str]]:
    """Return id and state of every answer of a conversation."""
    found = service.rows(
        "SELECT id, state FROM answers WHERE thread_id = ? ORDER BY created_at", session_id
    )
    return [(str(one), str(state)) for one, state in found]


@item("000.70", "response state Processing: while it is generated")
def test_an_answer_in_the_making_is_processing(told: Service, model: Model) -> None:
    name = str(uuid4())
    with Working(told, model, asked(name)):
        ((answer, state),) = states(told, name)
        reply = told.client.get(f"/answers/{answer}")

    assert is_uuid(answer)
    assert state == "processing"
    assert (reply.status_code, reply.json()["state"]) == (202, "processing")


@item("000.71", "response state Validated: checked, before its delivery is noted")
def test_a_checked_answer_is_validated_before_it_is_delivered(told: Service, model: Model) -> None:
    name = str(uuid4())
    model.says(AMCL)
    told.ask(ASK, asked(name))
    ((_, first),) = states(told, name)
    told.ask(ASK, asked(name))

    assert first == "validated"
    assert states(told, name)[0][1] == "delivered"


@item("000.72", "response state Delivered: sent")
def test_an_answer_that_was_sent_is_delivered(main: Service) -> None:
    name = main.ask(ASK, asked())["conversation_id"]
    ((answer, _),) = states(main, name)

    assert main.get(f"/answers/{answer}")["state"] == "delivered"


@item("000.73", "response state Flagged: failed validation, and nothing else")
def test_only_what_failed_its_check_is_flagged(main: Service, told: Service, model: Model) -> None:
    model.says(f"{AMCL} {LIE}")
    lied = told.ask(ASK, asked())["conversation_id"]
    ((answer, _),) = states(told, lied)
    assert told.get(f"/answers/{answer}")["state"] == "flagged"

    for question in QUOTABLE:
        name = main.ask(ASK, asked(query_text=question))["conversation_id"]
        ((answer, _),) = states(main, name)
        assert main.get(f"/answers/{answer}")["state"] == "delivered", question


@item("000.82", "sessions of one user are nothing to another")
def test_another_key_sees_nothing(keyed: Service, keys: dict[str, dict[str, str]]) -> None:
    assert_isolated(
        keyed, keys, (ASK, asked()), "conversation_id", "/agent/sessions/{}", "conversation_id"
    )


@item("000.83", "a follow-up by conversation_id alone, open to all or with a publishable key")
def test_the_id_alone_continues_a_conversation(
    public: Service, keyed: Service, keys: dict[str, dict[str, str]]
) -> None:
    assert_followed_up_by_id(
        public, keyed, keys, (ASK, {"query_text": COVERED}), "conversation_id", "conversation_id"
    )
