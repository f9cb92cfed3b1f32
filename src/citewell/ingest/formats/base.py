"""One book format each, all giving the same pages and sections."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol
from urllib.parse import quote

from citewell.domain import Book, SkippedFile
from citewell.errors import UnreadableFile, UnsupportedSource
from citewell.ingest.formats.time_limit import check_budget
from citewell.options import IngestOptions
from citewell.text.sanitize import is_web_address


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the book: where it is, and its name below the book's folder."""

    path: Path
    name: str


class BookFormat(Protocol):
    """Reads one kind of book."""

    kind: str

    def recognises(self, root: Path) -> bool:
        """Return whether the folder holds this kind of book."""
        ...

    def home(self, root: Path) -> Path:
        """Return the folder that holds the book; nothing is read from outside of it."""
        ...

    def files(self, root: Path) -> list[SourceFile]:
        """List every file whose bytes decide what the book says."""
        ...

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read the whole book; a page that cannot be read is reported, not raised."""
        ...


def address(name: str) -> str:
    """Return a file's name as it stands in an address."""
    return quote(name, safe="/:@!$&'()*+,;=~-._")


def files_below(
    root: Path, endings: tuple[str, ...], skipped: list[SkippedFile] | None = None
) -> Iterator[SourceFile]:
    """Walk a folder for files by their ending, in order; links to folders are not followed."""
    if root.is_file():
        if root.name.lower().endswith(endings):
            yield SourceFile(root, root.name)
        return

    def report(error: OSError) -> None:
        if skipped is not None:
            where = Path(error.filename).relative_to(root).as_posix()
            skipped.append(SkippedFile(source=where, reason=f"cannot be opened: {error.strerror}"))

    for folder, folders, names in os.walk(root, onerror=report):
        here = Path(folder)
        if skipped is not None:
            skipped += skip_linked_folders(here, folders, root)
        folders[:] = sorted(
            f for f in folders if not f.startswith((".", "_")) and f != "node_modules"
        )
        for name in sorted(names):
            if name.lower().endswith(endings) and not name.startswith("."):
                yield SourceFile(here / name, (here / name).relative_to(root).as_posix())


def check_size(file: SourceFile, *, limit: int, setting: str) -> None:
    """Make sure that a file is an ordinary one of sensible size.

    Raises:
        UnreadableFile: it is larger than the `setting` allows, outside the book, or cannot be
            opened.
    """
    check_budget()
    try:
        status = file.path.stat()
        check_inside(file.path)
        with file.path.open("rb") if stat.S_ISREG(status.st_mode) else nullcontext():
            pass
    except OSError as error:
        raise UnreadableFile(f"cannot be opened: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile("is not an ordinary file")
    if status.st_size > limit:
        raise UnreadableFile(
            f"{status.st_size / 1e6:.1f} MB is more than the limit of {limit / 1e6:g} MB"
            f" ({setting})"
        )


def read_bytes(file: SourceFile, *, limit: int, setting: str) -> bytes:
    """Read one file whole.

    Raises:
        UnreadableFile: it is larger than the `setting` allows, or cannot be opened.
    """
    check_size(file, limit=limit, setting=setting)
    try:
        return file.path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"cannot be opened: {error.strerror}") from error


class SingleFileFormat:
    """Reads a book that is one file, known by how its name ends."""

    kind: str
    ending: ClassVar[str]
    read_file: ClassVar[Callable[[SourceFile, IngestOptions], Book]]

    def recognises(self, root: Path) -> bool:
        """Return whether `root` is such a file, by its name."""
        return root.is_file() and root.name.lower().endswith(self.ending)

    def home(self, root: Path) -> Path:
        """Return the folder of the book."""
        return root if root.is_dir() else root.parent

    def files(self, root: Path) -> list[SourceFile]:
        """List the one file."""
        return [SourceFile(root, root.name)]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read every chapter."""
        try:
            return type(self).read_file(SourceFile(root, root.name), options)
        except UnreadableFile as error:
            skip = SkippedFile(source=root.name, reason=str(error))
            return Book(title=root.stem, kind=self.kind, pages=(), skipped=(skip,))


OUTSIDE = "lies outside the book's folder"
_FOLDERS: ContextVar[tuple[Path, ...]] = ContextVar("folders", default=())
"""None means that nothing is confined: a reader was called by itself."""


@contextmanager
def confined(*folders: Path) -> Iterator[None]:
    """Refuse to read what lies in none of the folders, wherever links lead."""
    token = _FOLDERS.set(tuple(folder.resolve() for folder in folders))
    try:
        yield
    finally:
        _FOLDERS.reset(token)


def is_inside(path: Path, *own: Path) -> bool:
    """Whether a file or folder may be read, once all links are followed.

    The reader's `own` folders count besides those that reading is confined to.
    """
    try:
        folders = (*_FOLDERS.get(), *(folder.resolve() for folder in own))
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, or no possible path
        return False
    return not folders or any(real.is_relative_to(folder) for folder in folders)


def skip_linked_folders(folder: Path, names: list[str], root: Path) -> list[SkippedFile]:
    """Return what to report of the folders in a folder that are only links: none is followed."""
    return [
        SkippedFile(
            source=(folder / name).relative_to(root).as_posix(),
            reason="link to a folder, not followed",
            failed=False,
        )
        for name in sorted(names)
        if (folder / name).is_symlink()
    ]


def check_inside(path: Path) -> None:
    """Make sure that a file may be read.

    Raises:
        UnreadableFile: it lies elsewhere.
    """
    if not is_inside(path):
        raise UnreadableFile(f"{OUTSIDE} (--allow FOLDER lets it in)")


def check_folder(folder: Path, setting: str, file: str) -> None:
    """Make sure that the folder which a book's configuration names may be read.

    Raises:
        UnsupportedSource: it lies elsewhere; the message names the setting.
    """
    if not is_inside(folder):
        real = folder.resolve()
        raise UnsupportedSource(
            f"`{setting}` in {file} names {real}, which {OUTSIDE}: ingest a folder that holds both,"
            f" or add --allow {real} (CITEWELL_INGEST__ALLOW)."
        )


def site_address(
    given: str, setting: str, file: str, skipped: list[SkippedFile] | None = None
) -> str:
    """Return the address that a configuration gives its site, without the last slash.

    One that is no address of a web page, `javascript:` say, is left out and reported.
    """
    if is_web_address(given):
        return given.rstrip("/")
    if skipped is not None:
        reason = f"`{setting}` is no address of a web page, and is left out: {given[:40]}"
        skipped.append(SkippedFile(source=file, reason=reason, failed=False))
    return ""
