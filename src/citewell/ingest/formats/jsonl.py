"""JSON lines: one passage a line, for books that another tool has already taken apart."""

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
from citewell.ingest.formats.time_limit import check_budget, skip_on_error
from citewell.options import IngestOptions
from citewell.text.plain_text import replace_lone_surrogates

_ENDINGS = (".jsonl", ".ndjson")
WHOLE_BOOK = 10
"""How many times larger than a page the file of a whole book may be."""


@dataclass(slots=True)
class _Open:
    title: str
    url: str
    sections: list[Section] = field(default_factory=list)


class JsonlFormat(BookFormat):
    """A file of JSON lines, or a folder that holds nothing else."""

    kind = "jsonl"

    def matches(self, root: Path) -> bool:
        """Return whether `root` is such a file, or a folder of them."""
        if root.is_file():
            return root.suffix in _ENDINGS
        found = [path for path in root.iterdir() if not path.name.startswith(".")]
        return bool(found) and all(path.suffix in _ENDINGS and path.is_file() for path in found)

    def files(self, root: Path) -> list[SourceFile]:
        """List the files."""
        if root.is_file():
            return [SourceFile(root, root.name)]
        return [
            SourceFile(path, path.name)
            for path in sorted(root.iterdir())
            if path.suffix in _ENDINGS and not path.name.startswith(".")
        ]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Gather the lines into pages; a line that cannot be used is reported by its number."""
        skipped: list[SkippedFile] = []
        pages: list[Page] = []
        for file in self.files(root):
            with skip_on_error(file.name, skipped):
                pages += _pages(file, options, skipped)
        name = root.stem if root.is_file() else root.resolve().name
        return Book(title=name, kind=self.kind, pages=tuple(pages), skipped=tuple(skipped))


def _pages(file: SourceFile, options: IngestOptions, skipped: list[SkippedFile]) -> Iterator[Page]:
    whole = options.model_copy(update={"max_page_bytes": WHOLE_BOOK * options.max_page_bytes})
    found: dict[str, _Open] = {}
    # Not `splitlines`: what else ends a line may stand inside a JSON string.
    for number, line in enumerate(read_text(file, whole).split("\n"), start=1):
        if line.strip():
            with skip_on_error(f"{file.name} (line {number})", skipped):
                check_budget()
                _add(_parse(line), file.path.stem, found)
    site = (options.site_url or "").rstrip("/")
    for key, page in found.items():
        yield Page(
            # One file holds many pages, and a page is known by its source.
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


def _add(row: dict[str, Any], name: str, pages: dict[str, _Open]) -> None:
    url, _, anchor = _word(row, "url").partition("#")
    title = _word(row, "title")
    key = _word(row, "page") or url or title or name
    blocks = parse_blocks(replace_lone_surrogates(row["text"]))
    page = pages.setdefault(key, _Open(title=title or _word(row, "page") or name, url=url))
    path = [part.strip() for part in _word(row, "section").split(">") if part.strip()]
    if blocks:
        page.sections.append(Section(path=(page.title, *path), anchor=anchor, blocks=blocks))


def _word(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    return (
        replace_lone_surrogates(str(value)).strip() if isinstance(value, str | int | float) else ""
    )
