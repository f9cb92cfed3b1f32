"""The cost of a search relative to embedding the question.

    make bench-retrieval BOOK=path/to/book

Questions of twenty words, made of the book's own sentences, are embedded alone and then searched
for, reading included, in turn and on one thread each; the ratio is of the two times.
"""

import asyncio
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from citewell.domain import Filters
from citewell.index.revision import current_revision, read_chunks
from citewell.ingest.pipeline import ingest
from citewell.retrieve.rerank import SentenceReranker
from citewell.settings import Settings
from citewell.text.plain_text import plain
from citewell.wiring import (
    books_folder,
    build_embedder,
    build_library,
    build_reranker,
    build_searcher,
)
from evals.timing import (
    EMBEDDING,
    STAGES,
    TOTAL,
    Stopwatch,
    TimedEmbedder,
    TimedIndex,
    TimedReranker,
)

SAMPLE = Path(__file__).parent.parent / "examples" / "physical-ai"
BEGINNING = ["What", "does", "the", "book", "say", "about", "how"]
WORDS = 20
QUESTIONS = 40
TOP_K = 5
NAME = "bench"


def questions(settings: Settings) -> list[str]:
    """Return distinct questions of twenty words from all parts of the book."""
    folder = current_revision(books_folder(settings) / NAME)
    assert folder is not None
    made = []
    for chunk in read_chunks(folder):
        words = re.findall(r"[A-Za-z]{2,}", plain(chunk.text))[: WORDS - len(BEGINNING)]
        if len(words) == WORDS - len(BEGINNING):
            made.append(" ".join([*BEGINNING, *words]) + "?")
    made = list(dict.fromkeys(made))
    return made[:: max(1, len(made) // QUESTIONS)][:QUESTIONS]


async def measure(settings: Settings) -> list[dict[str, float]]:
    watch, alone = Stopwatch(), build_embedder(settings)
    embedder = TimedEmbedder(alone, watch)
    evidence = SentenceReranker(TimedReranker(build_reranker(settings), watch))
    searcher = build_searcher(settings, embedder, evidence)
    library = build_library(settings)
    rows = []
    try:
        index = TimedIndex(library.open(NAME), watch)
        await searcher.search(index, "warm up", filters=Filters(), top_k=TOP_K)
        for text in questions(settings):
            watch.restart()
            alone.embed_query(text)
            spent = {"alone": watch.read()[TOTAL]}
            watch.restart()
            await searcher.search(index, text, filters=Filters(), top_k=TOP_K)
            rows.append(spent | watch.read())
    finally:
        library.close()
    return rows


def main() -> None:
    book = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    data = Path(tempfile.mkdtemp(prefix="citewell-bench-"))
    try:
        # Ingest may use every core; only what is measured is held to one.
        ingest(
            book, books_folder(Settings(data_dir=data)), build_embedder(Settings(data_dir=data)),
            book=NAME,
        )  # fmt: skip
        rows = asyncio.run(measure(Settings(data_dir=data, embed_threads=1)))
    finally:
        shutil.rmtree(data, ignore_errors=True)
    table = Table("stage", "ms, p50", "× query embedding alone", title=book.resolve().name)
    for name in STAGES:
        shown = f"{name} (in the search)" if name == EMBEDDING else name
        ratio = statistics.median(row[name] / row["alone"] for row in rows)
        spent = statistics.median(row[name] for row in rows)
        table.add_row(shown, f"{1000 * spent:.2f}", f"{ratio:.2f}×")
    console = Console(width=100)
    console.print(table)
    alone = statistics.median(row["alone"] for row in rows)
    ratio = statistics.median(row[TOTAL] / row["alone"] for row in rows)
    console.print(
        f"{len(rows)} questions of {WORDS} words, one thread: query embedding alone "
        f"{1000 * alone:.2f} ms; retrieval with reading {ratio:.2f}× of it.",
        soft_wrap=True,
    )


if __name__ == "__main__":
    main()
