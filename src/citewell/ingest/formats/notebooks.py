"""Jupyter Book, and plain folders of notebooks."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from citewell.domain import Book, Page, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import BookFormat, SourceFile, site_base_url, skip_linked_folders
from citewell.ingest.formats.markdown import read_text
from citewell.ingest.formats.sphinx.toctree import Place, join_docname, matches
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.ingest.formats.yaml_data import load_small_yaml, scalar
from citewell.options import IngestOptions

if TYPE_CHECKING:
    from citewell.ingest.formats.sphinx.book import Source
    from citewell.ingest.formats.sphinx.doctree_inline import ReferenceTargets

_TOC = "_toc.yml"
_CONFIG = "_config.yml"
_SUFFIXES = (".ipynb", ".md", ".rst")
_CHILDREN = ("parts", "chapters", "sections", "subtrees", "entries", "items")


class NotebooksFormat(BookFormat):
    """A Jupyter Book by its `_toc.yml`, or every notebook of a folder."""

    kind = "notebooks"

    def matches(self, root: Path) -> bool:
        """Return whether there is a Jupyter Book's table of contents, or any notebook."""
        return (root / _TOC).is_file() or next(_notebooks(root), None) is not None

    def files(self, root: Path) -> list[SourceFile]:
        """List the pages, the files they take in, and the files that decide the order."""
        from citewell.ingest.formats.sphinx.book import included_files  # the two share MyST

        config = (SourceFile(root / name, name) for name in (_TOC, _CONFIG))
        pages = list(_listed(root))
        found = {file.name: file for file in pages}
        for file in pages:
            found |= {f.name: f for f in included_files(root, file.path) if f.name not in found}
        return [*(f for f in config if f.path.is_file()), *(found[name] for name in sorted(found))]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every page that the table of contents names, or every notebook."""
        skipped: list[SkippedFile] = []
        config = _yaml(root / _CONFIG, options, skipped)
        contents = read_contents(root, options, skipped)
        sources = _sources(root, contents, options, skipped)
        given = options.site_url or _base_url(config)
        url = site_base_url(given, "baseurl", _CONFIG, skipped)
        # docutils is wanted by these formats alone.
        from citewell.ingest.formats.sphinx.book import broken_references, names_of

        names = names_of(sources)
        pages = tuple(_pages(sources, contents, names, url, skipped))
        return Book(
            title=scalar(config.get("title")) or root.resolve().stem,
            kind=self.kind,
            pages=pages,
            skipped=tuple(skipped),
            broken_links=broken_references(names, sources),
        )


def _base_url(config: dict[str, Any]) -> str:
    for section in ("html", "sphinx"):
        found = config.get(section)
        inner = found.get("config") if isinstance(found, dict) and section == "sphinx" else found
        url = inner.get("baseurl") or inner.get("html_baseurl") if isinstance(inner, dict) else None
        if isinstance(url, str):
            return url
    return ""


def _yaml(file: Path, options: IngestOptions, skipped: list[SkippedFile]) -> dict[str, Any]:
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
    # The first form of the table of contents was a list.
    return {"chapters": data} if isinstance(data, list) else data if isinstance(data, dict) else {}


def read_contents(root: Path, options: IngestOptions, skipped: list[SkippedFile]) -> list[Place]:
    """Return the pages in reading order; without a table of contents, by name."""
    toc = _yaml(root / _TOC, options, skipped) if root.is_dir() else {}
    if not toc:
        return [Place(docname=_docname(file.name)) for file in _notebooks(root, skipped)]
    known = [_docname(file.name) for file in _documents(root)]
    found: dict[str, Place] = {}
    for place in _walk(toc, "", known, depth=0):
        found.setdefault(place.docname, place)
    return list(found.values())


def _walk(node: object, part: str, known: list[str], depth: int) -> Iterator[Place]:
    """Read one level of the table: parts hold chapters, chapters hold sections."""
    if not isinstance(node, dict) or depth > len(known) + 4:
        return
    name = node.get("root") or node.get("file")
    if isinstance(name, str) and name:
        end = next((s for s in _SUFFIXES if name.endswith(s)), "")
        title = scalar(node.get("title"))
        yield Place(docname=join_docname("", name.removesuffix(end)), part=part, title=title)
    elif isinstance(pattern := node.get("glob"), str):
        listed = (name for name in sorted(known, key=_natural) if matches(name, [pattern]))
        yield from (Place(docname=name, part=part) for name in listed)
    caption = node.get("caption") or node.get("part") or node.get("header")
    below = scalar(caption) or part
    for key in _CHILDREN:
        children = node.get(key)
        for child in children if isinstance(children, list) else []:
            yield from _walk(child, below, known, depth + 1)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort `S2` before `S10`."""
    parts = re.split(r"(\d+)", name.lower())
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts if p]


