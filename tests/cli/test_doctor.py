"""`citewell doctor` says what is wrong, whatever it is, and nothing else."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from citewell.models.embedder import MODEL_ID
from tests.cli.conftest import Citewell


@pytest.fixture
def data(sample_data: Path, tmp_path: Path) -> Path:
    """The sample's data folder, which the test may break."""
    return Path(shutil.copytree(sample_data, tmp_path / "data", dirs_exist_ok=True))


def _line(said: str, name: str) -> str:
    return next(line for line in said.splitlines() if line[4:].startswith(f"{name}:"))


def test_weights_that_were_changed_are_not_called_checked(citewell: Citewell, data: Path) -> None:
    model = data / "models" / MODEL_ID / "model.onnx"
    content = bytearray(model.read_bytes())
    middle = len(content) // 2  # within the weights: the graph around them can still be loaded
    content[middle : middle + 200_000] = os.urandom(200_000)
    model.write_bytes(content)

    run = citewell("doctor", data=data)

    assert run.returncode == 1
    assert _line(run.stdout, "embedder").startswith("no")
    assert "damaged; delete that folder to recreate it" in _line(run.stdout, "embedder")


def test_a_folder_of_another_name_is_told_and_not_read(
    citewell: Citewell, data: Path, tmp_path: Path
) -> None:
    citewell("keys", "create", "website", data=data)
    other = data.rename(tmp_path / ".former")

    run = citewell("doctor", data=data)

    assert run.returncode == 1
    assert f"{other} is not read" in _line(run.stdout, "other data folder")
    assert f"set CITEWELL_DATA_DIR={other}" in run.stdout


def test_a_damaged_database_is_named_with_what_is_wrong(citewell: Citewell, data: Path) -> None:
    citewell("keys", "create", "website", data=data)
    database = data / "threads.db"
    content = bytearray(database.read_bytes())
    content[4096 : 4 * 4096] = os.urandom(3 * 4096)
    database.write_bytes(content)

    run = citewell("doctor", data=data)

    assert run.returncode == 1
    assert _line(run.stdout, "conversations").startswith("no")
    assert "The database says: " in _line(run.stdout, "conversations")
    assert "your question was not lost" not in run.stdout


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE citewell_schema RENAME TO another_schema",
        "UPDATE citewell_schema SET version_num = '9999'",
    ],
)
def test_a_database_of_another_program_or_version_is_reported(
    citewell: Citewell, data: Path, change: str
) -> None:
    citewell("keys", "create", "website", data=data)
    with closing(sqlite3.connect(data / "threads.db")) as connection, connection:
        connection.execute(change)

    run = citewell("doctor", data=data)

    assert run.returncode == 1
    assert _line(run.stdout, "conversations").startswith("no")
    assert "or ingest the book again into a new data folder" in run.stdout


def test_what_is_wrong_with_the_database_is_told_to_whoever_makes_a_key(
    citewell: Citewell, tmp_path: Path
) -> None:
    (tmp_path / "threads.db").write_bytes(b"no database" * 1000)

    run = citewell("keys", "create", "website", data=tmp_path)

    assert run.returncode == 1
    assert "file is not a database" in run.stderr
    assert "restore a backup" in run.stderr


@pytest.mark.parametrize("lost", ["manifest.json", ""])
def test_a_book_whose_index_cannot_be_read_is_named(
    citewell: Citewell, data: Path, lost: str
) -> None:
    (revision,) = (data / "books" / "physical-ai" / "revisions").iterdir()
    if lost:
        (revision / lost).write_bytes(b"")
    else:
        shutil.rmtree(revision)

    run = citewell("doctor", data=data)

    assert run.returncode == 1
    assert _line(run.stdout, "books").startswith("no")
    assert "'physical-ai'" in _line(run.stdout, "books")
    assert "ingest the book again" in _line(run.stdout, "books")


def test_a_model_without_its_key_is_blamed_alone_and_the_next_one_answers(
    citewell: Citewell, tiny_book: Path, tmp_path: Path
) -> None:
    data, models = tmp_path / "data", {"CITEWELL_MODEL": "openai/gpt-4.1,embedded"}
    citewell("ingest", str(tiny_book), data=data)

    run = citewell("doctor", data=data, **models)
    asked = citewell("ask", "What is a Fresnel lens made of?", data=data, **models)

    assert run.returncode == 1
    assert _line(run.stdout, "conversations").startswith("ok")
    assert _line(run.stdout, "model").startswith("no")
    assert "needs a key: set OPENAI_API_KEY" in _line(run.stdout, "model")
    assert "embedded, quotes the book" in _line(run.stdout, "model")
    assert asked.returncode == 0, asked.stderr
    assert "concentric rings of glass" in asked.stdout
    assert "so the book is quoted instead" in " ".join(asked.stdout.split())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
@pytest.mark.parametrize("command", [("doctor",), ("ask", "What is a lens?"), ("books",)])
def test_a_folder_without_permission_is_one_sentence(
    citewell: Citewell, tmp_path: Path, command: tuple[str, ...]
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0)
    try:
        run = citewell(*command, data=closed / "data")
    finally:
        closed.chmod(0o700)

    assert run.returncode == 1
    assert "Traceback" not in run.stderr + run.stdout


def test_what_is_made_can_be_read_by_its_owner_alone(
    citewell: Citewell, tiny_book: Path, tmp_path: Path
) -> None:
    data = tmp_path / "home" / "data"
    citewell("keys", "create", "website", data=data)
    ingested = tmp_path / "other" / "data"
    citewell("ingest", str(tiny_book), data=ingested)

    assert data.stat().st_mode & 0o777 == 0o700
    assert ingested.stat().st_mode & 0o777 == 0o700
    for file in data.glob("*.db*"):
        assert file.stat().st_mode & 0o777 == 0o600, file


def test_a_mistyped_setting_is_refused_with_the_one_that_was_meant(
    citewell: Citewell, tmp_path: Path
) -> None:
    run = citewell("serve", "--show-settings", data=tmp_path, CITEWELL_MODLE="embedded")

    assert run.returncode == 1
    assert "CITEWELL_MODLE is not a setting. Did you mean CITEWELL_MODEL?" in run.stderr


def test_variables_of_others_with_the_same_prefix_are_left_alone(
    citewell: Citewell, tmp_path: Path
) -> None:
    cluster = {"CITEWELL_SERVICE_HOST": "10.0.0.1", "CITEWELL_PORT_80_TCP": "tcp://10.0.0.1:80"}

    assert citewell("serve", "--show-settings", data=tmp_path, **cluster).returncode == 0
