"""Services as processes, asked over HTTP; and a report of every item at the end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.book import write_book
from tests.conformance.report import Report, assert_documented
from tests.conformance.serving import Model, Service, command, copied, serving
from tests.conformance.slow import SLOW, Slow, ask_slowly
from tests.servers import EmbeddingServer, HashEmbedder

WORKFLOWS = """\
[[workflows]]
id = "book"
name = "Ask the book"

[[workflows]]
id = "safety"
name = "Safety officer"
description = "Answers from the chapter on safety."
instructions = "Answer for people who are new to robots."
filters = { chapter = "Safety" }

[[workflows]]
id = "bare"
ragIntegrationEnabled = false
"""
SITE = "https://site.example"

_report = Report()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _report.note(report)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    made = yield
    _report.describe(item, made)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    result = yield
    for mark in pyfuncitem.iter_markers("kept"):
        assert_documented(mark.args)
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    _report.write(terminalreporter)


@pytest.fixture(scope="session")
def keeper_data(sample_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small book, beside the sample."""
    folder = copied(sample_data, tmp_path_factory.mktemp("keeper"))
    command(folder, "ingest", str(write_book(folder / "keeper")))
    return folder


@pytest.fixture(scope="session")
def main(sample_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The sample book as a newcomer serves it: no key, no server, no setting that matters."""
    data = copied(sample_data, tmp_path_factory.mktemp("main"))
    (data / "citewell.toml").write_text(WORKFLOWS)
    with serving(data, CITEWELL_THREADS__SWEEP_SECONDS="1") as service:
        yield service


@pytest.fixture(scope="session")
def keeper(keeper_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The small book."""
    data = copied(keeper_data, tmp_path_factory.mktemp("small"))
    with serving(data, CITEWELL_BOOK="keeper") as service:
        yield service


@pytest.fixture(scope="session")
def model() -> Iterator[Model]:
    """A language model that says what it is told to."""
    with Model() as server:
        yield server


@pytest.fixture(scope="session")
def told(
    keeper_data: Path, model: Model, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """The sample book (and the small one), answered by that model, which may call tools."""
    data = copied(keeper_data, tmp_path_factory.mktemp("told"))
    (data / "citewell.toml").write_text(WORKFLOWS)
    settings = {
        "CITEWELL_BOOK": "physical-ai",
        "CITEWELL_MODEL": "openai/told",
        "CITEWELL_LLM__BASE_URL": model.url,
        "CITEWELL_LLM__TOOLS": "yes",
        "CITEWELL_LLM__FALLBACK": "false",
        "CITEWELL_CACHE__ANSWERS": "0",
        "CITEWELL_THREADS__SWEEP_SECONDS": "3600",
    }
    with serving(data, **settings) as service:
        yield service


@pytest.fixture(scope="session")
def slow(told: Service, model: Model) -> dict[str, Slow]:
    """One conversation of each data model whose first answer took the model a while."""
    return {seed: ask_slowly(told, model, seed) for seed in SLOW}


@pytest.fixture(scope="session")
def public(sample_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Open to anyone, behind a proxy that says who asks."""
    data = copied(sample_data, tmp_path_factory.mktemp("public"))
    with serving(data, "--open", CITEWELL_ACCESS__TRUSTED_PROXIES='["127.0.0.0/8"]') as service:
        yield service


@pytest.fixture(scope="session")
def keyed_data(sample_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(sample_data, tmp_path_factory.mktemp("keyed"))


@pytest.fixture(scope="session")
def keys(keyed_data: Path) -> dict[str, dict[str, str]]:
    """The headers of two secret keys, one that is used up, and a publishable one."""
    made = {
        name: _secret(command(keyed_data, "keys", "create", name)) for name in ("a", "b", "spent")
    }
    shown = command(keyed_data, "keys", "create", "page", "--publishable", "--origin", SITE)
    headers = {name: {"authorization": f"Bearer {secret}"} for name, secret in made.items()}
    return {**headers, "page": {"authorization": f"Bearer {_secret(shown)}", "origin": SITE}}


def _secret(printed: str) -> str:
    (secret,) = [word for word in printed.split() if word.startswith(("cw_", "qp_"))]
    return secret


@pytest.fixture(scope="session")
def keyed(keyed_data: Path, keys: dict[str, dict[str, str]]) -> Iterator[Service]:
    """Asked with keys only."""
    with serving(keyed_data, CITEWELL_ACCESS__MODE="keys") as service:
        yield service


class Wide(HashEmbedder):
    """Vectors as wide as those of text-embedding-3-small."""

    width = 1536


@pytest.fixture(scope="session")
def embeddings() -> Iterator[EmbeddingServer]:
    """What stands in for OpenAI's embeddings."""
    with EmbeddingServer(Wide()) as server:
        yield server


@pytest.fixture(scope="session")
def openai_embedder(embeddings: EmbeddingServer) -> dict[str, str]:
    return {
        "CITEWELL_EMBEDDER": "openai/text-embedding-3-small",
        "CITEWELL_EMBEDDING__BASE_URL": embeddings.url,
        "CITEWELL_EMBEDDING__API_KEY": "told",
    }
