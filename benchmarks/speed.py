"""The speed of Citewell, as ratios within one run.

    make bench

Every ratio compares two things measured in the same process, minutes apart at most, so that a busy
machine slows both. Absolute times are shown for orientation only; those of the processors, all
threads together, depend less on what else runs.
"""

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from citewell.answer.agent import AgentContext, CallOptions, run_agent
from citewell.answer.extractive import EmbeddedModel
from citewell.citations.text_fragments import DeepLinker
from citewell.domain import Answer, Filters, Question
from citewell.events import Done
from citewell.index.revision import current_revision, read_chunks
from citewell.ingest.chunking import embedding_text
from citewell.ingest.pipeline import ingest
from citewell.models.cross_encoder import CrossEncoder
from citewell.retrieve.fusion import fuse
from citewell.retrieve.rerank import SentenceReranker
from citewell.retrieve.search import EXTRA_CANDIDATES, number_passages
from citewell.settings import Settings
from citewell.verify.claims import split_pieces
from citewell.verify.grounding import check_piece
from citewell.verify.judge import LexicalJudge
from citewell.wiring import Services, books_folder, wire_services

ROOT = Path(__file__).parent.parent
BOOK = ROOT / "examples" / "physical-ai"
QUESTIONS = ROOT / "evals/data/golden" / "physical-ai-dev.jsonl"
HEAVY = (
    "agents",
    "openai",
    "onnxruntime",
    "onnx",
    "tokenizers",
    "qdrant_edge",
    "sqlalchemy",
    "numpy",
)


class Spent(NamedTuple):
    """Wall-clock and CPU seconds."""

    clock: float
    processors: float


def now() -> Spent:
    return Spent(time.perf_counter(), time.process_time())


def since(begun: Spent) -> Spent:
    return Spent(*(after - before for after, before in zip(now(), begun, strict=True)))


def measured(work: Callable[[], object]) -> Spent:
    begun = now()
    work()
    return since(begun)


async def measured_async(work: object) -> tuple[Spent, object]:
    begun = now()
    result = await work  # type: ignore[misc]
    return since(begun), result


def timed(work: Callable[[], object]) -> float:
    return measured(work).clock


def measure_ingest(settings: Settings, table: Table) -> None:
    embedder = wire_services(settings).embedder
    embedder.embed_passages(["warm up"] * 4)
    first = timed(lambda: ingest(BOOK, books_folder(settings), embedder))
    again = timed(lambda: ingest(BOOK, books_folder(settings), embedder))
    folder = current_revision(books_folder(settings) / BOOK.name)
    assert folder is not None
    texts = [embedding_text(chunk) for chunk in read_chunks(folder)]
    raw = timed(lambda: embedder.embed_passages(texts))
    table.add_row("ingest", f"{first:.1f} s", f"{first / raw:.2f}× the raw embedder", "≤ 1.2×")
    table.add_row(
        "ingest again, nothing changed",
        f"{again * 1000:.1f} ms",
        f"{again / first:.2%} of the first",
        "< 2 %",
    )


async def ask(services: Services, text: str) -> Answer:
    async for event in services.answerer.answer(Question(text=text)):
        if isinstance(event, Done):
            return event.answer
    raise AssertionError("no answer")


async def stages(services: Services, reader: CrossEncoder, text: str) -> dict[str, Spent]:
    """Measure each stage of a question, then all of them."""
    index = services.library.open(None)
    options = services.settings.search
    embedder = services.embedder
    vector = embedder.embed_query(text)
    spent = {"query embedding": measured(lambda: embedder.embed_query(text))}

    def search() -> None:
        rankings = index.rank(text, vector, filters=Filters(), depth=options.depth)
        index.fetch(list(fuse(rankings, options))[:12])

    spent["index search"] = measured(search)
    spent["whole"], answer = await measured_async(ask(services, text))
    assert isinstance(answer, Answer)
    # What the search reads: a few passages more than the answer is given.
    top_k = Question(text=text).top_k + EXTRA_CANDIDATES
    read, *_ = services.searcher._find_candidates(index, text, Filters(), top_k, ())
    passages = number_passages(read)
    fresh = SentenceReranker(reader)
    spent["reading"] = measured(lambda: fresh.rank(text, passages, index.statistics))
    judge, links = LexicalJudge(), DeepLinker()

    def verify() -> None:
        for piece in split_pieces(answer.text):
            check_piece(piece, answer.hits, judge, partial(links.link, index))

    spent["verification"] = measured(verify)
    model = EmbeddedModel(fresh, index.statistics)

    async def loop() -> None:
        shown = AgentContext(list(answer.hits), None, index, question=text)  # type: ignore[arg-type]
        async for _ in run_agent(shown, model=model, call_options=CallOptions(max_turns=2)):
            pass

    spent["agent loop"], _ = await measured_async(loop())
    return spent


async def measure_questions(settings: Settings, table: Table) -> None:
    lines = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    texts = [line["question"] for line in lines if line["kind"] == "covered"]
    reader = CrossEncoder()
    async with wire_services(settings) as services:
        for text in texts[:3]:
            await stages(services, reader, f"{text} (warm up)")
        rows = [await stages(services, reader, text) for text in texts]
    median = {
        name: Spent(
            *(statistics.median(times) for times in zip(*(r[name] for r in rows), strict=True))
        )
        for name in rows[0]
    }
    for name, spent in median.items():
        share = f"{spent.clock / median['whole'].clock:.0%} of the whole"
        used = f"{1000 * spent.processors:.1f} ms of processors"
        table.add_row(f"question: {name}", f"{1000 * spent.clock:.1f} ms", f"{share}; {used}", "")
    strict = ("query embedding", "index search", "verification")
    whole = sorted(row["whole"].clock for row in rows)
    p95 = 1000 * whole[int(len(whole) * 0.95)]
    seen = f"{1000 * median['whole'].clock:.0f} ms, p95 {p95:.0f} ms"
    for stages_alone, goal in ((strict, "≤ 2×"), ((*strict, "reading"), "")):
        ratio = statistics.median(
            row["whole"].clock / sum(row[n].clock for n in stages_alone) for row in rows
        )
        named = " + ".join(stages_alone)
        table.add_row("question to finished answer", seen, f"{ratio:.2f}× {named}", goal)


def measure_help(table: Table) -> None:
    code = (
        "import sys\nsys.argv = ['citewell', '--help']\nfrom citewell.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print(*[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    run = lambda c: subprocess.run([sys.executable, "-c", c], capture_output=True, check=True)  # noqa: E731
    loaded = run(code).stderr.decode().split()
    spent = min(timed(lambda: run(code)) for _ in range(3))
    bare = min(timed(lambda: run("import click")) for _ in range(3))
    table.add_row(
        "citewell --help",
        f"{1000 * spent:.0f} ms",
        f"{spent / bare:.2f}× `import click`; heavy modules loaded: {', '.join(loaded) or 'none'}",
        "none",
    )


def main() -> None:
    table = Table("what", "time", "ratio", "goal")
    data = Path(tempfile.mkdtemp(prefix="citewell-bench-"))
    try:
        settings = Settings(data_dir=data)
        measure_ingest(settings, table)
        asyncio.run(measure_questions(settings, table))
        measure_help(table)
    finally:
        shutil.rmtree(data, ignore_errors=True)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
