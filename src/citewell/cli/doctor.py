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

LOW_SPACE = 500_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    fine: bool
    detail: str
    advice: str = ""


@click.command()
@data_option
def command(data_dir: Path | None) -> None:
    """Show what is configured, what works, and what to do about the rest."""
    settings = settings_from(data_dir)
    console = Console()
    troubled = False
    for finding in run_checks(settings):
        mark = "[green]ok[/green]  " if finding.fine else "[red]no[/red]  "
        said = f"{mark}[bold]{finding.name}[/bold]: {escape(finding.detail)}"
        console.print(said, highlight=False, soft_wrap=True)
        if finding.advice and not finding.fine:
            console.print(f"      {escape(finding.advice)}", highlight=False, soft_wrap=True)
        troubled = troubled or not finding.fine
    sys.exit(1 if troubled else 0)


def run_checks(settings: Settings) -> Iterator[Finding]:
    """Look at everything Citewell depends on."""
    yield Finding("version", True, f"Citewell {__version__}, Python {platform.python_version()}")
    yield _data_folder(settings)
    if (older := _unread_folder(settings)) is not None:
        yield older
    yield _run_check("embedder", lambda: _embedder(settings))
    yield _run_check("reader", _reader)
    yield _run_check("confidence", lambda: _confidence(settings))
    yield _run_check("books", lambda: _books(settings))
    yield _run_check("conversations", lambda: _store(settings))
    yield _run_check("model", lambda: _model(settings))
    sdk = importlib.metadata.version("openai-agents")
    yield Finding("agents sdk", True, f"openai-agents {sdk}, tracing off")


def _run_check(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, look())
    except (CitewellError, PermissionError) as error:
        return Finding(name, False, *explain_error(error))


def _data_folder(settings: Settings) -> Finding:
    folder = settings.data_dir.expanduser()
    existing = next(p for p in (folder, *folder.absolute().parents) if _is_there(p))
    if not existing.is_dir() or not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        return Finding(
            "data folder", False, f"{folder} cannot be written", "Set CITEWELL_DATA_DIR elsewhere."
        )
    free = shutil.disk_usage(existing).free
    said = f"{folder} ({free / 1e9:.1f} GB free)"
    return Finding("data folder", free > LOW_SPACE, said, "Free some space: 0.5 GB are needed.")


def _unread_folder(settings: Settings) -> Finding | None:
    """Return what to do with a data folder that lies beside the one in use, under another name."""
    from citewell.wiring import THREADS

    folder = settings.data_dir.expanduser().absolute()
    if (folder / THREADS).exists() or not _is_there(folder.parent):
        return None
    for found in sorted(folder.parent.glob(f"*/{THREADS}")):
        advice = f"Ingest your books again and delete it, or set CITEWELL_DATA_DIR={found.parent}."
        return Finding("other data folder", False, f"{found.parent} is not read", advice)
    return None


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder above it cannot be read
        return False


def _embedder(settings: Settings) -> str:
    from citewell.models.embedder import check_prepared
    from citewell.wiring import build_embedder

    embedder = build_embedder(settings)
    begun = perf_counter()
    if settings.embedder == "embedded":
        width = len(embedder.embed_query("ready"))
        checked = check_prepared(settings.data_dir.expanduser() / "models")
        weights = "checked" if checked else "not checked: an earlier version prepared them"
        return f"{embedder.id}, {width} wide, weights {weights}"
    width = len(embedder.embed_query("ready"))
    took = 1000 * (perf_counter() - begun)
    return f"{embedder.id}, {width} wide{_address(settings)}, answered in {took:.0f} ms"


def _address(settings: Settings) -> str:
    """Return where the embedder is, without what else the address may hold."""
    served = settings.embedder.startswith(("openai/", "litellm/"))
    host = urlsplit(settings.embedding.base_url or "").netloc.rpartition("@")[2]
    return f" at {host}" if served and host else ""


def _confidence(settings: Settings) -> str:
    from citewell.wiring import build_calibration, build_embedder

    embedder = build_embedder(settings).id
    if build_calibration(settings, embedder).fitted:
        return f"calibrated for {embedder}"
    return (
        f"not calibrated for {embedder}: scores are only roughly probabilities; "
        "training/fit_calibration.py fits them"
    )


def _reader() -> str:
    from citewell.models.cross_encoder import CrossEncoder

    reader = CrossEncoder()
    reader.score("ready?", ["ready"])
    return f"{reader.id}, weights checked"


def _books(settings: Settings) -> str:
    from citewell.wiring import books_folder, build_library

    library = build_library(settings)
    try:
        manifests = library.books()
        # Also what is not listed since its index cannot be read.
        kept = [] if settings.index_url else _kept_in(books_folder(settings))
        for book in dict.fromkeys([*(manifest.book for manifest in manifests), *kept]):
            library.open(book)
    finally:
        library.close()
    listed = (f"{m.book} ({m.pages} pages, {m.chunks} chunks, {m.kind})" for m in manifests)
    said = "; ".join(listed) or "none yet; run `citewell ingest PATH`"
    return f"on {library.location}: {said}" if settings.index_url else said


def _kept_in(folder: Path) -> list[str]:
    books = sorted(folder.iterdir()) if folder.is_dir() else []
    return [book.name for book in books if (book / "current").exists()]


def _model(settings: Settings) -> str:
    """Ask each model of the list for a word."""
    from citewell.answer.llm import ask_once
    from citewell.answer.models import AnswerModel, build_model_chain
    from citewell.retrieve.rerank import SentenceReranker
    from citewell.wiring import build_reranker

    evidence = SentenceReranker(build_reranker(settings))
    writers = build_model_chain(settings.model, evidence, settings.llm)

    async def look(writer: AnswerModel) -> str:
        if writer.options is None:
            return f"{writer.name}, quotes the book"
        begun = perf_counter()
        await ask_once(writer, writers.budget(), "Reply with one word.", "Are you ready?")
        took = 1000 * (perf_counter() - begun)
        tools = "calls tools" if writer.tools else "gets one prompt"
        return f"{writer.name}, {tools}, answered in {took:.0f} ms"

    async def look_at_all() -> str:
        try:
            said = "; then ".join([await look(writer) for writer in writers.models])
        finally:
            await writers.close()
        if writers.missing:
            raise BadSettings(f"{' '.join(writers.missing)} What can answer: {said}.")
        return said

    return asyncio.run(look_at_all())


def _store(settings: Settings) -> str:
    from citewell.wiring import build_databases, build_threads, check_space

    async def look() -> str:
        threads = build_threads(settings)
        try:
            await threads.open()
            for database in build_databases(settings):
                await database.check()
        finally:
            await threads.close()
        return str(threads.database)

    said = asyncio.run(look())
    check_space(settings)
    return said
