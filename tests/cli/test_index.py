"""`citewell index migrate`, and the other commands while the books are on a server."""

import json
import re
from pathlib import Path
from uuid import uuid4

from tests.cli.conftest import Citewell


def test_books_are_moved_to_a_server_and_back(
    citewell: Citewell, qdrant: str, sample_data: Path, tmp_path: Path
) -> None:
    there = {"CITEWELL_INDEX_URL": qdrant, "CITEWELL_INDEX__PREFIX": f"t{uuid4().hex[:8]}"}
    empty = tmp_path / "empty"
    moved = citewell("index", "migrate", "--to", "server", data=sample_data, **there)
    assert moved.returncode == 0, moved.stderr

    listed = citewell("books", "--json", data=empty, **there)
    report = citewell("books", "report", "physical-ai", "--json", data=empty, **there)
    asked = citewell("ask", "What is AMCL?", data=empty, **there)
    contents = citewell("toc", data=empty, **there)
    examined = citewell("doctor", data=empty, **there)
    book, *_ = json.loads(listed.stdout)
    assert (book["book"], book["bytes"]) == ("physical-ai", 0)
    assert json.loads(report.stdout)["revision"] == book["revision"]
    assert "particle filter" in asked.stdout
    assert contents.stdout == citewell("toc", data=sample_data, CITEWELL_INDEX_URL="").stdout
    assert f"books: on {qdrant.removeprefix('http://')}: physical-ai" in examined.stdout
    assert not (empty / "books").exists()

    back = citewell("index", "migrate", "--to", "embedded", "physical-ai", data=empty, **there)
    checksum = re.compile(r"checksum ([0-9a-f]{16}) on both sides")
    assert checksum.search(back.stdout)[1] == checksum.search(moved.stdout)[1]
    here = citewell("ask", "What is AMCL?", data=empty, CITEWELL_INDEX_URL="")
    assert here.stdout.partition("[1]")[0] == asked.stdout.partition("[1]")[0]

    # What was exported goes to the server when it is imported.
    file = tmp_path / "book.citewell"
    other = {**there, "CITEWELL_INDEX__PREFIX": f"t{uuid4().hex[:8]}"}
    host = tmp_path / "host"
    assert citewell("export", "physical-ai", str(file), data=host, **there).returncode == 0
    assert citewell("import", str(file), data=host, **other).returncode == 0
    assert json.loads(citewell("books", "--json", data=empty, **other).stdout)[0]["chunks"]

    removed = citewell("books", "remove", "physical-ai", data=host, **other)
    assert removed.returncode == 0
    gone = citewell("books", data=empty, **other)
    assert "No book has been ingested into 127.0.0.1" in gone.stderr


def test_without_a_server_there_is_nothing_to_move(citewell: Citewell, tmp_path: Path) -> None:
    run = citewell("index", "migrate", "--to", "server", data=tmp_path)

    assert run.returncode == 1
    assert "CITEWELL_INDEX_URL is not set" in run.stderr
