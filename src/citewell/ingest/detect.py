"""Detect the format of a book, and restrict reads to its folders."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from citewell.domain import Book
from citewell.errors import UnsupportedSource
from citewell.ingest.formats.base import BookFormat, SourceFile, restrict_reads
from citewell.ingest.formats.docusaurus.site import DocusaurusFormat
from citewell.ingest.formats.epub import EpubFormat
from citewell.ingest.formats.html.site import HtmlFormat
from citewell.ingest.formats.huggingface import HfDocsFormat
from citewell.ingest.formats.jsonl import JsonlFormat
from citewell.ingest.formats.markdown import MarkdownFormat
from citewell.ingest.formats.mdbook import MdBookFormat
from citewell.ingest.formats.mkdocs import MkDocsFormat
from citewell.ingest.formats.notebooks import NotebooksFormat
from citewell.ingest.formats.pdf.document import PdfFormat
from citewell.ingest.formats.sphinx.book import SphinxFormat
from citewell.ingest.formats.volumes import VolumesFormat
from citewell.options import IngestOptions

FORMATS: tuple[BookFormat, ...] = (
    DocusaurusFormat(),
    MdBookFormat(),
    MkDocsFormat(),
    SphinxFormat(),
    NotebooksFormat(),
    HfDocsFormat(),
    JsonlFormat(),
    EpubFormat(),
    PdfFormat(),
    HtmlFormat(),
    MarkdownFormat(),
    VolumesFormat(),
)
"""In order of detection, most specific first: most books are also folders of Markdown."""
FORMAT_NAMES = tuple(book_format.name for book_format in FORMATS)


def detect_format(root: Path, name: str | None = None) -> BookFormat:
    """Return the format called `name`, or detect the format of a folder or file.

    Raises:
        UnsupportedSource: the path is missing, cannot be listed or holds no book, or there is
            no format of that name.
    """
    if name is not None and name not in FORMAT_NAMES:
        raise UnsupportedSource(
            f"There is no format {name!r}: use one of {', '.join(FORMAT_NAMES)}."
        )
    try:
        if not root.exists():
            raise UnsupportedSource(f"{root} does not exist.")
        if root.is_dir() and next(root.iterdir(), None) is None:
            raise UnsupportedSource(f"{root} is an empty folder.")
        # The configuration of a docs folder may be in its parent.
        with restrict_reads(root, root.resolve().parent):
            for book_format in FORMATS:
                if book_format.name == name or (name is None and book_format.matches(root)):
                    return book_format
    except OSError as error:
        raise UnsupportedSource(f"{root} cannot be read: {error.strerror}.") from error
    raise UnsupportedSource(
        f"{root} holds no book that Citewell can read: no Markdown files and no other format"
        f" ({', '.join(FORMAT_NAMES)}){fix_hint(root)}."
    )


@contextmanager
def restrict_reads_to_book(
    book_format: BookFormat, root: Path, options: IngestOptions
) -> Iterator[None]:
    """Allow reads only below the book's folder and the folders in `options.allow`."""
    with restrict_reads(root, book_format.book_folder(root), *options.allow):
        yield


def list_source_files(
    book_format: BookFormat, root: Path, options: IngestOptions
) -> list[SourceFile]:
    """Return every file that the content of the book depends on.

    Raises:
        UnsupportedSource: the book's configuration names a folder outside the book.
    """
    with restrict_reads_to_book(book_format, root, options):
        return book_format.files(root)


_SITE_GENERATORS = {
    "VitePress": (".vitepress", "docs/.vitepress"),
    "Astro": tuple(f"astro.config.{end}" for end in ("mjs", "js", "ts", "mts")),
    "Hugo": ("hugo.toml", "hugo.yaml", "hugo.json", "config/_default", "archetypes"),
    "Zensical": ("zensical.toml",),
    "Jekyll": ("_config.yml", "_config.yaml"),
    "Quarto": ("_quarto.yml", "_quarto.yaml"),
    "Nextra": ("theme.config.tsx", "theme.config.jsx"),
    "Eleventy": (".eleventy.js", "eleventy.config.js", "eleventy.config.mjs"),
}
"""Site generators whose URL scheme is unknown, with the files that identify them."""
_FORMATS_WITHOUT_URLS = ("jsonl", "epub", "pdf", "shelf")
_FIX_HINTS = {
    ".qmd": "Quarto: run `quarto render`, and ingest the folder with the generated HTML",
    ".rmd": "R Markdown: render it, and ingest the folder with the generated HTML",
    ".adoc": "AsciiDoc: convert it to HTML with `asciidoctor`, and ingest that",
    ".asciidoc": "AsciiDoc: convert it to HTML with `asciidoctor`, and ingest that",
    ".docx": "Word: save it as PDF, or convert it with `pandoc book.docx -o book.md`",
    ".odt": "OpenDocument: save it as PDF, or convert it with `pandoc book.odt -o book.md`",
    ".tex": "LaTeX: ingest the generated PDF",
    ".org": "Org mode: export it to Markdown or HTML, and ingest that",
    ".rst": "reStructuredText: add a `conf.py` or an `index.rst` with a `toctree`",
}
_SAMPLE_SIZE = 200
"""How many folders are searched for files that `_FIX_HINTS` knows."""


def detect_site_generator(root: Path) -> str | None:
    """Return the name of the site generator of a Markdown folder, if it is known."""
    if not root.is_dir():
        return None
    for folder in (root, root.resolve().parent):
        for name, marker_files in _SITE_GENERATORS.items():
            if any((folder / marker).exists() for marker in marker_files):
                return name
    return None


def fix_hint(root: Path) -> str:
    """Return advice on converting unsupported files, formatted to end a sentence."""
    folders = islice(os.walk(root), _SAMPLE_SIZE)
    names = [root.name] if root.is_file() else [n for *_, names in folders for n in names]
    suffixes = {Path(name).suffix.lower() for name in names}
    return next((f" ({hint})" for suffix, hint in _FIX_HINTS.items() if suffix in suffixes), "")


def url_notes(book: Book, source: Path, options: IngestOptions) -> tuple[str, ...]:
    """Return what is wrong with the URLs of a book's pages, and how to fix it."""
    if book.kind in _FORMATS_WITHOUT_URLS or not book.pages:
        return ()
    generator = detect_site_generator(source) if book.kind == "markdown" else None
    if generator:
        return (
            f"This {generator} site was read as plain Markdown, so links do not match the URLs of"
            f" the built site. Build the site, and ingest the folder with the HTML.",
        )
    url = book.pages[0].url
    if urlsplit(url).netloc or options.site_url:
        return ()
    return (
        f"The book does not say where it is published, so links lead to {url} on the same host."
        " Set CITEWELL_INGEST__SITE_URL to its URL.",
    )
