"""Sphinx books: the pages, order and URLs of the built site, without Sphinx."""

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
from citewell.ingest.formats.markdown import read_prefix, read_text
from citewell.ingest.formats.sphinx.conf import SphinxConfig, find_config
from citewell.ingest.formats.sphinx.doctree import document_title, labels_of, read_sections
from citewell.ingest.formats.sphinx.doctree_inline import ReferenceTargets
from citewell.ingest.formats.sphinx.include_context import IncludeContext, candidate_paths
from citewell.ingest.formats.sphinx.myst import parse_myst
from citewell.ingest.formats.sphinx.notebook_page import notebook_to_markdown
from citewell.ingest.formats.sphinx.rst import parse_rst
from citewell.ingest.formats.sphinx.rst_directives import ToctreeNode
from citewell.ingest.formats.sphinx.toctree import (
    TocEntry,
    Toctree,
    join_docname,
    matches,
    order_pages,
)
from citewell.ingest.formats.time_limit import check_time_limit, skip_on_error
from citewell.ingest.formats.yaml_data import scalar
from citewell.options import IngestOptions

if TYPE_CHECKING:
    from citewell.ingest.formats.sphinx.doctree_inline import ReferenceTargets


_EXCLUDED_FOLDERS = ("_build", "build", "node_modules", "venv", "site-packages")
_INCLUDE = re.compile(
    r"(?:\.\.\s+|\{)(?:literal)?include(?:::|\})[ \t]+([^\n]+)|^[ \t]*:file:[ \t]+([^\n]+)", re.M
)


class SphinxFormat(BookFormat):
    """A Sphinx project in reStructuredText, MyST Markdown or notebooks."""

    name = "sphinx"

    def matches(self, root: Path) -> bool:
        """Return whether there is a `conf.py` with a root document, or an index with a toctree."""
        return not (root / "_toc.yml").is_file() and find_config(root) is not None

    def files(self, root: Path) -> list[SourceFile]:
        """List the configuration, the pages and their included files."""
        config = _config(root, None)
        pages = list(source_files(root, config))
        files = {file.name: file for file in pages}
        if config.conf:
            files["conf.py"] = SourceFile(config.conf, "conf.py")
        for page in pages:
            for included in included_files(root, page.path, config.folder):
                files.setdefault(included.name, included)
        return [files[name] for name in sorted(files)]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every page that Sphinx would build."""
        config = _config(root, options)
        conf = config.conf.name if config.conf else ""
        skipped = [SkippedFile(source=conf, reason=note, failed=False) for note in config.notes]
        files: list[SourceFile] = []
        for file in source_files(root, config, skipped):
            if matches(file.path.relative_to(config.folder).as_posix(), config.exclude):
                reason = "excluded by conf.py"
                skipped.append(SkippedFile(source=file.name, reason=reason, failed=False))
            else:
                files.append(file)
        sources = read_sources(root, config, files, options, skipped)
        targets = collect_targets(sources, config)
        pages = tuple(_pages(config, sources, targets, options, skipped))
        return Book(
            title=_title(root, config, sources),
            kind=self.name,
            pages=pages,
            skipped=tuple(skipped),
            broken_links=broken_references(targets, sources, intersphinx=config.uses_intersphinx),
        )


def _title(root: Path, config: SphinxConfig, sources: "dict[str, Source]") -> str:
    configured = config.text("project") or config.text("html_title")
    root_title = sources[config.root].title if config.root in sources else ""
    return configured or root_title or root.resolve().name


def _config(root: Path, options: IngestOptions | None) -> SphinxConfig:
    return find_config(root, options) or SphinxConfig(folder=root, conf=None, root="index")


def source_files(
    root: Path, config: SphinxConfig, skipped: list[SkippedFile] | None = None
) -> Iterator[SourceFile]:
    """Yield the documents of a folder, sorted; skip linked folders."""

    def report(error: OSError) -> None:
        if skipped is not None:
            name = os.path.relpath(error.filename, root)
            skipped.append(SkippedFile(source=name, reason=f"cannot be opened: {error.strerror}"))

    for folder, folders, names in os.walk(config.folder, onerror=report):
        if skipped is not None:
            skipped += skip_linked_folders(Path(folder), folders, root)
        folders[:] = sorted(
            f for f in folders if f not in _EXCLUDED_FOLDERS and not f.startswith(".")
        )
        for name in sorted(names):
            if name.endswith(config.suffixes) and not name.startswith("."):
                path = Path(folder) / name
                yield SourceFile(path, path.relative_to(root).as_posix())


def included_files(root: Path, page: Path, docs_folder: Path | None = None) -> Iterator[SourceFile]:
    """Yield the files that a page may include, directly or not, existing or not."""
    stack, found = [page], {page}
    while stack:
        file = stack.pop()
        try:
            text = read_text(SourceFile(file, file.name), IngestOptions())
        except UnreadableFile:
            continue
        for match in _INCLUDE.finditer(text):
            name = (match[1] or match[2]).strip()
            for path in candidate_paths(root, [page, file], name, docs_folder):
                if path not in found:
                    found.add(path)
                    stack.append(path)
                    yield SourceFile(path, os.path.relpath(path, root.resolve()))


def _pages(
    config: SphinxConfig,
    sources: "dict[str, Source]",
    targets: "ReferenceTargets",
    options: IngestOptions,
    skipped: list[SkippedFile],
) -> Iterator[Page]:
    titles = {name: source.title for name, source in sources.items()}
    toctrees = {name: source.toctrees for name, source in sources.items()}
    entries = order_pages(config.root, toctrees, titles, config.suffixes)
    reached = {entry.docname for entry in entries}
    included = {path for source in sources.values() for path in source.context.included}
    for docname in sorted(set(sources) - reached):
        source = sources[docname]
        if source.file.path.resolve() in included:
            reason = "part of the pages that include it"
            skipped.append(SkippedFile(source=source.file.name, reason=reason, failed=False))
        else:
            entries.append(TocEntry(docname=docname))
    base_url = options.site_url or config.text("html_baseurl")
    url = site_base_url(base_url, "html_baseurl", "conf.py", skipped)
    suffix = config.text("html_file_suffix") or ".html"
    for entry in entries:
        page_url = f"{url}/{entry.docname}{suffix}"
        yield from render_page(sources[entry.docname], entry, targets, page_url, skipped)


_DOCINFO = re.compile(r"\A(?:[ \t]*\n)*(?::[^:\n]+:.*\n(?:[ \t]+\S.*\n)*)+")

_SUBSTITUTION = re.compile(r"\|(version|release|today)\|")


class Source(Protocol):
    """A parsed document."""

    file: SourceFile
    context: IncludeContext
    title: str
    toctrees: tuple[Toctree, ...]
    labels: dict[str, str]

    def sections(self, targets: ReferenceTargets, title: str) -> tuple[Section, ...]:
        """Return the document's sections with resolved references."""
        ...


