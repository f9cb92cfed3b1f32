"""`citewell doctor`."""

import asyncio
import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

import click
from rich.console import Console
from rich.markup import escape

from citewell.cli.options import data_option, explain_error, settings_from
from citewell.errors import BadSettings, CitewellError
from citewell.settings import Settings
from citewell.version import __version__

MIN_FREE_BYTES = 500_000_000


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check."""

    name: str
    passed: bool
    detail: str
    advice: str = ""


@click.command()
@data_option
def command(data_dir: Path | None) -> None:
    """Check the setup and say how to fix what does not work."""
    console = Console()
    failed = False
    for result in run_checks(settings_from(data_dir)):
        mark = "[green]ok[/green]  " if result.passed else "[red]no[/red]  "
        line = f"{mark}[bold]{result.name}[/bold]: {escape(result.detail)}"
        console.print(line, highlight=False, soft_wrap=True)
        if result.advice and not result.passed:
            console.print(f"      {escape(result.advice)}", highlight=False, soft_wrap=True)
        failed = failed or not result.passed
    sys.exit(1 if failed else 0)


def run_checks(settings: Settings) -> Iterator[CheckResult]:
    """Check everything that Citewell depends on."""
    yield CheckResult(
        "version", True, f"Citewell {__version__}, Python {platform.python_version()}"
    )
    yield _check_data_folder(settings)
    if (other := _check_other_data_folder(settings)) is not None:
        yield other
    yield _run_check("embedder", lambda: _check_embedder(settings))
    yield _run_check("reader", _check_cross_encoder)
    yield _run_check("confidence", lambda: _check_calibration(settings))
    yield _run_check("books", lambda: _check_books(settings))
    yield _run_check("conversations", lambda: _check_database(settings))
    yield _run_check("model", lambda: _check_models(settings))
    sdk = importlib.metadata.version("openai-agents")
    yield CheckResult("agents sdk", True, f"openai-agents {sdk}, tracing off")


def _run_check(name: str, check: Callable[[], str]) -> CheckResult:
    try:
        return CheckResult(name, True, check())
    except (CitewellError, PermissionError) as error:
        return CheckResult(name, False, *explain_error(error))


def _check_data_folder(settings: Settings) -> CheckResult:
    folder = settings.data_dir.expanduser()
    existing = next(p for p in (folder, *folder.absolute().parents) if _exists(p))
    if not existing.is_dir() or not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        return CheckResult(
            "data folder", False, f"{folder} cannot be written", "Set CITEWELL_DATA_DIR elsewhere."
        )
    free = shutil.disk_usage(existing).free
    detail = f"{folder} ({free / 1e9:.1f} GB free)"
    enough = free > MIN_FREE_BYTES
    return CheckResult("data folder", enough, detail, "Free some space: 0.5 GB are needed.")


def _check_other_data_folder(settings: Settings) -> CheckResult | None:
    """Report an unused data folder beside a configured one that has no database yet."""
    from citewell.wiring import THREADS

    folder = settings.data_dir.expanduser().absolute()
    if (folder / THREADS).exists() or not _exists(folder.parent):
        return None
    for database in sorted(folder.parent.glob(f"*/{THREADS}")):
        other = database.parent
        advice = f"Ingest your books again and delete it, or set CITEWELL_DATA_DIR={other}."
        return CheckResult("other data folder", False, f"{other} is not read", advice)
    return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a parent folder is not readable
        return False


def _check_embedder(settings: Settings) -> str:
    from citewell.models.embedder import check_prepared
    from citewell.wiring import build_embedder

    embedder = build_embedder(settings)
    start = perf_counter()
    dimensions = len(embedder.embed_query("ready"))
    elapsed_ms = 1000 * (perf_counter() - start)
    if settings.embedder == "embedded":
        verified = check_prepared(settings.data_dir.expanduser() / "models")
        weights = "verified" if verified else "not verified: an earlier version prepared them"
        return f"{embedder.id}, {dimensions} dimensions, weights {weights}"
    host = _embedding_host(settings)
    return f"{embedder.id}, {dimensions} dimensions{host}, answered in {elapsed_ms:.0f} ms"


def _embedding_host(settings: Settings) -> str:
    """Return the embedder's host, without credentials or path."""
    remote = settings.embedder.startswith(("openai/", "litellm/"))
    host = urlsplit(settings.embedding.base_url or "").netloc.rpartition("@")[2]
    return f" at {host}" if remote and host else ""


def _check_calibration(settings: Settings) -> str:
    from citewell.wiring import build_calibration, build_embedder

    embedder = build_embedder(settings).id
    if build_calibration(settings, embedder).fitted:
        return f"calibrated for {embedder}"
    return (
        f"not calibrated for {embedder}: scores only approximate probabilities; "
        "training/fit_calibration.py calibrates them"
    )


def _check_cross_encoder() -> str:
    from citewell.models.cross_encoder import CrossEncoder

    cross_encoder = CrossEncoder()
    cross_encoder.score("ready?", ["ready"])
    return f"{cross_encoder.id}, weights verified"


def _check_books(settings: Settings) -> str:
    from citewell.wiring import books_folder, build_library

    library = build_library(settings)
    try:
        manifests = library.books()
        # `books()` leaves out those whose manifest cannot be read.
        on_disk = [] if settings.index_url else sorted(books_folder(settings).glob("*/current"))
        names = [
            *(manifest.book for manifest in manifests),
            *(file.parent.name for file in on_disk),
        ]
        for book in dict.fromkeys(names):
            library.open(book)
    finally:
        library.close()
    books = (f"{m.book} ({m.pages} pages, {m.chunks} chunks, {m.kind})" for m in manifests)
    detail = "; ".join(books) or "none yet; run `citewell ingest PATH`"
    return f"on {library.location}: {detail}" if settings.index_url else detail


def _check_models(settings: Settings) -> str:
    """Send a short prompt to each configured model."""
    from citewell.answer.llm import ask_once
    from citewell.answer.models import AnswerModel, build_model_chain
    from citewell.retrieve.rerank import SentenceReranker
    from citewell.wiring import build_reranker

    evidence = SentenceReranker(build_reranker(settings))
    chain = build_model_chain(settings.model, evidence, settings.llm)

    async def check(model: AnswerModel) -> str:
        if model.options is None:
            return f"{model.name}, quotes the book"
        start = perf_counter()
        await ask_once(model, chain.budget(), "Reply with one word.", "Are you ready?")
        elapsed_ms = 1000 * (perf_counter() - start)
        tools = "calls tools" if model.tools else "gets one prompt"
        return f"{model.name}, {tools}, answered in {elapsed_ms:.0f} ms"

    async def check_chain() -> str:
        try:
            detail = "; then ".join([await check(model) for model in chain.models])
        finally:
            await chain.close()
        if chain.missing:
            raise BadSettings(f"{' '.join(chain.missing)} Available: {detail}.")
        return detail

    return asyncio.run(check_chain())


def _check_database(settings: Settings) -> str:
    from citewell.wiring import build_databases, build_threads, check_disk_space

    async def check() -> str:
        threads = build_threads(settings)
        try:
            await threads.open()
            for database in build_databases(settings):
                await database.check()
        finally:
            await threads.close()
        return str(threads.database)

    detail = asyncio.run(check())
    check_disk_space(settings)
    return detail
