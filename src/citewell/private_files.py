"""Folders and files that only their owner can read: conversations and keys are nobody else's."""

import os
from contextlib import suppress
from pathlib import Path


def make_private(folder: Path) -> None:
    """Create a folder, and those above it that are missing, for its owner alone.

    What is there already keeps its permissions: an operator may share it on purpose.
    """
    for one in reversed((folder, *folder.parents)):
        if not one.exists():
            one.mkdir(mode=0o700, exist_ok=True)


def touch_private(file: Path) -> None:
    """Create an empty file for its owner alone, unless it is there or cannot be made."""
    with suppress(OSError):  # whoever opens it is told why
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
