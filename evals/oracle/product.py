"""The product's interface for the records; only this module depends on its names."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx

COMMAND = "citewell"
"""The installed command, and in capitals the prefix of settings."""
EVALS = ("python", "-m", "evals")
"""The command that runs evaluations."""
REPOSITORY = Path(__file__).parents[2]
SAMPLE = REPOSITORY / "examples/physical-ai"
SHARED = Path(os.environ.get(f"{COMMAND.upper()}_SHARED", REPOSITORY.parent / "shared"))
BOOKS = SHARED / "books"
START_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Ran:
    """The output and exit code of a command."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Product:
    """The installed product with its own data folder and isolated settings."""

    home: Path

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.home / "data"

    def environment(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a process with these settings, as `{"cache__answers": "0"}`."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        own = {"data_dir": str(self.data)} | dict(settings)
        prefix = f"{COMMAND.upper()}_"
        wide = {"HOME": str(self.home), "COLUMNS": "4000", "NO_COLOR": "1", "TERM": "dumb"}
        return kept | wide | {f"{prefix}{name.upper()}": value for name, value in own.items()}

    def start(self, *command: str, settings: Mapping[str, str], **pipes: Any) -> Any:
        """Start a command of the current Python environment."""
        program = str(Path(sys.executable).parent / command[0])
        self.home.mkdir(parents=True, exist_ok=True)
        return subprocess.Popen(
            [program, *command[1:]],
            # Away from the repository, where a developer may have a settings file.
            cwd=self.home,
            env=self.environment(settings),
            text=True,
            **pipes,
        )

    def run(self, *arguments: str, **settings: str) -> Ran:
        """Run the product's command."""
        return self._run((COMMAND, *arguments), settings)

    def _run(self, command: tuple[str, ...], settings: Mapping[str, str]) -> Ran:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self.start(*command, settings=settings, **pipes)
        out, err = process.communicate()
        return Ran(process.returncode, out, err)

    @contextmanager
    def serving(self, **settings: str) -> Iterator[httpx.Client]:
        """Start the service and yield a client."""
        log = self.home / "serve.log"
        with log.open("w") as file:
            process = self.start(COMMAND, "serve", "--port", "0", settings=settings, stderr=file)
        try:
            address = _address(process, log)
            with httpx.Client(base_url=address, timeout=120, headers={"user-agent": ""}) as client:
                yield client
        finally:
            process.terminate()
            process.wait()

    def chunks(self, book: str) -> list[dict[str, Any]]:
        """Return every passage of a book, in order, as the index stores it."""
        folder = self.data / "books" / book
        current = (folder / "current").read_text("utf-8").strip()
        lines = (folder / "revisions" / current / "chunks.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def verdicts(self, items: Path) -> dict[str, Any]:
        """Return the verdict on every altered claim of a set, and the metrics."""
        out = self.home / "verdicts"
        self._run((*EVALS, "adversarial", str(items), "--out", str(out)), {})
        (rows,) = out.glob("*.runs.jsonl")
        (report,) = out.glob("*.json")
        found = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
        figures = json.loads(report.read_text("utf-8"))["figures"]
        return {"items": {row["id"]: row for row in found}, "figures": figures}

    def rewritten(self, conversations: Path) -> list[str]:
        """Return each conversation of a set with its rewritten last question."""
        ran = self._run((*EVALS, "conversations", str(conversations), "--show"), {})
        return ran.out.splitlines()


def is_dev(page: str) -> bool:
    """Whether a page is in the dev half, as defined in the set's README."""
    return sha256(page.encode()).digest()[0] % 2 == 0


def _address(process: Any, log: Path) -> str:
    """Wait for the service and return its URL."""
    end = monotonic() + START_SECONDS
    while monotonic() < end and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text("utf-8")):
            return found[0]
        sleep(0.1)
    raise RuntimeError(f"The service did not start: {log.read_text('utf-8')}")
