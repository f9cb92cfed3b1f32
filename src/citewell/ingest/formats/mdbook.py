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
from citewell.ingest.formats.headings import MdBookSlugger, inline_text, split_attributes
from citewell.ingest.formats.includes import Includes, in_fences, select_lines
from citewell.ingest.formats.markdown import Dialect, parse_page, read_text
from citewell.ingest.formats.mdx import strip_markup
from citewell.ingest.formats.navigation import Chapter, unique_chapters
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
    home: Path
    src: Path
    title: str
    site: str
    smart: bool
    """Whether quotes and dashes are made typographic."""


def _hide_lines(body: str) -> str:
    """Leave out the lines of Rust code that mdBook hides until the reader asks for them."""
    kept: list[str] = []
    for line, info in in_fences(body.split("\n")):
        found = _HIDDEN.match(line) if info and "rust" in re.split(r"[,\s]+", info) else None
        if found and found[2] == "#":
            kept.append(f"{found[1]}#{found[3]}")
        elif not (found and found[2] in ("", " ")):
            kept.append(line)
    return "\n".join(kept)


def _heading_text(source: str, *, smart: bool) -> str:
    """Return what an id is made of: the words of a heading, without pictures."""

    def shown(token: Token) -> str:
        if token.type == "text" and smart:
            # Typographic dashes are no part of an id; hyphens are.
            return re.sub("-{2,}", "", token.content)
        kept = ("text", "text_special", "code_inline")
        return "\n" if token.type == "softbreak" else token.content if token.type in kept else ""

    return inline_text(split_attributes(source)[0], shown)


def _dialect(*, smart: bool) -> Dialect:
    return Dialect(
        slugger=lambda _: MdBookSlugger(),
        split_id=split_attributes,
        rewrite=_hide_lines,
        slug_text=partial(_heading_text, smart=smart),
    )


def parse_summary(text: str) -> tuple[str | None, list[Chapter]]:
    """Return the heading of the summary and its chapters, in reading order.

    Raises:
        UnreadableFile: a comment in it is never closed.
    """
    heading: str | None = None
    part = ""
    chapters: list[Chapter] = []
    above: list[tuple[int, str]] = []
    for line in strip_markup(text, mdx=False).splitlines():
        if line.startswith("#"):
            words = strip_inline_markup(line.lstrip("#"))
            if heading is None and not chapters:
                heading = words
            else:
                part = words
            above = []
        elif found := _ITEM.match(line):
            if found["bullet"] is None:
                # A chapter without a number stands before or behind all parts.
                part, above = "", []
            depth = len(found["indent"].expandtabs(4))
            above = [(d, t) for d, t in above if d < depth]
            title = strip_inline_markup(found["title"])
            path = posixpath.normpath(unquote(found["bracketed"] or found["bare"] or "") or ".")
            outer = part or (above[0][1] if above else "")
            chapters.append(Chapter(title=title, path="" if path == "." else path, part=outer))
            above.append((depth, title))
    return heading, chapters


