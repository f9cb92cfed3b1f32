from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no reason to fail.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

WriteBook = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def write_book(tmp_path: Path) -> WriteBook:
    """Writes the files of a book below a folder of its own, and gives that folder."""
    folder = tmp_path / "book"

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return folder

    return write
