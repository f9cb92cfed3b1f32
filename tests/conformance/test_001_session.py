"""Data model 001: sessions of `/assistant/chat`, their ten turns and thirty minutes, and limits.

The data model's Session and ConversationTurn are internal: they are read where they are stored.
"""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.conformance.access import assert_followed_up_by_id
from tests.conformance.ageing import age
from tests.conformance.cases import item, kept
from tests.conformance.sample import AMCL, COVERED
from tests.conformance.serving import Body, Model, Service, eventually
from tests.conformance.shapes import event_of, is_uuid4
from tests.conformance.slow import Slow, assert_stamped_on_arrival, assert_stamped_when_answered

CHAT = "/assistant/chat"
STREAM = "/assistant/chat/stream"


def asked(message: str = COVERED, **fields: Any) -> Body:
    return {"message": message, **fields}


@pytest.fixture(scope="module")
def begun(main: Service) -> str:
    """A session of two exchanges."""
    session: str = main.ask(CHAT, asked())["session_id"]
    main.ask(CHAT, asked("What is dead reckoning?", session_id=session))
    return session


@item("001.24", "ConversationTurn.role is user or assistant")
def test_turns_have_roles(main: Service, begun: str) -> None:
    assert [role for role, _, _ in main.turns(begun)] == ["user", "assistant"] * 2


@item("001.25", "ConversationTurn.content is what was said")
def test_turns_have_content(main: Service, begun: str) -> None:
    contents = [content for _, content, _ in main.turns(begun)]

    assert contents[::2] == [COVERED, "What is dead reckoning?"]
    assert contents[1].startswith(AMCL)


@item("001.26", "ConversationTurn.timestamp is when the turn occurred")
def test_turns_have_times_of_their_own(told: Service, slow: dict[str, Slow]) -> None:
    (_, _, question), (_, _, answer) = told.turns(slow["001"].session)

    assert_stamped_on_arrival(question, slow["001"])
    assert_stamped_when_answered(answer, slow["001"])


@item("001.27", "Session.session_id is unique")
def test_sessions_have_ids_of_their_own(main: Service) -> None:
    ids = {main.ask(CHAT, asked())["session_id"] for _ in range(3)}

    assert len(ids) == 3
    assert all(is_uuid4(session) for session in ids)


@item("001.28", "Session.turns are in order")
def test_turns_are_in_order(main: Service, begun: str) -> None:
    times = [at for _, _, at in main.turns(begun)]

    assert times == sorted(times)


@item("001.29", "Session.created_at is when the first question came")
def test_a_session_begins_with_its_first_question(told: Service, slow: dict[str, Slow]) -> None:
    began, _ = told.session_times(slow["001"].session)

    assert_stamped_on_arrival(began, slow["001"])


@item("001.30", "Session.last_activity is the last interaction")
def test_a_session_knows_when_it_was_used(main: Service) -> None:
    session = main.ask(CHAT, asked())["session_id"]
    _, first = main.session_times(session)
    main.ask(CHAT, asked(session_id=session))
    _, second = main.session_times(session)

    assert first < second == main.turns(session)[-1][2]


@item("001.31", "a request without session_id begins an active session")
def test_a_request_without_id_begins_a_session(main: Service) -> None:
    session = main.ask(CHAT, asked())["session_id"]

    assert main.ask(CHAT, asked(session_id=session))["session_id"] == session


@item("001.32", "a request with session_id keeps it active")
def test_a_request_with_its_id_keeps_a_session_active(main: Service) -> None:
    session = main.ask(CHAT, asked())["session_id"]
    for _ in range(3):
        age(main, session, timedelta(minutes=20))
        assert main.ask(CHAT, asked(session_id=session))["session_id"] == session


@item("001.33", "a session expires after 30 minutes without activity")
def test_half_an_hour_later_a_session_is_over(main: Service) -> None:
    session = main.ask(CHAT, asked())["session_id"]
    age(main, session, timedelta(minutes=29))
    assert main.ask(CHAT, asked(session_id=session))["session_id"] == session
    age(main, session, timedelta(minutes=31))

    assert main.ask(CHAT, asked(session_id=session))["session_id"] != session


@item("001.34", "an expired session_id begins a new session each time")
def test_an_expired_id_begins_new_sessions(main: Service) -> None:
    session = main.ask(CHAT, asked())["session_id"]
    age(main, session, timedelta(minutes=31))
    new = {main.ask(CHAT, asked(session_id=session))["session_id"] for _ in range(2)}

    assert len(new | {session}) == 3
    assert [len(main.turns(one)) for one in new] == [2, 2]


@item("001.35", "ten turns do not end a session: the window slides")
@kept("10 turns", "ten turns", "sliding", "MAX_TURNS")
def test_after_ten_turns_a_session_goes_on(main: Service) -> None:
    session = str(uuid4())
    for number in range(12):
        answer = main.ask(CHAT, asked(f"thanks {number}", session_id=session))
        assert answer["session_id"] == session