def expand(text: str, file: Path, includes: Includes, stack: tuple[Path, ...] = ()) -> str:
    """Put the included files in their places, as mdBook's `links` preprocessor does."""
    stack = (*stack, file.resolve())

    def replace(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        name, arguments = found[2], found[3].split()
        if name == "title":
            return ""
        if name not in ("include", "rustdoc_include", "playground", "playpen") or not arguments:
            return found[0]
        target, _, span = arguments[0].partition(":")
        path = file.parent / target

        def use(content: str) -> str:
            chosen = _select(content.replace("\r\n", "\n"), span).rstrip("\n")
            return expand(chosen, path, includes, stack) if name == "include" else chosen

        content = includes.read(path, stack, use)
        return f"```rust\n{content}\n```" if name.startswith("play") and content else content

    return _DIRECTIVE.sub(replace, text)


def _select(text: str, span: str) -> str:
    start, colon, end = span.partition(":")
    if not start or start.isdecimal():
        return select_lines(text, start, end.partition(":")[0] if colon else None)
    return "\n".join(_anchored(text, start))


def _anchored(text: str, name: str) -> Iterator[str]:
    inside = False
    for line in text.split("\n"):
        mark = _ANCHOR.search(line)
        if mark and mark[2] == name:
            if mark[1] and inside:
                return
            inside = inside or not mark[1]
        elif inside and not mark:
            yield line


def page_path(path: str) -> str:
    """Return the address of a chapter below the site: `README.md` is its folder's `index.html`."""
    place = PurePosixPath(path)
    name = "index" if place.stem.lower() == "readme" else place.stem
    return quote(place.with_name(f"{name}.html").as_posix())


class MdBookFormat(BookFormat):
    """A book of mdBook, or its source folder."""

    kind = "mdbook"

    def matches(self, root: Path) -> bool:
        """Return whether there is a `book.toml` or a `SUMMARY.md` where mdBook looks for it."""
        if not root.is_dir():
            return False
        return any((root / name).is_file() for name in (_CONFIG, _SUMMARY, f"src/{_SUMMARY}"))

    def book_folder(self, root: Path) -> Path:
        """Return the folder of the book, be it the one above."""
        return _home(root)

    def files(self, root: Path) -> list[SourceFile]:
        """List the configuration, the summary, its chapters, and every file they include."""
        options = IngestOptions()
        layout = _layout(root, options)
        summary = layout.src / _SUMMARY
        found = {path: _named(path, layout) for path in (layout.home / _CONFIG, summary)}
        for chapter in _chapters(layout, options)[1]:
            file = layout.src / chapter.path
            includes = _includes(layout, file, options)
            found[file] = _named(file, layout)
            with skip_on_error(chapter.path, []):
                _expanded(file, includes)
            found |= {f.path: f for f in includes.seen.values() if f.path != file.resolve()}
        return list(found.values())

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read the chapters of the summary; other files are no part of the book."""
        skipped: list[SkippedFile] = []
        layout = _layout(root, options, skipped)
        heading, chapters = _chapters(layout, options)
        pages: list[Page] = []
        for chapter in chapters:
            source = _named(layout.src / chapter.path, layout).name
            with skip_on_error(source, skipped):
                pages.append(_page(chapter, source, layout, options, skipped))
        return Book(
            title=layout.title or _own_title(heading) or layout.home.resolve().name,
            kind=self.kind,
            pages=tuple(pages),
            skipped=tuple(skipped),
        )


def _own_title(heading: str | None) -> str | None:
    return None if (heading or "").lower() in ("summary", "table of contents") else heading


def _is_source(root: Path) -> bool:
    """Whether the folder is the one with the chapters, not the one with the configuration."""
    return (root / _SUMMARY).is_file() and not (root / _CONFIG).is_file()


def _home(root: Path) -> Path:
    # `src` stands for its book, as mdBook always lays one out.
    named = root.resolve().name == "src" and _is_source(root)
    return root.resolve().parent if named else root


def _layout(
    root: Path, options: IngestOptions, skipped: list[SkippedFile] | None = None
) -> _Layout:
    home = _home(root)
    config = _read_config(home, options)
    book = _table(config, "book")
    src = home / (scalar(book.get("src")) or "src")
    check_configured_folder(src, "src", _CONFIG)
    if _is_source(root) or not (src / _SUMMARY).is_file():
        src = root
    html = _table(_table(config, "output"), "html")
    return _Layout(
        home=home,
        src=src,
        title=scalar(book.get("title")),
        site=site_base_url(
            options.site_url or scalar(html.get("site-url")), "site-url", _CONFIG, skipped
        ),
        smart=html.get("smart-punctuation") is not False,
    )


def _read_config(home: Path, options: IngestOptions) -> dict[str, Any]:
    path = home / _CONFIG
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(read_text(SourceFile(path, _CONFIG), options))
    except (tomllib.TOMLDecodeError, UnreadableFile, RecursionError) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}.") from error


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _chapters(layout: _Layout, options: IngestOptions) -> tuple[str | None, list[Chapter]]:
    summary = layout.src / _SUMMARY
    if not summary.is_file():
        raise UnsupportedSource(f"{layout.home} has no {_SUMMARY}, so it is no mdBook.")
    try:
        heading, chapters = parse_summary(read_text(SourceFile(summary, _SUMMARY), options))
    except UnreadableFile as error:
        raise UnreadableFile(f"{summary} {error}.") from error
    return heading, unique_chapters(chapter for chapter in chapters if chapter.path)


def _named(path: Path, layout: _Layout) -> SourceFile:
    return SourceFile(path, Path(os.path.relpath(path, layout.home)).as_posix())


def _includes(layout: _Layout, file: Path, options: IngestOptions) -> Includes:
    return Includes(
        page=_named(file, layout).name,
        home=layout.home,
        folders=(layout.home, layout.src),
        options=options,
    )


def _expanded(file: Path, includes: Includes) -> str:
    if refused := includes.refusal(file):
        raise UnreadableFile(refused)
    return expand(read_text(SourceFile(file, includes.page), includes.options), file, includes)


def _page(
    chapter: Chapter,
    source: str,
    layout: _Layout,
    options: IngestOptions,
    skipped: list[SkippedFile],
) -> Page:
    file = layout.src / chapter.path
    includes = _includes(layout, file, options)
    text = _expanded(file, includes)
    parsed = parse_page(
        text, mdx=False, dialect=_dialect(smart=layout.smart), title=chapter.title or None
    )
    skipped.extend(includes.notes)
    return Page(
        source=source,
        title=chapter.title or parsed.heading or PurePosixPath(chapter.path).stem,
        part=chapter.part,
        url=f"{layout.site}/{page_path(chapter.path)}",
        sections=parsed.sections,
    )
