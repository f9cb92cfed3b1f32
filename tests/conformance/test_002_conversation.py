"""Data model 002: conversations of workflows, on the server and in the browser."""

from typing import Any
from uuid import uuid1, uuid4

import pytest

from tests.conformance.access import assert_followed_up_by_id, assert_isolated
from tests.conformance.cases import case, item, kept
from tests.conformance.sample import COVERED
from tests.conformance.serving import Body, Service, instant, now
from tests.conformance.shapes import at, is_role, is_text, is_utc, is_uuid
from tests.conformance.slow import Slow, assert_stamped_on_arrival, assert_stamped_when_answered

CHAT = "/workflows/book/chat"


def asked(text: str = COVERED, **fields: Any) -> Body:
    return {"queryText": text, "sessionId": "tab-1", "timestamp": now().isoformat(), **fields}


def conversation(service: Service, name: str) -> Body:
    found: Body = service.get(f"/conversations/{name}")
    return found


@pytest.fixture(scope="module")
def begun(main: Service) -> Body:
    """A conversation of two exchanges."""
    name = main.ask(CHAT, asked())["threadId"]
    main.ask(CHAT, asked("thanks", conversationId=name))
    return conversation(main, name)


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        case("002.01", "ChatMessage.id is a UUID", "messages[].id", is_uuid),
        case("002.02", "ChatMessage.content", "messages[].content", is_text),
        case("002.03", "ChatMessage.role", "messages[].role", is_role),
        case("002.05", "ChatMessage.conversationId", "messages[].conversationId", is_uuid),
        case("002.10", "content is not empty", "messages[].content", is_text),
        case("002.12", "timestamp is a valid datetime", "messages[].timestamp", is_utc),
        case("002.13", "Conversation.conversationId is a UUID", "conversationId", is_uuid),
    ],
)
def test_a_conversation_has_every_field(begun: Body, path: str, fits: Any) -> None:
    assert all(fits(value) for value in at(begun, path))


@item("002.04", "ChatMessage.timestamp is when the message was sent")
def test_question_and_answer_have_times_of_their_own(told: Service, slow: dict[str, Slow]) -> None:
    question, answer = conversation(told, slow["002"].session)["messages"]

    assert_stamped_on_arrival(instant(question["timestamp"]), slow["002"])
    assert_stamped_when_answered(instant(answer["timestamp"]), slow["002"])


@item("002.06", "ChatMessage.ragContextUsed is optional: true for an answer from the book")
def test_a_message_says_whether_it_used_the_book(begun: Body) -> None:
    used = [message["ragContextUsed"] for message in begun["messages"]]

    assert used[0] is None
    assert used[1] is True
    assert used[3] is not True


@item("002.07", "ChatMessage.error is optional")
def test_a_message_may_have_an_error(begun: Body) -> None:
    assert [message["error"] for message in begun["messages"]] == [None] * 4


@item("002.08", "a message belongs to its conversation")
def test_messages_belong_to_their_conversation(begun: Body) -> None:
    assert {m["conversationId"] for m in begun["messages"]} == {begun["conversationId"]}


@item("002.09", "a message may use context: without the book it does not")
def test_a_message_without_the_book_used_none(main: Service) -> None:
    name = main.ask("/workflows/bare/chat", asked())["threadId"]
    _, answer = conversation(main, name)["messages"]

    assert answer["ragContextUsed"] is False


@item("002.11", "role is user or assistant, in turn")
def test_roles_alternate(begun: Body) -> None:
    assert at(begun, "messages[].role") == ["user", "assistant"] * 2


@item("002.14", "Conversation.createdAt is when the first question came")
def test_a_conversation_begins_with_its_first_question(
    told: Service, slow: dict[str, Slow]
) -> None:
    found = conversation(told, slow["002"].session)

    assert_stamped_on_arrival(instant(found["createdAt"]), slow["002"])


@item("002.15", "Conversation.lastActivityAt is that of the last message")
def test_a_conversation_was_last_active_with_its_last_message(begun: Body) -> None:
    assert begun["lastActivityAt"] == begun["messages"][-1]["timestamp"]


@item("002.16", "Conversation.messageCount")
def test_messages_are_counted(begun: Body) -> None:
    assert begun["messageCount"] == len(begun["messages"]) == 4


@item("002.17", "Conversation.ragContextAvailable")
def test_a_conversation_says_whether_the_book_was_there(main: Service, begun: Body) -> None:
    bare = main.ask("/workflows/bare/chat", asked())["threadId"]

    assert begun["ragContextAvailable"] is True
    assert conversation(main, bare)["ragContextAvailable"] is False


