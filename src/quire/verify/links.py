"""Links that open a page at the very sentence."""

from threading import Lock

from quire.domain import Chunk
from quire.ports import Index
from quire.verify.fragments import text_fragment
from quire.verify.pagetext import PageText

_KEPT = 64
"""Pages whose text is kept: answers cite few, and the next question asks about the same ones."""
_LARGEST = 500_000
"""Characters of a page beyond which reading all of it would hold up the answer."""


class SentenceLinks:
    """Makes links to sentences; reads a page once for all of them."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, str, str], PageText | None] = {}
        self._lock = Lock()

    def link(self, index: Index, chunk: Chunk, start: int, end: int) -> str:
        """Give the address at which a browser opens the words of a chunk, and highlights them.

        Where no text fragment would find just these words, it is the address of their section.
        """
        address, _, anchor = chunk.url.partition("#")
        if anchor.startswith("page=") or ":~:" in anchor:
            # A PDF opens at its page; and an address that names its words already is left alone.
            return chunk.url
        page = self._page(index, chunk.source_file)
        fragment = text_fragment(page, page.span(chunk.id, start, end)) if page else None
        return f"{address}#{anchor}:~:text={fragment}" if fragment else chunk.url

    def _page(self, index: Index, source_file: str) -> PageText | None:
        # By name, not by the index itself: what is kept must not keep an old revision open.
        key = (index.book, index.revision, source_file)
        with self._lock:
            known, page = key in self._pages, self._pages.pop(key, None)
        page = page if known else _read(index, source_file)
        with self._lock:
            self._pages[key] = page
            if len(self._pages) > _KEPT:
                del self._pages[next(iter(self._pages))]
        return page


def _read(index: Index, source_file: str) -> PageText | None:
    chunks = index.page(source_file)
    return PageText(chunks) if sum(len(chunk.text) for chunk in chunks) <= _LARGEST else None
