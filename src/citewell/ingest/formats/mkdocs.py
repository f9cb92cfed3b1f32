"""MkDocs books: the navigation of `mkdocs.yml`, Python-Markdown's ids, admonitions and tabs."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from citewell.domain import Book, Page, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import (
    BookFormat,
    SourceFile,
    check_configured_folder,
    site_base_url,
)
from citewell.ingest.formats.headings import TocSlugger, split_attributes
from citewell.ingest.formats.includes import Includes, in_fences, select_lines
from citewell.ingest.formats.markdown import Dialect, markdown_files, parse_page, read_text
from citewell.ingest.formats.navigation import Chapter, read_yaml, unique_chapters, walk_contents
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.ingest.formats.yaml_data import scalar
from citewell.options import IngestOptions

_CONFIGS = ("mkdocs.yml", "mkdocs.yaml")
_ENDINGS = (".md", ".markdown", ".mdown", ".mkdn", ".mkd")
_INDEX = ("index", "readme")
_MAX_LEVEL = 40
"""How deep admonitions and tabs may stand in each other; each level is read once more."""
_UNFOLDED = re.compile(
    r"(?P<indent> *+)(?:(?:!!!|\?\?\?\+?)[ ]*+(?P<kind>[\w-]+)(?P<classes>[\w \t-]*+)"
    r"(?:\"(?P<title>[^\n]*)\")?|===[+!]?[ ]+\"(?P<tab>[^\n]*)\")$"
)
_SHORT_CODE = re.compile(
    r"^([ \t]*#{1,6})[ \t]+<!--[ \t]*[\w-]+:[\w-]+[ \t]+([^\s{}<>]+)[ \t]*-->[ \t]*$"
)
_SNIPPET = re.compile(
    r"^(?P<indent>[ \t]*)(?P<escape>;?)-+8<-+(?:"
    r"[ \t]+(?P<quote>[\"'])(?P<path>[^\"'\n]+)(?P=quote)[ \t]*$"
    r"|[ \t]*\n(?P<paths>(?:(?![ \t]*-+8<-)[^\n]*\n)*+)[ \t]*-+8<-+[ \t]*$)",
    re.M,
)
_MARK = re.compile(r"-+8<-+[ \t]+\[[ \t]*(start|end)[ \t]*:[ \t]*([\w-]+)[ \t]*\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Site:
    home: Path
    docs: Path
    title: str
    url: str
    folder_urls: bool
    nav: object
    snippets: tuple[Path, ...]

    def address(self, path: str) -> str:
        """Return the address of the page made from a file below the docs folder."""
        place = PurePosixPath(path)
        index = place.stem.lower() in _INDEX
        if not self.folder_urls:
            name = "index" if index else place.stem
            return f"{self.url}/{quote(place.with_name(f'{name}.html').as_posix())}"
        folder = (place.parent if index else place.with_suffix("")).as_posix()
        return f"{self.url}/" if folder == "." else f"{self.url}/{quote(folder)}/"


def unfold(body: str) -> str:
    """Turn admonitions and tabs, whose text is indented, into containers and plain text."""
    # Tabs count as four, and only what leads a line is looked at.
    lines = [
        re.sub(r"^[ \t]*\t", lambda lead: lead[0].expandtabs(4), line) for line in body.split("\n")
    ]
    return "\n".join(_unfold(_named(lines)))


def _named(lines: list[str]) -> list[str]:
    """Return headings with a title and an id where a hook fills them in: `## <!-- md:a b -->`."""
    fenced = [info is not None for _, info in in_fences(lines)]
    return [
        line if inside else _SHORT_CODE.sub(r"\1 \2 {#\2}", line)
        for line, inside in zip(lines, fenced, strict=True)
    ]


def _unfold(lines: list[str], level: int = 0) -> list[str]:
    if level > _MAX_LEVEL:
        raise UnreadableFile("is nested too deeply to be read")
    result: list[str] = []
    fenced = [info is not None for _, info in in_fences(lines)]
    place = 0
    while place < len(lines):
        found = None if fenced[place] else _UNFOLDED.match(lines[place].rstrip())
        place += 1
        if not found:
            result.append(lines[place - 1])
            continue
        depth = len(found["indent"]) + 4
        start = place
        while place < len(lines) and (
            not lines[place].strip() or lines[place].startswith(" " * depth)
        ):
            place += 1
        result += _opened(found, _unfold([line[depth:] for line in lines[start:place]], level + 1))
    return result


def _opened(found: re.Match[str], inner: list[str]) -> list[str]:
    if found["tab"] is not None:
        shown = ["", found["tab"], "", *inner, ""]
    else:
        marks = (re.match(r" *(:{3,})", line) for line in inner)
        colons = ":" * max((len(mark[1]) + 1 for mark in marks if mark), default=3)
        title = f" {found['title']}" if found["title"] else ""
        shown = ["", f"{colons}{found['kind']}{title}", *inner, colons, ""]
    return [f"{found['indent']}{line}" if line else "" for line in shown]


_DIALECT = Dialect(slugger=TocSlugger, split_id=split_attributes, rewrite=unfold)


def expand(
    text: str, includes: Includes, bases: tuple[Path, ...], stack: tuple[Path, ...] = ()
) -> str:
    """Put snippets in their places, as the extension `pymdownx.snippets` does."""

    def replace(found: re.Match[str]) -> str:
        if found["escape"]:
            return found[0].replace(";", "", 1)
        paths = [found["path"]] if found["path"] else found["paths"].split("\n")
        texts = [load(path.strip().lstrip(";")) for path in paths if path.strip()]
        return "\n".join(found["indent"] + line for line in "\n".join(texts).split("\n"))

    def load(reference: str) -> str:
        name, _, span = reference.partition(":")
        tried = [base / name for base in bases]
        path = next((p for p in tried if p.is_file()), tried[0])

        def use(content: str) -> str:
            chosen = _select(content.replace("\r\n", "\n"), span).rstrip("\n")
            return expand(chosen, includes, bases, (*stack, path.resolve()))

        return includes.read(path, stack, use)

    return _SNIPPET.sub(replace, text)


def _select(text: str, span: str) -> str:
    start, colon, end = span.partition(":")
    if start and not start.isdecimal():
        text = "\n".join(_marked(text, start))
    elif span:
        text = select_lines(text, start, end if colon else None)
    return "\n".join(line for line in text.split("\n") if not _MARK.search(line))


def _marked(text: str, name: str) -> Iterator[str]:
    inside = False
    for line in text.split("\n"):
        mark = _MARK.search(line)
        if mark and mark[2] == name:
            inside = mark[1] == "start"
        elif inside:
            yield line


class MkDocsFormat(BookFormat):
    """A MkDocs project."""

    kind = "mkdocs"

    def matches(self, root: Path) -> bool:
        """Return whether there is a `mkdocs.yml`."""
        return root.is_dir() and any((root / name).is_file() for name in _CONFIGS)

    def files(self, root: Path) -> list[SourceFile]:
        """List the configuration, the pages, and the snippets they draw in."""
        options = IngestOptions()
        site = _site(root, options)
        found = {root / name: SourceFile(root / name, name) for name in _CONFIGS}
        for file in _pages(site):
            includes = _includes(site, file)
            found[file.path] = SourceFile(file.path, includes.page)
            with skip_on_error(includes.page, []):
                expand(read_text(file, options), includes, site.snippets)
            found |= includes.seen
        return [file for path, file in found.items() if path.name not in _CONFIGS or path.is_file()]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read the pages of the navigation, then those it does not name."""
        skipped: list[SkippedFile] = []
        site = _site(root, options, skipped)
        files = {file.name: file for file in _pages(site, skipped)}
        pages: list[Page] = []
        for chapter in _chapters(site, files):
            file = files.get(chapter.path)
            if file is None:
                reason = "is in the navigation but does not exist"
                skipped.append(SkippedFile(source=chapter.path, reason=reason))
                continue
            includes = _includes(site, file, options)
            with skip_on_error(includes.page, skipped):
                pages.append(_page(chapter, file, site, includes))
                skipped.extend(includes.notes)
        return Book(title=site.title, kind=self.kind, pages=tuple(pages), skipped=tuple(skipped))


