"""Another embedder, from the command line: a real server on loopback, the real model behind it."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from asgi_lifespan import LifespanManager

from citewell.api.app import create_app
from citewell.models.embedder import GraniteEmbedder
from citewell.settings import read_settings
from citewell.wiring import wire_services
from tests.cli.conftest import Citewell
from tests.servers import EmbeddingServer, Fault

SERVED = "openai/granite"
LENS = "What is a Fresnel lens made of?"


@pytest.fixture(scope="module")
def granite(tmp_path_factory: pytest.TempPathFactory) -> GraniteEmbedder:
    return GraniteEmbedder(tmp_path_factory.mktemp("models"))


@pytest.fixture
def server(granite: GraniteEmbedder) -> Iterator[EmbeddingServer]:
    with EmbeddingServer(granite) as server:
        yield server


@pytest.fixture
def served(server: EmbeddingServer) -> dict[str, str]:
    return {
        "CITEWELL_EMBEDDER": SERVED,
        "CITEWELL_EMBEDDING__BASE_URL": server.url,
        "CITEWELL_EMBEDDING__WIDTH": "384",
    }


def test_a_book_is_ingested_and_answers_through_another_embedder(
    citewell: Citewell,
    tiny_book: Path,
    tmp_path: Path,
    server: EmbeddingServer,
    served: dict[str, str],
) -> None:
    data = tmp_path / "data"
    ingested = citewell("ingest", str(tiny_book), "--book", "tiny", "--json", data=data, **served)
    report = json.loads(ingested.stdout)
    again = citewell("ingest", str(tiny_book), "--book", "tiny", data=data, **served)
    sent = len(server.texts)

    answer = citewell("ask", LENS, data=data, **served)

    assert report["embedded"] == report["chunks"] == sent
    assert "nothing changed" in again.stderr
    assert "concentric rings of glass" in answer.stdout
    assert LENS in server.texts[sent:]
    manifest = json.loads(next(data.glob("books/tiny/revisions/*/manifest.json")).read_text())
    assert (manifest["embedder"], manifest["width"]) == ("openai/granite@384", 384)


def test_an_index_of_another_embedder_is_refused_until_the_book_is_ingested_again(
    citewell: Citewell,
    tiny_book: Path,
    tmp_path: Path,
    server: EmbeddingServer,
    served: dict[str, str],
) -> None:
    data = tmp_path / "data"
    first = citewell("ingest", str(tiny_book), "--book", "tiny", "--json", data=data)

    refused = citewell("ask", LENS, data=data, **served)
    second = citewell("ingest", str(tiny_book), "--book", "tiny", "--json", data=data, **served)
    answer = citewell("ask", LENS, data=data, **served)

    assert refused.returncode == 1
    assert (
        "was built with the embedder 'granite-embedding-30m-english@1', "
        "but 'openai/granite@384' is configured."
    ) in refused.stderr
    assert "Ingest the book again" in refused.stderr
    before, after = json.loads(first.stdout), json.loads(second.stdout)
    assert before["revision"] != after["revision"]
    assert after["embedded"] == after["chunks"] == before["chunks"]
    assert "concentric rings of glass" in answer.stdout


def test_doctor_names_the_embedder_its_address_and_that_it_is_not_calibrated(
    citewell: Citewell, tmp_path: Path, server: EmbeddingServer, served: dict[str, str]
) -> None:
    run = citewell("doctor", data=tmp_path / "data", **served)

    assert run.returncode == 0, run.stdout
    host = server.url.removeprefix("http://").removesuffix("/v1")
    assert f"embedder: openai/granite@384, 384 dimensions at {host}, answered in " in run.stdout
    assert "confidence: not calibrated for openai/granite@384" in run.stdout
    assert "training/fit_calibration.py" in run.stdout


def test_doctor_says_when_the_embedder_does_not_answer(
    citewell: Citewell, tmp_path: Path, server: EmbeddingServer, served: dict[str, str]
) -> None:
    server.faults.extend([Fault(503, {"retry-after": "0.01"})] * 2)

    run = citewell("doctor", data=tmp_path / "data", **served)

    assert run.returncode == 1
    assert "no  embedder: The embedder 'openai/granite' answers 503" in run.stdout


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"CITEWELL_EMBEDDER": "granite"}, "CITEWELL_EMBEDDER='granite' is not known"),
        ({"CITEWELL_EMBEDDER": SERVED}, "CITEWELL_EMBEDDING__WIDTH is not set"),
        ({"CITEWELL_EMBEDDER": "openai/text-embedding-3-small"}, "CITEWELL_EMBEDDING__API_KEY"),
        ({"CITEWELL_EMBEDDING__WIDTH": "none"}, "CITEWELL_EMBEDDING__WIDTH: "),
    ],
)
def test_a_setting_that_cannot_work_is_named(
    citewell: Citewell, tiny_book: Path, tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    run = citewell("ingest", str(tiny_book), data=tmp_path / "data", **settings)

    assert run.returncode == 1
    assert said in run.stderr


def test_the_key_is_not_printed_with_the_settings(
    citewell: Citewell, tmp_path: Path, served: dict[str, str]
) -> None:
    served["CITEWELL_EMBEDDING__API_KEY"] = "sk-secret"

    run = citewell("serve", "--show-settings", data=tmp_path / "data", **served)

    assert '"embedder": "openai/granite"' in run.stdout
    assert "sk-secret" not in run.stdout


async def test_the_service_starts_without_its_embedder_and_is_ready_once_it_is_back(
    citewell: Citewell,
    tiny_book: Path,
    tmp_path: Path,
    server: EmbeddingServer,
    served: dict[str, str],
) -> None:
    citewell("ingest", str(tiny_book), "--book", "tiny", data=tmp_path / "data", **served)
    down = Fault(503, {"retry-after": "0.01"})
    server.faults.extend([down] * 6)  # each question is sent twice: start, readiness, question
    app = create_app(wire_services(read_settings()))

    async with LifespanManager(app, startup_timeout=60):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            before = await client.get("/ready")
            refused = await client.post("/chat/run", json={"message": LENS})
            after = await client.get("/ready")

    assert before.status_code == 503
    assert before.json()["parts"]["embedder"]["detail"] == "The book cannot be searched right now."
    assert (refused.status_code, refused.json()["code"]) == (503, "EmbedderUnreachable")
    assert refused.headers["retry-after"]
    assert after.status_code == 200