@dataclass(slots=True)
class _RstSource:
    file: SourceFile
    context: IncludeContext
    title: str
    toctrees: tuple[Toctree, ...]
    labels: dict[str, str]
    docname: str
    compressed: bytes
    """The pickled document tree; uncompressed, the trees of a long book would fill memory."""

    def sections(self, targets: ReferenceTargets, title: str) -> tuple[Section, ...]:
        document = pickle.loads(decompress(self.compressed))  # noqa: S301 - pickled by `_read_rst`
        return read_sections(document, targets, self.docname, title)


@dataclass(slots=True)
class _MystSource:
    file: SourceFile
    context: IncludeContext
    title: str
    toctrees: tuple[Toctree, ...]
    labels: dict[str, str]
    docname: str
    text: str

    def sections(self, targets: ReferenceTargets, title: str) -> tuple[Section, ...]:
        # The first pass has recorded the included files and the errors.
        context = replace(self.context, included=[], problems=[])
        sections = parse_myst(self.text, context, targets, self.docname).page.sections
        if self.title:
            return sections
        return tuple(
            Section(path=(title, *s.path), anchor=s.anchor, blocks=s.blocks) for s in sections
        )


def read_sources(
    root: Path,
    config: SphinxConfig,
    files: Iterable[SourceFile],
    options: IngestOptions,
    skipped: list[SkippedFile],
) -> dict[str, Source]:
    """Parse the documents; return them by document name, and report unreadable ones."""
    sources: dict[str, Source] = {}
    for file in files:
        suffix = next(end for end in config.suffixes if file.name.endswith(end))
        docname = file.path.relative_to(config.folder).as_posix().removesuffix(suffix)
        context = IncludeContext(
            root=root,
            page=file.path,
            options=options,
            folder=config.folder,
            default_role=config.text("default_role"),
        )
        with skip_on_error(file.name, skipped):
            text = read_text(file, options)
            source = read_source(file, docname, text, context, config)
            source.title = _substitute_title(source.title, config)
            if docname in sources:
                raise UnreadableFile(f"{sources[docname].file.name} is the same page")
            sources[docname] = source
    return sources


def _substitute_title(title: str, config: SphinxConfig) -> str:
    """Replace Sphinx's default substitutions in a title; remove unknown ones."""
    return " ".join(_SUBSTITUTION.sub(lambda match: config.text(match[1]), title).split())


def read_source(
    file: SourceFile,
    docname: str,
    text: str,
    context: IncludeContext,
    config: SphinxConfig | None = None,
) -> Source:
    """Parse a document; its suffix determines the markup.

    Raises:
        UnreadableFile: it cannot be parsed.
    """
    if file.name.endswith(".ipynb"):
        return _read_myst(file, docname, notebook_to_markdown(text), context)
    if file.name.endswith(".md"):
        return _read_myst(file, docname, text, context)
    return _read_rst(
        file, docname, _add_prolog_and_epilog(text, config) if config else text, context
    )