FORGOTTEN = ("quaternion", "URDF model", "costmap", "dead reckoning", "gimbal lock")
KNOWN = (
    "SLAM", "lidar", "particle filter", "Kalman filter", "launch file",
    "bag file", "stereo camera", "support polygon", "behaviour tree", "capture point",
)  # fmt: skip
"""What fifteen questions of a session are about: five too many, and ten."""


def question_about(what: str) -> str:
    """Return a question; the first five call somebody by a name that no passage has."""
    return f"What is a {what}{', Zebediah' if what in FORGOTTEN else ''}?"


@pytest.fixture(scope="module")
def sixteenth(told: Service, model: Model) -> str:
    """All that the model was sent for the sixteenth question of a session."""
    session = str(uuid4())
    model.says(AMCL)
    for what in (*FORGOTTEN, *KNOWN):
        told.ask(CHAT, asked(question_about(what), session_id=session))
    model.says(AMCL)
    told.stream(STREAM, asked(session_id=session))
    assert model.requests
    return model.prompts()


@item("001.36", "at most 10 turns of a session count: what came before has slid out")
def test_what_slid_out_of_the_window_is_forgotten(sixteenth: str) -> None:
    left = [word for word in ("Zebediah", "gimbal lock") if word.lower() in sixteenth.lower()]

    assert left == [], "neither as a turn nor in a summary"


@item("001.52", "MAX_TURNS is 10: the last ones count")
def test_the_last_turns_are_known(sixteenth: str) -> None:
    known = [what for what in (*FORGOTTEN, *KNOWN) if question_about(what) in sixteenth]

    assert KNOWN[-1] in known
    assert len(known) <= 10


@item("001.37", "an expired session is garbage collected")
def test_an_expired_session_is_deleted_in_the_end(main: Service) -> None:
    session = main.ask(CHAT, asked())["session_id"]
    age(main, session, timedelta(days=400))

    assert eventually(lambda: main.turns(session) == [])
    assert main.rows("SELECT id FROM threads WHERE id = ?", session) == []


@item("001.39", "flow: the session is found or made")
def test_a_client_may_choose_the_id(main: Service) -> None:
    session = str(uuid4())

    assert main.ask(CHAT, asked(session_id=session))["session_id"] == session
    assert len(main.turns(session)) == 2


@item("001.43", "flow: the memory of the session is updated, and used")
def test_a_follow_up_is_understood(main: Service) -> None:
    session = main.ask(CHAT, asked())["session_id"]
    question = "How does it recover from kidnapping?"

    answer = main.ask(CHAT, asked(question, session_id=session))

    assert "random particles" in answer["message"]
    assert len(main.turns(session)) == 4


@pytest.mark.parametrize("path", [CHAT, STREAM])
@item("001.45", "10 requests a minute for a session: the 11th gets 429 with Retry-After")
def test_a_session_is_asked_ten_times_a_minute(public: Service, path: str) -> None:
    reader = {"X-Citewell-Reader": uuid4().hex, "x-forwarded-for": f"10.1.0.{len(path)}"}
    body = asked("thanks", session_id=str(uuid4()))
    for _ in range(10):
        assert public.post(path, body, **reader).status_code == 200
    reply = public.post(path, body, **reader)

    assert reply.status_code == 429
    assert int(reply.headers["retry-after"]) > 0


@item("001.46", "100 requests an hour for an address: the 101st gets 429")
def test_an_address_asks_a_hundred_times_an_hour(public: Service) -> None:
    address = {"x-forwarded-for": "10.2.0.1"}
    for _ in range(100):
        assert public.post(CHAT, asked("thanks"), **address).status_code == 200
    reply = public.post(CHAT, asked("thanks"), **address)

    assert reply.status_code == 429
    assert int(reply.headers["retry-after"]) > 0


@item("001.47", "one request belongs to one session")
def test_a_request_belongs_to_one_session(main: Service) -> None:
    first, second = (main.ask(CHAT, asked())["session_id"] for _ in range(2))
    main.ask(CHAT, asked("thanks", session_id=first))

    assert (len(main.turns(first)), len(main.turns(second))) == (4, 2)


@item("001.48", "a session has many turns")
def test_a_session_has_many_turns(main: Service, begun: str) -> None:
    assert len(main.turns(begun)) == 4


@item("001.53", "SESSION_TIMEOUT_MINUTES is 30, streamed as well")
def test_a_stream_begins_a_new_session_after_half_an_hour(main: Service) -> None:
    session = main.ask(CHAT, asked())["session_id"]
    age(main, session, timedelta(minutes=29))
    same = event_of(main.stream(STREAM, asked(session_id=session)), "done")["session_id"]
    age(main, session, timedelta(minutes=31))
    other = event_of(main.stream(STREAM, asked(session_id=session)), "done")["session_id"]

    assert same == session != other


@item("001.57", "a follow-up by session_id alone, open to all or with a publishable key")
def test_the_id_alone_continues_a_session(
    public: Service, keyed: Service, keys: dict[str, dict[str, str]]
) -> None:
    assert_followed_up_by_id(public, keyed, keys, (CHAT, asked()), "session_id", "session_id")
