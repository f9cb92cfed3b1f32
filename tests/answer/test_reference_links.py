"""A book that defines its links elsewhere on the page: answers show words, not brackets."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from asgi_lifespan import LifespanManager

from citewell.api.app import create_app
from citewell.ingest.pipeline import ingest
from citewell.settings import Settings
from citewell.wiring import books_folder, wire_services

BEACONS = """# Beacons

[Mermaid.js] draws the chart of every beacon, [like you would with a pencil][pencil] on paper[^1].

The [Fresnel lens][] of a beacon bends the light into one beam {.wide #lens}.

Keeper's log
: The log of the keeper records every change of the lamp with its date.

The interval [0, 1] holds the brightness of the lamp.

| Part | Made of |
| --- | --- |
| Lantern pane | [Borosilicate glass][glass] |
| Vent ball | [Copper] |

[^1]: Paper is made of wood.

[Mermaid.js]: https://mermaid.js.org
[pencil]: https://pencil.example
[Fresnel lens]: https://lens.example
[glass]: https://glass.example
[Copper]: https://copper.example
"""


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    (tmp_path / "beacons").mkdir()
    (tmp_path / "beacons" / "beacons.md").write_text(BEACONS)
    settings = Settings(data_dir=tmp_path / "data")
    services = wire_services(settings)
    ingest(tmp_path / "beacons", books_folder(settings), services.embedder)
    app = create_app(services)
    async with LifespanManager(app, startup_timeout=120, shutdown_timeout=120):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


async def test_answers_show_the_words_of_links_and_quote_the_authors_bytes(
    client: httpx.AsyncClient,
) -> None:
    said: dict[str, str] = {}
    for question in (
        "What does Mermaid.js draw?",
        "What does the Fresnel lens of a beacon do?",
        "What does the log of the keeper record?",
        "What is the lantern pane made of?",
        "What holds the brightness of the lamp?",
    ):
        reply = (await client.post("/chat/run", json={"message": question})).json()
        said[question] = re.sub(r" ?\[\d+\]", "", reply["response"])
        for claim in reply["claims"]:
            assert claim["verdict"] in ("supported", "not_a_claim")
            for quote in claim["citations"]:
                assert quote["quote"] in BEACONS

    shown = "\n".join(said.values())
    assert "Mermaid.js draws the chart of every beacon, like you would with a pencil on" in shown
    assert "The Fresnel lens of a beacon bends the light into one beam." in shown
    assert "The log of the keeper records" in shown
    assert "| Lantern pane | Borosilicate glass |" in shown
    assert "The interval [0, 1] holds the brightness of the lamp." in shown
    assert set(re.findall(r"\[[^\]]*\]|\{[^}]*\}|^: ", shown, re.M)) <= {"[0, 1]"}
