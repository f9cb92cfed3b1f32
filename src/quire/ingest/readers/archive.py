"""A zip file from a stranger, read in memory and in measure."""

import lzma
import posixpath
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import Self

from quire.errors import UnreadableFile
from quire.ingest.readers.budget import check_budget

_RATIO = 200
"""Text packs ten times smaller, hardly ever more than fifty times."""
_HARMLESS = 1_000_000
_TOTAL = 1_000_000_000
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OSError,
)


class Archive:
    """The entries of a zip file by their names; nothing is ever written to disk."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            UnreadableFile: it is no zip file.
        """
        try:
            self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise UnreadableFile("is damaged: it is not a zip file") from error
        self._entries = {
            entry.filename: entry
            for entry in self._zip.infolist()
            if not entry.is_dir() and _stays_inside(entry.filename)
        }
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str, *, limit: int, setting: str) -> bytes:
        """Unpack one entry.

        Raises:
            UnreadableFile: it is missing, damaged, locked, or larger than the `setting` allows.
        """
        check_budget()
        entry = self._entries.get(name)
        if entry is None:
            raise UnreadableFile("is missing from the file")
        if entry.flag_bits & 1:
            raise UnreadableFile("is locked with a password")
        if entry.file_size > limit:
            raise UnreadableFile(
                f"{entry.file_size / 1e6:.1f} MB is more than the limit of {limit / 1e6:g} MB"
                f" ({setting})"
            )
        try:
            with self._zip.open(entry) as data:
                # The size in the list of entries may be a lie.
                text = data.read(limit + 1)
        except _BROKEN as error:
            raise UnreadableFile("is damaged") from error
        self._measure(len(text), entry.compress_size, limit)
        return text

    def _measure(self, size: int, packed: int, limit: int) -> None:
        self._read += size
        if size > limit or (size > _HARMLESS and size > _RATIO * max(packed, 1)):
            raise UnreadableFile("unpacks to far more than its size")
        if self._read > _TOTAL:
            raise UnreadableFile(f"unpacks to more than {_TOTAL / 1e9:g} GB")


def _stays_inside(name: str) -> bool:
    return not (name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"))


def inside(base: str, href: str) -> str:
    """Give the entry that a link in the entry `base` means."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), href)).lstrip("/")
