"""Nothing outside the book's folder is read, however the book names it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.errors import EmptyBook, UnsupportedSource
from citewell.ingest.pipeline import ingest
from citewell.ingest.report import IngestReport
from citewell.options import IngestOptions
from tests.ingest.ingest_helpers import WriteBook, ingest_lamps, texts
from tests.servers import HashEmbedder

SECRET = "The password of the vault is swordfish."
PAGE = "# A\n\nThis page is public.\n"
NOTEBOOK = json.dumps(
    {"cells": [{"cell_type": "markdown", "metadata": {}, "source": [PAGE]}], "metadata": {}}
)
LINKED = {
    "markdown": ({"a.md": PAGE}, "leak.md"),
    "docusaurus": (
        {"docusaurus.config.js": "module.exports = {};", "docs/a.md": PAGE},
        "docs/leak.md",
    ),
    "mkdocs": ({"mkdocs.yml": "site_name: A", "docs/a.md": PAGE}, "docs/leak.md"),
    "mdbook": (
        {"src/SUMMARY.md": "- [A](a.md)\n- [Leak](leak.md)\n- [Pipe](pipe.md)", "src/a.md": PAGE},
        "src/leak.md",
    ),
    "sphinx": ({"conf.py": "", "index.rst": "A\n=\n\nThis page is public.\n"}, "leak.rst"),
    "html": ({"a.html": "<p>This page is public.</p>"}, "leak.html"),
    "notebooks": ({"a.ipynb": NOTEBOOK}, "leak.ipynb"),
    "hfdocs": ({"_toctree.yml": "- local: a", "a.mdx": PAGE}, "leak.mdx"),
    "jsonl": ({"a.jsonl": '{"text": "This page is public."}'}, "leak.jsonl"),
}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A folder that is no part of the book, with a file that any reader could take for a page."""
    folder = tmp_path / "secret"
    folder.mkdir()
    (folder / "page.md").write_text(f"# Vault\n\n{SECRET}\n")
    return folder


@pytest.mark.parametrize("kind", LINKED)
def test_links_out_of_the_book_and_what_is_no_file_are_left_out_and_told(
    write_book: WriteBook, library: Path, secret: Path, kind: str
) -> None:
    files, name = LINKED[kind]
    book = write_book(files)
    link, pipe = book / name, (book / name).with_stem("pipe")
    link.symlink_to(secret / "page.md")
    (secret / link.name).write_text(f"# B\n\n{SECRET}\n")
    if kind != "jsonl":  # a folder of it holds nothing else
        os.mkfifo(pipe)
        link.with_name("more").symlink_to(secret)

    report = ingest_lamps(book, library)

    read = "\n".join(texts(library))
    assert report.kind == kind
    assert SECRET not in read
    assert "This page is public." in read
    reasons = {Path(skip.source).name: skip.reason for skip in report.skipped}
    assert "lies outside the book's folder" in reasons[link.name]
    assert reasons.get(pipe.name, "is not a regular file") == "is not a regular file"
    assert (pipe.name in reasons) == (kind != "jsonl")


def test_a_file_of_the_system_is_not_waited_for(write_book: WriteBook, library: Path) -> None:
    book = write_book({"a.md": PAGE})
    (book / "leak.md").symlink_to("/proc/kmsg")
    (book / "conf.py").symlink_to("/proc/kmsg")

    assert ingest_lamps(book, library).failed == 1


def test_a_link_inside_the_book_is_read(write_book: WriteBook, library: Path) -> None:
    book = write_book({"a.md": PAGE, "texts/b.txt": "# B\n\nThis one is linked.\n"})
    (book / "b.md").symlink_to("texts/b.txt")

    ingest_lamps(book, library)

    assert "This one is linked." in "\n".join(texts(library))


def mkdocs(book: Path, folder: str) -> str:
    (book / "mkdocs.yml").write_text(f"docs_dir: {folder}")
    return "docs_dir"


def mdbook(book: Path, folder: str) -> str:
    (book / "book.toml").write_text(f'[book]\nsrc = "{folder}"')
    return "src"


def docusaurus(book: Path, folder: str) -> str:
    preset = f"presets: [['classic', {{docs: {{path: '{folder}'}}}}]]"
    (book / "docusaurus.config.js").write_text(f"module.exports = {{title: 'A', {preset}}};")
    return "path"


@pytest.mark.parametrize("configure", [mkdocs, mdbook, docusaurus])
@pytest.mark.parametrize("relative", [True, False])
def test_a_folder_outside_the_book_is_refused_by_the_name_of_its_setting(
    write_book: WriteBook,
    library: Path,
    secret: Path,
    configure: Callable[[Path, str], str],
    *,
    relative: bool,
) -> None:
    book = write_book({"docs/a.md": PAGE})
    setting = configure(book, "../secret" if relative else str(secret))

    with pytest.raises(UnsupportedSource) as caught:
        ingest_lamps(book, library)

    assert f"`{setting}`" in str(caught.value)
    assert f"--allow {secret}" in str(caught.value)
    assert not library.exists()


@pytest.mark.parametrize("configure", [mkdocs, mdbook, docusaurus])
def test_a_folder_beside_the_book_is_read_once_it_is_allowed(
    write_book: WriteBook, library: Path, secret: Path, configure: Callable[[Path, str], str]
) -> None:
    book = write_book({"docs/a.md": PAGE})
    (secret / "SUMMARY.md").write_text("- [A](page.md)")
    configure(book, "../secret")

    report = _allowing(book, library, secret)

    assert report.failed == 0
    assert SECRET in "\n".join(texts(library))


def test_a_folder_beside_the_book_is_read_where_a_folder_above_both_is_named(
    write_book: WriteBook, library: Path
) -> None:
    book = write_book({"site/placeholder": "", "texts/a.md": PAGE})
    docusaurus(book / "site", "../texts")

    ingest_lamps(book, library)

    assert "This page is public." in "\n".join(texts(library))


def test_a_linked_page_is_read_once_its_folder_is_allowed(
    write_book: WriteBook, library: Path, secret: Path
) -> None:
    book = write_book({"a.md": PAGE})
    (book / "b.md").symlink_to(secret / "page.md")

    assert ingest_lamps(book, library).failed == 1
    assert _allowing(book, library, secret).failed == 0
    assert SECRET in "\n".join(texts(library))


def test_versions_and_translations_do_not_lead_out_of_the_book(
    write_book: WriteBook, library: Path, secret: Path
) -> None:
    config = "module.exports = {title: 'A', i18n: {defaultLocale: 'en', path: '../secret'}};"
    book = write_book({"docusaurus.config.js": config, "docs/a.md": PAGE, "versions.json": "[]"})
    (book / "versions.json").write_text(json.dumps([f"x/../../../{secret.name}"]))
    (secret / "version-x").mkdir()

    with pytest.raises(EmptyBook):
        ingest_lamps(book, library)


def _allowing(book: Path, library: Path, folder: Path) -> IngestReport:
    options = IngestOptions(allow=(folder,))
    return ingest(book, library, HashEmbedder(), book="lamps", options=options)
