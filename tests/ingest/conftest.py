import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ingest.ingest_helpers import LAMPS, Content, Files, WriteBook, content, ingest_lamps


@pytest.fixture
def write_book(tmp_path: Path) -> WriteBook:
    """Writes the files of a book below a folder of its own, and gives that folder."""
    folder = tmp_path / "book"

    def write(files: Files) -> Path:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return folder

    return write


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """The folder that books are ingested into."""
    return tmp_path / "data" / "books"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may use, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="citewell-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Content]:
    """What readers see of the lamps when nothing went wrong."""
    folder = tmp_path_factory.mktemp("lamps") / "book"
    folder.mkdir()
    for name, text in LAMPS.items():
        (folder / name).write_text(text)
    ingest_lamps(folder, folder.parent / "books")
    return content(folder.parent / "books")
