"""Files that a Sphinx page includes: where they may be, and which could not be read."""

from dataclasses import dataclass, field
from pathlib import Path

from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import SourceFile, is_allowed_path
from citewell.ingest.formats.markdown import read_text
from citewell.options import IngestOptions

MAX_INCLUDES = 500
"""Limit on the files that a page includes, against cycles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncludeContext:
    """Reads the files that a page includes, and records errors."""

    root: Path
    page: Path
    options: IngestOptions
    folder: Path | None = None
    """The root of names that begin with a slash; by default, the book's folder."""
    default_role: str = ""
    included: list[Path] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    """Files that could not be included, with the reasons."""

    def report(self, name: str, reason: str) -> None:
        """Record that a file could not be included."""
        page = relative_name(self.root, self.page)
        self.problems.append((name, f"included by {page}, but {reason}"))

    def read(self, name: str, source: str | None = None) -> tuple[Path, str] | None:
        """Read an included file; record an error and return `None` if that fails."""
        try:
            path = self.find(name, source)
            if len(self.included) >= MAX_INCLUDES:
                raise UnreadableFile(f"the page includes more than {MAX_INCLUDES} files")  # noqa: TRY301
            text = read_text(SourceFile(path, name), self.options)
        except UnreadableFile as error:
            self.report(name, str(error))
            return None
        self.included.append(path)
        return path, text

    def find(self, name: str, source: str | None = None) -> Path:
        """Resolve the name of an included file.

        Raises:
            UnreadableFile: it lies outside the book, or there is none.
        """
        pages = [self.page, Path(source or self.page)]
        paths = candidate_paths(self.root, pages, name, self.folder)
        if not paths:
            raise UnreadableFile("it lies outside the book")
        file = next((path for path in paths if path.is_file()), None)
        if file is None:
            raise UnreadableFile("there is no such file")
        return file


def relative_name(root: Path, path: Path) -> str:
    """Return a path relative to the book's folder."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def candidate_paths(
    root: Path, pages: list[Path], name: str, folder: Path | None = None
) -> list[Path]:
    """Return the paths inside the book that an included name may refer to.

    Sphinx resolves names relative to the page, or to the `folder` of all pages if they begin with
    a slash; docutils resolves them relative to the file with the directive.
    """
    if "\0" in name:
        return []
    starts = [folder or root] if name.startswith("/") else [page.parent for page in pages]
    try:
        paths = [(start / name.lstrip("/")).resolve() for start in dict.fromkeys(starts)]
    except (OSError, RuntimeError):  # a loop of links
        return []
    return [path for path in paths if is_allowed_path(path, root)]
