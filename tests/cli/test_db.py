import asyncio
from pathlib import Path

import pytest

from quire.compose import build_threads
from quire.settings import Settings
from quire.threads.migrate import REVISIONS
from tests.cli.conftest import Quire


def test_a_new_database_is_upgraded_and_says_so(quire: Quire, tmp_path: Path) -> None:
    before = quire("db", "current", data=tmp_path)
    upgraded = quire("db", "upgrade", data=tmp_path)
    after = quire("db", "current", data=tmp_path)

    assert f"schema none; the newest is {REVISIONS[-1]}" in before.stdout
    assert f"schema {REVISIONS[-1]} (the newest)" in upgraded.stdout
    assert after.stdout == upgraded.stdout


@pytest.mark.parametrize("command", [("db", "upgrade"), ("serve",)])
def test_a_newer_database_is_refused_in_one_sentence(
    quire: Quire, tmp_path: Path, command: tuple[str, ...]
) -> None:
    quire("db", "upgrade", data=tmp_path)
    asyncio.run(_pretend_newer(tmp_path))

    run = quire(*command, data=tmp_path)

    assert run.returncode == 1
    assert "newer version of Quire (schema 0099" in run.stderr
    assert "Traceback" not in run.stderr


async def _pretend_newer(data: Path) -> None:
    threads = build_threads(Settings(data_dir=data))
    async with threads.database.writing() as connection:
        await connection.exec_driver_sql("UPDATE quire_schema SET version_num = '0099'")
    await threads.close()


def test_a_database_url_is_never_shown_with_its_password(quire: Quire, tmp_path: Path) -> None:
    url = f"postgresql://reader:hunter2@/quire?host={tmp_path}"

    for command in (("serve", "--show-settings"), ("doctor",), ("db", "current")):
        run = quire(*command, data=tmp_path, QUIRE_DATABASE_URL=url)
        assert "hunter2" not in run.stdout + run.stderr
