"""Labelled sets: finding their folders and reading their lines."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from citewell.errors import BadRequest


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the non-empty lines of a JSON lines file, numbered from 1.

    Raises:
        BadRequest: the file cannot be read.
    """
    try:
        # Not `splitlines`: a text in JSON may hold other ends of lines.
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"{path} cannot be read: {error}.") from error
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def find_sets(names: Sequence[str], home: Path, file: str) -> list[Path]:
    """Return the folders of sets, given as paths or as names in `home`, that contain `file`.

    All without names.

    Raises:
        BadRequest: there is no such set.
    """
    if not names:
        found = sorted(path.parent for path in home.glob(f"*/{file}"))
        if not found:
            raise BadRequest(
                f"{home} holds no sets; name a folder with {file}, or set CITEWELL_SHARED."
            )
        return found
    folders = []
    for name in names:
        folder = next((p for p in (Path(name), home / name) if (p / file).is_file()), None)
        if folder is None:
            raise BadRequest(f"Neither {name} nor {home / name} holds {file}.")
        folders.append(folder)
    return folders
