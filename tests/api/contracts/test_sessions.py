"""Rules for conversations, as far as no contract can show them."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from quire.api.contracts import CONTRACTS, REMEMBERING
from quire.api.sessions import InSession
from quire.compose import Services
from quire.conversation import RULES
from quire.domain import Question
from quire.errors import StoreUnavailable
from quire.events import Event, Started


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


@pytest.mark.parametrize("contract", [*CONTRACTS, REMEMBERING[-1]], ids=lambda one: one.name)
def test_every_contract_has_rules(contract: Any) -> None:
    assert contract.name in RULES
