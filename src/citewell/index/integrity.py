"""Checksums of a revision's files: a damaged index is rebuilt, not served."""

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

CHECKSUMS = "seal.json"
_BLOCK_SIZE = 1 << 16
_EXCLUDED = frozenset((CHECKSUMS, "manifest.json", "report.json"))
"""Rewritten when the source changes without changing the index."""
_REWRITTEN = frozenset(("shard/edge_config.json",))
"""Rewritten by the engine whenever it opens the shard; only its existence is checked."""
_TRANSIENT_FILE = "tracker_journal.dat"
"""Deleted by the engine when it first opens the shard."""


def record_checksums(folder: Path) -> None:
    """Store the size and checksum of every file of a finished revision."""
    entries = {name: [path.stat().st_size, _checksum(path)] for name, path in _files(folder)}
    (folder / CHECKSUMS).write_text(json.dumps(entries, indent=1), "utf-8")


def is_intact(folder: Path, *, verify_contents: bool = True) -> bool:
    """Return whether every file has its recorded size and, by default, its recorded checksum.

    The engine memory-maps its files, and reading past the end of a truncated one is fatal.
    """
    try:
        entries = json.loads((folder / CHECKSUMS).read_text("utf-8"))
        return bool(entries) and all(
            (folder / name).is_file()
            if name in _REWRITTEN
            else _is_unchanged(folder / name, size, checksum if verify_contents else None)
            for name, (size, checksum) in entries.items()
        )
    except (OSError, ValueError, TypeError, AttributeError):
        return False


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in _EXCLUDED and path.name != _TRANSIENT_FILE:
            yield name, path


def _is_unchanged(path: Path, size: int, checksum: int | None) -> bool:
    if path.stat().st_size != size:
        return False
    return checksum is None or _checksum(path) == checksum


def _checksum(path: Path) -> int:
    """Return a checksum that ignores blocks of zeros, so that sparse copies of a file match."""
    total = 0
    with path.open("rb", buffering=0) as data:
        for offset in _data_blocks(data.fileno()):
            block = os.pread(data.fileno(), _BLOCK_SIZE, offset)
            if block.strip(b"\0"):
                total = zlib.crc32(block, total ^ offset)
    return total


def _data_blocks(file: int) -> Iterator[int]:
    """Yield the offsets of the blocks with data; the engine's files are mostly holes."""
    offset, end = 0, os.fstat(file).st_size
    while offset < end:
        try:
            offset = os.lseek(file, offset, os.SEEK_DATA) // _BLOCK_SIZE * _BLOCK_SIZE
        except OSError:  # only a hole follows
            return
        yield offset
        offset += _BLOCK_SIZE
