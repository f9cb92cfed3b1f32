"""What is down says so, and what can still be served is: real folders, files and sockets."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from citewell import wiring
from citewell.api import app
from citewell.api.routes import health
from citewell.index import qdrant_local
from citewell.ingest.pipeline import ingest
from citewell.options import LlmOptions
from citewell.wiring import Services
from tests.api.serving import ASKED, serving
from tests.api.sse import parse_sse
from tests.servers import HashEmbedder, build_services


@pytest.fixture
def no_upkeep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing holds a connection in the background while the test takes them away."""
    monkeypatch.setattr(app, "run_sweeper", lambda *_: nullcontext())


@pytest.fixture
def services(tiny_copy: Path) -> Services:
    return build_services(tiny_copy)


def assert_unsearchable(reply: httpx.Response) -> None:
    assert (reply.status_code, reply.json()["code"]) == (503, "IndexUnavailable")
    assert reply.json()["detail"] == "The book cannot be searched right now."
    assert reply.headers["retry-after"] == "5"


def _take_away(books: Path) -> None:
    books.rename(books.parent / "elsewhere")


def _make_unreadable(books: Path) -> None:
    """Root may read anything; a file where the folder was stops even root."""
    books.rename(books.parent / "elsewhere")
    books.write_text("not a folder")


@pytest.mark.parametrize("lose", [_take_away, _make_unreadable])
@pytest.mark.parametrize("book", [None, "tiny"])
async def test_without_the_index_history_is_still_served(
    services: Services, tiny_copy: Path, lose: Callable[[Path], None], book: str | None
) -> None:
    asked = {**ASKED, "book": book}
    async with serving(services) as client:
        session = (await client.post("/chat/run", json=asked)).json()["session_id"]
        lose(tiny_copy / "books")
        for path in ("/chat/run", "/chat/stream"):
            refused = await client.post(path, json=asked)
            assert_unsearchable(refused)
            assert str(tiny_copy) not in refused.text
        assert_unsearchable(await client.get("/books/tiny/toc"))
        assert_unsearchable(await client.get("/books"))
        thread = await client.get(f"/threads/{session}")
        ready = await client.get("/ready")
        if (tiny_copy / "books").is_file():
            (tiny_copy / "books").unlink()
        (tiny_copy / "elsewhere").rename(tiny_copy / "books")
        back = await client.post("/chat/run", json=asked)

    assert len(thread.json()["messages"]) == 2
    assert (ready.status_code, ready.json()["parts"]["index"]["ready"]) == (503, False)
    assert ready.json()["parts"]["store"]["ready"] is True
    assert str(tiny_copy) not in ready.text
    assert back.status_code == 200


