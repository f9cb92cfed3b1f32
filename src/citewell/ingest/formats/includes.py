"""Files that pages draw in: only from the book's own folders, and never in a circle."""

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
"""How deep included files may include others; mdBook has the same limit."""
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(`{3,}|~{3,})(.*)$")


@dataclass(slots=True, kw_only=True)
class Includes:
    """The files one page draws in, and those it could not."""

    page: str
    home: Path
    """Names of files are told from here."""
    folders: tuple[Path, ...]
    """Where included files may lie."""
    options: IngestOptions
    seen: dict[Path, SourceFile] = field(default_factory=dict)
    """Every file that was asked for, whether it could be read or not."""
    notes: list[SkippedFile] = field(default_factory=list)
    size: int = 0

    def read(self, path: Path, stack: tuple[Path, ...], use: Callable[[str], str]) -> str:
        """Return what `use` makes of the file, or nothing after noting why it is left out.

        Raises:
            UnreadableFile: together, the included files are larger than a page may be.
        """
        if refused := self.refusal(path, stack):
            return self._leave_out(path.as_posix(), refused)
        real = path.resolve()
        name = Path(os.path.relpath(real, self.home.resolve())).as_posix()
        file = self.seen.setdefault(real, SourceFile(real, name))
        if not real.exists():
            # No reason to fail: the site generators only warn, too.
            return self._leave_out(name, "does not exist", failed=False)
        try:
            text = read_text(file, self.options)
        except UnreadableFile as error:
            return self._leave_out(name, str(error))
        self._weigh(len(text))
        return use(text)

    def refusal(self, path: Path, stack: tuple[Path, ...] = ()) -> str | None:
        """Return why a file may not be read here, if it may not."""
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):
            return "has no possible path"
        if not is_allowed_path(real, *self.folders):
            return OUTSIDE
        if real in stack:
            return "includes itself"
        return "is included too deeply" if len(stack) > MAX_DEPTH else None

    def _weigh(self, size: int) -> None:
        self.size += size
        if self.size > self.options.max_page_bytes:
            raise UnreadableFile(
                "with the files it includes, is larger than the limit of"
                f" {self.options.max_page_bytes / 1e6:g} MB (CITEWELL_INGEST__MAX_PAGE_BYTES)"
            )

    def _leave_out(self, name: str, reason: str, *, failed: bool = True) -> str:
        name = name.removeprefix(f"{self.home.as_posix()}/")
        note = SkippedFile(source=name, reason=f"{reason} (included by {self.page})", failed=failed)
        if note not in self.notes:
            self.notes.append(note)
        return ""


def select_lines(text: str, start: str, end: str | None) -> str:
    """Return the lines from `start` to `end`, counted from 1; a side left empty is open."""
    lines = text.split("\n")
    first = max(int(start) - 1, 0) if start else 0
    if end is None:
        return "\n".join(lines[first : first + 1] if start else lines)
    return "\n".join(lines[first : int(end) if end.isdecimal() else None])


def in_fences(lines: list[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each line with the info string of the code block it stands in, if it stands in one."""
    fence = info = ""
    for line in lines:
        found = _FENCE.match(line)
        if fence:
            closes = found and found[1].startswith(fence) and not found[2].strip()
            yield line, None if closes else info
            fence = "" if closes else fence
            continue
        if found and not (found[1].startswith("`") and "`" in found[2]):
            fence, info = found[1], found[2].strip()
        yield line, None
