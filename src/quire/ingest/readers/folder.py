"""The files of a book that are not Markdown: which there are, and their bytes."""

import os
import stat
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import quote

from quire.domain import Skipped
from quire.errors import UnreadableFile
from quire.ingest.readers import SourceFile
from quire.ingest.readers.bounds import check_inside, leave_out_links
from quire.ingest.readers.budget import check_budget


def address(name: str) -> str:
    """Give a file's name as it stands in an address."""
    return quote(name, safe="/:@!$&'()*+,;=~-._")


def files_below(
    root: Path, endings: tuple[str, ...], skipped: list[Skipped] | None = None
) -> Iterator[SourceFile]:
    """Walk a folder for files by their ending, in order; links to folders are not followed."""
    if root.is_file():
        if root.name.lower().endswith(endings):
            yield SourceFile(root, root.name)
        return

    def report(error: OSError) -> None:
        if skipped is not None:
            where = Path(error.filename).relative_to(root).as_posix()
            skipped.append(Skipped(source=where, reason=f"cannot be opened: {error.strerror}"))

    for folder, folders, names in os.walk(root, onerror=report):
        here = Path(folder)
        if skipped is not None:
            skipped += leave_out_links(here, folders, root)
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
