"""What an author can do where a book cannot be read, or its addresses cannot be right."""

import os
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from quire.domain import Book
from quire.ingest.options import IngestOptions

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
"""Site generators whose addresses Quire does not know, by files that only they need."""
_SITES = ("docusaurus", "mdbook", "mkdocs", "sphinx", "notebooks", "hfdocs", "html", "markdown")
_CURES = {
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
_LOOKED_AT = 200
"""How many folders are looked through for files of a known kind."""


def builder_of(root: Path) -> str | None:
    """Return the name of the site generator that a folder of Markdown is written for, if known."""
    if not root.is_dir():
        return None
    for folder in (root, root.resolve().parent):
        for name, signs in _BUILDERS.items():
            if any((folder / sign).exists() for sign in signs):
                return name
    return None


def cure_for(root: Path) -> str:
    """Return what to do with files that Quire cannot read, as the rest of a sentence."""
    folders = islice(os.walk(root), _LOOKED_AT)
    names = [root.name] if root.is_file() else [n for *_, names in folders for n in names]
    found = {Path(name).suffix.lower() for name in names}
    return next((f" ({cure})" for ending, cure in _CURES.items() if ending in found), "")


def address_notes(book: Book, source: Path, options: IngestOptions) -> tuple[str, ...]:
    """Return what is wrong with the addresses of a book's pages, and how to mend it."""
    if book.kind not in _SITES or not book.pages:
        return ()
    builder = builder_of(source) if book.kind == "markdown" else None
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
        " Set QUIRE_INGEST__SITE_URL to its address.",
    )
