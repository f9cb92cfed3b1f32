"""Books that are small and would take forever, or all memory: the rest of the book is read."""

from itertools import pairwise
from pathlib import Path

import pytest

from citewell.errors import UnreadableFile
from citewell.ingest import subprocess_reader
from citewell.ingest.pipeline import ingest
from citewell.ingest.report import IngestReport
from citewell.options import IngestOptions
from tests.ingest.ingest_helpers import WriteBook, texts
from tests.servers import HashEmbedder

GOOD = "# Good\n\nThis page can be read.\n"
LINES = ("[", "[a](", "![a](", "**a ", "e.g. ", "<http:", r"[\]", "<del>")
SMALL = {"max_page_seconds": 1.0, "max_memory_bytes": 1_500_000_000}


def read(book: Path, library: Path, **options: object) -> IngestReport:
    chosen = IngestOptions.model_validate(SMALL | options)
    report = ingest(book, library, HashEmbedder(), book="lamps", options=chosen)
    assert "This page can be read." in "\n".join(texts(library))
    return report


def test_settings_that_double_themselves_are_left_out(write_book: WriteBook, library: Path) -> None:
    doubling = "".join("a = a + a\nb += b\nc = [c, c]\nd = f'{d}{d}'\n" for _ in range(60))
    book = write_book(
        {
            "conf.py": f"a = 'x'\nb = ['x']\nc = ['x']\nd = 'x'\n{doubling}project = a\n"
            "exclude_patterns = b + c\nroot_doc = f'{c}'\n",
            "index.rst": "Good\n====\n\nThis page can be read.\n",
        }
    )

    report = read(book, library)

    assert any("makes a value longer than" in skip.reason for skip in report.skipped)


def test_front_matter_that_stands_for_billions_of_values_is_told(
    write_book: WriteBook, library: Path
) -> None:
    levels = "".join(f"{n}: &{n} [{', '.join([f'*{b}'] * 9)}]\n" for b, n in pairwise("abcdefghi"))
    bomb = f"a: &a [x, x]\n{levels}"
    pages = {
        f"{name}.md": f"---\n{bomb}{name}: *i\n---\n\n# A\n\nText of {name}.\n"
        for name in ("title", "slug", "sidebar_label", "sidebar_position", "id")
    }
    config = {"docusaurus.config.js": "module.exports = {title: 'A'};"}
    book = write_book(config | {f"docs/{n}": t for n, t in pages.items()} | {"docs/good.md": GOOD})

    report = read(book, library)

    assert sorted(skip.source for skip in report.skipped) == sorted(
        f"docs/{name}" for name in pages
    )
    assert {skip.reason for skip in report.skipped} == {
        "front matter cannot be read: it expands to more than 100,000 values"
    }


def test_merged_mappings_do_not_multiply(write_book: WriteBook, library: Path) -> None:
    merges = "".join(f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}\n" for n in range(1, 40))
    book = write_book({"mkdocs.yml": f"m0: &m0 {{k: v}}\n{merges}", "docs/good.md": GOOD})

    with pytest.raises(UnreadableFile, match=r"mkdocs\.yml"):
        read(book, library)


def test_a_title_that_is_no_text_counts_as_missing(write_book: WriteBook, library: Path) -> None:
    book = write_book({"good.md": f"---\ntitle: [a, b]\n---\n{GOOD}"})

    assert read(book, library).failed == 0
    assert not any("['a', 'b']" in text for text in texts(library))


def test_arrays_that_double_themselves_are_left_out(write_book: WriteBook, library: Path) -> None:
    arrays = "".join(f"const a{n} = [a{n - 1}, a{n - 1}];\n" for n in range(1, 61))
    docs = "docs: {include: a60, exclude: a60, onlyIncludeVersions: a60, [a60]: 1}"
    config = (
        f"const a0 = ['x'];\n{arrays}module.exports = {{title: 'A', i18n: {{locales: a60}},"
        f" presets: [['classic', {{{docs}}}]]}};"
    )
    book = write_book({"docusaurus.config.js": config, "docs/good.md": GOOD})

    report = read(book, library)

    assert any("`include`" in skip.reason for skip in report.skipped)