def _site(root: Path, options: IngestOptions, skipped: list[SkippedFile] | None = None) -> _Site:
    path = next((root / name for name in _CONFIGS if (root / name).is_file()), None)
    loaded = read_yaml(path, options) if path else {}
    config: dict[str, Any] = loaded if isinstance(loaded, dict) else {}
    docs = root / (scalar(config.get("docs_dir")) or "docs")
    name = path.name if path else _CONFIGS[0]
    check_configured_folder(docs, "docs_dir", name)
    return _Site(
        home=root,
        docs=docs if docs.is_dir() else root,
        title=scalar(config.get("site_name")) or root.resolve().name,
        url=site_base_url(
            options.site_url or scalar(config.get("site_url")), "site_url", name, skipped
        ),
        folder_urls=config.get("use_directory_urls") is not False,
        nav=config.get("nav"),
        snippets=(root, docs, *_snippet_folders(root, config.get("markdown_extensions"))),
    )


def _snippet_folders(root: Path, extensions: object) -> list[Path]:
    listed = extensions if isinstance(extensions, list) else [extensions]
    options = (item.get("pymdownx.snippets") for item in listed if isinstance(item, dict))
    named = next((found.get("base_path") for found in options if isinstance(found, dict)), None)
    names = map(scalar, named if isinstance(named, list) else [named])
    return [root / name for name in names if name]


