"""The pages of a Sphinx book, each parsed once and rendered when all titles are known."""

import pickle
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from zlib import compress, decompress

from docutils import nodes

from quire.domain import Page, Section, Skipped
from quire.errors import UnreadableFile
from quire.ingest.options import IngestOptions
from quire.ingest.readers import SourceFile
from quire.ingest.readers.budget import check_budget, reporting
from quire.ingest.readers.data import scalar
from quire.ingest.readers.doctree import document_title, labels_of, read_sections
from quire.ingest.readers.doctree_inline import Names
from quire.ingest.readers.markdown import read_text
from quire.ingest.readers.myst import parse_myst
from quire.ingest.readers.notebook_cells import notebook_to_markdown
from quire.ingest.readers.rst import parse_rst
from quire.ingest.readers.rst_nodes import TocTree
from quire.ingest.readers.sphinx_conf import SphinxConfig
from quire.ingest.readers.surroundings import Surroundings
from quire.ingest.readers.toctree import Contents, Place

_DOCINFO = re.compile(r"\A(?:[ \t]*\n)*(?::[^:\n]+:.*\n(?:[ \t]+\S.*\n)*)+")

_FILLED_IN = re.compile(r"\|(version|release|today)\|")


class Source(Protocol):
    """One document: what the book needs to know of it, and its text."""

    file: SourceFile
    around: Surroundings
    title: str
    trees: tuple[Contents, ...]
    labels: dict[str, str]

    def sections(self, names: Names, title: str) -> tuple[Section, ...]:
        """Give the document's sections, with references by name resolved."""
        ...


@dataclass(slots=True)
class _RstSource:
    file: SourceFile
    around: Surroundings
    title: str
    trees: tuple[Contents, ...]
    labels: dict[str, str]
    docname: str
    packed: bytes

    def sections(self, names: Names, title: str) -> tuple[Section, ...]:
        return read_sections(_unpack(self.packed), names, self.docname, title)


def _pack(document: nodes.document) -> bytes:
    """Give a parsed page as few bytes: all trees of a long book at once would fill the memory."""
    # What belongs to the parsing is done with, and cannot be packed.
    document.reporter = document.transformer = document.settings = None  # type: ignore[assignment]
    return compress(pickle.dumps(document, pickle.HIGHEST_PROTOCOL), 1)


def _unpack(packed: bytes) -> nodes.document:
    document: nodes.document = pickle.loads(decompress(packed))  # noqa: S301 - packed just now
    return document


@dataclass(slots=True)
class _MystSource:
    file: SourceFile
    around: Surroundings
    title: str
    trees: tuple[Contents, ...]
    labels: dict[str, str]
    docname: str
    text: str

    def sections(self, names: Names, title: str) -> tuple[Section, ...]:
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
    skipped: list[Skipped],
) -> dict[str, Source]:
    """Parse every document, by its name; what cannot be read is reported."""
    found: dict[str, Source] = {}
    for file in files:
        suffix = next(end for end in config.suffixes if file.name.endswith(end))
        docname = file.path.relative_to(config.folder).as_posix().removesuffix(suffix)
        around = Surroundings(
            root=root,
            page=file.path,
            options=options,
            folder=config.folder,
            default_role=config.text("default_role"),
        )
        with reporting(file.name, skipped):
            text = read_text(file, options)
            source = read_source(file, docname, text, around, config)
            source.title = _settled(source.title, config)
            if docname in found:
                raise UnreadableFile(f"{found[docname].file.name} is the same page")
            found[docname] = source
    return found


def _settled(title: str, config: SphinxConfig) -> str:
    """Give a title with what Sphinx fills in, or without it where that has to be computed."""
    return " ".join(_FILLED_IN.sub(lambda found: config.text(found[1]), title).split())


def read_source(
    file: SourceFile,
    docname: str,
    text: str,
    around: Surroundings,
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
    return _read_rst(file, docname, _surrounded(text, config) if config else text, around)


def _read_myst(file: SourceFile, docname: str, text: str, around: Surroundings) -> Source:
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


def _read_rst(file: SourceFile, docname: str, text: str, around: Surroundings) -> Source:
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


def _surrounded(text: str, config: SphinxConfig) -> str:
    """Put `rst_prolog` before a page, behind its metadata, and `rst_epilog` after it."""
    prolog, epilog = config.text("rst_prolog"), config.text("rst_epilog")
    if prolog:
        found = _DOCINFO.match(text)
        place = found.end() if found else 0
        text = f"{text[:place]}\n{prolog}\n\n{text[place:]}"
    return f"{text}\n\n{epilog}\n" if epilog else text


def names_of(sources: dict[str, Source], config: SphinxConfig | None = None) -> Names:
    """Gather what references by name stand for in the whole book."""
    return Names(
        titles={name: source.title for name, source in sources.items() if source.title},
        labels={k: v for source in sources.values() for k, v in source.labels.items()},
        values={k: config.text(k) for k in ("version", "release") if config and config.text(k)},
    )


def render_page(
    source: Source, place: Place, names: Names, url: str, skipped: list[Skipped]
) -> Iterator[Page]:
    """Give the page of a document, if it can be rendered; what it wanted and missed is reported."""
    title = source.title or place.title or place.docname.rsplit("/", 1)[-1]
    file = source.file.name
    sections: tuple[Section, ...] | None = None
    with reporting(file, skipped):
        check_budget()
        sections = source.sections(names, title)
    if sections is not None:
        problems = dict.fromkeys(source.around.problems)
        skipped += [Skipped(source=name, reason=reason) for name, reason in problems]
        yield Page(source=file, title=title, part=place.part, url=url, sections=sections)