@item("002.18", "conversationId is unique; any UUID, in upper case as well")
def test_conversations_have_ids_of_their_own(main: Service) -> None:
    made = {main.ask(CHAT, asked())["threadId"] for _ in range(3)}
    assert len(made) == 3
    for name in (str(uuid1()), str(uuid4())):
        assert main.ask(CHAT, asked(conversationId=name.upper()))["threadId"] == name
        assert conversation(main, name.upper())["conversationId"] == name
    for wrong in ("mine", "", uuid4().hex[:20]):
        assert main.post(CHAT, asked(conversationId=wrong)).status_code == 422


@item("002.19", "createdAt is not after lastActivityAt")
def test_a_conversation_begins_before_it_ends(begun: Body) -> None:
    assert instant(begun["createdAt"]) <= instant(begun["lastActivityAt"])


@item("002.20", "a conversation has many messages")
def test_a_conversation_has_many_messages(begun: Body) -> None:
    assert len({message["id"] for message in begun["messages"]}) == 4


@item("002.21", "a conversation uses a workflow")
def test_a_conversation_names_its_workflow(begun: Body) -> None:
    assert begun["workflowId"] == "book"


@item("002.22", "state Initial: made with the first message")
def test_a_conversation_is_initial_at_first(main: Service) -> None:
    name = main.ask(CHAT, asked())["threadId"]

    assert conversation(main, name)["state"] == "initial"


@item("002.23", "state Active: messages are exchanged")
def test_a_conversation_in_use_is_active(begun: Body) -> None:
    assert begun["state"] == "active"


@item("002.24", "state Ended: cleared, or a new one begun")
def test_a_cleared_conversation_is_gone(main: Service) -> None:
    name = main.ask(CHAT, asked())["threadId"]

    assert main.status("DELETE", f"/conversations/{name}") == 204
    assert main.status("GET", f"/conversations/{name}") == 404


@pytest.fixture(scope="module")
def widget(main: Service) -> str:
    """The chat on a page, as readers get it; `make browser` drives it in Chromium."""
    script = main.client.get("/widget.js")
    assert script.status_code == 200
    return script.text


@item("002.61", "client: messages are kept in sessionStorage")
def test_the_widget_keeps_messages_for_the_session(widget: str) -> None:
    assert "window.sessionStorage" in widget
    assert "turns" in widget


@item("002.62", "client: the conversation's id is kept in sessionStorage")
def test_the_widget_keeps_the_id(widget: str) -> None:
    assert "sessionId" in widget


@item("002.63", "client: a session id is made and kept")
def test_the_widget_makes_a_reader(widget: str) -> None:
    assert ".reader" in widget
    assert "randomUUID" in widget or "getRandomValues" in widget


@item("002.64", "client: the reader clears the conversation, or begins a new one")
def test_the_widget_forgets_when_asked_to(widget: str) -> None:
    assert "New conversation" in widget
    assert ".clear()" in widget


@item("002.65", "the chat on a page asks the native contract")
@kept("/widget", "widget")
def test_the_widget_asks_at_its_own_address(main: Service, widget: str) -> None:
    assert "widget/stream" in widget
    assert main.stream("/widget/stream", {"message": COVERED})[-1][0] == "done"


@item("002.66", "server: conversations are stored, which the data model does not require")
@kept("stored", "persistent", "storage")
def test_conversations_are_stored(main: Service, begun: Body) -> None:
    name = begun["conversationId"]

    assert main.rows("SELECT count(*) FROM messages WHERE thread_id = ?", name) == [(4,)]


@item("002.67", "the thread's id keeps the context of a conversation")
def test_a_follow_up_is_understood(main: Service) -> None:
    name = main.ask(CHAT, asked())["threadId"]

    answer = main.ask(CHAT, asked("How does it recover from kidnapping?", conversationId=name))

    assert "random particles" in answer["responseText"]


@item("002.70", "conversations of one user are nothing to another")
def test_another_key_sees_nothing(keyed: Service, keys: dict[str, dict[str, str]]) -> None:
    assert_isolated(keyed, keys, (CHAT, asked()), "threadId", "/conversations/{}", "conversationId")


@item("002.71", "a follow-up by conversationId alone, open to all or with a publishable key")
def test_the_id_alone_continues_a_conversation(
    public: Service, keyed: Service, keys: dict[str, dict[str, str]]
) -> None:
    assert_followed_up_by_id(public, keyed, keys, (CHAT, asked()), "threadId", "conversationId")
