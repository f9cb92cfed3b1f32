"""Jupyter Books, and plain folders of notebooks."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from citewell.domain import Book, Page, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import BookFormat, SourceFile, site_base_url, walk_folder
from citewell.ingest.formats.markdown import read_text
from citewell.ingest.formats.sphinx.toctree import TocEntry, join_docname, matches
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.ingest.formats.yaml_data import load_small_yaml, scalar
from citewell.options import IngestOptions

if TYPE_CHECKING:
    from citewell.ingest.formats.sphinx.book import Source
    from citewell.ingest.formats.sphinx.doctree_inline import ReferenceTargets

_TOC = "_toc.yml"
_CONFIG = "_config.yml"
_SUFFIXES = (".ipynb", ".md", ".rst")
_CHILD_KEYS = ("parts", "chapters", "sections", "subtrees", "entries", "items")
_MAX_EXTRA_DEPTH = 4
"""Levels besides those of pages; a deeper table of contents contains itself by a YAML alias."""


class NotebooksFormat(BookFormat):
    """A Jupyter Book by its `_toc.yml`, or every notebook of a folder."""

    name = "notebooks"

    def matches(self, root: Path) -> bool:
        """Return whether there is a Jupyter Book's table of contents, or any notebook."""
        return (root / _TOC).is_file() or next(_notebooks(root), None) is not None

    def files(self, root: Path) -> list[SourceFile]:
        """List the configuration, the pages and their included files."""
        from citewell.ingest.formats.sphinx.book import included_files  # slow: docutils

        config = (SourceFile(root / name, name) for name in (_TOC, _CONFIG))
        pages = list(_listed_files(root))
        files = {file.name: file for file in pages}
        for file in pages:
            files |= {f.name: f for f in included_files(root, file.path) if f.name not in files}
        return [*(f for f in config if f.path.is_file()), *(files[name] for name in sorted(files))]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every page in the table of contents, or every notebook without one."""
        skipped: list[SkippedFile] = []
        config = _read_yaml(root / _CONFIG, options, skipped)
        contents = read_contents(root, options, skipped)
        sources = _sources(root, contents, options, skipped)
        base_url = options.site_url or _base_url(config)
        url = site_base_url(base_url, "baseurl", _CONFIG, skipped)
        from citewell.ingest.formats.sphinx.book import broken_references, collect_targets

        targets = collect_targets(sources)
        pages = tuple(_pages(sources, contents, targets, url, skipped))
        return Book(
            title=scalar(config.get("title")) or root.resolve().stem,
            kind=self.name,
            pages=pages,
            skipped=tuple(skipped),
            broken_links=broken_references(targets, sources),
        )


def _base_url(config: dict[str, Any]) -> str:
    sphinx = config.get("sphinx")
    for section in (config.get("html"), sphinx.get("config") if isinstance(sphinx, dict) else None):
        url = (
            section.get("baseurl") or section.get("html_baseurl")
            if isinstance(section, dict)
            else None
        )
        if isinstance(url, str):
            return url
    return ""


def _read_yaml(file: Path, options: IngestOptions, skipped: list[SkippedFile]) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        data = load_small_yaml(read_text(SourceFile(file, file.name), options))
    except UnreadableFile as error:
        skipped.append(SkippedFile(source=file.name, reason=str(error)))
        return {}
    except (yaml.YAMLError, ValueError, RecursionError):
        skipped.append(SkippedFile(source=file.name, reason="is not valid YAML"))
        return {}
    # Old versions of Jupyter Book wrote the table of contents as a list.
    return {"chapters": data} if isinstance(data, list) else data if isinstance(data, dict) else {}


def read_contents(root: Path, options: IngestOptions, skipped: list[SkippedFile]) -> list[TocEntry]:
    """Return the pages in reading order; without a table of contents, by name."""
    toc = _read_yaml(root / _TOC, options, skipped) if root.is_dir() else {}
    if not toc:
        return [TocEntry(docname=_docname(file.name)) for file in _notebooks(root, skipped)]
    docnames = [_docname(file.name) for file in _documents(root)]
    entries: dict[str, TocEntry] = {}
    for entry in _walk(toc, "", docnames, depth=0):
        entries.setdefault(entry.docname, entry)
    return list(entries.values())


def _walk(node: object, part: str, docnames: list[str], depth: int) -> Iterator[TocEntry]:
    """Yield the entries of a table of contents: parts hold chapters, chapters hold sections."""
    if not isinstance(node, dict) or depth > len(docnames) + _MAX_EXTRA_DEPTH:
        return
    name = node.get("root") or node.get("file")
    if isinstance(name, str) and name:
        end = next((s for s in _SUFFIXES if name.endswith(s)), "")
        title = scalar(node.get("title"))
        yield TocEntry(docname=join_docname("", name.removesuffix(end)), part=part, title=title)
    elif isinstance(pattern := node.get("glob"), str):
        names = (name for name in sorted(docnames, key=_natural_key) if matches(name, [pattern]))
        yield from (TocEntry(docname=name, part=part) for name in names)
    caption = node.get("caption") or node.get("part") or node.get("header")
    inner_part = scalar(caption) or part
    for key in _CHILD_KEYS:
        children = node.get(key)
        for child in children if isinstance(children, list) else []:
            yield from _walk(child, inner_part, docnames, depth + 1)


def _natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sort `S2` before `S10`."""
    parts = re.split(r"(\d+)", name.lower())
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts if p]


