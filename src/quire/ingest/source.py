"""Which kind of book is this, and where does it end?"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quire.errors import UnsupportedSource
from quire.ingest.advice import cure_for
from quire.ingest.options import IngestOptions
from quire.ingest.readers import Reader, SourceFile
from quire.ingest.readers.bounds import confined
from quire.ingest.readers.docusaurus import DocusaurusReader
from quire.ingest.readers.epub import EpubReader
from quire.ingest.readers.hfdocs import HfDocsReader
from quire.ingest.readers.html import HtmlReader
from quire.ingest.readers.jsonl import JsonlReader
from quire.ingest.readers.markdown import MarkdownReader
from quire.ingest.readers.mdbook import MdBookReader
from quire.ingest.readers.mkdocs import MkDocsReader
from quire.ingest.readers.notebooks import NotebooksReader
from quire.ingest.readers.pdf import PdfReader
from quire.ingest.readers.shelf import ShelfReader
from quire.ingest.readers.sphinx import SphinxReader

READERS: tuple[Reader, ...] = (
    DocusaurusReader(),
    MdBookReader(),
    MkDocsReader(),
    SphinxReader(),
    NotebooksReader(),
    HfDocsReader(),
    JsonlReader(),
    EpubReader(),
    PdfReader(),
    HtmlReader(),
    MarkdownReader(),
    ShelfReader(),
)
"""Most particular first: every other book is also a folder of Markdown."""
KINDS = tuple(reader.kind for reader in READERS)


def find_reader(root: Path, kind: str | None = None) -> Reader:
    """Choose the reader for a folder or file, or take the one that is named.

    Raises:
        UnsupportedSource: the path is missing, cannot be listed, or holds no book, or there is no
            such kind.
    """
    if kind is not None and kind not in KINDS:
        raise UnsupportedSource(f"There is no format {kind!r}: use one of {', '.join(KINDS)}.")
    try:
        if not root.exists():
            raise UnsupportedSource(f"{root} does not exist.")
        if root.is_dir() and next(root.iterdir(), None) is None:
            raise UnsupportedSource(f"{root} is an empty folder.")
        # What a docs folder is may stand in the configuration above it.
        with confined(root, root.resolve().parent):
            for reader in READERS:
                if reader.kind == kind or (kind is None and reader.recognises(root)):
                    return reader
    except OSError as error:
        raise UnsupportedSource(f"{root} cannot be read: {error.strerror}.") from error
    raise UnsupportedSource(
        f"{root} holds no book that Quire can read: no Markdown files and no other format"
        f" ({', '.join(KINDS)}){cure_for(root)}."
    )


@contextmanager
def inside(reader: Reader, root: Path, options: IngestOptions) -> Iterator[None]:
    """Let nothing be read but the book's own folder and those that the options allow."""
    with confined(root, reader.home(root), *options.allow):
        yield


def list_files(reader: Reader, root: Path, options: IngestOptions) -> list[SourceFile]:
    """Return every file whose bytes decide what the book says.

    Raises:
        UnsupportedSource: the book's configuration names a folder outside of it.
    """
    with inside(reader, root, options):
        return reader.files(root)
