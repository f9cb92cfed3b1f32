"""What the OpenAPI document says of the service is what it does: schemathesis tries all of it.

The whole service is asked over a real socket, with a key, by made-up requests of every kind: right,
broken, without a key, with other methods, and in chains. `make test` makes up ten for each
operation, always the same; `make schemathesis` as many as CITEWELL_SCHEMA_EXAMPLES says, and the
edge of every field. CITEWELL_SEED makes up others.
"""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from citewell.api.app import create_app
from tests.api.live_server import served
from tests.api.serving import access, limits, new_key, with_settings
from tests.servers import build_services

pytestmark = pytest.mark.slow

HOOKS = Path(__file__).with_name("schema_hooks.py")
EXAMPLES = int(os.environ.get("CITEWELL_SCHEMA_EXAMPLES", "10"))
SEED = os.environ.get("CITEWELL_SEED", "1")
THOROUGH = "CITEWELL_SCHEMA_EXAMPLES" in os.environ
PHASES, AT_LEAST = ("coverage,fuzzing,stateful", 2_000) if THOROUGH else ("fuzzing,stateful", 300)
OFTEN = "1000000/minute"
COUNTED = limits(per_key=OFTEN, per_session=OFTEN, per_ip=OFTEN, wrong_keys=OFTEN)
"""Limits that are counted, and that nobody reaches."""


async def test_the_service_does_what_its_openapi_document_says(
    tiny_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    services = with_settings(build_services(tiny_copy), **{**access(mode="keys"), **COUNTED})
    key = await new_key(services, "ask", "ingest", "admin")
    async with served(create_app(services)) as address:
        status, said = await _schemathesis(address, key, tmp_path)

    if THOROUGH:
        with capsys.disabled():
            sys.stdout.write(said)
    assert status == 0, said
    assert int(re.findall(r"(\d+) generated", said)[-1]) >= AT_LEAST


# Its own list has no 413: a request that breaks a rule on length may be too long to be read, too.
REJECTED = """\
[checks]
negative_data_rejection.expected-statuses = [
  "400", "401", "403", "404", "405", "406", "413", "415", "422"
]
"""


async def _schemathesis(address: str, key: str, folder: Path) -> tuple[int | None, str]:
    (folder / "schemathesis.toml").write_text(REJECTED)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json"),
        *("--header", f"Authorization: Bearer {key}", "--checks", "all", "--phases", PHASES),
        *("--max-examples", str(EXAMPLES), "--seed", SEED, "--generation-database", "none"),
        *("--continue-on-failure", "--no-color", "--request-timeout", "60"),
        # A busy machine is no reason to fail.
        *("--suppress-health-check", "all"),
        env={**os.environ, "SCHEMATHESIS_HOOKS": HOOKS.stem, "PYTHONPATH": str(HOOKS.parent)},
        # What it keeps for its next run would make that run another one.
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode, said.decode()
