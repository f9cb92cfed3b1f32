"""Rules for conversations, as far as no contract can show them."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from citewell.api.contracts import CONTRACTS, SESSION_CONTRACTS
from citewell.api.routes.threads import SessionAnswerer
from citewell.conversation import RETENTION_POLICIES
from citewell.domain import Question
from citewell.errors import StoreUnavailable
from citewell.events import Event, Started
from citewell.wiring import Services


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
    answerer = SessionAnswerer(Echo(), tiny.threads)

    events = [event async for event in answerer.answer(Question(text="x", thread_id="mine"))]

    assert events == [Started("mine", "a")]


@pytest.mark.parametrize("contract", [*CONTRACTS, SESSION_CONTRACTS[-1]], ids=lambda one: one.name)
def test_every_contract_has_rules(contract: Any) -> None:
    assert contract.name in RETENTION_POLICIES
