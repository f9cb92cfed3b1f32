"""Services for the browser: the real one as a process, and one whose answers a test writes."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from citewell.api.app import create_app
from citewell.domain import Claim, Question
from citewell.events import Done, Event, Retrieved, Sentence, Started
from citewell.settings import Settings
from citewell.storage.keys import make_key
from citewell.wiring import Services, build_keys
from tests.api.live_server import served
from tests.verify.samples import SURE, answer_of, claim_of, hit_of

BOUND = 120
UNLIMITED = {"CITEWELL_LIMITS__PER_IP": "", "CITEWELL_LIMITS__PER_SESSION": ""}


class Service:
    """`citewell serve` over a data folder, as an operator runs it."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._port = "0"
        self.address = ""
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it; at a free port, and later at the same again."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "citewell", "serve", "--port", self._port),
            env={**os.environ, **UNLIMITED, "CITEWELL_DATA_DIR": str(self._data), "COLUMNS": "200"},
            stderr=asyncio.subprocess.PIPE,
        )
        self.address = await asyncio.wait_for(_address(self._process), BOUND)
        self._port = self.address.rpartition(":")[2]

    async def kill(self) -> None:
        """End it as a crash would."""
        if self._process and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def citewell_serve(data: Path) -> AsyncIterator[Service]:
    """Serve a data folder."""
    service = Service(data)
    await service.start()
    try:
        yield service
    finally:
        await service.kill()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr
    said = ""
    while line := (await process.stderr.readline()).decode():
        said += line
        if found := re.search(r"http://[\d.:]+", line):
            return found[0]
    raise AssertionError(said)


async def publishable_key(data: Path, origin: str) -> str:
    """Make a key for the pages of one site."""
    key, secret = make_key(
        f"site {origin}",
        scopes=frozenset({"ask"}),
        origins=(origin,),
        created_at=datetime.now(UTC),
    )
    await build_keys(Settings(data_dir=data)).add(key)
    return secret


@dataclass(frozen=True)
class Script:
    """What a scripted service answers: pieces of text, what happens before each, its verdict."""

    pieces: tuple[str, ...]
    before: Callable[[int], Awaitable[object]] = lambda _: asyncio.sleep(0)
    checked: Callable[[int, Claim], Claim] = lambda _, claim: claim
    """Returns what the check made of a piece; by default it states nothing."""


class Scripted:
    """An answerer that says what the test wrote, by the events of the real pipeline."""

    def __init__(self, script: Script | Callable[[str], Script]) -> None:
        self._script = script

    async def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        identity, thread = str(uuid4()), question.thread_id or str(uuid4())
        hits = (hit_of("A passage of the book."),)
        script = self._script if isinstance(self._script, Script) else self._script(question.text)
        yield Started(thread, identity)
        yield Retrieved(question.text, hits, SURE)
        text = ""
        claims: list[Claim] = []
        for number, piece in enumerate(script.pieces):
            await script.before(number)
            claim = claim_of(
                piece, start=len(text), end=len(text) + len(piece), verdict="not_a_claim"
            )
            claim = script.checked(number, claim)
            text += piece
            claims.append(claim)
            yield Sentence(piece, claim)
        yield Done(
            answer_of(
                text,
                id=identity,
                thread_id=thread,
                question=question.text,
                claims=tuple(claims),
                hits=hits,
                created_at=datetime.now(UTC),
            )
        )


@asynccontextmanager
async def scripted_service(
    services: Services, script: Script | Callable[[str], Script]
) -> AsyncIterator[str]:
    """Serve the real application over a scripted answerer, and give its address."""
    app = create_app(replace(services, answerer=Scripted(script)))
    async with served(app) as address:
        yield address
