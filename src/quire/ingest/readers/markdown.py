"""Plain Markdown folders, and the page parser every Markdown dialect shares."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from quire.domain import Block, BlockKind, Book, Page, Section, Skipped
from quire.errors import UnreadableFile
from quire.ingest.options import IngestOptions
from quire.ingest.readers import SourceFile
from quire.ingest.readers.headings import GithubSlugger, split_explicit_id
from quire.ingest.readers.markup import split_front_matter, strip_markup
from quire.prose.plain import inline_plain

_KINDS: dict[str, BlockKind] = {
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
_ADMONITION = re.compile(r"^[\w-]+(?:\[[^\]]*\]|\s.*)?$")


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """One Markdown file, before it is known where the site puts it."""

    front_matter: dict[str, Any]
    heading: str | None
    """The text of the page's own first-level heading."""
    sections: tuple[Section, ...]


@dataclass(slots=True)
class _Open:
    path: tuple[str, ...]
    anchor: str
    blocks: list[Block] = field(default_factory=list)


def _parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.use(dollarmath_plugin, allow_space=False, allow_blank_lines=True)
    markdown.use(
        container_plugin,
        "admonition",
        validate=lambda params, *_: bool(_ADMONITION.match(params.strip())),
    )
    return markdown


def parse_page(text: str, *, mdx: bool) -> ParsedPage:
    """Read one Markdown or MDX file into sections that keep the author's bytes.

    Raises:
        UnreadableFile: the front matter or a comment is broken.
    """
    front_matter, body = split_front_matter(re.sub(r"\r\n?", "\n", text))
    body = strip_markup(body, mdx=mdx)
    lines = body.split("\n")
    title = str(front_matter["title"]) if front_matter.get("title") else None
    heading: str | None = None
    slugger = GithubSlugger()
    trail: list[tuple[int, str]] = []
    sections = [_Open(path=(), anchor="")]
    tokens = _parser().parse(body)
    for index, token in enumerate(tokens):
        if token.level != 0 or token.map is None:
            continue
        if token.type == "heading_open":
            level = int(token.tag[1])
            words, explicit = split_explicit_id(tokens[index + 1].content)
            words = inline_plain(words)
            anchor = explicit or slugger.slug(words)
            if level == 1 and heading is None:
                heading, anchor = words, ""
                trail = []
            else:
                trail = [(n, h) for n, h in trail if n < level] + [(level, words)]
            sections.append(_Open(path=tuple(h for _, h in trail), anchor=anchor))
        elif block := _block(token, lines):
            sections[-1].blocks.append(block)
    name = title or heading
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


def _block(token: Token, lines: list[str]) -> Block | None:
    assert token.map is not None
    text = "\n".join(lines[token.map[0] : token.map[1]]).strip("\n").rstrip()
    kind = _KINDS.get(token.type)
    if kind is None or not text.strip():
        return None
    return Block(kind=kind, text=text if kind in ("code", "list") else text.strip())


def markdown_files(root: Path, skipped: list[Skipped] | None = None) -> Iterator[SourceFile]:
    """Walk a folder for `.md` and `.mdx` files, in order; links to folders are not followed."""
    if root.is_file():
        yield SourceFile(root, root.name)
        return

    def report(error: OSError) -> None:
        if skipped is not None:
            where = Path(error.filename).relative_to(root).as_posix()
            skipped.append(Skipped(source=where, reason=f"cannot be opened: {error.strerror}"))

    for folder, folders, names in os.walk(root, onerror=report):
        here = Path(folder)
        for name in sorted(folders):
            if (here / name).is_symlink() and skipped is not None:
                where = (here / name).relative_to(root).as_posix()
                skipped.append(
                    Skipped(source=where, reason="link to a folder, not followed", failed=False)
                )
        folders[:] = sorted(
            f for f in folders if not f.startswith((".", "_")) and f != "node_modules"
        )
        for name in sorted(names):
            if name.endswith((".md", ".mdx")) and not name.startswith(("_", ".")):
                path = here / name
                yield SourceFile(path, path.relative_to(root).as_posix())


def read_text(file: SourceFile, options: IngestOptions) -> str:
    """Read one file as text.

    Raises:
        UnreadableFile: it is too large, not text, or cannot be opened.
    """
    try:
        status = file.path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile("is not an ordinary file")
        size = status.st_size
        if size > options.max_page_bytes:
            raise UnreadableFile(
                f"{size / 1e6:.1f} MB is more than the limit of {options.max_page_bytes / 1e6:g} MB"
                " (QUIRE_INGEST__MAX_PAGE_BYTES)"
            )
        data = file.path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"cannot be opened: {error.strerror}") from error
    if b"\0" in data:
        raise UnreadableFile("is a binary file, not text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"is not UTF-8 text (byte {error.start})") from error


class MarkdownReader:
    """A folder of Markdown files, or one file, without a site generator."""

    kind = "markdown"

    def recognises(self, root: Path) -> bool:
        """Tell whether there is any Markdown below `root`."""
        return next(markdown_files(root), None) is not None

    def files(self, root: Path) -> list[SourceFile]:
        """List the Markdown files."""
        return list(markdown_files(root))

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every file as one page, its address the path without the ending."""
        pages: list[Page] = []
        skipped: list[Skipped] = []
        for file in markdown_files(root, skipped):
            try:
                parsed = parse_page(read_text(file, options), mdx=file.name.endswith(".mdx"))
            except UnreadableFile as error:
                skipped.append(Skipped(source=file.name, reason=str(error)))
                continue
            title = str(parsed.front_matter.get("title") or parsed.heading or Path(file.name).stem)
            site = (options.site_url or "").rstrip("/")
            pages.append(
                Page(
                    source=file.name,
                    title=title,
                    part="",
                    url=f"{site}/{Path(file.name).with_suffix('').as_posix()}",
                    sections=parsed.sections,
                )
            )
        name = root.stem if root.is_file() else root.resolve().name
        return Book(title=name, kind=self.kind, pages=tuple(pages), skipped=tuple(skipped))
