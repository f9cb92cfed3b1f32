"""What models may take in a day, and how one that fails is left alone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from citewell.answer.remote_model import Budget, CircuitBreaker, DailySpend
from citewell.errors import BudgetSpent, ModelMisbehaved, ModelTimedOut

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


def test_processes_that_share_a_folder_share_the_budget_of_a_day(tmp_path: Path) -> None:
    clock = Clock()
    here, there = (DailySpend(tmp_path / "s", tokens=100, clock=clock) for _ in range(2))

    here.add(60, None)
    there.check()
    there.add(40, 0.5)

    with pytest.raises(BudgetSpent, match=r"100 tokens, 0\.5000 dollars") as caught:
        here.check()
    assert caught.value.retry_after == 12 * 3600
    clock.now += timedelta(hours=12)
    here.check()


def test_a_budget_may_be_in_dollars(tmp_path: Path) -> None:
    spending = DailySpend(tmp_path, dollars=0.01, clock=Clock())

    spending.add(1_000_000, 0.009)
    spending.check()
    spending.add(1, 0.002)

    with pytest.raises(BudgetSpent):
        spending.check()


def test_without_a_limit_nothing_is_kept(tmp_path: Path) -> None:
    spending = DailySpend(tmp_path / "none")

    spending.add(10, 1.0)
    spending.check()

    assert not (tmp_path / "none").exists()


def test_an_answer_begins_no_call_beyond_its_time_or_its_tokens() -> None:
    Budget(10, 100).check()

    with pytest.raises(ModelTimedOut, match="longer than 0 seconds"):
        Budget(0, 100).check()
    spent = Budget(10, 100)
    spent.count(60, 40)
    with pytest.raises(ModelMisbehaved, match="more than 100 tokens"):
        spent.check()


def test_a_breaker_opens_after_failures_in_a_row_and_tries_one_question_a_rest() -> None:
    now = [0.0]
    breaker = CircuitBreaker(max_failures=2, cooldown=30, clock=lambda: now[0])

    breaker.record_failure()
    breaker.record_success()
    breaker.record_failure()
    assert breaker.allow_request()
    breaker.record_failure()
    assert not breaker.allow_request()
    now[0] = 30
    assert breaker.allow_request()
    assert not breaker.allow_request()
    now[0] = 60
    assert breaker.allow_request()
    breaker.record_success()
    assert breaker.allow_request()
    assert breaker.allow_request()
