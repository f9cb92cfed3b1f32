"""Which kind of book is this?"""

from pathlib import Path

from quire.errors import UnsupportedSource
from quire.ingest.readers import Reader
from quire.ingest.readers.docusaurus import DocusaurusReader
from quire.ingest.readers.epub import EpubReader
from quire.ingest.readers.html import HtmlReader
from quire.ingest.readers.markdown import MarkdownReader
from quire.ingest.readers.notebooks import NotebooksReader
from quire.ingest.readers.pdf import PdfReader
from quire.ingest.readers.shelf import ShelfReader
from quire.ingest.readers.sphinx import SphinxReader

READERS: tuple[Reader, ...] = (
    DocusaurusReader(),
    SphinxReader(),
    NotebooksReader(),
    EpubReader(),
    PdfReader(),
    HtmlReader(),
    MarkdownReader(),
    ShelfReader(),
)
"""Most particular first: a Docusaurus site is also a folder of Markdown."""


def find_reader(root: Path) -> Reader:
    """Choose the reader for a folder or file.

    Raises:
        UnsupportedSource: the path is missing, cannot be listed, or holds no book.
    """
    try:
        if not root.exists():
            raise UnsupportedSource(f"{root} does not exist.")
        if root.is_dir() and next(root.iterdir(), None) is None:
            raise UnsupportedSource(f"{root} is an empty folder.")
        for reader in READERS:
            if reader.recognises(root):
                return reader
    except OSError as error:
        raise UnsupportedSource(f"{root} cannot be read: {error.strerror}.") from error
    raise UnsupportedSource(
        f"{root} holds no book that Quire can read: no Docusaurus site and no Markdown files."
    )
