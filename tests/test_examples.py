"""The scripts in `examples/` are run as a reader runs them."""

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from citewell.api.app import create_app
from citewell.settings import Settings
from citewell.wiring import Services, wire_services
from tests.api.live_server import served
from tests.api.serving import access, new_key, with_settings
from tests.conftest import SAMPLE

pytestmark = pytest.mark.slow

NODE = "What is a ROS 2 node?"


async def run(script: str, *arguments: str, data: Path) -> str:
    """Run a script to its end, and give what it prints."""
    environment = {**os.environ, "CITEWELL_DATA_DIR": str(data), "COLUMNS": "200"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(SAMPLE.parent / script), *arguments),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, wrong = await asyncio.wait_for(process.communicate(), 240)
    assert process.returncode == 0, wrong.decode()
    return printed.decode()


@pytest.mark.parametrize("script", ["openai_client.py", "mcp_client.py"])
async def test_an_example_asks_a_service_that_wants_a_key(
    sample_data: Path, tmp_path: Path, script: str
) -> None:
    shutil.copytree(sample_data / "books", tmp_path / "books")
    (tmp_path / "models").symlink_to(sample_data / "models")
    services = wire_services(Settings(data_dir=tmp_path))
    key = await new_key(services)
    app = create_app(with_settings(services, **access(mode="keys")))
    async with served(app) as address:
        printed = await run(script, "--url", address, "--key", key, NODE, data=tmp_path)

    assert "[1]" in printed
    assert "named object that performs one job" in printed
    assert "https://physical-ai.example/" in printed


async def test_the_conversation_goes_on_in_the_example(sample: Services, sample_data: Path) -> None:
    questions = ("What is the zero moment point?", "Why does it matter?")
    async with served(create_app(sample)) as address:
        printed = await run("openai_client.py", "--url", address, *questions, data=sample_data)

    first, _, second = printed.partition("> Why does it matter?")
    assert "[1]" in first
    assert "zero moment point" in second.lower()


async def test_the_example_starts_the_server_on_standard_input(sample_data: Path) -> None:
    printed = await run("mcp_client.py", "--stdio", NODE, data=sample_data)

    assert "Tools: ask, search_textbook, read_section, table_of_contents" in printed
    assert "named object that performs one job" in printed
