"""Data model 003: threads, how they are kept, for how long and for whom."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.conformance.access import assert_followed_up_by_id, assert_isolated
from tests.conformance.ageing import age
from tests.conformance.cases import case, item, kept
from tests.conformance.sample import AMCL, COVERED
from tests.conformance.serving import Body, Service, copied, eventually, instant, serving
from tests.conformance.shapes import at, is_object, is_role, is_text, is_utc, is_uuid4, pairs
from tests.conformance.slow import Slow, assert_stamped_on_arrival, assert_stamped_when_answered

if TYPE_CHECKING:
    from tests.postgres import Postgres

RUN = "/chat/run"


def asked(message: str = COVERED, **fields: Any) -> Body:
    return {"message": message, **fields}


def thread(service: Service, name: str) -> Body:
    found: Body = service.get(f"/threads/{name}")
    return found


@pytest.fixture(scope="module")
def begun(main: Service) -> Body:
    name = main.ask(RUN, asked())["session_id"]
    main.ask(RUN, asked("thanks", session_id=name))
    return thread(main, name)


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        case("003.50", "thread_id is a UUID of version 4", "thread_id", is_uuid4),
        case("003.57", "updated_at is UTC", "updated_at", is_utc),
        case("003.62", "messages[].role", "messages[].role", is_role),
        case("003.63", "messages[].content", "messages[].content", is_text),
    ],
)
def test_a_thread_has_every_field(begun: Body, path: str, fits: Any) -> None:
    assert all(fits(value) for value in at(begun, path))


@item("003.51", "GET /threads gives threads of this data model only")
def test_other_conversations_are_no_threads(main: Service) -> None:
    agents, queries = f"agent-{uuid4().hex[:8]}", str(uuid4())
    main.ask("/agent/ask", {"query_text": COVERED, "conversation_id": agents})
    main.ask("/query", {"query": COVERED, "session_id": queries})
    mine = main.ask(RUN, asked())["session_id"]
    listed = [one["thread_id"] for one in main.get("/threads")]

    assert mine in listed
    assert all(is_uuid4(one) for one in listed)
    for other in (agents, queries):
        assert other not in listed
        assert main.status("GET", f"/threads/{other}") == 404
        assert main.status("DELETE", f"/threads/{other}") == 404
    assert main.status("GET", f"/agent/sessions/{agents}") == 200


@pytest.fixture(scope="module")
def long(main: Service) -> str:
    """A thread of 54 messages."""
    name = str(uuid4())
    for number in range(27):
        main.ask(RUN, asked(f"thanks {number}", session_id=name))
    return name


@item("003.52", "messages are the last 50")
def test_a_thread_shows_its_last_fifty_messages(main: Service, long: str) -> None:
    said = thread(main, long)["messages"]

    assert len(said) == 50
    assert said[0]["content"] == "thanks 2"


@item("003.53", "older messages are archived, not lost")
def test_older_messages_can_be_read(main: Service, long: str) -> None:
    page = main.get(f"/threads/{long}/messages?limit=100")
    said = page["messages"] if isinstance(page, dict) else page

    assert len(said) == 54
    assert [one["archived"] for one in said] == [True] * 4 + [False] * 50


@item("003.54", "messages are in chronological order")
def test_messages_are_in_order(begun: Body) -> None:
    times = [instant(one) for one in at(begun, "messages[].timestamp")]

    assert times == sorted(times)


@item("003.55", "roles alternate, whoever asks at the same time")
def test_roles_alternate(main: Service) -> None:
    name = main.ask(RUN, asked())["session_id"]
    with ThreadPoolExecutor(3) as pool:
        questions = ["thanks", "What is dead reckoning?", "What is SLAM?"]
        answers = list(pool.map(lambda q: main.ask(RUN, asked(q, session_id=name)), questions))

    said = list(pairs(thread(main, name)["messages"]))
    kept_together = {q["content"]: a["content"] for q, a in said}
    assert [(q["role"], a["role"]) for q, a in said] == [("user", "assistant")] * 4
    assert [kept_together[q] for q in questions] == [a["response"] for a in answers]


@item("003.56", "created_at is when the first question came, UTC")
def test_a_thread_begins_with_its_first_question(told: Service, slow: dict[str, Slow]) -> None:
    found = thread(told, slow["003"].session)

    assert is_utc(found["created_at"])
    assert_stamped_on_arrival(instant(found["created_at"]), slow["003"])


@item("003.58", "topic_summary comes with the fifth exchange")
def test_a_summary_comes_with_the_fifth_exchange(main: Service) -> None:
    name = str(uuid4())
    questions = [COVERED, "What is dead reckoning?", "What is a particle filter?", "What is SLAM?"]
    for question in questions:
        main.ask(RUN, asked(question, session_id=name))
    assert thread(main, name)["topic_summary"] is None
    main.ask(RUN, asked("How many particles does AMCL keep?", session_id=name))

    assert is_text(thread(main, name)["topic_summary"])


@item("003.59", "topic_summary has at most 200 characters")
def test_a_summary_is_short(main: Service, begun: Body) -> None:
    where = f"/threads/{begun['thread_id']}"

    assert main.client.patch(where, json={"topic_summary": "s" * 200}).status_code == 200
    assert main.client.patch(where, json={"topic_summary": "s" * 201}).status_code == 422
    assert len(thread(main, begun["thread_id"])["topic_summary"]) == 200


@item("003.60", "topic_summary is made of what was asked about")
@kept("topic_summary", "summary")
def test_a_summary_names_what_was_asked_about(main: Service) -> None:
    name = str(uuid4())
    for number in range(6):
        question = ("What is AMCL?", "How does AMCL recover from kidnapping?")[number % 2]
        main.ask(RUN, asked(question, session_id=name))

    assert "AMCL" in thread(main, name)["topic_summary"]


@item("003.61", "metadata: a client says what it likes of a thread (user_id, tags)")
def test_a_thread_has_metadata(main: Service) -> None:
    said = {"user_id": "user123", "tags": ["ros2", "urdf"]}
    name = main.ask(RUN, asked(metadata=said))["session_id"]
    first = thread(main, name)["metadata"]
    patched = main.client.patch(f"/threads/{name}", json={"metadata": {"user_id": "user124"}})

    assert is_object(first)
    assert first == said
    assert patched.status_code == 200, patched.text
    assert thread(main, name)["metadata"]["user_id"] == "user124"


@item("003.64", "messages[].timestamp is that of each message, UTC")
def test_question_and_answer_have_times_of_their_own(told: Service, slow: dict[str, Slow]) -> None:
    question, answer = thread(told, slow["003"].session)["messages"]

    assert is_utc(question["timestamp"])
    assert_stamped_on_arrival(instant(question["timestamp"]), slow["003"])
    assert_stamped_when_answered(instant(answer["timestamp"]), slow["003"])


@item("003.65", "messages[].confidence is there for the assistant only")
def test_only_answers_have_a_confidence(begun: Body) -> None:
    for question, answer in pairs(begun["messages"]):
        assert question.get("confidence") is None
        assert 0 <= answer["confidence"] <= 1


@item("003.66", "creation: the first message makes the thread")
def test_the_first_message_makes_the_thread(main: Service) -> None:
    name = str(uuid4())
    assert main.status("GET", f"/threads/{name}") == 404
    main.ask(RUN, asked(session_id=name))

    assert len(thread(main, name)["messages"]) == 2


@item("003.67", "update: each message is appended and updated_at moves on")
def test_each_message_is_appended(main: Service) -> None:
    name = main.ask(RUN, asked())["session_id"]
    first = thread(main, name)
    main.ask(RUN, asked("thanks", session_id=name))
    second = thread(main, name)

    assert second["messages"][:2] == first["messages"]
    assert instant(second["updated_at"]) > instant(first["updated_at"])
    assert second["updated_at"] == second["messages"][-1]["timestamp"]


@item("003.68", "archival: after an hour without a message")
def test_a_thread_is_archived_after_an_hour(main: Service) -> None:
    name = main.ask(RUN, asked())["session_id"]
    age(main, name, timedelta(minutes=55))
    assert thread(main, name)["state"] == "active"
    age(main, name, timedelta(minutes=10))

    assert eventually(lambda: thread(main, name)["state"] == "archived")
    assert len(thread(main, name)["messages"]) == 2


@item("003.69", "resumption: an archived thread goes on with the next message")
def test_an_archived_thread_is_resumed(main: Service) -> None:
    name = main.ask(RUN, asked())["session_id"]
    age(main, name, timedelta(days=2))
    assert eventually(lambda: thread(main, name)["state"] == "archived")

    answer = main.ask(RUN, asked("How does it recover from kidnapping?", session_id=name))

    assert "random particles" in answer["response"]
    assert thread(main, name)["state"] == "active"
    assert len(thread(main, name)["messages"]) == 4


@item("003.70", "deletion: DELETE takes it all away")
def test_a_deleted_thread_is_gone(main: Service) -> None:
    name = main.ask(RUN, asked())["session_id"]

    assert main.status("DELETE", f"/threads/{name}") == 204
    assert main.status("GET", f"/threads/{name}") == 404
    assert main.turns(name) == []


@pytest.fixture(scope="module")
def base(
    postgres: "Postgres", sample_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["Postgres"]:
    """A PostgreSQL in which the service has kept a conversation."""
    data = copied(sample_data, tmp_path_factory.mktemp("postgres"))
    with serving(data, CITEWELL_DATABASE_URL=postgres.new_database()) as service:
        service.ask(RUN, asked())
        yield postgres


def columns(base: "Postgres", table: str) -> dict[str, tuple[str, str]]:
    """Return the type and the default of every column of a table."""
    told = base.query(
        "SELECT column_name || '|' || data_type || '|' || coalesce(column_default, '')"
        f" FROM information_schema.columns WHERE table_name = '{table}';"
    )
    rows = [line.strip().split("|") for line in told.splitlines() if line.count("|") == 2]
    return {name: (kind, default) for name, kind, default in rows}


def leading(base: "Postgres") -> set[str]:
    """Return the columns by which threads can be found in order."""
    told = base.query("SELECT indexdef FROM pg_indexes WHERE tablename = 'threads';")
    inside = [line.split("(")[-1] for line in told.splitlines() if "(" in line]
    return {one.split(",")[0].split(")")[0].split()[0].strip() for one in inside}


@item("003.71", "threads are persisted in PostgreSQL")
def test_a_thread_is_kept_in_postgresql(base: "Postgres") -> None:
    told = base.query("SELECT content FROM messages ORDER BY position;")

    assert COVERED in told
    assert AMCL[:40] in told


@item("003.98", "SQL: a row a message beside the row of the thread")
@kept("row a message", "row per message", "JSONB")
def test_a_message_is_a_row(base: "Postgres") -> None:
    assert {"thread_id", "role", "content", "created_at"} <= columns(base, "messages").keys()
    assert {"created_at", "updated_at", "topic_summary", "metadata"} <= columns(
        base, "threads"
    ).keys()


@item("003.99", "SQL: times with a zone and metadata as JSONB, by default now and {}; ids are text")
@kept("thread id", "thread_id", "UUID")
def test_columns_have_types_and_defaults(base: "Postgres") -> None:
    found = columns(base, "threads")

    assert found["metadata"][0] == "jsonb"
    assert "{}" in found["metadata"][1]
    for name in ("created_at", "updated_at"):
        kind, default = found[name]
        assert kind == "timestamp with time zone"
        assert default.lower().startswith(("now()", "current_timestamp"))
    assert found["id"][0] == "character varying"


@item("003.100", "SQL: an index by updated_at")
def test_threads_are_found_by_update(base: "Postgres") -> None:
    assert "updated_at" in leading(base)


@item("003.101", "SQL: an index by created_at")
def test_threads_are_found_by_creation(base: "Postgres") -> None:
    assert "created_at" in leading(base)


@item("003.107", "100 requests a minute for a key: the 101st gets 429 with Retry-After")
def test_a_key_asks_a_hundred_times_a_minute(
    keyed: Service, keys: dict[str, dict[str, str]]
) -> None:
    with ThreadPoolExecutor(4) as pool:
        replies = list(
            pool.map(lambda _: keyed.client.get("/threads", headers=keys["spent"]), range(101))
        )
    late = [reply for reply in replies if reply.status_code == 429]

    assert len(late) == 1
    assert int(late[0].headers["retry-after"]) > 0
    assert {reply.status_code for reply in replies} == {200, 429}


@item("003.112", "sessions of the agent are the service's own, over SQLAlchemy")
@kept("SQLAlchemySession")
def test_the_agent_remembers_from_the_database(main: Service, begun: Body) -> None:
    turns = main.turns(begun["thread_id"])

    assert [content for _, content, _ in turns] == at(begun, "messages[].content")


@item("003.114", "threads of one user are nothing to another")
def test_another_key_sees_nothing(keyed: Service, keys: dict[str, dict[str, str]]) -> None:
    assert_isolated(keyed, keys, (RUN, asked()), "session_id", "/threads/{}", "session_id")


@item("003.115", "a follow-up by session_id alone, open to all or with a publishable key")
def test_the_id_alone_continues_a_thread(
    public: Service, keyed: Service, keys: dict[str, dict[str, str]]
) -> None:
    assert_followed_up_by_id(public, keyed, keys, (RUN, asked()), "session_id", "session_id")
