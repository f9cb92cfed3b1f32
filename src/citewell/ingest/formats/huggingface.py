"""Hugging Face documentation: the pages of `_toctree.yml`, in doc-builder's own Markdown."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from citewell.domain import Book, Page, SkippedFile
from citewell.ingest.formats.base import BookFormat, SourceFile
from citewell.ingest.formats.headings import AsciiSlugger, split_bracketed_id
from citewell.ingest.formats.includes import in_fences
from citewell.ingest.formats.markdown import (
    Dialect,
    markdown_files,
    parse_page,
    read_start,
    read_text,
)
from citewell.ingest.formats.navigation import Chapter, read_yaml, unique_chapters, walk_contents
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.ingest.formats.yaml_data import scalar
from citewell.options import IngestOptions

_TOCTREE = "_toctree.yml"
_PLACES = ("", "en", "source", "source/en", "docs/source", "docs/source/en")
_ENDINGS = (".mdx", ".md")
_SIGN = re.compile(r"^\[\[(?:autodoc|open-in-colab)\]\]|^[ \t]*<hfoptions?\b", re.M)
_SAMPLE_SIZE = 200
"""How many pages are opened to find out who they are written for."""
_DIRECTIVE = re.compile(r"\[\[(?:autodoc|open-in-colab)\]\]")
_MEMBER = re.compile(r"[ \t]+-[ \t]")
_TIP = re.compile(r"([ \t]*)<(/?)Tip\b([^<>]*)>[ \t]*$")


def _rewrite(body: str) -> str:
    """Drop what is made from source code, and turn tips into containers."""
    kept: list[str] = []
    tip: int | None = None
    listing = False
    for line, info in in_fences(body.split("\n")):
        # The members of a class that are to be shown stand below it, indented.
        listing = info is None and (
            bool(_DIRECTIVE.match(line)) or (listing and bool(_MEMBER.match(line)))
        )
        if listing:
            kept.append("")
            continue
        found = _TIP.match(line) if info is None else None
        if found and not found[2]:
            tip = len(kept)
        elif found and tip is not None:
            # Only a tip that ends is one: what is never closed would take the page with it.
            opening = _TIP.match(kept[tip])
            kind = "warning" if opening and "warning" in opening[3] else "tip"
            kept[tip] = f"{found[1]}:::{kind}"
            tip = None
            kept.append(f"{found[1]}:::")
            continue
        kept.append(line)
    return "\n".join(kept)


_DIALECT = Dialect(slugger=lambda _: AsciiSlugger(), split_id=split_bracketed_id, rewrite=_rewrite)


class HfDocsFormat(BookFormat):
    """A folder of pages for Hugging Face's doc-builder."""

    kind = "hfdocs"

    def matches(self, root: Path) -> bool:
        """Return whether there is a `_toctree.yml`, or pages only doc-builder would understand."""
        return root.is_dir() and _home(root) is not None

    def files(self, root: Path) -> list[SourceFile]:
        """List the table of contents and the pages."""
        home = _home(root) or root
        toctree = SourceFile(home / _TOCTREE, _TOCTREE)
        return [*([toctree] if toctree.path.is_file() else []), *_pages(home)]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read the pages in the order of the contents, then those the contents do not name."""
        home = _home(root) or root
        pages: list[Page] = []
        skipped: list[SkippedFile] = []
        files = {file.name: file for file in _pages(home, skipped)}
        for chapter in _chapters(home, files, options):
            file = files.get(chapter.path)
            if file is None:
                reason = f"is in {_TOCTREE} but does not exist"
                skipped.append(SkippedFile(source=chapter.path, reason=reason))
                continue
            with skip_on_error(file.name, skipped):
                pages.append(_page(chapter, file, options))
        return Book(
            title=root.resolve().name, kind=self.kind, pages=tuple(pages), skipped=tuple(skipped)
        )


def _home(root: Path) -> Path | None:
    places = [root / place for place in _PLACES]
    listed = next((place for place in places if (place / _TOCTREE).is_file()), None)
    # A copy may lack its table of contents.
    return listed or next(
        (p for p in places if p.is_dir() and _is_written_for_doc_builder(p)), None
    )


def _is_written_for_doc_builder(folder: Path) -> bool:
    pages = sorted(folder.glob("*.mdx"))[:_SAMPLE_SIZE]
    return any(_SIGN.search(read_start(path, 100_000)) for path in pages)


def _pages(home: Path, skipped: list[SkippedFile] | None = None) -> list[SourceFile]:
    return list(markdown_files(home, skipped, endings=_ENDINGS))


def _chapters(home: Path, files: Iterable[str], options: IngestOptions) -> list[Chapter]:
    path = home / _TOCTREE
    toctree = read_yaml(path, options) if path.is_file() else None
    known = set(files)
    named = (
        Chapter(title=chapter.title, path=_file_of(chapter.path, known), part=chapter.part)
        for chapter in walk_contents(toctree, _split_entry)
    )
    return unique_chapters([*named, *(Chapter(title="", path=name, part="") for name in files)])


def _file_of(local: str, files: set[str]) -> str:
    tried = [f"{local}{ending}" for ending in _ENDINGS]
    return next((name for name in tried if name in files), tried[0])


def _split_entry(entry: object) -> Iterable[tuple[str, str | None, object]]:
    if isinstance(entry, dict):
        local = scalar(entry.get("local"))
        yield scalar(entry.get("title")), local or None, entry.get("sections")


def _page(chapter: Chapter, file: SourceFile, options: IngestOptions) -> Page:
    text = read_text(file, options)
    parsed = parse_page(text, mdx=False, dialect=_DIALECT, title=chapter.title or None)
    local = PurePosixPath(file.name).with_suffix("").as_posix()
    title = chapter.title or scalar(parsed.front_matter.get("title")) or parsed.heading
    site = (options.site_url or "").rstrip("/")
    return Page(
        source=file.name,
        title=title or PurePosixPath(local).name,
        part=chapter.part,
        url=f"{site}/{quote(local)}",
        sections=parsed.sections,
    )