def _read_myst(file: SourceFile, docname: str, text: str, context: IncludeContext) -> Source:
    parsed = parse_myst(text, context, docname=docname)
    title = parsed.page.heading or scalar(parsed.page.front_matter.get("title"))
    return _MystSource(
        file=file,
        context=context,
        title=title,
        toctrees=parsed.toctrees,
        labels=parsed.labels,
        docname=docname,
        text=text,
    )


def _read_rst(file: SourceFile, docname: str, text: str, context: IncludeContext) -> Source:
    document = parse_rst(text, context)
    toctrees = tuple(
        Toctree(
            entries=tuple(node["entries"]),
            caption=node["caption"],
            glob=node["glob"],
            reversed=node["reversed"],
        )
        for node in document.findall(ToctreeNode)
    )
    title, labels = document_title(document), labels_of(document)
    # Objects of the parser, which cannot be pickled.
    document.reporter = document.transformer = document.settings = None  # type: ignore[assignment]
    return _RstSource(
        file=file,
        context=context,
        title=title,
        toctrees=toctrees,
        labels=labels,
        docname=docname,
        compressed=compress(pickle.dumps(document, pickle.HIGHEST_PROTOCOL), 1),
    )


def _add_prolog_and_epilog(text: str, config: SphinxConfig) -> str:
    """Insert `rst_prolog` after the metadata of a page, and append `rst_epilog`."""
    prolog, epilog = config.text("rst_prolog"), config.text("rst_epilog")
    if prolog:
        docinfo = _DOCINFO.match(text)
        start = docinfo.end() if docinfo else 0
        text = f"{text[:start]}\n{prolog}\n\n{text[start:]}"
    return f"{text}\n\n{epilog}\n" if epilog else text


def collect_targets(
    sources: dict[str, Source], config: SphinxConfig | None = None
) -> ReferenceTargets:
    """Collect the targets of references from the whole book."""
    return ReferenceTargets(
        titles={name: source.title for name, source in sources.items() if source.title},
        labels={k: v for source in sources.values() for k, v in source.labels.items()},
        values={k: config.text(k) for k in ("version", "release") if config and config.text(k)},
    )


def render_page(
    source: Source, entry: TocEntry, targets: ReferenceTargets, url: str, skipped: list[SkippedFile]
) -> Iterator[Page]:
    """Yield the page of a document if it can be rendered; report includes that failed."""
    title = source.title or entry.title or entry.docname.rsplit("/", 1)[-1]
    file = source.file.name
    sections: tuple[Section, ...] | None = None
    with skip_on_error(file, skipped):
        check_time_limit()
        sections = source.sections(targets, title)
    if sections is not None:
        problems = dict.fromkeys(source.context.problems)
        skipped += [SkippedFile(source=name, reason=reason) for name, reason in problems]
        yield Page(source=file, title=title, part=entry.part, url=url, sections=sections)


_LABEL = re.compile(
    r"^[ \t]*(?:\.\.[ \t]+_`?([^`\n]+?)`?:(?:[ \t]|$)"
    r"|\(([^()\n]+)\)="
    r"|:?(?:name|label)[ \t]*:[ \t]*(\S[^\n]*))",
    re.M,
)
_GENERATED_LABELS = frozenset(("genindex", "modindex", "py-modindex", "search"))
_MAX_BYTES = 5_000_000


def broken_references(
    targets: ReferenceTargets, sources: Mapping[str, Source], *, intersphinx: bool = False
) -> tuple[BrokenLink, ...]:
    """Return the broken `:doc:` and `:ref:` references, except those with a project prefix."""
    labels: set[str] | None = None
    broken: dict[BrokenLink, None] = {}
    for docname, kind, target in targets.references:
        if ":" in target:
            continue
        if kind == "doc":
            exists = join_docname(docname, target) in sources
        else:
            label = nodes.fully_normalize_name(target)
            exists = label in targets.labels or label in _GENERATED_LABELS
            if not exists:
                labels = set(_defined_labels(sources)) if labels is None else labels
                exists = label in labels
        if not exists:
            page = sources[docname].file.name if docname in sources else docname
            reason = f"there is no such {'page' if kind == 'doc' else 'label'}"
            reason += " in this book; intersphinx may find it in another" if intersphinx else ""
            broken[BrokenLink(source=page, target=target, reason=reason)] = None
    return tuple(broken)


def _defined_labels(sources: Mapping[str, Source]) -> Iterator[str]:
    """Yield all labels in the sources, including those without a title."""
    for source in sources.values():
        for groups in _LABEL.findall(read_prefix(source.file.path, _MAX_BYTES)):
            label = next(filter(None, groups))
            yield nodes.fully_normalize_name(label.replace("\\", ""))
