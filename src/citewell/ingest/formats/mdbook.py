"""mdBook books: the chapters of `SUMMARY.md`, with the files they include."""

import os
import posixpath
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote

from markdown_it.token import Token

from citewell.domain import Book, Page, SkippedFile
from citewell.errors import UnreadableFile, UnsupportedSource
from citewell.ingest.formats.base import (
    BookFormat,
    SourceFile,
    check_configured_folder,
    site_base_url,
)
from citewell.ingest.formats.headings import MdBookSlugger, split_attributes, text_of_inline
from citewell.ingest.formats.includes import Includes, lines_with_fence_info, select_lines
from citewell.ingest.formats.markdown import Dialect, parse_page, read_text
from citewell.ingest.formats.mdx import strip_markup
from citewell.ingest.formats.navigation import NavigationPage, unique_pages
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.ingest.formats.yaml_data import scalar
from citewell.options import IngestOptions
from citewell.text.plain_text import strip_inline_markup

_CONFIG = "book.toml"
_SUMMARY = "SUMMARY.md"
_ITEM = re.compile(
    r"(?P<indent>[ \t]*)(?P<bullet>(?:[-*+]|\d+[.)])[ \t]+)?"
    r"\[(?P<title>(?:[^\[\]\\]|\\.|\[[^\[\]]*\])*+)\]"
    r"\([ \t]*(?:<(?P<bracketed>[^<>]*)>|(?P<bare>[^\s()]*(?:\([^\s()]*\)[^\s()]*)*))"
)
_DIRECTIVE = re.compile(r"\\(\{\{[ \t]*#[^\n}]*\}\})|\{\{[ \t]*#(\w+)[ \t]+([^}\n]+)\}\}")
_ANCHOR = re.compile(r"ANCHOR(_END)?:[ \t]*([\w-]+)")
_HIDDEN = re.compile(r"([ \t]*)#(.?)(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    root: Path
    src: Path
    title: str
    site: str
    smart: bool
    """Whether mdBook converts quotes and dashes to typographic ones."""


def _drop_hidden_lines(body: str) -> str:
    lines: list[str] = []
    for line, info in lines_with_fence_info(body.split("\n")):
        match = _HIDDEN.match(line) if info and "rust" in re.split(r"[,\s]+", info) else None
        if match and match[2] == "#":
            lines.append(f"{match[1]}#{match[3]}")
        elif not (match and match[2] in ("", " ")):
            lines.append(line)
    return "\n".join(lines)


def _heading_text(source: str, *, smart: bool) -> str:
    """Return the text of a heading from which mdBook makes its id: without images."""

    def token_text(token: Token) -> str:
        if token.type == "text" and smart:
            # Ids contain hyphens but no typographic dashes.
            return re.sub("-{2,}", "", token.content)
        if token.type == "softbreak":
            return "\n"
        return token.content if token.type in ("text", "text_special", "code_inline") else ""

    return text_of_inline(split_attributes(source)[0], token_text)


def _dialect(*, smart: bool) -> Dialect:
    return Dialect(
        slugger=lambda _: MdBookSlugger(),
        split_id=split_attributes,
        rewrite=_drop_hidden_lines,
        slug_text=partial(_heading_text, smart=smart),
    )


def parse_summary(text: str) -> tuple[str | None, list[NavigationPage]]:
    """Return the heading of the summary and its chapters, in reading order.

    Raises:
        UnreadableFile: a comment is not closed.
    """
    heading: str | None = None
    part = ""
    chapters: list[NavigationPage] = []
    ancestors: list[tuple[int, str]] = []
    for line in strip_markup(text, mdx=False).splitlines():
        if line.startswith("#"):
            words = strip_inline_markup(line.lstrip("#"))
            if heading is None and not chapters:
                heading = words
            else:
                part = words
            ancestors = []
        elif item := _ITEM.match(line):
            if item["bullet"] is None:
                # Prefix and suffix chapters belong to no part.
                part, ancestors = "", []
            depth = len(item["indent"].expandtabs(4))
            ancestors = [(d, t) for d, t in ancestors if d < depth]
            title = strip_inline_markup(item["title"])
            path = posixpath.normpath(unquote(item["bracketed"] or item["bare"] or "") or ".")
            outer = part or (ancestors[0][1] if ancestors else "")
            chapters.append(
                NavigationPage(title=title, path="" if path == "." else path, part=outer)
            )
            ancestors.append((depth, title))
    return heading, chapters


def expand_includes(text: str, file: Path, includes: Includes, stack: tuple[Path, ...] = ()) -> str:
    """Insert included files, as mdBook's `links` preprocessor does."""
    stack = (*stack, file.resolve())

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        name, arguments = match[2], match[3].split()
        if name == "title":
            return ""
        if name not in ("include", "rustdoc_include", "playground", "playpen") or not arguments:
            return match[0]
        target, _, span = arguments[0].partition(":")
        path = file.parent / target

        def render(content: str) -> str:
            selected = _select(content.replace("\r\n", "\n"), span).rstrip("\n")
            return (
                expand_includes(selected, path, includes, stack) if name == "include" else selected
            )

        content = includes.read(path, stack, render)
        return f"```rust\n{content}\n```" if name.startswith("play") and content else content

    return _DIRECTIVE.sub(replace, text)


def _select(text: str, span: str) -> str:
    start, colon, end = span.partition(":")
    if not start or start.isdecimal():
        return select_lines(text, start, end.partition(":")[0] if colon else None)
    return "\n".join(_anchor_section(text, start))


def _anchor_section(text: str, name: str) -> Iterator[str]:
    inside = False
    for line in text.split("\n"):
        anchor = _ANCHOR.search(line)
        if anchor and anchor[2] == name:
            if anchor[1] and inside:
                return
            inside = inside or not anchor[1]
        elif inside and not anchor:
            yield line


def page_path(name: str) -> str:
    """Return the URL path of a chapter below the site: `README.md` becomes `index.html`."""
    path = PurePosixPath(name)
    stem = "index" if path.stem.lower() == "readme" else path.stem
    return quote(path.with_name(f"{stem}.html").as_posix())


class MdBookFormat(BookFormat):
    """A book of mdBook, or its source folder."""

    name = "mdbook"

    def matches(self, root: Path) -> bool:
        """Return whether there is a `book.toml` or a `SUMMARY.md` where mdBook looks for it."""
        if not root.is_dir():
            return False
        return any((root / name).is_file() for name in (_CONFIG, _SUMMARY, f"src/{_SUMMARY}"))

    def book_folder(self, root: Path) -> Path:
        """Return the root folder of the book, which may be the parent of `root`."""
        return _book_root(root)

    def files(self, root: Path) -> list[SourceFile]:
        """List the configuration, the summary, its chapters and their included files."""
        options = IngestOptions()
        layout = _read_layout(root, options)
        summary = layout.src / _SUMMARY
        files = {path: _source_file(path, layout) for path in (layout.root / _CONFIG, summary)}
        for chapter in _chapters(layout, options)[1]:
            file = layout.src / chapter.path
            includes = _includes(layout, file, options)
            files[file] = _source_file(file, layout)
            with skip_on_error(chapter.path, []):
                _read_expanded(file, includes)
            files |= {f.path: f for f in includes.requested.values() if f.path != file.resolve()}
        return list(files.values())

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read the chapters of the summary; other files are not part of the book."""
        skipped: list[SkippedFile] = []
        layout = _read_layout(root, options, skipped)
        heading, chapters = _chapters(layout, options)
        pages: list[Page] = []
        for chapter in chapters:
            source = _source_file(layout.src / chapter.path, layout).name
            with skip_on_error(source, skipped):
                pages.append(_page(chapter, source, layout, options, skipped))
        return Book(
            title=layout.title or _summary_title(heading) or layout.root.resolve().name,
            kind=self.name,
            pages=tuple(pages),
            skipped=tuple(skipped),
        )


def _summary_title(heading: str | None) -> str | None:
    return None if (heading or "").lower() in ("summary", "table of contents") else heading


def _is_source(root: Path) -> bool:
    """Return whether the folder has the chapters but not the configuration."""
    return (root / _SUMMARY).is_file() and not (root / _CONFIG).is_file()


def _book_root(root: Path) -> Path:
    # A `src` folder is part of the book in its parent.
    is_src = root.resolve().name == "src" and _is_source(root)
    return root.resolve().parent if is_src else root


def _read_layout(
    root: Path, options: IngestOptions, skipped: list[SkippedFile] | None = None
) -> _Layout:
    book_root = _book_root(root)
    config = _read_config(book_root, options)
    book = _table(config, "book")
    src = book_root / (scalar(book.get("src")) or "src")
    check_configured_folder(src, "src", _CONFIG)
    if _is_source(root) or not (src / _SUMMARY).is_file():
        src = root
    html = _table(_table(config, "output"), "html")
    return _Layout(
        root=book_root,
        src=src,
        title=scalar(book.get("title")),
        site=site_base_url(
            options.site_url or scalar(html.get("site-url")), "site-url", _CONFIG, skipped
        ),
        smart=html.get("smart-punctuation") is not False,
    )


def _read_config(root: Path, options: IngestOptions) -> dict[str, Any]:
    path = root / _CONFIG
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(read_text(SourceFile(path, _CONFIG), options))
    except (tomllib.TOMLDecodeError, UnreadableFile, RecursionError) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}.") from error


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    table = data.get(name)
    return table if isinstance(table, dict) else {}


def _chapters(layout: _Layout, options: IngestOptions) -> tuple[str | None, list[NavigationPage]]:
    summary = layout.src / _SUMMARY
    if not summary.is_file():
        raise UnsupportedSource(f"{layout.root} has no {_SUMMARY}, so it is not an mdBook.")
    try:
        heading, chapters = parse_summary(read_text(SourceFile(summary, _SUMMARY), options))
    except UnreadableFile as error:
        raise UnreadableFile(f"{summary} {error}.") from error
    return heading, unique_pages(chapter for chapter in chapters if chapter.path)


def _source_file(path: Path, layout: _Layout) -> SourceFile:
    return SourceFile(path, Path(os.path.relpath(path, layout.root)).as_posix())


def _includes(layout: _Layout, file: Path, options: IngestOptions) -> Includes:
    return Includes(
        page=_source_file(file, layout).name,
        root=layout.root,
        folders=(layout.root, layout.src),
        options=options,
    )


def _read_expanded(file: Path, includes: Includes) -> str:
    if reason := includes.why_refused(file):
        raise UnreadableFile(reason)
    return expand_includes(
        read_text(SourceFile(file, includes.page), includes.options), file, includes
    )


def _page(
    chapter: NavigationPage,
    source: str,
    layout: _Layout,
    options: IngestOptions,
    skipped: list[SkippedFile],
) -> Page:
    file = layout.src / chapter.path
    includes = _includes(layout, file, options)
    text = _read_expanded(file, includes)
    parsed = parse_page(
        text, mdx=False, dialect=_dialect(smart=layout.smart), title=chapter.title or None
    )
    skipped.extend(includes.skipped)
    return Page(
        source=source,
        title=chapter.title or parsed.heading or PurePosixPath(chapter.path).stem,
        part=chapter.part,
        url=f"{layout.site}/{page_path(chapter.path)}",
        sections=parsed.sections,
    )
