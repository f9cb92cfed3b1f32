"""What a page may take in besides its own text, and what went wrong when it did."""

from dataclasses import dataclass, field
from pathlib import Path

from citewell.errors import UnreadableFile
from citewell.ingest.formats.base import SourceFile, is_allowed_path
from citewell.ingest.formats.markdown import read_text
from citewell.options import IngestOptions

MAX_INCLUDES = 500
"""Files one page may take in; more is a page that includes itself in a roundabout way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncludeContext:
    """Where a page stands: what it may take in, and what went wrong when it did."""

    root: Path
    page: Path
    options: IngestOptions
    folder: Path | None = None
    """Where names that begin with a slash count from; without it, the book's folder."""
    default_role: str = ""
    included: list[Path] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    """Names of files that should have been taken in, and why they were not."""

    def report(self, name: str, reason: str) -> None:
        """Note that a file was wanted and is missing from the text."""
        page = below(self.root, self.page)
        self.problems.append((name, f"included by {page}, but {reason}"))

    def read(self, name: str, source: str | None = None) -> tuple[Path, str] | None:
        """Read a file that the page takes in; when that fails, it is noted and nothing comes."""
        try:
            path = self.find(name, source)
            if len(self.included) >= MAX_INCLUDES:
                raise UnreadableFile(f"the page takes in more than {MAX_INCLUDES} files")  # noqa: TRY301
            text = read_text(SourceFile(path, name), self.options)
        except UnreadableFile as error:
            self.report(name, str(error))
            return None
        self.included.append(path)
        return path, text

    def find(self, name: str, source: str | None = None) -> Path:
        """Return the file that the page means by `name`.

        Raises:
            UnreadableFile: it lies outside the book, or there is none.
        """
        pages = [self.page, Path(source or self.page)]
        places = candidates(self.root, pages, name, self.folder)
        if not places:
            raise UnreadableFile("it lies outside the book")
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise UnreadableFile("there is no such file")
        return found


def below(root: Path, path: Path) -> str:
    """Return a path as its name below the book's folder."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def candidates(root: Path, pages: list[Path], name: str, folder: Path | None = None) -> list[Path]:
    """Return the places inside the book where a page may mean `name` to be.

    Sphinx counts from the page, or from the `folder` of all pages where the name begins with a
    slash; docutils counts from the file that has the directive.
    """
    if "\0" in name:
        return []
    starts = [folder or root] if name.startswith("/") else [page.parent for page in pages]
    try:
        found = [(start / name.lstrip("/")).resolve() for start in dict.fromkeys(starts)]
    except (OSError, RuntimeError):  # a loop of links
        return []
    return [path for path in found if is_allowed_path(path, root)]
