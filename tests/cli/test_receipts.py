"""`citewell receipt`, `citewell replay` and `citewell ask` about a selection, as users see them."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Citewell
from tests.servers import write_tiny_book

FOG = "In fog the keeper sounds a horn."


def asked(citewell: Citewell, data: Path, *arguments: str) -> str:
    """Ask, and give the answer's id."""
    run = citewell("ask", *arguments, data=data)
    assert run.returncode == 0, run.stderr
    return re.findall(r"citewell receipt ([0-9a-f-]{36})", run.stdout)[0]


@pytest.fixture
def book(citewell: Citewell, tmp_path: Path) -> Path:
    """The tiny book, ingested by the command line into `data` beside it."""
    folder = write_tiny_book(tmp_path / "book")
    assert citewell("ingest", str(folder), data=tmp_path / "data").returncode == 0
    return folder


def test_a_receipt_shows_claims_passages_and_figures(citewell: Citewell, sample_data: Path) -> None:
    identity = asked(citewell, sample_data, "What is AMCL?")

    run = citewell("receipt", identity, data=sample_data)
    whole = json.loads(citewell("receipt", identity, "--json", data=sample_data).stdout)

    assert run.returncode == 0
    for words in (
        "What is AMCL?",
        "supported by quote (1.00)",
        "particle filter",
        "cosine",
        "instructions",
    ):
        assert words in run.stdout
    assert whole["answer_id"] == identity
    assert whole["response"] in run.stdout
    assert all(passage["chunk_id"] in run.stdout for passage in whole["passages"])


def test_an_unknown_receipt_is_one_sentence(citewell: Citewell, sample_data: Path) -> None:
    receipt = citewell("receipt", "nothing", data=sample_data)
    replay = citewell("replay", "nothing", data=sample_data)

    assert (receipt.returncode, replay.returncode) == (1, 2)
    assert "There is no answer nothing." in receipt.stderr
    assert "There is no answer nothing." in replay.stderr


def test_a_replay_tells_by_its_exit_code_whether_the_book_still_says_so(
    citewell: Citewell, book: Path
) -> None:
    data = book.parent / "data"
    identity = asked(citewell, data, "What does the keeper do in fog?")
    page = book / "docs/lamps/02-keeper.mdx"

    same = citewell("replay", identity, data=data)
    page.write_text(page.read_text("utf-8").replace("sounds a horn", "rings a bell"), "utf-8")
    citewell("ingest", str(book), data=data)
    changed = citewell("replay", identity, data=data)
    told = citewell("replay", identity, "--json", data=data)

    assert (same.returncode, changed.returncode, told.returncode) == (0, 1, 1)
    assert "Nothing differs." in same.stdout
    assert f"no longer in the book: “{FOG}”" in changed.stdout
    assert "then, unsupported now" in changed.stdout or "then, partly now" in changed.stdout
    assert json.loads(told.stdout)["lost_quotes"][0]["quote"] == FOG


def test_an_answer_whose_page_is_gone_would_be_refused_now(citewell: Citewell, book: Path) -> None:
    data = book.parent / "data"
    identity = asked(citewell, data, "What does the keeper do in fog?")
    (book / "docs/lamps/02-keeper.mdx").unlink()
    citewell("ingest", str(book), data=data)

    run = citewell("replay", identity, data=data)

    assert run.returncode == 1
    assert "passage vanished: The keeper" in run.stdout
    assert "answered then, would be refused now" in run.stdout
    assert re.search(r"confidence \w+ then, insufficient now", run.stdout)


def test_a_selection_is_refused_also_where_the_book_is_small(
    citewell: Citewell, book: Path
) -> None:
    data = book.parent / "data"

    inside = citewell("ask", "What does the keeper do in fog?", "--selected", FOG, data=data)
    outside = citewell("ask", "What is a Fresnel lens made of?", "--selected", FOG, data=data)

    assert f"{FOG} [1]" in inside.stdout
    assert "The selected text doesn't answer that." in outside.stdout


def test_a_selection_is_asked_about_alone(
    citewell: Citewell, sample_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    selected = "The dough rests for two hours. Then it is baked."
    file = tmp_path / "selected.txt"
    file.write_text(selected, "utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(selected.encode()), "utf-8"))

    for option in (("--selected", selected), ("--selection", str(file)), ("--selection", "-")):
        run = citewell("ask", "How long does the dough rest?", *option, data=sample_data)

        assert "The dough rests for two hours. [1]" in run.stdout, run.stderr
        assert "the text you gave; it is not in the book" in run.stdout

    refused = citewell("ask", "What is AMCL?", "--selected", selected, data=sample_data)
    both = citewell("ask", "x", "--selected", "x", "--selection", str(file), data=sample_data)
    assert "doesn't mention “AMCL”" in refused.stdout
    assert both.returncode == 2