def _docname(name: str) -> str:
    return name.removesuffix(next((s for s in _SUFFIXES if name.endswith(s)), ""))


def _documents(root: Path, skipped: list[SkippedFile] | None = None) -> Iterator[SourceFile]:
    """Walk a folder for notebooks and text, in natural order; links are not followed."""

    def report(error: OSError) -> None:
        if skipped is not None:
            where = os.path.relpath(error.filename, root)
            skipped.append(SkippedFile(source=where, reason=f"cannot be opened: {error.strerror}"))

    if root.is_file():
        yield SourceFile(root, root.name)
        return
    found: list[SourceFile] = []
    for folder, folders, names in os.walk(root, onerror=report):
        if skipped is not None:
            skipped += skip_linked_folders(Path(folder), folders, root)
        folders[:] = [f for f in folders if not f.startswith((".", "_")) and f != "node_modules"]
        paths = (Path(folder) / name for name in names if not name.startswith("."))
        found += [
            SourceFile(path, path.relative_to(root).as_posix())
            for path in paths
            if path.name.endswith(_SUFFIXES)
        ]
    yield from sorted(found, key=lambda file: (_natural(file.name), file.name))


def _notebooks(root: Path, skipped: list[SkippedFile] | None = None) -> Iterator[SourceFile]:
    return (file for file in _documents(root, skipped) if file.name.endswith(".ipynb"))


def _listed(root: Path) -> Iterator[SourceFile]:
    for place in read_contents(root, IngestOptions(), []):
        yield from _file(root, place.docname)


def _file(root: Path, docname: str) -> Iterator[SourceFile]:
    """Yield the file of a document, if there is one inside the book."""
    if root.is_file():
        yield SourceFile(root, root.name)
        return
    for suffix in _SUFFIXES:
        name = f"{docname}{suffix}"
        if "\0" not in name and os.path.lexists(root / name):
            yield SourceFile(root / name, name)
            return


def _sources(
    root: Path, contents: list[Place], options: IngestOptions, skipped: list[SkippedFile]
) -> "dict[str, Source]":
    # docutils is wanted by these formats alone.
    from citewell.ingest.formats.sphinx.book import read_source
    from citewell.ingest.formats.sphinx.include_context import IncludeContext

    found: dict[str, Source] = {}
    for place in contents:
        file = next(_file(root, place.docname), None)
        if file is None:
            reason = f"named in {_TOC}, but there is no such file"
            skipped.append(SkippedFile(source=place.docname, reason=reason))
            continue
        top = root if root.is_dir() else root.parent
        around = IncludeContext(root=top, page=file.path, options=options)
        with skip_on_error(file.name, skipped):
            text = read_text(file, options)
            found[place.docname] = read_source(file, place.docname, text, around)
    return found


def _pages(
    sources: "dict[str, Source]",
    contents: list[Place],
    names: "ReferenceTargets",
    url: str,
    skipped: list[SkippedFile],
) -> Iterator[Page]:
    from citewell.ingest.formats.sphinx.book import render_page  # docutils, as above

    for place in contents:
        if place.docname in sources:
            address = f"{url}/{place.docname}.html"
            yield from render_page(sources[place.docname], place, names, address, skipped)
