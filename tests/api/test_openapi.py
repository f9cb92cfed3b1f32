"""What the OpenAPI document says of the service is what it does: schemathesis tries both.

The whole service is asked over a real socket, with a key, by made-up requests of every kind:
valid, broken, unauthorised, with wrong methods, and in chains. QUIRE_SCHEMA_EXAMPLES=200 makes up
as many for each operation; `make schemathesis` does.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from quire.api.app import create_app
from quire.compose import Services
from tests.api.live_server import served
from tests.api.serving import access, bearer, limits, new_key, with_settings

ROOT = Path(__file__).parents[2]
EXAMPLES = int(os.environ.get("QUIRE_SCHEMA_EXAMPLES", "10"))
SEED = os.environ.get("QUIRE_SEED", "1")
UNLIMITED = limits(per_key="", per_session="", per_ip="", answers_at_once=0)


async def test_the_service_does_what_its_openapi_document_says(
    tiny: Services, tmp_path: Path
) -> None:
    services = with_settings(tiny, **access(mode="keys"), **UNLIMITED)
    key = await new_key(services, "ask", "ingest", "admin")
    report = tmp_path / "report.json"
    async with served(create_app(services)) as address:
        (authorization,) = bearer(key).items()
        work = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json"),
            *("--header", ": ".join(authorization), "--checks", "all", "--seed", SEED),
            *("--max-examples", str(EXAMPLES), "--generation-database", "none", "--no-color"),
            *("--report-json-path", str(report), "--request-timeout", "60"),
            *("--continue-on-failure", "--suppress-health-check", "all"),
            env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.api.schema_hooks"},
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await work.communicate()
    print(said.decode())
    print(json.loads(report.read_text()).keys())
    assert work.returncode == 0, said.decode()
