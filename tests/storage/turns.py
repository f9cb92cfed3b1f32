"""Questions and answers made from a few words."""

from citewell.conversation import AnswerEntry, Message
from citewell.domain import Answer
from tests.verify.samples import NOON, answer_of


def turn_of(thread_id: str, name: str, **fields: object) -> tuple[Answer, tuple[Message, Message]]:
    """Make a question and its answer."""
    named = f"{thread_id[:20]}-{name}"
    answer = answer_of(f"answer {name}", thread_id=thread_id, id=f"a-{named}", **fields)
    asked = Message(id=f"q-{named}", role="user", content=f"question {name}", created_at=NOON)
    said = Message(
        id=answer.id,
        role="assistant",
        content=answer.text,
        created_at=NOON,
        confidence=0.5,
        record={"status": "answered", "claims": [{"start": 0, "quote": "Größe “x”"}], "none": None},
    )
    return answer, (asked, said)


def entry_of(thread_id: str, name: str, owner: str | None = None) -> AnswerEntry:
    """Make the line of the log with which an answer begins."""
    return AnswerEntry(
        id=f"a-{thread_id}-{name}",
        thread_id=thread_id,
        book="tiny",
        question="What is it?",
        state="processing",
        created_at=NOON,
        owner=owner,
    )
