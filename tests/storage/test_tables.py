from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy.dialects import postgresql, sqlite

from citewell.storage.tables import UtcDateTime

NOON = datetime(2025, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "read",
    [NOON, NOON.replace(tzinfo=None), NOON.astimezone(timezone(timedelta(hours=2)))],
    ids=["utc", "naive", "elsewhere"],
)
def test_a_time_is_read_as_utc_however_the_database_gives_it(read: datetime) -> None:
    value = UtcDateTime().process_result_value(read, postgresql.dialect())

    assert value == NOON
    assert value.tzinfo is UTC


def test_no_time_stays_none() -> None:
    assert UtcDateTime().process_bind_param(None, sqlite.dialect()) is None
    assert UtcDateTime().process_result_value(None, sqlite.dialect()) is None