def _pages(site: _Site, skipped: list[SkippedFile] | None = None) -> list[SourceFile]:
    """List the pages in the order they have without a navigation: a folder's index comes first."""
    found = list(markdown_files(site.docs, skipped, endings=_ENDINGS, private=(".",)))
    folders = {folder: n for n, folder in enumerate(dict.fromkeys(f.path.parent for f in found))}
    return sorted(
        found,
        key=lambda f: (folders[f.path.parent], f.path.stem.lower() not in _INDEX, f.path.name),
    )


def _chapters(site: _Site, files: Iterable[str]) -> list[Chapter]:
    named = walk_contents(site.nav, _split_entry)
    others = (
        Chapter(
            title="", path=name, part=_label(PurePosixPath(name).parts[0]) if "/" in name else ""
        )
        for name in files
    )
    return unique_chapters([*named, *others])


def _split_entry(entry: object) -> Iterable[tuple[str, str | None, object]]:
    if isinstance(entry, str):
        entry = {"": entry}
    if not isinstance(entry, dict):
        return
    for title, target in entry.items():
        if isinstance(target, str):
            # Links to other sites, and to anything that is not a page, have no text of their own.
            if target.endswith(_ENDINGS) and "://" not in target:
                yield scalar(title), os.path.normpath(target), None
        else:
            yield scalar(title), None, target


def _label(folder: str) -> str:
    words = folder.replace("-", " ").replace("_", " ")
    return words.capitalize() if words == words.lower() else words


def _includes(site: _Site, file: SourceFile, options: IngestOptions | None = None) -> Includes:
    return Includes(
        page=Path(os.path.relpath(file.path, site.home)).as_posix(),
        home=site.home,
        folders=(site.home, site.docs),
        options=options or IngestOptions(),
    )


def _page(chapter: Chapter, file: SourceFile, site: _Site, includes: Includes) -> Page:
    text = expand(read_text(file, includes.options), includes, site.snippets)
    parsed = parse_page(text, mdx=False, dialect=_DIALECT, title=chapter.title or None)
    named = chapter.title or scalar(parsed.front_matter.get("title")) or parsed.heading
    return Page(
        source=includes.page,
        title=named or _label(PurePosixPath(file.name).stem),
        part=chapter.part,
        url=site.address(file.name),
        sections=parsed.sections,
    )
