"""Rules for conversations, as far as no contract can show them."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from quire.api.contract import SessionRules
from quire.api.contracts import CONTRACTS, REMEMBERING
from quire.api.sessions import InSession
from quire.compose import Services
from quire.domain import Question
from quire.errors import StoreUnavailable
from quire.events import Event, Started
from quire.threads.rules import RULES, rules_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HALF = timedelta(minutes=30)


class Echo:
    """An answerer that only says in which conversation it was asked."""

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        yield Started(question.thread_id or "new", "a")


async def test_a_store_that_is_down_leaves_the_question_as_it_is(
    tiny: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("down")

    monkeypatch.setattr(tiny.threads, "resume", fails)
    answerer = InSession(Echo(), tiny.threads)

    events = [event async for event in answerer.answer(Question(text="x", thread_id="mine"))]

    assert events == [Started("mine", "a")]


@pytest.mark.parametrize(
    ("after", "minutes", "idle", "gone"),
    [
        ("resumes", 29, False, False),
        ("resumes", 31, True, False),
        ("renews", 30, False, False),
        ("renews", 31, True, True),
        ("begins_again", 31, True, True),
    ],
)
def test_a_conversation_rests_until_its_time_is_over(
    after: Any, minutes: int, idle: bool, gone: bool
) -> None:
    rules = SessionRules(live=10, idle=HALF, after=after)
    now = NOON + timedelta(minutes=minutes)

    assert (rules.is_idle(NOON, now), rules.is_gone(NOON, now)) == (idle, gone)
    assert not SessionRules(live=10).is_idle(NOON, now)


@pytest.mark.parametrize("contract", [*CONTRACTS, REMEMBERING[-1]], ids=lambda one: one.name)
def test_a_contract_and_the_store_go_by_the_same_rules(contract: Any) -> None:
    seen, kept = contract.sessions, rules_of(contract.name)

    assert contract.name in RULES
    assert seen.live == kept.live_messages
    match seen.after:
        case "begins_again":
            assert seen.idle == kept.gone_after
        case "renews":
            assert (seen.idle, kept.ends) == (kept.rests_after, True)
        case "resumes":
            assert seen.idle in (None, kept.rests_after)
            assert (kept.gone_after, kept.ends) == (None, False)
