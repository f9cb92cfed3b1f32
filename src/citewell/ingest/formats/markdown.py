"""Folders of plain Markdown, and the page parser that all Markdown formats share."""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from citewell.domain import Block, BlockKind, Book, Page, Section, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import (
    BookFormat,
    SourceFile,
    is_allowed_path,
    read_bytes,
    walk_folder,
)
from citewell.ingest.formats.headings import GithubSlugger, Slugger, split_explicit_id
from citewell.ingest.formats.mdx import split_front_matter, strip_markup
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.ingest.formats.yaml_data import scalar
from citewell.options import IngestOptions
from citewell.text.plain_text import strip_inline_markup

_BLOCK_KINDS: dict[str, BlockKind] = {
    "paragraph_open": "prose",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
    "math_block": "math",
    "math_block_label": "math",
    "blockquote_open": "quote",
    "container_admonition_open": "admonition",
}
_CLOSING_HASHES = re.compile(r"[ \t]+#+[ \t]*$")
_ADMONITION = re.compile(r"^[\w-]+(?:\[[^\]]*\]|\s.*)?$")


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """The content of a Markdown file, without its URL."""

    front_matter: dict[str, Any]
    heading: str | None
    """The text of the page's first-level heading."""
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The differences between site generators in parsing a page; defaults are GitHub's."""

    slugger: Callable[[frozenset[str]], Slugger] = lambda _: GithubSlugger()
    """Returns a slugger for one page, given its explicit ids."""
    split_id: Callable[[str], tuple[str, str | None]] = split_explicit_id
    """Splits an explicit id off a heading."""
    rewrite: Callable[[str], str] = lambda body: body
    """Converts the generator's own syntax to Markdown."""
    slug_text: Callable[[str], str] | None = None
    """Returns the text for an id from a heading's source; by default, its plain text."""
    titles_have_ids: bool = True
    """Whether first-level headings have ids."""


GITHUB = Dialect()


@dataclass(slots=True)
class _SectionBuilder:
    path: tuple[str, ...]
    anchor: str
    blocks: list[Block] = field(default_factory=list)


def _parser(*, mdx: bool) -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.use(dollarmath_plugin, allow_space=False, allow_blank_lines=True)
    markdown.use(
        container_plugin,
        "admonition",
        validate=lambda params, *_: bool(_ADMONITION.match(params.strip())),
    )
    # Only block boundaries are needed, and inline parsing can be very slow.
    markdown.disable(["inline", "text_join"])
    if mdx:
        # MDX has no indented code: indented text is inside a tag.
        markdown.disable("code")
    return markdown


def parse_page(
    text: str, *, mdx: bool, dialect: Dialect = GITHUB, title: str | None = None
) -> ParsedPage:
    """Parse a Markdown or MDX page into sections that preserve the source text.

    Raises:
        UnreadableFile: the front matter or a comment is invalid, or nesting is too deep.
    """
    try:
        front_matter, body = split_front_matter(re.sub(r"\r\n?", "\n", text))
        source = dialect.rewrite(body)
        body = _visible_text(source, mdx=mdx)
        heading, sections = _sections(body, source, dialect, title, mdx=mdx)
    except RecursionError as error:
        raise UnreadableFile("is nested too deeply to be read") from error
    name = title or scalar(front_matter.get("title")) or heading
    return ParsedPage(
        front_matter=front_matter,
        heading=heading,
        sections=tuple(
            Section(
                path=(name, *s.path) if name else s.path, anchor=s.anchor, blocks=tuple(s.blocks)
            )
            for s in sections
            if s.blocks
        ),
    )