def _docname(name: str) -> str:
    return name.removesuffix(next((s for s in _SUFFIXES if name.endswith(s)), ""))


def _documents(root: Path, skipped: list[SkippedFile] | None = None) -> Iterator[SourceFile]:
    if root.is_file():
        yield SourceFile(root, root.name)
        return
    files = [
        file
        for file in walk_folder(root, skipped)
        if file.name.endswith(_SUFFIXES) and not file.path.name.startswith(".")
    ]
    yield from sorted(files, key=lambda file: (_natural_key(file.name), file.name))


def _notebooks(root: Path, skipped: list[SkippedFile] | None = None) -> Iterator[SourceFile]:
    return (file for file in _documents(root, skipped) if file.name.endswith(".ipynb"))


def _listed_files(root: Path) -> Iterator[SourceFile]:
    for entry in read_contents(root, IngestOptions(), []):
        yield from _find_file(root, entry.docname)


def _find_file(root: Path, docname: str) -> Iterator[SourceFile]:
    """Yield the file of a document if it exists."""
    if root.is_file():
        yield SourceFile(root, root.name)
        return
    for suffix in _SUFFIXES:
        name = f"{docname}{suffix}"
        if "\0" not in name and os.path.lexists(root / name):
            yield SourceFile(root / name, name)
            return


def _sources(
    root: Path, contents: list[TocEntry], options: IngestOptions, skipped: list[SkippedFile]
) -> "dict[str, Source]":
    from citewell.ingest.formats.sphinx.book import read_source
    from citewell.ingest.formats.sphinx.include_context import IncludeContext

    sources: dict[str, Source] = {}
    for entry in contents:
        file = next(_find_file(root, entry.docname), None)
        if file is None:
            reason = f"named in {_TOC}, but there is no such file"
            skipped.append(SkippedFile(source=entry.docname, reason=reason))
            continue
        folder = root if root.is_dir() else root.parent
        context = IncludeContext(root=folder, page=file.path, options=options)
        with skip_on_error(file.name, skipped):
            text = read_text(file, options)
            sources[entry.docname] = read_source(file, entry.docname, text, context)
    return sources


def _pages(
    sources: "dict[str, Source]",
    contents: list[TocEntry],
    targets: "ReferenceTargets",
    url: str,
    skipped: list[SkippedFile],
) -> Iterator[Page]:
    from citewell.ingest.formats.sphinx.book import render_page

    for entry in contents:
        if entry.docname in sources:
            page_url = f"{url}/{entry.docname}.html"
            yield from render_page(sources[entry.docname], entry, targets, page_url, skipped)
