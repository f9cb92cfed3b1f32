"""The folders that a book may be read from: its own, and those that were allowed by name.

A book is somebody else's work. A link in it, or a setting, may name any file that the person who
ingests it can read, and what is read ends in public answers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from quire.domain import Skipped
from quire.errors import UnreadableFile, UnsupportedSource
from quire.prose.addresses import is_web_address

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


def leave_out_links(folder: Path, names: list[str], root: Path) -> list[Skipped]:
    """Return what to report of the folders in a folder that are only links: none is followed."""
    return [
        Skipped(
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
            f" or add --allow {real} (QUIRE_INGEST__ALLOW)."
        )


def site_address(given: str, setting: str, file: str, skipped: list[Skipped] | None = None) -> str:
    """Return the address that a configuration gives its site, without the last slash.

    One that is no address of a web page, `javascript:` say, is left out and reported.
    """
    if is_web_address(given):
        return given.rstrip("/")
    if skipped is not None:
        reason = f"`{setting}` is no address of a web page, and is left out: {given[:40]}"
        skipped.append(Skipped(source=file, reason=reason, failed=False))
    return ""
