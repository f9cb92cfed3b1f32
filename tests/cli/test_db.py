import asyncio
from pathlib import Path

import pytest

from citewell.settings import Settings
from citewell.storage.migrate import REVISIONS
from citewell.wiring import build_threads
from tests.cli.conftest import Citewell


def test_a_new_database_is_upgraded_and_says_so(citewell: Citewell, tmp_path: Path) -> None:
    before = citewell("db", "current", data=tmp_path)
    upgraded = citewell("db", "upgrade", data=tmp_path)
    after = citewell("db", "current", data=tmp_path)

    assert f"schema none; the newest is {REVISIONS[-1]}" in before.stdout
    assert f"schema {REVISIONS[-1]} (the newest)" in upgraded.stdout
    assert after.stdout == upgraded.stdout


@pytest.mark.parametrize("command", [("db", "upgrade"), ("serve",)])
def test_a_newer_database_is_refused_in_one_sentence(
    citewell: Citewell, tmp_path: Path, command: tuple[str, ...]
) -> None:
    citewell("db", "upgrade", data=tmp_path)
    asyncio.run(_pretend_newer(tmp_path))

    run = citewell(*command, data=tmp_path)

    assert run.returncode == 1
    assert "newer version of Citewell (schema 0099" in run.stderr
    assert "Traceback" not in run.stderr


async def _pretend_newer(data: Path) -> None:
    threads = build_threads(Settings(data_dir=data))
    async with threads.database.write_transaction() as connection:
        await connection.exec_driver_sql("UPDATE citewell_schema SET version_num = '0099'")
    await threads.close()


def test_a_database_url_is_never_shown_with_its_password(
    citewell: Citewell, tmp_path: Path
) -> None:
    url = f"postgresql://reader:hunter2@/citewell?host={tmp_path}"

    for command in (("serve", "--show-settings"), ("doctor",), ("db", "current")):
        run = citewell(*command, data=tmp_path, CITEWELL_DATABASE_URL=url)
        assert "hunter2" not in run.stdout + run.stderr
