"""A language model, from the command line: a real server on loopback that says what it is told."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Citewell
from tests.servers import ChatServer, Reply

LENS = "A Fresnel lens is a lens made of concentric rings of glass."


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(Reply(f"{LENS} [1] It was invented on the Moon. [1]")) as server:
        yield server


@pytest.fixture
def told(server: ChatServer) -> dict[str, str]:
    return {"CITEWELL_MODEL": "openai/told", "CITEWELL_LLM__BASE_URL": server.url}


def test_a_model_that_is_named_answers_with_proof(
    citewell: Citewell, tiny_book: Path, tmp_path: Path, told: dict[str, str]
) -> None:
    citewell("ingest", str(tiny_book), data=tmp_path / "data")

    run = citewell("ask", "What is a Fresnel lens made of?", data=tmp_path / "data", **told)

    assert run.returncode == 0, run.stderr
    assert f"{LENS} [1]" in run.stdout
    assert "Moon" not in run.stdout


def test_doctor_asks_each_model_for_a_word(
    citewell: Citewell, tmp_path: Path, server: ChatServer, told: dict[str, str]
) -> None:
    models = told | {"CITEWELL_MODEL": "openai/told,embedded"}

    run = citewell("doctor", data=tmp_path / "data", **models)

    assert run.returncode == 0, run.stdout
    assert "model: openai/told, gets one prompt, answered in" in run.stdout
    assert "then embedded, quotes the book" in run.stdout
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(status=401), "The model 'openai/told' refuses the key (401)."),
        (Reply(status=404), "The model 'openai/told' refuses the request (404)"),
        (Reply(status=500), "The model 'openai/told' answers 500"),
    ],
)
def test_doctor_says_what_is_wrong_with_a_model(
    citewell: Citewell,
    tmp_path: Path,
    server: ChatServer,
    told: dict[str, str],
    reply: Reply,
    said: str,
) -> None:
    server.replies[0] = reply

    run = citewell("doctor", data=tmp_path / "data", **told)

    assert run.returncode == 1
    assert said in run.stdout


def test_a_model_without_its_key_is_told_at_once(citewell: Citewell, tmp_path: Path) -> None:
    run = citewell("ask", "What?", data=tmp_path / "data", CITEWELL_MODEL="openai/gpt-4.1")

    assert run.returncode == 1
    assert "CITEWELL_MODEL='openai/gpt-4.1' needs a key: set OPENAI_API_KEY" in run.stderr


def test_what_follows_an_answer_is_not_broken_in_a_narrow_terminal(
    citewell: Citewell, tiny_book: Path, tmp_path: Path
) -> None:
    citewell("ingest", str(tiny_book), data=tmp_path / "data")

    run = citewell("ask", "What is a Fresnel lens?", data=tmp_path / "data", COLUMNS="40")

    assert re.search(r"^follow up with --thread [0-9a-f-]{36}$", run.stdout, re.M)
    assert re.search(r"^full record: citewell receipt [0-9a-f-]{36}$", run.stdout, re.M)
