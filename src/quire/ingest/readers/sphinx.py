"""Sphinx books: the pages, order and addresses of the built site, without Sphinx."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from quire.domain import Book, Page, Skipped
from quire.errors import UnreadableFile
from quire.ingest.options import IngestOptions
from quire.ingest.readers import SourceFile
from quire.ingest.readers.bounds import leave_out_links, site_address
from quire.ingest.readers.markdown import read_text
from quire.ingest.readers.sphinx_conf import SphinxConfig, find_config
from quire.ingest.readers.surroundings import candidates
from quire.ingest.readers.toctree import Place, arrange, matches

if TYPE_CHECKING:
    from quire.ingest.readers.doctree_inline import Names
    from quire.ingest.readers.sphinx_pages import Source

_BUILT = ("_build", "build", "node_modules", "venv", "site-packages")
_TAKES_IN = re.compile(
    r"(?:\.\.\s+|\{)(?:literal)?include(?:::|\})[ \t]+([^\n]+)|^[ \t]*:file:[ \t]+([^\n]+)", re.M
)


class SphinxReader:
    """A Sphinx project in reStructuredText, MyST Markdown or notebooks."""

    kind = "sphinx"

    def recognises(self, root: Path) -> bool:
        """Tell whether there is a `conf.py` with a root document, or an index with a toctree."""
        return not (root / "_toc.yml").is_file() and find_config(root) is not None

    def home(self, root: Path) -> Path:
        """Return the folder of the book."""
        return root if root.is_dir() else root.parent

    def files(self, root: Path) -> list[SourceFile]:
        """List the configuration, the pages, and every file that a page takes in."""
        config = _config(root, None)
        pages = list(source_files(root, config))
        found = {file.name: file for file in pages}
        if config.conf:
            found["conf.py"] = SourceFile(config.conf, "conf.py")
        for file in pages:
            for more in files_taken_in(root, file.path, config.folder):
                found.setdefault(more.name, more)
        return [found[name] for name in sorted(found)]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every page that Sphinx would build."""
        config = _config(root, options)
        # docutils is wanted by this format alone.
        from quire.ingest.readers.sphinx_pages import names_of, read_sources
        from quire.ingest.readers.sphinx_refs import broken_references

        conf = config.conf.name if config.conf else ""
        skipped = [Skipped(source=conf, reason=note, failed=False) for note in config.notes]
        listed: list[SourceFile] = []
        for file in source_files(root, config, skipped):
            below_docs = file.path.relative_to(config.folder).as_posix()
            if matches(below_docs, config.exclude):
                reason = "excluded by conf.py"
                skipped.append(Skipped(source=file.name, reason=reason, failed=False))
            else:
                listed.append(file)
        sources = read_sources(root, config, listed, options, skipped)
        names = names_of(sources, config)
        pages = tuple(_pages(config, sources, names, options, skipped))
        return Book(
            title=_title(root, config, sources),
            kind=self.kind,
            pages=pages,
            skipped=tuple(skipped),
            broken_links=broken_references(names, sources, linked=config.linked),
        )


def _title(root: Path, config: SphinxConfig, sources: "dict[str, Source]") -> str:
    """Give the book's title: as configured, else its first page's."""
    named = config.text("project") or config.text("html_title")
    first = sources[config.root].title if config.root in sources else ""
    return named or first or root.resolve().name


def _config(root: Path, options: IngestOptions | None) -> SphinxConfig:
    return find_config(root, options) or SphinxConfig(folder=root, conf=None, root="index")


def source_files(
    root: Path, config: SphinxConfig, skipped: list[Skipped] | None = None
) -> Iterator[SourceFile]:
    """Walk the folder for documents, in order; links to folders are not followed."""

    def report(error: OSError) -> None:
        if skipped is not None:
            where = os.path.relpath(error.filename, root)
            skipped.append(Skipped(source=where, reason=f"cannot be opened: {error.strerror}"))

    for folder, folders, names in os.walk(config.folder, onerror=report):
        if skipped is not None:
            skipped += leave_out_links(Path(folder), folders, root)
        folders[:] = sorted(f for f in folders if f not in _BUILT and not f.startswith("."))
        for name in sorted(names):
            if name.endswith(config.suffixes) and not name.startswith("."):
                path = Path(folder) / name
                yield SourceFile(path, path.relative_to(root).as_posix())


def files_taken_in(root: Path, page: Path, top: Path | None = None) -> Iterator[SourceFile]:
    """Give the files that a page may take in, and those that they take in, there or not."""
    waiting, seen = [page], {page}
    while waiting:
        file = waiting.pop()
        try:
            text = read_text(SourceFile(file, file.name), IngestOptions())
        except UnreadableFile:
            continue
        for found in _TAKES_IN.finditer(text):
            for path in candidates(root, [page, file], (found[1] or found[2]).strip(), top):
                if path not in seen:
                    seen.add(path)
                    waiting.append(path)
                    yield SourceFile(path, os.path.relpath(path, root.resolve()))


def _pages(
    config: SphinxConfig,
    sources: "dict[str, Source]",
    names: "Names",
    options: IngestOptions,
    skipped: list[Skipped],
) -> Iterator[Page]:
    from quire.ingest.readers.sphinx_pages import render_page  # docutils, as above

    titles = {name: source.title for name, source in sources.items()}
    trees = {name: source.trees for name, source in sources.items()}
    placed = arrange(config.root, trees, titles, config.suffixes)
    reached = {place.docname for place in placed}
    included = {path for source in sources.values() for path in source.around.included}
    for docname in sorted(set(sources) - reached):
        source = sources[docname]
        if source.file.path.resolve() in included:
            reason = "part of the pages that include it"
            skipped.append(Skipped(source=source.file.name, reason=reason, failed=False))
        else:
            placed.append(Place(docname=docname))
    given = options.site_url or config.text("html_baseurl")
    url = site_address(given, "html_baseurl", "conf.py", skipped)
    end = config.text("html_file_suffix") or ".html"
    for place in placed:
        address = f"{url}/{place.docname}{end}"
        yield from render_page(sources[place.docname], place, names, address, skipped)