def add_heading_ids(body: str, *, mdx: bool, dialect: Dialect = GITHUB) -> str:
    """Append an explicit id to every heading.

    Raises:
        UnreadableFile: a comment is not closed.
    """
    tokens = _parser(mdx=mdx).parse(_visible_text(body, mdx=mdx))
    lines = body.split("\n")
    for token, (_, anchor) in _headings(tokens, body, dialect):
        assert token.map
        line = token.map[0] if token.markup.startswith("#") else token.map[1] - 2
        if anchor and token.tag != "h1":
            lines[line] = (
                _CLOSING_HASHES.sub("", dialect.split_id(lines[line])[0]) + f" {{#{anchor}}}"
            )
    return "\n".join(lines)


def _visible_text(source: str, *, mdx: bool) -> str:
    return strip_markup(source, mdx=mdx, code=() if mdx else _indented_code(source))


def _indented_code(body: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of indented code, where `Vec<T>` is not a tag."""
    if not re.search(r"^(?: {4}|\t)[^\n]*<", body, re.M):
        return []
    starts = [0, *accumulate(len(line) + 1 for line in body.split("\n"))]
    tokens = _parser(mdx=False).parse(body)
    return [
        (starts[token.map[0]], starts[token.map[1]])
        for token in tokens
        if token.type == "code_block" and token.map
    ]


def parse_blocks(text: str) -> tuple[Block, ...]:
    """Split text into blocks without changing it; headings become prose.

    Raises:
        UnreadableFile: nesting is too deep.
    """
    body = re.sub(r"\r\n?", "\n", text)
    lines = body.split("\n")
    try:
        tokens = _parser(mdx=False).disable(["heading", "lheading"]).parse(body)
    except RecursionError as error:
        raise UnreadableFile("is nested too deeply to be read") from error
    return tuple(
        block for token, text in _top_level_blocks(tokens, lines) if (block := _block(token, text))
    )


def _headings(
    tokens: list[Token], source: str, dialect: Dialect
) -> list[tuple[Token, tuple[str, str]]]:
    """Return every heading with its plain text and id, including those in quotes and lists."""
    lines = source.split("\n")
    headings = [
        (token, tokens[index + 1].content, dialect.split_id(tokens[index + 1].content))
        for index, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    slugger = dialect.slugger(frozenset(explicit for *_, (_, explicit) in headings if explicit))
    with_ids: list[tuple[Token, tuple[str, str]]] = []
    for token, content, (heading, explicit) in headings:
        text = strip_inline_markup(heading)
        slug_text = text
        if dialect.slug_text and not explicit:
            slug_text = dialect.slug_text(content if token.level else _heading_source(token, lines))
        with_ids.append((token, (text, explicit or slugger.slug(slug_text))))
    return with_ids


def _heading_source(token: Token, lines: list[str]) -> str:
    assert token.map
    start, end = token.map
    if token.markup.startswith("#"):
        return _CLOSING_HASHES.sub("", lines[start].strip().lstrip("#")).strip(" \t")
    return "\n".join(line.strip() for line in lines[start : end - 1])


def _sections(
    body: str, source: str, dialect: Dialect, known_title: str | None, *, mdx: bool
) -> tuple[str | None, list[_SectionBuilder]]:
    tokens = _parser(mdx=mdx).parse(body)
    headings = {id(token): text_and_id for token, text_and_id in _headings(tokens, source, dialect)}
    title: str | None = None
    open_headings: list[tuple[int, str]] = []
    sections = [_SectionBuilder(path=(), anchor="")]
    for token, text in _top_level_blocks(tokens, body.split("\n")):
        if token and token.type == "heading_open":
            level = int(token.tag[1])
            heading, anchor = headings[id(token)]
            if level == 1 and not dialect.titles_have_ids:
                # Link to the nearest anchor above.
                anchor = sections[-1].anchor
            if title is None and (level == 1 or (heading == known_title and len(sections) == 1)):
                title, open_headings = heading, []
                if level == 1 and len(sections) == 1:
                    anchor = ""
            else:
                open_headings = [(n, h) for n, h in open_headings if n < level]
                open_headings.append((level, heading))
            path = tuple(text for _, text in open_headings)
            sections.append(_SectionBuilder(path=path, anchor=anchor))
        elif block := _block(token, text):
            sections[-1].blocks.append(block)
    return title, sections


def _top_level_blocks(tokens: list[Token], lines: list[str]) -> Iterator[tuple[Token | None, str]]:
    """Yield the outermost blocks with their lines, and the lines between them."""
    done = 0
    for token in tokens:
        if token.level == 0 and token.map is not None:
            yield None, "\n".join(lines[done : token.map[0]])
            yield token, "\n".join(lines[token.map[0] : token.map[1]])
            done = token.map[1]
    yield None, "\n".join(lines[done:])


def _block(token: Token | None, text: str) -> Block | None:
    if token is None:
        # A one-word footnote is parsed as a link reference definition, so it has no token.
        text = "\n".join(line for line in text.split("\n") if line.lstrip().startswith("[^"))
    text = text.strip("\n").rstrip()
    kind = _BLOCK_KINDS.get(token.type) if token else "prose"
    if kind is None or not text.strip():
        return None
    return Block(kind=kind, text=text if kind in ("code", "list") else text.strip())


def markdown_files(
    root: Path,
    skipped: list[SkippedFile] | None = None,
    *,
    endings: tuple[str, ...] = (".md", ".mdx"),
    private: tuple[str, ...] = ("_", "."),
) -> Iterator[SourceFile]:
    """Yield the Markdown files of a folder, sorted; skip linked folders."""
    if root.is_file():
        yield SourceFile(root, root.name)
        return

    for file in walk_folder(root, skipped, private) if is_allowed_path(root) else ():
        if file.name.endswith(endings) and not file.path.name.startswith(private):
            yield file


def read_prefix(path: Path, size: int) -> str:
    """Return the first `size` bytes of a file as text; empty if it cannot be read."""
    try:
        if not path.is_file() or not is_allowed_path(path):
            return ""
        with path.open("rb") as data:
            return data.read(size).decode("utf-8", "replace")
    except OSError:
        return ""


def read_text(file: SourceFile, options: IngestOptions) -> str:
    """Read a text file.

    Raises:
        UnreadableFile: it is too large, not text, outside the book, or cannot be opened.
    """
    setting = "CITEWELL_INGEST__MAX_PAGE_BYTES"
    return _decode(read_bytes(file, limit=options.max_page_bytes, setting=setting))


def _decode(data: bytes) -> str:
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in data and not wide:
        raise UnreadableFile("is a binary file, not text")
    try:
        return data.decode("utf-16") if wide else data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        name = "UTF-16" if wide else "UTF-8"
        raise UnreadableFile(f"is not {name} text (byte {error.start})") from error


class MarkdownFormat(BookFormat):
    """A folder of Markdown files, or a single file, without a site generator."""

    name = "markdown"

    def matches(self, root: Path) -> bool:
        """Return whether there is any Markdown file below `root`."""
        return next(markdown_files(root), None) is not None

    def files(self, root: Path) -> list[SourceFile]:
        """List the Markdown files."""
        return list(markdown_files(root))

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every file as a page whose URL path is the file path without its suffix."""
        pages: list[Page] = []
        skipped: list[SkippedFile] = []
        for file in markdown_files(root, skipped):
            with skip_on_error(file.name, skipped):
                pages.append(_page(file, options))
        name = root.stem if root.is_file() else root.resolve().name
        return Book(title=name, kind=self.name, pages=tuple(pages), skipped=tuple(skipped))


def _page(file: SourceFile, options: IngestOptions) -> Page:
    parsed = parse_page(read_text(file, options), mdx=file.name.endswith(".mdx"))
    site = (options.site_url or "").rstrip("/")
    return Page(
        source=file.name,
        title=scalar(parsed.front_matter.get("title")) or parsed.heading or Path(file.name).stem,
        part="",
        url=f"{site}/{Path(file.name).with_suffix('').as_posix()}",
        sections=parsed.sections,
    )
