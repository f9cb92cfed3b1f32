"""Sphinx books: the pages, order and addresses of the built site, without Sphinx."""

import os
import pickle
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from zlib import compress, decompress

from docutils import nodes

from citewell.domain import Book, BrokenLink, Page, Section, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import BookFormat, SourceFile, site_base_url, skip_linked_folders
from citewell.ingest.formats.markdown import read_start, read_text
from citewell.ingest.formats.sphinx.conf import SphinxConfig, find_config
from citewell.ingest.formats.sphinx.doctree import document_title, labels_of, read_sections
from citewell.ingest.formats.sphinx.doctree_inline import ReferenceTargets
from citewell.ingest.formats.sphinx.include_context import IncludeContext, candidates
from citewell.ingest.formats.sphinx.myst import parse_myst
from citewell.ingest.formats.sphinx.notebook_page import notebook_to_markdown
from citewell.ingest.formats.sphinx.rst import parse_rst
from citewell.ingest.formats.sphinx.rst_directives import TocTree
from citewell.ingest.formats.sphinx.toctree import Contents, Place, arrange, join_docname, matches
from citewell.ingest.formats.time_limit import check_budget, skip_on_error
from citewell.ingest.formats.yaml_data import scalar
from citewell.options import IngestOptions

if TYPE_CHECKING:
    from citewell.ingest.formats.sphinx.doctree_inline import ReferenceTargets


_BUILT = ("_build", "build", "node_modules", "venv", "site-packages")
_TAKES_IN = re.compile(
    r"(?:\.\.\s+|\{)(?:literal)?include(?:::|\})[ \t]+([^\n]+)|^[ \t]*:file:[ \t]+([^\n]+)", re.M
)


class SphinxFormat(BookFormat):
    """A Sphinx project in reStructuredText, MyST Markdown or notebooks."""

    kind = "sphinx"

    def matches(self, root: Path) -> bool:
        """Return whether there is a `conf.py` with a root document, or an index with a toctree."""
        return not (root / "_toc.yml").is_file() and find_config(root) is not None

    def files(self, root: Path) -> list[SourceFile]:
        """List the configuration, the pages, and every file that a page takes in."""
        config = _config(root, None)
        pages = list(source_files(root, config))
        found = {file.name: file for file in pages}
        if config.conf:
            found["conf.py"] = SourceFile(config.conf, "conf.py")
        for file in pages:
            for more in included_files(root, file.path, config.folder):
                found.setdefault(more.name, more)
        return [found[name] for name in sorted(found)]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every page that Sphinx would build."""
        config = _config(root, options)
        # docutils is wanted by this format alone.

        conf = config.conf.name if config.conf else ""
        skipped = [SkippedFile(source=conf, reason=note, failed=False) for note in config.notes]
        listed: list[SourceFile] = []
        for file in source_files(root, config, skipped):
            below_docs = file.path.relative_to(config.folder).as_posix()
            if matches(below_docs, config.exclude):
                reason = "excluded by conf.py"
                skipped.append(SkippedFile(source=file.name, reason=reason, failed=False))
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
    """Return the book's title: as configured, else its first page's."""
    named = config.text("project") or config.text("html_title")
    first = sources[config.root].title if config.root in sources else ""
    return named or first or root.resolve().name


def _config(root: Path, options: IngestOptions | None) -> SphinxConfig:
    return find_config(root, options) or SphinxConfig(folder=root, conf=None, root="index")


def source_files(
    root: Path, config: SphinxConfig, skipped: list[SkippedFile] | None = None
) -> Iterator[SourceFile]:
    """Walk the folder for documents, in order; links to folders are not followed."""

    def report(error: OSError) -> None:
        if skipped is not None:
            where = os.path.relpath(error.filename, root)
            skipped.append(SkippedFile(source=where, reason=f"cannot be opened: {error.strerror}"))

    for folder, folders, names in os.walk(config.folder, onerror=report):
        if skipped is not None:
            skipped += skip_linked_folders(Path(folder), folders, root)
        folders[:] = sorted(f for f in folders if f not in _BUILT and not f.startswith("."))
        for name in sorted(names):
            if name.endswith(config.suffixes) and not name.startswith("."):
                path = Path(folder) / name
                yield SourceFile(path, path.relative_to(root).as_posix())


def included_files(root: Path, page: Path, top: Path | None = None) -> Iterator[SourceFile]:
    """Yield the files that a page may take in, and those that they take in, there or not."""
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
    names: "ReferenceTargets",
    options: IngestOptions,
    skipped: list[SkippedFile],
) -> Iterator[Page]:

    titles = {name: source.title for name, source in sources.items()}
    trees = {name: source.trees for name, source in sources.items()}
    placed = arrange(config.root, trees, titles, config.suffixes)
    reached = {place.docname for place in placed}
    included = {path for source in sources.values() for path in source.around.included}
    for docname in sorted(set(sources) - reached):
        source = sources[docname]
        if source.file.path.resolve() in included:
            reason = "part of the pages that include it"
            skipped.append(SkippedFile(source=source.file.name, reason=reason, failed=False))
        else:
            placed.append(Place(docname=docname))
    given = options.site_url or config.text("html_baseurl")
    url = site_base_url(given, "html_baseurl", "conf.py", skipped)
    end = config.text("html_file_suffix") or ".html"
    for place in placed:
        address = f"{url}/{place.docname}{end}"
        yield from render_page(sources[place.docname], place, names, address, skipped)


_DOCINFO = re.compile(r"\A(?:[ \t]*\n)*(?::[^:\n]+:.*\n(?:[ \t]+\S.*\n)*)+")

_FILLED_IN = re.compile(r"\|(version|release|today)\|")


class Source(Protocol):
    """One document: what the book needs to know of it, and its text."""

    file: SourceFile
    around: IncludeContext
    title: str
    trees: tuple[Contents, ...]
    labels: dict[str, str]

    def sections(self, names: ReferenceTargets, title: str) -> tuple[Section, ...]:
        """Return the document's sections, with references by name resolved."""
        ...


