"""What the page on moving from Agent Builder shows is run as it stands."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from citewell.api.app import create_app
from citewell.settings import read_settings
from citewell.wiring import wire_services
from tests.api.live_server import served
from tests.conftest import SAMPLE

pytestmark = pytest.mark.slow

PAGE = (SAMPLE.parent.parent / "docs" / "migrating-from-agent-builder.md").read_text("utf-8")


async def run(code: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code),
        env=dict(os.environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, wrong = await asyncio.wait_for(process.communicate(), 240)
    assert process.returncode == 0, wrong.decode()
    return printed.decode()


@pytest.fixture
def declared() -> None:
    (settings,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    Path("citewell.toml").write_text(settings, "utf-8")


@pytest.mark.usefixtures("declared")
async def test_a_site_and_an_exported_agent_move_as_the_page_says(sample_data: Path) -> None:
    site, agent = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    services = wire_services(read_settings(data_dir=sample_data))
    async with served(create_app(services)) as address:
        asked = await run(site.replace("http://127.0.0.1:8000", address))
        used = await run(agent.replace("http://127.0.0.1:8000", address))

    proven = "named object that performs one job"
    assert proven in asked
    assert "docs/02-ros2/01-nodes-and-topics.mdx" in asked
    assert asked.splitlines()[-2] == "True"
    assert asked.splitlines()[-1].startswith("Book context is unavailable")
    assert "'search_textbook'" in used
    assert proven in used
