"""Is a revision still what was written? A damaged index must be made again, not served."""

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

CHECKSUMS = "seal.json"
_BLOCK = 1 << 16
_EXCLUDED = frozenset((CHECKSUMS, "manifest.json", "report.json"))
"""Written anew when a revision turns out to be made from other bytes that say the same."""
_REWRITTEN = frozenset(("shard/edge_config.json",))
"""Written by the engine whenever it opens the shard: it has to be there, and that is all."""
_TRANSIENT_FILE = "tracker_journal.dat"
"""Taken away by the engine when it first opens the shard."""


def record_checksums(folder: Path) -> None:
    """Write down the size and the checksum of every file of a finished revision."""
    marks = {name: [path.stat().st_size, _checksum(path)] for name, path in _files(folder)}
    (folder / CHECKSUMS).write_text(json.dumps(marks, indent=1), "utf-8")


def is_intact(folder: Path, *, contents: bool = True) -> bool:
    """Return whether every file is there as it was sealed; its size only, unless with `contents`.

    The engine maps its files, and to read behind the end of one that was cut short is fatal.
    """
    try:
        marks = json.loads((folder / CHECKSUMS).read_text("utf-8"))
        return bool(marks) and all(
            (folder / name).is_file()
            if name in _REWRITTEN
            else _unchanged(folder / name, size, checksum if contents else None)
            for name, (size, checksum) in marks.items()
        )
    except (OSError, ValueError, TypeError, AttributeError):
        return False


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in _EXCLUDED and path.name != _TRANSIENT_FILE:
            yield name, path


def _unchanged(path: Path, size: int, checksum: int | None) -> bool:
    if path.stat().st_size != size:
        return False
    return checksum is None or _checksum(path) == checksum


def _checksum(path: Path) -> int:
    """Sum up a file; zeros do not count, whether they lie on the disk or are a hole there."""
    total = 0
    with path.open("rb", buffering=0) as data:
        for place in _filled_blocks(data.fileno()):
            block = os.pread(data.fileno(), _BLOCK, place)
            if block.strip(b"\0"):
                total = zlib.crc32(block, total ^ place)
    return total


def _filled_blocks(file: int) -> Iterator[int]:
    """Yield where the blocks begin that hold data: the engine's files are mostly holes."""
    place, end = 0, os.fstat(file).st_size
    while place < end:
        try:
            place = os.lseek(file, place, os.SEEK_DATA) // _BLOCK * _BLOCK
        except OSError:  # nothing but a hole from here on
            return
        yield place
        place += _BLOCK
