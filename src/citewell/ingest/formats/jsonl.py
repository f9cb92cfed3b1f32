"""JSON Lines: one passage per line, for books that another tool has already parsed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from citewell.domain import Book, Page, Section, SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import BookFormat, SourceFile
from citewell.ingest.formats.markdown import parse_blocks, read_text
from citewell.ingest.formats.time_limit import check_time_limit, skip_on_error
from citewell.options import IngestOptions
from citewell.text.plain_text import replace_lone_surrogates

_ENDINGS = (".jsonl", ".ndjson")
_PAGES_PER_FILE = 10
"""A file may be this many times larger than a page."""


@dataclass(slots=True)
class _PageBuilder:
    title: str
    url: str
    sections: list[Section] = field(default_factory=list)


class JsonlFormat(BookFormat):
    """A JSON Lines file, or a folder of nothing else."""

    name = "jsonl"

    def matches(self, root: Path) -> bool:
        """Return whether `root` is a JSON Lines file, or a folder of nothing else."""
        if root.is_file():
            return root.suffix in _ENDINGS
        paths = [path for path in root.iterdir() if not path.name.startswith(".")]
        return bool(paths) and all(path.suffix in _ENDINGS and path.is_file() for path in paths)

    def files(self, root: Path) -> list[SourceFile]:
        """List the JSON Lines files."""
        if root.is_file():
            return [SourceFile(root, root.name)]
        return [
            SourceFile(path, path.name)
            for path in sorted(root.iterdir())
            if path.suffix in _ENDINGS and not path.name.startswith(".")
        ]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Group the lines into pages; an invalid line is reported with its number."""
        skipped: list[SkippedFile] = []
        pages: list[Page] = []
        for file in self.files(root):
            with skip_on_error(file.name, skipped):
                pages += _pages(file, options, skipped)
        name = root.stem if root.is_file() else root.resolve().name
        return Book(title=name, kind=self.name, pages=tuple(pages), skipped=tuple(skipped))


def _pages(file: SourceFile, options: IngestOptions, skipped: list[SkippedFile]) -> Iterator[Page]:
    limit = _PAGES_PER_FILE * options.max_page_bytes
    file_options = options.model_copy(update={"max_page_bytes": limit})
    pages: dict[str, _PageBuilder] = {}
    # Not `splitlines`, which also splits at separators allowed inside JSON strings.
    for number, line in enumerate(read_text(file, file_options).split("\n"), start=1):
        if line.strip():
            with skip_on_error(f"{file.name} (line {number})", skipped):
                check_time_limit()
                _add(_parse(line), file.path.stem, pages)
    site = (options.site_url or "").rstrip("/")
    for key, page in pages.items():
        yield Page(
            # A source identifies one page, and a file holds many.
            source=f"{file.name}/{key}",
            title=page.title,
            part="",
            url=page.url or f"{site}/{quote(key)}",
            sections=tuple(page.sections),
        )


def _parse(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile("is not JSON") from error
    if not isinstance(row, dict):
        raise UnreadableFile("is not a JSON object")
    if not isinstance(row.get("text"), str):
        raise UnreadableFile("has no `text`")
    return row


def _add(row: dict[str, Any], name: str, pages: dict[str, _PageBuilder]) -> None:
    url, _, anchor = _text_field(row, "url").partition("#")
    title = _text_field(row, "title")
    key = _text_field(row, "page") or url or title or name
    blocks = parse_blocks(replace_lone_surrogates(row["text"]))
    page = pages.setdefault(
        key, _PageBuilder(title=title or _text_field(row, "page") or name, url=url)
    )
    path = [part.strip() for part in _text_field(row, "section").split(">") if part.strip()]
    if blocks:
        page.sections.append(Section(path=(page.title, *path), anchor=anchor, blocks=blocks))


def _text_field(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    return (
        replace_lone_surrogates(str(value)).strip() if isinstance(value, str | int | float) else ""
    )
