"""The costs of a book's ingest apart from embedding.

    make bench-ingest BOOK=path/to/book

Ingest runs in a process of its own, so that its peak of memory is its own. Then the raw embedder
embeds the same texts, in the same order of length, in this process; the ratio is of the two times.
At last one page of a copy of the book is changed, and it is counted what that embeds.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from citewell.index.revision import current_revision, read_chunks
from citewell.ingest.chunking import embedding_text
from citewell.ingest.detect import detect_format
from citewell.ingest.pipeline import ingest
from citewell.ingest.report import IngestReport
from citewell.settings import Settings
from citewell.wiring import books_folder, build_embedder

SAMPLE = Path(__file__).parent.parent / "examples" / "physical-ai"
GOAL = 1.2
_MEASURED = """
import json, sys, time
from pathlib import Path
from citewell.wiring import books_folder, build_embedder
from citewell.ingest.pipeline import ingest
from citewell.settings import Settings

def peak():  # getrusage begins with the peak of whoever started us
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if "VmHWM" in line)


settings = Settings(data_dir=Path(sys.argv[2]))
embedder = build_embedder(settings)
embedder.embed_passages(["warm up"] * 4)
ready = peak()
begun = time.perf_counter()
report = ingest(Path(sys.argv[1]), books_folder(settings), embedder, book="bench")
spent = time.perf_counter() - begun
print(json.dumps({"seconds": spent, "ready": ready / 1024, "peak": peak() / 1024}))
"""


def measured_ingest(book: Path, data: Path) -> dict[str, float]:
    command = [sys.executable, "-c", _MEASURED, str(book), str(data)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def raw_seconds(settings: Settings) -> tuple[int, float]:
    folder = current_revision(books_folder(settings) / "bench")
    assert folder is not None
    texts = list(dict.fromkeys(embedding_text(chunk) for chunk in read_chunks(folder)))
    embedder = build_embedder(settings)
    embedder.embed_passages(["warm up"] * 4)
    begun = time.perf_counter()
    embedder.embed_passages(texts)
    return len(texts), time.perf_counter() - begun


def after_one_change(book: Path, work: Path, settings: Settings) -> tuple[str, IngestReport]:
    """Change one page in a copy of the book, and ingest the copy."""
    copy = work / book.resolve().name
    shutil.copytree(book, copy, ignore=shutil.ignore_patterns(".git", "node_modules"))
    # An include that is missing is a file that decides what the book says, too.
    files = [file for file in detect_format(copy).files(copy) if file.path.is_file()]
    pages = [file for file in files if file.path.suffix in (".md", ".mdx", ".rst")]
    page = max(pages, key=lambda file: file.path.stat().st_size)
    with page.path.open("a", encoding="utf-8") as text:
        text.write("\n\nA sentence that the benchmark has added to the end of this page.\n")
    return page.name, ingest(copy, books_folder(settings), build_embedder(settings), book="bench")


def main() -> None:
    book = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    work = Path(tempfile.mkdtemp(prefix="citewell-bench-"))
    table = Table("what", "measured", "goal", title=str(book.resolve().name))
    try:
        settings = Settings(data_dir=work / "data")
        build_embedder(settings).embed_query("made once, and not part of any ingest")
        figures = measured_ingest(book, settings.data_dir)
        count, raw = raw_seconds(settings)
        table.add_row("ingest", f"{figures['seconds']:.1f} s", "")
        table.add_row(f"raw embedder, {count} texts", f"{raw:.1f} s", "")
        table.add_row("ingest ÷ raw embedder", f"{figures['seconds'] / raw:.2f}", f"≤ {GOAL}")
        table.add_row("memory with the model loaded", f"{figures['ready']:.0f} MB", "")
        table.add_row("peak memory of the ingest", f"{figures['peak']:.0f} MB", "")
        if book.is_dir():
            name, report = after_one_change(book, work, settings)
            table.add_row(f"chunks embedded after a change of {name}", str(report.embedded), "")
            table.add_row("of chunks in the book", f"{report.chunks:,}", "")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