def test_a_pdf_that_names_one_page_over_and_over_is_cut(tmp_path: Path, library: Path) -> None:
    kids = " ".join(["3 0 R"] * 20_000)
    text = "BT /F1 24 Tf 72 400 Td (This page can be read.) Tj ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count 20000 /Kids [{kids}] >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(text)} >>\nstream\n{text}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body = "".join(f"{n} 0 obj\n{said}\nendobj\n" for n, said in enumerate(objects, 1))
    path = tmp_path / "book.pdf"
    path.write_text(f"%PDF-1.4\n{body}trailer << /Root 1 0 R /Size 6 >>\n%%EOF\n")

    report = read(path, library, max_pdf_pages=1)

    assert [skip.reason for skip in report.skipped] == [
        "has 20,000 pages; those after 1 are left out (CITEWELL_INGEST__MAX_PDF_PAGES)"
    ]


@pytest.mark.parametrize(
    ("ending", "size"), [(".md", 50_000), (".md", 500_000), (".rst", 50_000), (".html", 50_000)]
)
def test_lines_that_keep_a_parser_busy_are_read_or_told(
    write_book: WriteBook, library: Path, ending: str, size: int
) -> None:
    """Whether a page can be read in its time is the machine's business; that it ends is ours."""
    long = [(line * size)[:size] for line in LINES]
    pages = {f"page{n}{ending}": _page(text, ending) for n, text in enumerate(long)}
    good = {f"good{ending}": _page("This page can be read.", ending)}
    conf = {"conf.py": "", "index.rst": "Index\n=====\n\nStart.\n"} if ending == ".rst" else {}
    book = write_book(pages | good | conf)

    report = read(book, library, max_page_seconds=0.2)

    told = {skip.source for skip in report.skipped}
    assert told <= set(pages)
    assert all("MAX_PAGE_SECONDS" in s.reason for s in report.skipped if s.source in pages)
    assert report.pages + len(told) == len(pages) + len(good) + (1 if conf else 0)


def _page(text: str, ending: str) -> str:
    if ending == ".html":
        return f"<html><body><h1>A</h1><p>{text.replace('<', '&lt;')}</p></body></html>"
    return f"A page\n======\n\n{text}\n" if ending == ".rst" else f"# A page\n\n{text}\n"


HOOK = """
import collections, os, sys
seen = collections.Counter()
def look(event, arguments):
    name = os.path.basename(str(arguments[0])) if event == "open" else ""
    seen[name] += 1
    if seen[name] != 2:  # opened first to see whether it changed
        return
    if name == "crash.md":
        os.kill(os.getpid(), 11)
    if name == "slow.md":
        while True:
            pass
    if name == "deaf.md":
        sum(range(10**13))
    if name == "large.md":
        bytearray(3_000_000_000)
if any("citewell.ingest.worker" in word for word in sys.orig_argv):
    sys.addaudithook(look)
"""


def test_a_page_that_crashes_hangs_or_fills_its_process_is_left_out(
    write_book: WriteBook, library: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Stands for a faulty library, in the process that reads and not in this one.
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HOOK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hook"))
    names = ("crash", "deaf", "large", "slow")
    book = write_book({f"{name}.md": f"# {name}\n\nText.\n" for name in names} | {"z.md": GOOD})

    subprocess_reader._end_idle_worker()
    try:
        report = read(book, library)
    finally:
        subprocess_reader._end_idle_worker()

    reasons = {skip.source: skip.reason.partition(" (")[0] for skip in report.skipped}
    assert reasons == {
        "crash.md": "crashes the library that reads it",
        "deaf.md": "takes longer than 1 s to read",
        "large.md": "takes more than 1.5 GB of memory to read",
        "slow.md": "takes longer than 1 s to read",
    }


def test_the_worker_takes_the_next_book_at_once(write_book: WriteBook, library: Path) -> None:
    book = write_book({"z.md": GOOD})
    read(book, library)
    worker = subprocess_reader._idle_workers[0]

    for _ in range(2):  # "Nothing changed" and the next book follow each other at once
        assert not ingest(
            book, library, HashEmbedder(), book="lamps", options=IngestOptions.model_validate(SMALL)
        ).changed
    read(write_book({"y.md": GOOD}), library)

    assert subprocess_reader._idle_workers == [worker]
