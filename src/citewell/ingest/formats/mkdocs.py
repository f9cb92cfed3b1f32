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
from citewell.ingest.formats.includes import Includes, lines_with_fence_info, select_lines
from citewell.ingest.formats.markdown import Dialect, markdown_files, parse_page, read_text
from citewell.ingest.formats.navigation import NavigationPage, read_yaml, unique_pages, walk_pages
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.ingest.formats.yaml_data import scalar
from citewell.options import IngestOptions

_CONFIGS = ("mkdocs.yml", "mkdocs.yaml")
_ENDINGS = (".md", ".markdown", ".mdown", ".mkdn", ".mkd")
_INDEX = ("index", "readme")
_MAX_LEVEL = 40
"""Limit on nested admonitions and tabs; each level is parsed again."""
_INDENTED_BLOCK = re.compile(
    r"(?P<indent> *+)(?:(?:!!!|\?\?\?\+?)[ ]*+(?P<kind>[\w-]+)(?P<classes>[\w \t-]*+)"
    r"(?:\"(?P<title>[^\n]*)\")?|===[+!]?[ ]+\"(?P<tab>[^\n]*)\")$"
)
_HEADING_HOOK = re.compile(
    r"^([ \t]*#{1,6})[ \t]+<!--[ \t]*[\w-]+:[\w-]+[ \t]+([^\s{}<>]+)[ \t]*-->[ \t]*$"
)
_SNIPPET = re.compile(
    r"^(?P<indent>[ \t]*)(?P<escape>;?)-+8<-+(?:"
    r"[ \t]+(?P<quote>[\"'])(?P<path>[^\"'\n]+)(?P=quote)[ \t]*$"
    r"|[ \t]*\n(?P<paths>(?:(?![ \t]*-+8<-)[^\n]*\n)*+)[ \t]*-+8<-+[ \t]*$)",
    re.M,
)
_SECTION_MARKER = re.compile(r"-+8<-+[ \t]+\[[ \t]*(start|end)[ \t]*:[ \t]*([\w-]+)[ \t]*\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Site:
    root: Path
    docs: Path
    title: str
    url: str
    folder_urls: bool
    nav: object
    snippets: tuple[Path, ...]

    def page_url(self, name: str) -> str:
        """Return the URL of the page for a file below the docs folder."""
        path = PurePosixPath(name)
        index = path.stem.lower() in _INDEX
        if not self.folder_urls:
            stem = "index" if index else path.stem
            return f"{self.url}/{quote(path.with_name(f'{stem}.html').as_posix())}"
        folder = (path.parent if index else path.with_suffix("")).as_posix()
        return f"{self.url}/" if folder == "." else f"{self.url}/{quote(folder)}/"


def convert_indented_blocks(body: str) -> str:
    """Convert indented admonitions and tabs to fenced containers and plain text."""
    # Only leading tabs are expanded.
    lines = [
        re.sub(r"^[ \t]*\t", lambda lead: lead[0].expandtabs(4), line) for line in body.split("\n")
    ]
    return "\n".join(_convert_blocks(_expand_heading_hooks(lines)))


def _expand_heading_hooks(lines: list[str]) -> list[str]:
    """Add title and id to headings that a build hook fills in: `## <!-- md:a b -->`."""
    fenced = [info is not None for _, info in lines_with_fence_info(lines)]
    return [
        line if inside else _HEADING_HOOK.sub(r"\1 \2 {#\2}", line)
        for line, inside in zip(lines, fenced, strict=True)
    ]


def _convert_blocks(lines: list[str], level: int = 0) -> list[str]:
    if level > _MAX_LEVEL:
        raise UnreadableFile("is nested too deeply to be read")
    result: list[str] = []
    fenced = [info is not None for _, info in lines_with_fence_info(lines)]
    index = 0
    while index < len(lines):
        start = None if fenced[index] else _INDENTED_BLOCK.match(lines[index].rstrip())
        index += 1
        if not start:
            result.append(lines[index - 1])
            continue
        depth = len(start["indent"]) + 4
        inner: list[str] = []
        while index < len(lines) and (
            not lines[index].strip() or lines[index].startswith(" " * depth)
        ):
            inner.append(lines[index][depth:])
            index += 1
        result += _to_container(start, _convert_blocks(inner, level + 1))
    return result


def _to_container(start: re.Match[str], inner: list[str]) -> list[str]:
    if start["tab"] is not None:
        lines = ["", start["tab"], "", *inner, ""]
    else:
        fences = (re.match(r" *(:{3,})", line) for line in inner)
        colons = ":" * max((len(fence[1]) + 1 for fence in fences if fence), default=3)
        title = f" {start['title']}" if start["title"] else ""
        lines = ["", f"{colons}{start['kind']}{title}", *inner, colons, ""]
    return [f"{start['indent']}{line}" if line else "" for line in lines]


_DIALECT = Dialect(slugger=TocSlugger, split_id=split_attributes, rewrite=convert_indented_blocks)


def expand_snippets(
    text: str, includes: Includes, bases: tuple[Path, ...], stack: tuple[Path, ...] = ()
) -> str:
    """Insert snippets, as the extension `pymdownx.snippets` does."""

    def replace(match: re.Match[str]) -> str:
        if match["escape"]:
            return match[0].replace(";", "", 1)
        paths = [match["path"]] if match["path"] else match["paths"].split("\n")
        texts = [load(path.strip().lstrip(";")) for path in paths if path.strip()]
        return "\n".join(match["indent"] + line for line in "\n".join(texts).split("\n"))

    def load(reference: str) -> str:
        name, _, span = reference.partition(":")
        candidates = [base / name for base in bases]
        path = next((p for p in candidates if p.is_file()), candidates[0])

        def render(content: str) -> str:
            selected = _select(content.replace("\r\n", "\n"), span).rstrip("\n")
            return expand_snippets(selected, includes, bases, (*stack, path.resolve()))

        return includes.read(path, stack, render)

    return _SNIPPET.sub(replace, text)


def _select(text: str, span: str) -> str:
    start, colon, end = span.partition(":")
    if start and not start.isdecimal():
        text = "\n".join(_snippet_section(text, start))
    elif span:
        text = select_lines(text, start, end if colon else None)
    return "\n".join(line for line in text.split("\n") if not _SECTION_MARKER.search(line))


def _snippet_section(text: str, name: str) -> Iterator[str]:
    inside = False
    for line in text.split("\n"):
        marker = _SECTION_MARKER.search(line)
        if marker and marker[2] == name:
            inside = marker[1] == "start"
        elif inside:
            yield line


class MkDocsFormat(BookFormat):
    """A MkDocs project."""

    name = "mkdocs"

    def matches(self, root: Path) -> bool:
        """Return whether there is a `mkdocs.yml`."""
        return root.is_dir() and any((root / name).is_file() for name in _CONFIGS)

    def files(self, root: Path) -> list[SourceFile]:
        """List the configuration, the pages and their snippets."""
        options = IngestOptions()
        site = _site(root, options)
        files = {root / name: SourceFile(root / name, name) for name in _CONFIGS}
        for file in _pages(site):
            includes = _includes(site, file)
            files[file.path] = SourceFile(file.path, includes.page)
            with skip_on_error(includes.page, []):
                expand_snippets(read_text(file, options), includes, site.snippets)
            files |= includes.requested
        return [file for path, file in files.items() if path.name not in _CONFIGS or path.is_file()]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read the pages in the order of the navigation, then all others."""
        skipped: list[SkippedFile] = []
        site = _site(root, options, skipped)
        files = {file.name: file for file in _pages(site, skipped)}
        pages: list[Page] = []
        for entry in _navigation_pages(site, files):
            file = files.get(entry.path)
            if file is None:
                reason = "is in the navigation but does not exist"
                skipped.append(SkippedFile(source=entry.path, reason=reason))
                continue
            includes = _includes(site, file, options)
            with skip_on_error(includes.page, skipped):
                pages.append(_page(entry, file, site, includes))
                skipped.extend(includes.skipped)
        return Book(title=site.title, kind=self.name, pages=tuple(pages), skipped=tuple(skipped))


def _site(root: Path, options: IngestOptions, skipped: list[SkippedFile] | None = None) -> _Site:
    path = next((root / name for name in _CONFIGS if (root / name).is_file()), None)
    loaded = read_yaml(path, options) if path else {}
    config: dict[str, Any] = loaded if isinstance(loaded, dict) else {}
    docs = root / (scalar(config.get("docs_dir")) or "docs")
    name = path.name if path else _CONFIGS[0]
    check_configured_folder(docs, "docs_dir", name)
    return _Site(
        root=root,
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
    items = extensions if isinstance(extensions, list) else [extensions]
    options = (item.get("pymdownx.snippets") for item in items if isinstance(item, dict))
    base_path = next((o.get("base_path") for o in options if isinstance(o, dict)), None)
    names = map(scalar, base_path if isinstance(base_path, list) else [base_path])
    return [root / name for name in names if name]


def _pages(site: _Site, skipped: list[SkippedFile] | None = None) -> list[SourceFile]:
    """List the pages in MkDocs' default order: the index of a folder comes first."""
    files = list(markdown_files(site.docs, skipped, endings=_ENDINGS, private=(".",)))
    folders = {folder: n for n, folder in enumerate(dict.fromkeys(f.path.parent for f in files))}
    return sorted(
        files,
        key=lambda f: (folders[f.path.parent], f.path.stem.lower() not in _INDEX, f.path.name),
    )


def _navigation_pages(site: _Site, files: Iterable[str]) -> list[NavigationPage]:
    listed = walk_pages(site.nav, _split_entry)
    others = (
        NavigationPage(
            title="",
            path=name,
            part=_title_from_name(PurePosixPath(name).parts[0]) if "/" in name else "",
        )
        for name in files
    )
    return unique_pages([*listed, *others])


def _split_entry(entry: object) -> Iterable[tuple[str, str | None, object]]:
    if isinstance(entry, str):
        entry = {"": entry}
    if not isinstance(entry, dict):
        return
    for title, target in entry.items():
        if isinstance(target, str):
            # Skip links to other sites and to files that are not pages.
            if target.endswith(_ENDINGS) and "://" not in target:
                yield scalar(title), os.path.normpath(target), None
        else:
            yield scalar(title), None, target


def _title_from_name(folder: str) -> str:
    words = folder.replace("-", " ").replace("_", " ")
    return words.capitalize() if words == words.lower() else words


def _includes(site: _Site, file: SourceFile, options: IngestOptions | None = None) -> Includes:
    return Includes(
        page=Path(os.path.relpath(file.path, site.root)).as_posix(),
        root=site.root,
        folders=(site.root, site.docs),
        options=options or IngestOptions(),
    )


def _page(entry: NavigationPage, file: SourceFile, site: _Site, includes: Includes) -> Page:
    text = expand_snippets(read_text(file, includes.options), includes, site.snippets)
    parsed = parse_page(text, mdx=False, dialect=_DIALECT, title=entry.title or None)
    title = entry.title or scalar(parsed.front_matter.get("title")) or parsed.heading
    return Page(
        source=includes.page,
        title=title or _title_from_name(PurePosixPath(file.name).stem),
        part=entry.part,
        url=site.page_url(file.name),
        sections=parsed.sections,
    )
