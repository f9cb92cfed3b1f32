"""The interface of a book format, and safe access to the files of a book."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol
from urllib.parse import quote

from citewell.domain import Book, SkippedFile
from citewell.errors import UnreadableFile, UnsupportedSource
from citewell.ingest.formats.time_limit import check_time_limit
from citewell.options import IngestOptions
from citewell.text.sanitize import is_web_address


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the book, and its name relative to the book's folder."""

    path: Path
    name: str


class BookFormat(Protocol):
    """Reads one format of books."""

    name: str

    def matches(self, root: Path) -> bool:
        """Return whether the folder or file is a book in this format."""
        ...

    def book_folder(self, root: Path) -> Path:
        """Return the book's folder; nothing outside it is read."""
        return root if root.is_dir() else root.parent

    def files(self, root: Path) -> list[SourceFile]:
        """List every file that the content of the book depends on."""
        ...

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read the whole book; an unreadable page is reported, not raised."""
        ...


def quote_path(name: str) -> str:
    """Percent-encode a file name for use in a URL path."""
    return quote(name, safe="/:@!$&'()*+,;=~-._")


def walk_files(
    root: Path, endings: tuple[str, ...], skipped: list[SkippedFile] | None = None
) -> Iterator[SourceFile]:
    """Yield the files below a folder with one of the endings, sorted; skip linked folders."""
    if root.is_file():
        if root.name.lower().endswith(endings):
            yield SourceFile(root, root.name)
        return
    for file in walk_folder(root, skipped):
        if file.name.lower().endswith(endings) and not file.path.name.startswith("."):
            yield file


def walk_folder(
    root: Path, skipped: list[SkippedFile] | None, private: tuple[str, ...] = (".", "_")
) -> Iterator[SourceFile]:
    """Yield all files of a folder, sorted; skip linked folders and those with a private prefix."""

    def report(error: OSError) -> None:
        if skipped is not None:
            name = Path(error.filename).relative_to(root).as_posix()
            skipped.append(SkippedFile(source=name, reason=f"cannot be opened: {error.strerror}"))

    for current, folders, names in os.walk(root, onerror=report):
        folder = Path(current)
        if skipped is not None:
            skipped += skip_linked_folders(folder, folders, root)
        folders[:] = sorted(f for f in folders if not f.startswith(private) and f != "node_modules")
        for name in sorted(names):
            yield SourceFile(folder / name, (folder / name).relative_to(root).as_posix())


def check_readable(file: SourceFile, *, limit: int, setting: str) -> None:
    """Check that a file is a regular file within the size limit.

    Raises:
        UnreadableFile: it is larger than the `setting` allows, outside the book, or cannot be
            opened.
    """
    check_time_limit()
    try:
        status = file.path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile("is not a regular file")
        check_allowed_path(file.path)
        with file.path.open("rb"):
            pass
    except OSError as error:
        raise UnreadableFile(f"cannot be opened: {error.strerror}") from error
    if status.st_size > limit:
        raise UnreadableFile(
            f"{status.st_size / 1e6:.1f} MB is more than the limit of {limit / 1e6:g} MB"
            f" ({setting})"
        )


def read_bytes(file: SourceFile, *, limit: int, setting: str) -> bytes:
    """Read a whole file.

    Raises:
        UnreadableFile: it is larger than the `setting` allows, or cannot be opened.
    """
    check_readable(file, limit=limit, setting=setting)
    try:
        return file.path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"cannot be opened: {error.strerror}") from error


class SingleFileFormat(BookFormat):
    """A book in a single file, detected by its extension."""

    name: str
    ending: ClassVar[str]
    read_file: ClassVar[Callable[[SourceFile, IngestOptions], Book]]

    def matches(self, root: Path) -> bool:
        """Return whether `root` is a file with the format's extension."""
        return root.is_file() and root.name.lower().endswith(self.ending)

    def files(self, root: Path) -> list[SourceFile]:
        """Return the single file."""
        return [SourceFile(root, root.name)]

    def read(self, root: Path, options: IngestOptions) -> Book:
        """Read the file; report it as skipped if that fails."""
        try:
            return type(self).read_file(SourceFile(root, root.name), options)
        except UnreadableFile as error:
            skip = SkippedFile(source=root.name, reason=str(error))
            return Book(title=root.stem, kind=self.name, pages=(), skipped=(skip,))


OUTSIDE = "lies outside the book's folder"
_ALLOWED_FOLDERS: ContextVar[tuple[Path, ...]] = ContextVar("allowed_folders", default=())
"""Empty: reads are not restricted, because a format is used directly."""


@contextmanager
def restrict_reads(*folders: Path) -> Iterator[None]:
    """Allow reads only below the folders, after resolving symbolic links."""
    token = _ALLOWED_FOLDERS.set(tuple(folder.resolve() for folder in folders))
    try:
        yield
    finally:
        _ALLOWED_FOLDERS.reset(token)


def is_allowed_path(path: Path, *extra_folders: Path) -> bool:
    """Return whether a file or folder may be read, after resolving symbolic links."""
    try:
        folders = (*_ALLOWED_FOLDERS.get(), *(folder.resolve() for folder in extra_folders))
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, or not a valid path
        return False
    return not folders or any(real.is_relative_to(folder) for folder in folders)


def skip_linked_folders(folder: Path, names: list[str], root: Path) -> list[SkippedFile]:
    """Report the subfolders that are symbolic links; they are not followed."""
    return [
        SkippedFile(
            source=(folder / name).relative_to(root).as_posix(),
            reason="link to a folder, not followed",
            failed=False,
        )
        for name in sorted(names)
        if (folder / name).is_symlink()
    ]


def check_allowed_path(path: Path) -> None:
    """Check that a file may be read.

    Raises:
        UnreadableFile: it is outside the allowed folders.
    """
    if not is_allowed_path(path):
        raise UnreadableFile(f"{OUTSIDE} (--allow FOLDER permits it)")


def check_configured_folder(folder: Path, setting: str, file: str) -> None:
    """Check that a folder named in the book's configuration may be read.

    Raises:
        UnsupportedSource: it is outside the allowed folders; the message names the setting.
    """
    if not is_allowed_path(folder):
        real = folder.resolve()
        raise UnsupportedSource(
            f"`{setting}` in {file} names {real}, which {OUTSIDE}: ingest a folder that holds both,"
            f" or add --allow {real} (CITEWELL_INGEST__ALLOW)."
        )


def site_base_url(
    url: str, setting: str, file: str, skipped: list[SkippedFile] | None = None
) -> str:
    """Return the site URL from the configuration, without its trailing slash.

    A URL that is not a web address, such as `javascript:`, is reported and ignored.
    """
    if is_web_address(url):
        return url.rstrip("/")
    if skipped is not None:
        reason = f"`{setting}` is not a web address and is ignored: {url[:40]}"
        skipped.append(SkippedFile(source=file, reason=reason, failed=False))
    return ""
