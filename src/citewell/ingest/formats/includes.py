"""Files included by pages: only from the book's folders, and without cycles."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from citewell.domain import SkippedFile
from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import OUTSIDE, SourceFile, is_allowed_path
from citewell.ingest.formats.markdown import read_text
from citewell.options import IngestOptions

MAX_DEPTH = 10
"""Limit on nested includes, the same as mdBook's."""
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(`{3,}|~{3,})(.*)$")


@dataclass(slots=True, kw_only=True)
class Includes:
    """The included files of one page."""

    page: str
    root: Path
    """The folder that file names are relative to."""
    folders: tuple[Path, ...]
    """The folders that may be read."""
    options: IngestOptions
    requested: dict[Path, SourceFile] = field(default_factory=dict)
    """Every requested file, readable or not, by its resolved path."""
    skipped: list[SkippedFile] = field(default_factory=list)
    size: int = 0

    def read(self, path: Path, stack: tuple[Path, ...], render: Callable[[str], str]) -> str:
        """Return the rendered file; empty, and recorded as skipped, if it cannot be read.

        Raises:
            UnreadableFile: together, the included files are larger than a page may be.
        """
        if refused := self.why_refused(path, stack):
            return self._skip(path.as_posix(), refused)
        real = path.resolve()
        name = Path(os.path.relpath(real, self.root.resolve())).as_posix()
        file = self.requested.setdefault(real, SourceFile(real, name))
        if not real.exists():
            # Not a failure: site generators only warn, too.
            return self._skip(name, "does not exist", failed=False)
        try:
            text = read_text(file, self.options)
        except UnreadableFile as error:
            return self._skip(name, str(error))
        self._add_size(len(text))
        return render(text)

    def why_refused(self, path: Path, stack: tuple[Path, ...] = ()) -> str | None:
        """Return why a file must not be read; `None` if it may."""
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):
            return "is not a valid path"
        if not is_allowed_path(real, *self.folders):
            return OUTSIDE
        if real in stack:
            return "includes itself"
        return "is included too deeply" if len(stack) > MAX_DEPTH else None

    def _add_size(self, size: int) -> None:
        self.size += size
        if self.size > self.options.max_page_bytes:
            raise UnreadableFile(
                "with the files it includes, is larger than the limit of"
                f" {self.options.max_page_bytes / 1e6:g} MB (CITEWELL_INGEST__MAX_PAGE_BYTES)"
            )

    def _skip(self, name: str, reason: str, *, failed: bool = True) -> str:
        name = name.removeprefix(f"{self.root.as_posix()}/")
        note = SkippedFile(source=name, reason=f"{reason} (included by {self.page})", failed=failed)
        if note not in self.skipped:
            self.skipped.append(note)
        return ""


def select_lines(text: str, start: str, end: str | None) -> str:
    """Return the lines from `start` to `end`, counted from 1; empty bounds are open."""
    lines = text.split("\n")
    first_index = max(int(start) - 1, 0) if start else 0
    if end is None:
        return "\n".join(lines[first_index : first_index + 1] if start else lines)
    return "\n".join(lines[first_index : int(end) if end.isdecimal() else None])


def lines_with_fence_info(lines: list[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each line with the info string of its code block; `None` outside of code."""
    fence = info = ""
    for line in lines:
        match = _FENCE.match(line)
        if fence:
            closes = match and match[1].startswith(fence) and not match[2].strip()
            yield line, None if closes else info
            fence = "" if closes else fence
            continue
        if match and not (match[1].startswith("`") and "`" in match[2]):
            fence, info = match[1], match[2].strip()
        yield line, None
