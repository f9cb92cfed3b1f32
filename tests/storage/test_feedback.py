"""What readers think of answers is kept once an answer, and goes with the conversation."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from citewell.conversation import ANY_OWNER, Feedback, ReaderVerdict
from citewell.errors import UnknownAnswer
from citewell.storage.feedback import SqlFeedbackStore
from citewell.storage.maintenance import purge
from citewell.storage.tables import FEEDBACK
from citewell.storage.threads import SqlThreadStore
from tests.storage.turns import turn_of
from tests.verify.samples import NOON


@pytest.fixture
def feedback(store: SqlThreadStore) -> SqlFeedbackStore:
    return SqlFeedbackStore(store)


def said(answer_id: str, verdict: ReaderVerdict = "up", minutes: int = 0, **more: str) -> Feedback:
    at = NOON + timedelta(minutes=minutes)
    return Feedback(answer_id=answer_id, verdict=verdict, created_at=at, **more)  # type: ignore[arg-type]


async def rows(store: SqlThreadStore) -> int | None:
    async with store.database.read_transaction() as connection:
        return await connection.scalar(select(func.count()).select_from(FEEDBACK))


async def test_feedback_stands_beside_its_answer(
    store: SqlThreadStore, feedback: SqlFeedbackStore
) -> None:
    await store.append(*turn_of("t1", "one"))
    given = said("a-t1-one", "down", reason="wrong", comment="Größe \0 “x”")

    await feedback.save(given)
    (kept,) = await feedback.list(verdict=None, limit=9, offset=0)

    assert (kept.feedback.verdict, kept.feedback.reason) == ("down", "wrong")
    assert kept.feedback.comment == "Größe � “x”"
    assert kept.feedback.created_at == NOON
    assert (kept.thread_id, kept.book, kept.text) == ("t1", "tiny", "answer one")
    assert kept.question == "What is it?"


async def test_a_new_verdict_replaces_the_one_before_with_its_reason(
    store: SqlThreadStore, feedback: SqlFeedbackStore
) -> None:
    await store.append(*turn_of("t1", "one"))

    await feedback.save(said("a-t1-one", "down", reason="unclear", comment="Hm."))
    await feedback.save(said("a-t1-one", "up", minutes=1))
    (kept,) = await feedback.list(verdict=None, limit=9, offset=0)

    assert kept.feedback == said("a-t1-one", "up", minutes=1)


async def test_feedback_is_listed_by_verdict_in_pages_the_newest_first(
    store: SqlThreadStore, feedback: SqlFeedbackStore
) -> None:
    for place, verdict in enumerate(("up", "down", "up")):
        await store.append(*turn_of("t1", str(place)))
        await feedback.save(said(f"a-t1-{place}", verdict, minutes=place))  # type: ignore[arg-type]

    async def listed(**wanted: object) -> list[str]:
        found = await feedback.list(**{"verdict": None, "limit": 9, "offset": 0} | wanted)  # type: ignore[arg-type]
        return [entry.feedback.answer_id for entry in found]

    assert await listed() == ["a-t1-2", "a-t1-1", "a-t1-0"]
    assert await listed(verdict="up") == ["a-t1-2", "a-t1-0"]
    assert await listed(limit=1, offset=1) == ["a-t1-1"]


@pytest.mark.parametrize("answer_id", ["nobody", "q-t1-one"], ids=["unknown", "a question"])
async def test_there_is_no_feedback_about_what_is_no_answer(
    store: SqlThreadStore, feedback: SqlFeedbackStore, answer_id: str
) -> None:
    await store.append(*turn_of("t1", "one"))

    with pytest.raises(UnknownAnswer):
        await feedback.save(said(answer_id))


async def test_only_who_sees_an_answer_can_judge_it(
    store: SqlThreadStore, feedback: SqlFeedbackStore
) -> None:
    await store.append(*turn_of("t1", "one"), owner="her")

    for stranger in ("him", None):
        with pytest.raises(UnknownAnswer):
            await feedback.save(said("a-t1-one"), owner=stranger)
    await feedback.save(said("a-t1-one"), owner="her")
    await feedback.save(said("a-t1-one", "down"), owner=ANY_OWNER)

    (kept,) = await feedback.list(verdict=None, limit=9, offset=0)
    assert kept.feedback.verdict == "down"


async def test_an_answer_that_is_over_by_its_contracts_rules_is_judged_no_more(
    store: SqlThreadStore, feedback: SqlFeedbackStore
) -> None:
    await store.append(*turn_of("t1", "one"), contract="agent")
    store.clock = lambda: NOON + timedelta(hours=25)

    with pytest.raises(UnknownAnswer):
        await feedback.save(said("a-t1-one"))


async def test_feedback_goes_with_its_conversation(
    store: SqlThreadStore, feedback: SqlFeedbackStore
) -> None:
    for thread in ("t1", "t2"):
        await store.append(*turn_of(thread, "one"), contract="agent")
        store.clock = lambda: NOON
        await feedback.save(said(f"a-{thread}-one"))

    await store.delete("t1")
    after_delete = await rows(store)
    await purge(store.database, NOON + timedelta(hours=25))

    assert (after_delete, await rows(store)) == (1, 0)
