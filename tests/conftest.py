"""Every test runs offline, with a clean environment and a data folder of its own."""

import gc
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from citewell.ingest.pipeline import ingest
from citewell.settings import Settings
from citewell.wiring import Services, books_folder, wire_services
from tests.qdrant_server import qdrant, qdrant_cluster
from tests.redis_server import redis_server
from tests.servers import HashEmbedder, build_services, write_tiny_book

if TYPE_CHECKING:
    from tests.postgres import Postgres

__all__ = ["qdrant", "qdrant_cluster", "redis_server"]

# A busy machine is no reason to fail, and a check of the same code ends the same way twice;
# new cases are looked for by `make fuzz`.
_BUSY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("steady", derandomize=True, **_BUSY)
settings.register_profile("search", max_examples=2000, print_blob=True, **_BUSY)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# A shell without job control starts what runs in the background with Ctrl-C ignored, and every
# process that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

SAMPLE = Path(__file__).parent.parent / "examples" / "physical-ai"


FOLDERS = ("browser", "cluster", "conformance")
SERVERS = {"qdrant", "qdrant_cluster", "redis_server"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser, other servers or a service per test; `make test-all` runs it."""
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder in FOLDERS:
            item.add_marker(folder)
        if SERVERS & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")


# Walking all that was imported, over and over, took a quarter of the time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [n for n in os.environ if n.startswith(("CITEWELL_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CITEWELL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True, scope="session")
def loopback_only() -> Iterator[None]:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else "local"
        if host not in ("127.0.0.1", "::1", "localhost", "local"):
            raise AssertionError(f"a test tried to reach {host}")
        connect(self, address)

    socket.socket.connect = guarded  # type: ignore[method-assign]
    yield
    socket.socket.connect = connect  # type: ignore[method-assign]


@pytest.fixture(scope="session")
def postgres() -> Iterator["Postgres"]:
    from tests.postgres import running_postgres

    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'threads.db'}"
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture(scope="session")
def tiny_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_book(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny_data(tiny_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the tiny book, embedded by the stand-in."""
    data = tmp_path_factory.mktemp("tiny-data")
    ingest(tiny_book, data / "books", HashEmbedder(), book="tiny")
    return data


@pytest.fixture
def tiny_copy(tiny_data: Path, tmp_path: Path) -> Path:
    """The tiny book in a data folder of the test's own, which it may break."""
    data = tmp_path / "tiny"
    shutil.copytree(tiny_data / "books", data / "books")
    return data


@pytest.fixture(scope="session")
def tiny(tiny_data: Path) -> Services:
    """The service over the tiny book, on stand-ins."""
    return build_services(tiny_data)


@pytest.fixture(scope="session")
def sample_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the sample book, embedded by the real model."""
    data = tmp_path_factory.mktemp("sample-data")
    settings = Settings(data_dir=data)
    ingest(SAMPLE, books_folder(settings), wire_services(settings).embedder)
    return data


@pytest.fixture(scope="session")
def sample(sample_data: Path) -> Services:
    """The real service over the sample book."""
    return wire_services(Settings(data_dir=sample_data))


@pytest.fixture
def say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Prints a figure, whether the output of tests is shown or not."""
    plugins = request.config.pluginmanager
    reporter, capture = plugins.get_plugin("terminalreporter"), plugins.get_plugin("capturemanager")

    def write(line: str) -> None:
        with capture.global_and_fixture_disabled():
            reporter.write_line(f"\n{line}")

    return write