@dataclass(slots=True)
class _RstSource:
    file: SourceFile
    around: IncludeContext
    title: str
    trees: tuple[Contents, ...]
    labels: dict[str, str]
    docname: str
    packed: bytes

    def sections(self, names: ReferenceTargets, title: str) -> tuple[Section, ...]:
        return read_sections(_unpack(self.packed), names, self.docname, title)


def _pack(document: nodes.document) -> bytes:
    """Return a parsed page as few bytes: all trees of a long book at once would fill the memory."""
    # What belongs to the parsing is done with, and cannot be packed.
    document.reporter = document.transformer = document.settings = None  # type: ignore[assignment]
    return compress(pickle.dumps(document, pickle.HIGHEST_PROTOCOL), 1)


def _unpack(packed: bytes) -> nodes.document:
    document: nodes.document = pickle.loads(decompress(packed))  # noqa: S301 - packed just now
    return document


@dataclass(slots=True)
class _MystSource:
    file: SourceFile
    around: IncludeContext
    title: str
    trees: tuple[Contents, ...]
    labels: dict[str, str]
    docname: str
    text: str

    def sections(self, names: ReferenceTargets, title: str) -> tuple[Section, ...]:
        # What it takes in was read, and what went wrong was noted, when the titles were gathered.
        around = replace(self.around, included=[], problems=[])
        found = parse_myst(self.text, around, names, self.docname).page.sections
        if self.title:
            return found
        return tuple(
            Section(path=(title, *s.path), anchor=s.anchor, blocks=s.blocks) for s in found
        )


def read_sources(
    root: Path,
    config: SphinxConfig,
    files: Iterable[SourceFile],
    options: IngestOptions,
    skipped: list[SkippedFile],
) -> dict[str, Source]:
    """Parse every document, by its name; what cannot be read is reported."""
    found: dict[str, Source] = {}
    for file in files:
        suffix = next(end for end in config.suffixes if file.name.endswith(end))
        docname = file.path.relative_to(config.folder).as_posix().removesuffix(suffix)
        around = IncludeContext(
            root=root,
            page=file.path,
            options=options,
            folder=config.folder,
            default_role=config.text("default_role"),
        )
        with skip_on_error(file.name, skipped):
            text = read_text(file, options)
            source = read_source(file, docname, text, around, config)
            source.title = _settled(source.title, config)
            if docname in found:
                raise UnreadableFile(f"{found[docname].file.name} is the same page")
            found[docname] = source
    return found


def _settled(title: str, config: SphinxConfig) -> str:
    """Return a title with what Sphinx fills in, or without it where that has to be computed."""
    return " ".join(_FILLED_IN.sub(lambda found: config.text(found[1]), title).split())


def read_source(
    file: SourceFile,
    docname: str,
    text: str,
    around: IncludeContext,
    config: SphinxConfig | None = None,
) -> Source:
    """Read one document by what its name ends in.

    Raises:
        UnreadableFile: it cannot be parsed.
    """
    if file.name.endswith(".ipynb"):
        return _read_myst(file, docname, notebook_to_markdown(text), around)
    if file.name.endswith(".md"):
        return _read_myst(file, docname, text, around)
    return _read_rst(file, docname, _with_prolog(text, config) if config else text, around)


