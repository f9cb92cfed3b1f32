"""Folders and files that only their owner can read, for conversations and keys."""

import os
from contextlib import suppress
from pathlib import Path


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents with access for the owner only.

    Existing folders keep their permissions: an operator may share them on purpose.
    """
    for path in reversed((folder, *folder.parents)):
        if not path.exists():
            path.mkdir(mode=0o700, exist_ok=True)


def touch_private(file: Path) -> None:
    """Create an empty file with access for the owner only, if it does not exist."""
    with suppress(OSError):  # opening the file later reports the error
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
