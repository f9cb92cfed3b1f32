"""The servers are real; they are started once for all tests here."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.cluster.hosts import Installation, installation
from tests.qdrant_server import Node
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from tests.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator["Postgres"]:
    from tests.postgres import running_postgres

    with running_postgres() as server:
        yield server


@pytest.fixture
def hosts(
    qdrant_cluster: list[Node],
    postgres: "Postgres",
    redis_server: RedisServer,
    tmp_path: Path,
) -> Iterator[Installation]:
    """An installation without books or conversations."""
    for node in qdrant_cluster:
        if node.process is None:
            node.start()
    prefix = f"t{uuid4().hex[:8]}"
    database = postgres.new_database()
    with installation(tmp_path, qdrant_cluster, database, redis_server, prefix) as made:
        yield made
