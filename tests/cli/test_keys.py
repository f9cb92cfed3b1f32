"""Keys from the command line, and what `serve` does without them."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Citewell


def test_a_key_is_shown_once_and_kept_as_a_hash(citewell: Citewell, tmp_path: Path) -> None:
    data = tmp_path / "data"

    made = citewell("keys", "create", "website", "--scope", "ask", "--scope", "admin", data=data)
    listed = citewell("keys", "list", data=data)

    secret = made.stdout.strip()
    assert re.fullmatch(r"cw_[\w-]{43}", secret)
    assert "website: ask, admin. Its secret is shown only once" in made.stderr
    assert "website" in listed.stdout
    assert "never expires" in listed.stdout
    assert secret not in listed.stdout + listed.stderr + made.stderr
    assert all(secret.encode() not in file.read_bytes() for file in data.glob("threads.db*"))
    with closing(sqlite3.connect(data / "threads.db")) as database:
        ((digest,),) = database.execute("SELECT digest FROM access_keys").fetchall()
    assert re.fullmatch(r"[0-9a-f]{64}", digest)


def test_a_publishable_key_is_bound_to_its_sites(citewell: Citewell, tmp_path: Path) -> None:
    data = tmp_path / "data"

    made = citewell(
        "keys", "create", "widget", "--publishable", "--origin", "https://Book.example:443/",
        "--origin", "http://localhost:3000", "--days", "30", data=data,
    )  # fmt: skip
    listed = citewell("keys", "list", data=data)

    assert made.stdout.startswith("cw_pub_")
    assert "ask on https://book.example, http://localhost:3000, expires 2" in listed.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("widget", "--publishable"), "A publishable key needs its sites"),
        (("widget", "--origin", "https://book.example"), "A publishable key needs its sites"),
        (("w", "--publishable", "--origin", "book.example"), "'book.example' is not an origin"),
        (("w", "--publishable", "--origin", "https://[x"), "'https://[x' is not an origin"),
        (("w", "--publishable", "--origin", "https://a.example/page"), "is not an origin"),
        (
            ("w", "--publishable", "--origin", "https://a.example", "--scope", "admin"),
            "its only scope may be ask",
        ),
        ((" ",), "A key's name has 1 to 64 characters"),
    ],
)
def test_a_key_that_makes_no_sense_is_refused_in_a_sentence(
    citewell: Citewell, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    run = citewell("keys", "create", *arguments, data=tmp_path / "data")

    assert run.returncode == 1
    assert said in run.stderr
    assert run.stdout == ""


def test_a_key_is_revoked_by_its_name_or_id_and_its_name_is_free_again(
    citewell: Citewell, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    citewell("keys", "create", "one", data=data)
    twice = citewell("keys", "create", "one", data=data)
    revoked = citewell("keys", "revoke", "one", data=data)
    again = citewell("keys", "revoke", "one", data=data)
    citewell("keys", "create", "one", data=data)
    live = citewell("keys", "list", data=data)
    every = citewell("keys", "list", "--all", data=data)
    identity = re.search(r"key_[0-9a-f]{12}", live.stdout)
    assert identity is not None
    by_id = citewell("keys", "revoke", identity[0], data=data)
    none = citewell("keys", "list", data=data)

    assert "There is already a key 'one'." in twice.stderr
    assert revoked.stdout.startswith("Revoked key_")
    assert (again.returncode, "There is no key 'one' to revoke." in again.stderr) == (1, True)
    assert (len(live.stdout.splitlines()), len(every.stdout.splitlines())) == (1, 2)
    assert "revoked 2" in every.stdout
    assert by_id.returncode == 0
    assert "There are none." in none.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "book.example"])
def test_serve_does_not_listen_beyond_loopback_without_a_key(
    citewell: Citewell, sample_data: Path, host: str
) -> None:
    run = citewell("serve", "--host", host, "--port", "0", data=sample_data)

    assert run.returncode == 1
    assert f"Citewell does not listen on {host} without a key" in run.stderr
    assert "citewell keys create" in run.stderr
    assert "--open" in run.stderr


@pytest.mark.parametrize(("how", "status"), [("--open", 200), ("key", 401)])
def test_serve_listens_beyond_loopback_if_told_so_or_with_a_key(
    citewell: Citewell, sample_data: Path, tmp_path: Path, how: str, status: int
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for part in ("books", "models"):
        (data / part).symlink_to(sample_data / part)
    if how == "key":
        citewell("keys", "create", "one", data=data)
    more = ["--open"] if how == "--open" else []
    with subprocess.Popen(
        [sys.executable, "-m", "citewell", "serve", "--host", "0.0.0.0", "--port", "0", *more],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CITEWELL_DATA_DIR": str(data), "COLUMNS": "200"},
    ) as server:
        assert server.stderr is not None
        port = next(
            found[1] for line in server.stderr if (found := re.search(r"http://[\d.]+:(\d+)", line))
        )
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/books") as reply:
                answered = reply.status
        except urllib.error.HTTPError as error:
            answered = error.code
            error.close()
        finally:
            server.send_signal(signal.SIGINT)
            server.stderr.read()

    assert answered == status


def test_a_redis_url_is_not_printed_and_one_that_cannot_be_used_is_told(
    citewell: Citewell, sample_data: Path
) -> None:
    shown = citewell(
        "serve", "--show-settings", data=sample_data, CITEWELL_REDIS_URL="redis://:secret@host/0"
    )
    wrong = citewell("serve", "--port", "0", data=sample_data, CITEWELL_REDIS_URL="http://host/0")

    assert "secret" not in shown.stdout
    assert wrong.returncode == 1
    assert "CITEWELL_REDIS_URL cannot be used" in wrong.stderr


def test_a_key_for_a_book_that_is_not_there_is_made_with_a_warning(
    citewell: Citewell, tmp_path: Path
) -> None:
    made = citewell("keys", "create", "course", "--book", "anatmy", data=tmp_path / "data")

    assert made.returncode == 0
    assert "no book is called 'anatmy'" in made.stderr
