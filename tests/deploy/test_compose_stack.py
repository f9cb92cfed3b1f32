"""What the Compose file sets makes Citewell work on a real Qdrant, PostgreSQL and Redis."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.deploy.test_deploy_files import COMPOSE
from tests.qdrant_server import running_qdrant
from tests.redis_server import RedisServer
from tests.servers import write_tiny_book

pytestmark = pytest.mark.slow

SECRET = "made-up-for-this-test"


@pytest.fixture
def environment(redis_server: RedisServer, tmp_path: Path, sample_data: Path):  # type: ignore[no-untyped-def]
    """The environment of the service `citewell`, with the addresses of servers that run here."""
    from tests.postgres import running_postgres

    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "models").symlink_to(sample_data / "models")
    told = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]["citewell"]["environment"]
    told = {
        name: re.sub(r"\$\{\w+(?::-(\w+)|:\?)\}", lambda match: match[1] or SECRET, value)
        for name, value in told.items()
    }
    with running_qdrant(QDRANT__SERVICE__API_KEY=SECRET) as qdrant, running_postgres() as postgres:
        yield told | {
            "CITEWELL_INDEX_URL": told["CITEWELL_INDEX_URL"].replace(
                "http://qdrant:6333", qdrant.url
            ),
            "CITEWELL_DATABASE_URL": postgres.new_database(),
            "CITEWELL_REDIS_URL": redis_server.url,
        }


def citewell(environment: dict[str, str], data: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "citewell", *arguments],
        env=os.environ | environment | {"CITEWELL_DATA_DIR": str(data), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_host_answers_about_a_book_that_another_one_ingested(
    environment: dict[str, str], tmp_path: Path
) -> None:
    book = write_tiny_book(tmp_path / "tiny")
    citewell(environment, tmp_path / "data", "ingest", str(book))

    another = tmp_path / "another"
    another.mkdir()
    (another / "models").symlink_to(tmp_path / "data" / "models")
    answer = citewell(environment, another, "ask", "What is a Fresnel lens made of?")

    assert "rings" in answer
    assert not (another / "threads.db").exists()
