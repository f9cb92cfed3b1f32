"""Which kind of book is this, and where does it end?"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from citewell.domain import Book
from citewell.errors import UnsupportedSource
from citewell.ingest.formats.base import BookFormat, SourceFile, confined
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
"""Most particular first: every other book is also a folder of Markdown."""
FORMAT_NAMES = tuple(reader.kind for reader in FORMATS)


def find_format(root: Path, kind: str | None = None) -> BookFormat:
    """Choose the reader for a folder or file, or take the one that is named.

    Raises:
        UnsupportedSource: the path is missing, cannot be listed, or holds no book, or there is no
            such kind.
    """
    if kind is not None and kind not in FORMAT_NAMES:
        raise UnsupportedSource(
            f"There is no format {kind!r}: use one of {', '.join(FORMAT_NAMES)}."
        )
    try:
        if not root.exists():
            raise UnsupportedSource(f"{root} does not exist.")
        if root.is_dir() and next(root.iterdir(), None) is None:
            raise UnsupportedSource(f"{root} is an empty folder.")
        # What a docs folder is may stand in the configuration above it.
        with confined(root, root.resolve().parent):
            for reader in FORMATS:
                if reader.kind == kind or (kind is None and reader.recognises(root)):
                    return reader
    except OSError as error:
        raise UnsupportedSource(f"{root} cannot be read: {error.strerror}.") from error
    raise UnsupportedSource(
        f"{root} holds no book that Citewell can read: no Markdown files and no other format"
        f" ({', '.join(FORMAT_NAMES)}){fix_hint(root)}."
    )


@contextmanager
def confine_reads(reader: BookFormat, root: Path, options: IngestOptions) -> Iterator[None]:
    """Let nothing be read but the book's own folder and those that the options allow."""
    with confined(root, reader.home(root), *options.allow):
        yield


def list_files(reader: BookFormat, root: Path, options: IngestOptions) -> list[SourceFile]:
    """Return every file whose bytes decide what the book says.

    Raises:
        UnsupportedSource: the book's configuration names a folder outside of it.
    """
    with confine_reads(reader, root, options):
        return reader.files(root)


_BUILDERS = {
    "VitePress": (".vitepress", "docs/.vitepress"),
    "Astro": tuple(f"astro.config.{end}" for end in ("mjs", "js", "ts", "mts")),
    "Hugo": ("hugo.toml", "hugo.yaml", "hugo.json", "config/_default", "archetypes"),
    "Zensical": ("zensical.toml",),
    "Jekyll": ("_config.yml", "_config.yaml"),
    "Quarto": ("_quarto.yml", "_quarto.yaml"),
    "Nextra": ("theme.config.tsx", "theme.config.jsx"),
    "Eleventy": (".eleventy.js", "eleventy.config.js", "eleventy.config.mjs"),
}
"""Site generators whose addresses Citewell does not know, by files that only they need."""
_SITES = ("docusaurus", "mdbook", "mkdocs", "sphinx", "notebooks", "hfdocs", "html", "markdown")
_FIX_HINTS = {
    ".qmd": "Quarto: run `quarto render`, and ingest the folder with the HTML it makes",
    ".rmd": "R Markdown: render it, and ingest the folder with the HTML it makes",
    ".adoc": "AsciiDoc: convert it to HTML with `asciidoctor`, and ingest that",
    ".asciidoc": "AsciiDoc: convert it to HTML with `asciidoctor`, and ingest that",
    ".docx": "Word: save it as PDF, or convert it with `pandoc book.docx -o book.md`",
    ".odt": "OpenDocument: save it as PDF, or convert it with `pandoc book.odt -o book.md`",
    ".tex": "LaTeX: ingest the PDF it makes",
    ".org": "Org mode: export it to Markdown or HTML, and ingest that",
    ".rst": "reStructuredText: add a `conf.py` or an `index.rst` with a `toctree`",
}
_SAMPLE_SIZE = 200
"""How many folders are looked through for files of a known kind."""


def detect_site_generator(root: Path) -> str | None:
    """Return the name of the site generator that a folder of Markdown is written for, if known."""
    if not root.is_dir():
        return None
    for folder in (root, root.resolve().parent):
        for name, signs in _BUILDERS.items():
            if any((folder / sign).exists() for sign in signs):
                return name
    return None


def fix_hint(root: Path) -> str:
    """Return what to do with files that Citewell cannot read, as the rest of a sentence."""
    folders = islice(os.walk(root), _SAMPLE_SIZE)
    names = [root.name] if root.is_file() else [n for *_, names in folders for n in names]
    found = {Path(name).suffix.lower() for name in names}
    return next((f" ({cure})" for ending, cure in _FIX_HINTS.items() if ending in found), "")


def address_notes(book: Book, source: Path, options: IngestOptions) -> tuple[str, ...]:
    """Return what is wrong with the addresses of a book's pages, and how to mend it."""
    if book.kind not in _SITES or not book.pages:
        return ()
    builder = detect_site_generator(source) if book.kind == "markdown" else None
    if builder:
        return (
            f"This is a site of {builder}, read as plain Markdown: its addresses are not those of"
            f" the site. Build the site, and ingest the folder with the HTML.",
        )
    url = book.pages[0].url
    if urlsplit(url).netloc or options.site_url:
        return ()
    return (
        f"The book does not say where it is published, so links lead to {url} on the same host."
        " Set CITEWELL_INGEST__SITE_URL to its address.",
    )
