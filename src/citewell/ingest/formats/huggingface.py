"""Hugging Face documentation: the pages of `_toctree.yml`, in doc-builder's Markdown."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from citewell.domain import Book, Page, SkippedFile
from citewell.ingest.formats.base import BookFormat, SourceFile
from citewell.ingest.formats.headings import AsciiSlugger, split_bracketed_id
from citewell.ingest.formats.includes import lines_with_fence_info
from citewell.ingest.formats.markdown import (
    Dialect,
    markdown_files,
    parse_page,
    read_prefix,
    read_text,
)
from citewell.ingest.formats.navigation import NavigationPage, read_yaml, unique_pages, walk_pages
from citewell.ingest.formats.time_limit import skip_on_error
from citewell.ingest.formats.yaml_data import scalar
from citewell.options import IngestOptions

_TOCTREE = "_toctree.yml"
_SUBFOLDERS = ("", "en", "source", "source/en", "docs/source", "docs/source/en")
_ENDINGS = (".mdx", ".md")
_DOC_BUILDER_SYNTAX = re.compile(r"^\[\[(?:autodoc|open-in-colab)\]\]|^[ \t]*<hfoptions?\b", re.M)
_SAMPLE_SIZE = 200
"""How many pages are opened to detect the dialect."""
_DIRECTIVE = re.compile(r"\[\[(?:autodoc|open-in-colab)\]\]")
_MEMBER = re.compile(r"[ \t]+-[ \t]")
_TIP = re.compile(r"([ \t]*)<(/?)Tip\b([^<>]*)>[ \t]*$")


def _rewrite(body: str) -> str:
    """Drop API directives, and convert `<Tip>` to admonitions."""
    lines: list[str] = []
    tip: int | None = None
    in_directive = False
    for line, info in lines_with_fence_info(body.split("\n")):
        # An indented list of class members belongs to the directive above it.
        in_directive = info is None and (
            bool(_DIRECTIVE.match(line)) or (in_directive and bool(_MEMBER.match(line)))
        )
        if in_directive:
            lines.append("")
            continue
        tag = _TIP.match(line) if info is None else None
        if tag and not tag[2]:
            tip = len(lines)
        elif tag and tip is not None:
            # Convert only closed tips: an unclosed one would swallow the rest of the page.
            opening = _TIP.match(lines[tip])
            kind = "warning" if opening and "warning" in opening[3] else "tip"
            lines[tip] = f"{tag[1]}:::{kind}"
            tip = None
            lines.append(f"{tag[1]}:::")
            continue
        lines.append(line)
    return "\n".join(lines)


_DIALECT = Dialect(slugger=lambda _: AsciiSlugger(), split_id=split_bracketed_id, rewrite=_rewrite)


class HfDocsFormat(BookFormat):
    """A folder of pages for Hugging Face's doc-builder."""

    name = "hfdocs"

    def matches(self, root: Path) -> bool:
        """Return whether there is a `_toctree.yml`, or pages that use doc-builder's syntax."""
        return root.is_dir() and _docs_folder(root) is not None

    def files(self, root: Path) -> list[SourceFile]:
        """List the table of contents and the pages."""
        docs_folder = _docs_folder(root) or root
        toctree = SourceFile(docs_folder / _TOCTREE, _TOCTREE)
        return [*([toctree] if toctree.path.is_file() else []), *_pages(docs_folder)]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read the pages in the order of `_toctree.yml`, then all others."""
        docs_folder = _docs_folder(root) or root
        pages: list[Page] = []
        skipped: list[SkippedFile] = []
        files = {file.name: file for file in _pages(docs_folder, skipped)}
        for entry in _navigation_pages(docs_folder, files, options):
            file = files.get(entry.path)
            if file is None:
                reason = f"is in {_TOCTREE} but does not exist"
                skipped.append(SkippedFile(source=entry.path, reason=reason))
                continue
            with skip_on_error(file.name, skipped):
                pages.append(_page(entry, file, options))
        return Book(
            title=root.resolve().name, kind=self.name, pages=tuple(pages), skipped=tuple(skipped)
        )


def _docs_folder(root: Path) -> Path | None:
    folders = [root / name for name in _SUBFOLDERS]
    with_toctree = next((folder for folder in folders if (folder / _TOCTREE).is_file()), None)
    # A copy may lack its table of contents.
    return with_toctree or next(
        (f for f in folders if f.is_dir() and _is_written_for_doc_builder(f)), None
    )


def _is_written_for_doc_builder(folder: Path) -> bool:
    pages = sorted(folder.glob("*.mdx"))[:_SAMPLE_SIZE]
    return any(_DOC_BUILDER_SYNTAX.search(read_prefix(path, 100_000)) for path in pages)


def _pages(docs_folder: Path, skipped: list[SkippedFile] | None = None) -> list[SourceFile]:
    return list(markdown_files(docs_folder, skipped, endings=_ENDINGS))


def _navigation_pages(
    docs_folder: Path, files: Iterable[str], options: IngestOptions
) -> list[NavigationPage]:
    path = docs_folder / _TOCTREE
    toctree = read_yaml(path, options) if path.is_file() else None
    names = set(files)
    pages = walk_pages(toctree, _split_entry)
    listed = (replace(page, path=_find_file(page.path, names)) for page in pages)
    others = (NavigationPage(title="", path=name, part="") for name in files)
    return unique_pages([*listed, *others])


def _find_file(local: str, files: set[str]) -> str:
    candidates = [f"{local}{ending}" for ending in _ENDINGS]
    return next((name for name in candidates if name in files), candidates[0])


def _split_entry(entry: object) -> Iterable[tuple[str, str | None, object]]:
    if isinstance(entry, dict):
        local = scalar(entry.get("local"))
        yield scalar(entry.get("title")), local or None, entry.get("sections")


def _page(entry: NavigationPage, file: SourceFile, options: IngestOptions) -> Page:
    text = read_text(file, options)
    parsed = parse_page(text, mdx=False, dialect=_DIALECT, title=entry.title or None)
    local = PurePosixPath(file.name).with_suffix("").as_posix()
    title = entry.title or scalar(parsed.front_matter.get("title")) or parsed.heading
    site = (options.site_url or "").rstrip("/")
    return Page(
        source=file.name,
        title=title or PurePosixPath(local).name,
        part=entry.part,
        url=f"{site}/{quote(local)}",
        sections=parsed.sections,
    )