def _read_myst(file: SourceFile, docname: str, text: str, around: IncludeContext) -> Source:
    parsed = parse_myst(text, around, docname=docname)
    title = parsed.page.heading or scalar(parsed.page.front_matter.get("title"))
    return _MystSource(
        file=file,
        around=around,
        title=title,
        trees=parsed.trees,
        labels=parsed.labels,
        docname=docname,
        text=text,
    )


def _read_rst(file: SourceFile, docname: str, text: str, around: IncludeContext) -> Source:
    document = parse_rst(text, around)
    trees = tuple(
        Contents(
            entries=tuple(node["entries"]),
            caption=node["caption"],
            glob=node["glob"],
            reversed=node["reversed"],
        )
        for node in document.findall(TocTree)
    )
    return _RstSource(
        file=file,
        around=around,
        title=document_title(document),
        trees=trees,
        labels=labels_of(document),
        docname=docname,
        packed=_pack(document),
    )


def _with_prolog(text: str, config: SphinxConfig) -> str:
    """Put `rst_prolog` before a page, behind its metadata, and `rst_epilog` after it."""
    prolog, epilog = config.text("rst_prolog"), config.text("rst_epilog")
    if prolog:
        found = _DOCINFO.match(text)
        place = found.end() if found else 0
        text = f"{text[:place]}\n{prolog}\n\n{text[place:]}"
    return f"{text}\n\n{epilog}\n" if epilog else text


def names_of(sources: dict[str, Source], config: SphinxConfig | None = None) -> ReferenceTargets:
    """Gather what references by name stand for in the whole book."""
    return ReferenceTargets(
        titles={name: source.title for name, source in sources.items() if source.title},
        labels={k: v for source in sources.values() for k, v in source.labels.items()},
        values={k: config.text(k) for k in ("version", "release") if config and config.text(k)},
    )


def render_page(
    source: Source, place: Place, names: ReferenceTargets, url: str, skipped: list[SkippedFile]
) -> Iterator[Page]:
    """Yield the page of a document, if it can be rendered; what it missed is reported."""
    title = source.title or place.title or place.docname.rsplit("/", 1)[-1]
    file = source.file.name
    sections: tuple[Section, ...] | None = None
    with skip_on_error(file, skipped):
        check_budget()
        sections = source.sections(names, title)
    if sections is not None:
        problems = dict.fromkeys(source.around.problems)
        skipped += [SkippedFile(source=name, reason=reason) for name, reason in problems]
        yield Page(source=file, title=title, part=place.part, url=url, sections=sections)


_LABEL = re.compile(
    r"^[ \t]*(?:\.\.[ \t]+_`?([^`\n]+?)`?:(?:[ \t]|$)"
    r"|\(([^()\n]+)\)="
    r"|:?(?:name|label)[ \t]*:[ \t]*(\S[^\n]*))",
    re.M,
)
_MADE_BY_SPHINX = frozenset(("genindex", "modindex", "py-modindex", "search"))
_WHOLE = 5_000_000


def broken_references(
    names: ReferenceTargets, sources: Mapping[str, Source], *, linked: bool = False
) -> tuple[BrokenLink, ...]:
    """Name the `:doc:` and `:ref:` that lead nowhere; those with a prefix may lead elsewhere.

    A book that is `linked` with others (intersphinx) may also mean theirs.
    """
    wanted = [
        (docname, kind, target) for docname, kind, target in names.wanted if ":" not in target
    ]
    labels: set[str] | None = None
    found: dict[BrokenLink, None] = {}
    for docname, kind, target in wanted:
        if kind == "doc":
            there = join_docname(docname, target) in sources
        else:
            label = nodes.fully_normalize_name(target)
            there = label in names.labels or label in _MADE_BY_SPHINX
            if not there:
                labels = set(_labels(sources)) if labels is None else labels
                there = label in labels
        if not there:
            page = sources[docname].file.name if docname in sources else docname
            reason = f"there is no such {'page' if kind == 'doc' else 'label'}"
            reason += " in this book; intersphinx may find it in another" if linked else ""
            found[BrokenLink(source=page, target=target, reason=reason)] = None
    return tuple(found)


def _labels(sources: Mapping[str, Source]) -> Iterator[str]:
    """Yield every label that a source defines, also before what has no title."""
    for source in sources.values():
        for groups in _LABEL.findall(read_start(source.file.path, _WHOLE)):
            label = next(filter(None, groups))
            yield nodes.fully_normalize_name(label.replace("\\", ""))