async def test_a_damaged_index_is_told_to_readers_in_their_words(
    services: Services, tiny_copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (revision,) = (tiny_copy / "books" / "tiny" / "revisions").iterdir()
    shutil.rmtree(revision / "shard")
    async with serving(services) as client:
        assert_unsearchable(await client.post("/chat/run", json=ASKED))

    assert "is incomplete or damaged; ingest the book again" in caplog.text


async def test_no_folder_of_the_server_is_told_to_anyone(tmp_path: Path, tiny_copy: Path) -> None:
    async with serving(build_services(tmp_path)) as client:
        empty = [await client.get("/ready"), await client.post("/chat/run", json=ASKED)]
    newer = build_services(tiny_copy)
    async with newer, newer.threads.database.write_transaction() as connection:
        await connection.exec_driver_sql("UPDATE citewell_schema SET version_num = '0099'")
    # Not started: a service that runs when a newer one migrates its database is in this place.
    transport = httpx.ASGITransport(app.create_app(newer), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        overtaken = await client.get("/books")

    assert [reply.status_code for reply in (*empty, overtaken)] == [503, 404, 503]
    assert "No book has been ingested yet" in empty[0].text
    assert overtaken.json()["code"] == "StoreMismatch"
    for reply in (*empty, overtaken):
        assert str(tmp_path) not in reply.text


async def test_a_service_of_several_books_is_ready_when_each_can_be_opened(
    tiny_book: Path, tiny_copy: Path
) -> None:
    ingest(tiny_book, tiny_copy / "books", HashEmbedder(), book="second")
    async with serving(build_services(tiny_copy)) as client:
        ready = await client.get("/ready")
    (revision,) = (tiny_copy / "books" / "second" / "revisions").iterdir()
    shutil.rmtree(revision / "shard")
    async with serving(build_services(tiny_copy)) as client:
        damaged = await client.get("/ready")

    assert (ready.status_code, damaged.status_code) == (200, 503)


@pytest.mark.usefixtures("no_upkeep")
async def test_what_can_be_done_without_leaves_the_service_ready_but_degraded(
    services: Services, tiny_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(services) as client:
        whole = await client.get("/ready")
        monkeypatch.setattr(health, "CACHE_SECONDS", 0.0)
        with monkeypatch.context() as filled:
            filled.setattr(wiring, "MIN_FREE_BYTES", 2**62)
            full = await client.get("/ready")
        await services.threads.close()
        _spoil(tiny_copy)
        lost = await client.get("/ready")

    assert (whole.json()["ready"], whole.json()["degraded"]) == (True, False)
    for reply in (full, lost):
        assert (reply.status_code, reply.json()["ready"]) == (200, True)
        assert reply.json()["degraded"] is True
        assert reply.json()["parts"]["store"]["ready"] is False
        assert str(tiny_copy) not in reply.text
    assert full.json()["parts"]["store"]["detail"] == "Nothing can be stored right now."


async def test_readiness_is_looked_at_once_for_all_who_ask(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0
    embed = services.embedder.embed_query

    def counted(text: str) -> Any:
        nonlocal looked
        looked += 1
        return embed(text)

    monkeypatch.setattr(health, "CACHE_SECONDS", 3600.0)
    async with serving(services) as client:
        monkeypatch.setattr(services.embedder, "embed_query", counted)
        replies = await asyncio.gather(*(client.get("/ready") for _ in range(20)))
        replies += [await client.get("/ready") for _ in range(5)]

    assert {reply.status_code for reply in replies} == {200}
    assert looked == 1


def _spoil(data: Path) -> None:
    for file in data.glob("threads.db*"):
        file.unlink()
    (data / "threads.db").write_bytes(b"no database" * 1000)


@contextmanager
def locked(data: Path) -> Iterator[None]:
    with closing(sqlite3.connect(data / "threads.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.usefixtures("no_upkeep")
async def test_without_the_store_answers_are_given_and_say_they_are_not_kept(
    services: Services, tiny_copy: Path
) -> None:
    async with serving(services) as client:
        kept = (await client.post("/chat/run", json=ASKED)).json()
        await services.threads.close()  # the next connection sees the file as it is now
        _spoil(tiny_copy)

        whole = await client.post("/chat/run", json=ASKED)
        streamed = await client.post(
            "/chat/stream", json={**ASKED, "session_id": kept["session_id"]}
        )
        history = await client.get(f"/threads/{kept['session_id']}")
        listed = await client.get("/threads")
        ready = await client.get("/ready")

    assert kept["notices"] == []
    assert (whole.status_code, whole.json()["response"]) == (200, kept["response"])
    (notice,) = whole.json()["notices"]
    assert notice["code"] == "not_kept"
    assert notice["detail"].startswith("This answer could not be saved")
    assert parse_sse(streamed.text)[-1][2]["notices"] == [notice]
    for reply in (history, listed):
        assert (reply.status_code, reply.json()["code"]) == (503, "StoreUnavailable")
        assert reply.json()["detail"] == "Conversations cannot be stored or read right now."
        assert reply.headers["retry-after"] == "5"
    assert ready.json()["parts"]["store"]["ready"] is False


@pytest.mark.usefixtures("no_upkeep")
async def test_a_store_that_is_locked_keeps_nothing_of_half_a_turn(
    services: Services, tiny_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from citewell.storage import database

    # SQLite itself waits for a lock: while the service starts it should, later it need not.
    retry_policy = [5000]

    def tune(connection: Any, _: Any) -> None:
        connection.execute(f"PRAGMA busy_timeout={retry_policy[0]}")

    monkeypatch.setattr(database, "_tune_sqlite", tune)
    services = build_services(tiny_copy)
    async with serving(services) as client:
        retry_policy[0] = 1
        await services.threads.close()  # connections from here on do not wait
        with locked(tiny_copy):
            unkept = (await client.post("/chat/run", json=ASKED)).json()
            session = unkept["session_id"]
        missing = await client.get(f"/threads/{session}")
        logged = await client.get("/answers")
        kept = await client.post("/chat/run", json={**ASKED, "session_id": session})
        thread = await client.get(f"/threads/{session}")

    assert [notice["code"] for notice in unkept["notices"]] == ["not_kept"]
    assert (missing.status_code, logged.json()) == (404, [])
    assert kept.json()["notices"] == []
    assert len(thread.json()["messages"]) == 2


NOBODY = LlmOptions(base_url="http://127.0.0.1:9/v1", retries=0, fallback=False)
"""A port of loopback that nobody listens on."""
MODEL = "openai/large"


async def test_a_model_that_is_down_is_told_before_or_within_the_stream(tiny_copy: Path) -> None:
    async with serving(build_services(tiny_copy, model=MODEL, llm=NOBODY)) as client:
        whole = await client.post("/chat/run", json=ASKED)
        streamed = await client.post("/chat/stream", json=ASKED)

    assert (whole.status_code, whole.json()["code"]) == (503, "ModelUnavailable")
    assert whole.json()["detail"] == "The model cannot be used right now."
    assert whole.headers["retry-after"] == "5"
    *_, (_, last, problem) = parse_sse(streamed.text)
    assert (last, problem["status"], problem["code"]) == ("error", 503, "ModelUnavailable")


async def test_the_embedded_model_quotes_the_book_instead_if_it_is_in_the_list(
    tiny_copy: Path,
) -> None:
    services = build_services(tiny_copy, model=f"{MODEL},embedded", llm=NOBODY)
    async with serving(services) as client:
        reply = (await client.post("/chat/run", json=ASKED)).json()
        receipt = (await client.get(f"/answers/{reply['answer_id']}")).json()
    async with serving(build_services(tiny_copy)) as client:
        embedded = (await client.post("/chat/run", json=ASKED)).json()

    assert [notice["code"] for notice in reply["notices"]] == ["embedded_answer"]
    assert (reply["response"], reply["model"]) == (embedded["response"], "embedded")
    assert receipt["model"] == "embedded"


@pytest.fixture
def in_memory(tiny_data: Path) -> Iterator[Path]:
    """A data folder on a file system in memory."""
    memory = Path("/dev/shm")
    if not memory.is_mount():
        pytest.skip("needs a tmpfs")
    with TemporaryDirectory(dir=memory) as folder:
        shutil.copytree(tiny_data / "books", Path(folder) / "books")
        yield Path(folder)


async def test_a_book_that_a_full_tmpfs_cannot_map_is_refused_and_the_service_lives(
    in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = shutil.disk_usage(in_memory)
    async with serving(build_services(in_memory)) as client:
        monkeypatch.setattr(qdrant_local, "disk_usage", lambda _: used._replace(free=4_096))
        full = [await client.post(path, json=ASKED) for path in ("/chat/run", "/chat/stream")]
        health = await client.get("/health")
        monkeypatch.undo()
        later = await client.post("/chat/run", json=ASKED)

    assert [reply.status_code for reply in full] == [507, 507]
    assert full[0].json()["code"] == "DiskFull"
    assert (health.status_code, later.status_code) == (200, 200)
