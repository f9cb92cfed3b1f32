"""A revision in the making: chunks go to disk as they are cut, and only their measures are kept.

So a long book takes hardly more memory than a short one.
"""

import hashlib
import json
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from quire.domain import Chunk
from quire.index.revision import FORMAT, chunk_from_json, chunk_to_json, read_chunks
from quire.index.vectors import Key, vector_key
from quire.ingest.chunk import embedding_text
from quire.prose.terms import TermStatistics, terms
from quire.prose.vocabulary import Vocabulary, VocabularyCounts


class Draft:
    """The chunks of a new revision, written one by one and read back at will."""

    def __init__(self, folder: Path, book: str, *, embedder: str, title: str) -> None:
        """Begin `chunks.jsonl` in a new folder."""
        folder.mkdir(parents=True)
        self.folder = folder
        self.book = book
        self.title = title
        self.keys: list[Key] = []
        """Name the vector of each chunk."""
        self.sizes = array("L")
        """How much there is to embed of each chunk, in characters."""
        self.tokens = 0
        self._terms = 0
        self._frequency: dict[str, int] = {}
        self._vocabulary = VocabularyCounts()
        self._starts = array("Q")
        self._embedder = embedder
        self._said = hashlib.sha256(f"{FORMAT} {embedder} {title}".encode())
        self._file = (folder / "chunks.jsonl").open("w+b")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()

    @property
    def revision(self) -> str:
        """The name of what was said: equal chunks from the same embedder, equal name."""
        return self._said.hexdigest()[:16]

    @property
    def average_length(self) -> float:
        """The mean number of terms."""
        return self._terms / len(self.keys) if self.keys else 0.0

    @property
    def statistics(self) -> TermStatistics:
        """In how many chunks each term occurs."""
        return TermStatistics(len(self.keys), self._frequency)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words and abbreviations of the chunks."""
        return self._vocabulary.vocabulary

    def add(self, chunk: Chunk) -> None:
        """Write one chunk."""
        stored = {"id": chunk.id} | chunk_to_json(chunk)
        self._starts.append(self._file.tell())
        self._file.write(json.dumps(stored, ensure_ascii=False).encode() + b"\n")
        self._said.update(json.dumps(stored | {"processed_at": ""}, sort_keys=True).encode())
        text = embedding_text(chunk)
        self.keys.append(vector_key(self._embedder, text))
        self.sizes.append(len(text))
        self.tokens += chunk.token_count
        self._vocabulary.add(text)
        found = terms(text)
        self._terms += len(found)
        for term in set(found):
            self._frequency[term] = self._frequency.get(term, 0) + 1

    def texts(self, places: Sequence[int]) -> list[str]:
        """Give what the embedder sees of some chunks."""
        return [embedding_text(self._read(place)) for place in places]

    def entries(self) -> Iterator[tuple[Chunk, str]]:
        """Give every chunk and the text it is found by."""
        self._file.flush()
        for chunk in read_chunks(self.folder):
            yield chunk, embedding_text(chunk)

    def _read(self, place: int) -> Chunk:
        self._file.seek(self._starts[place])
        data = json.loads(self._file.readline())
        return chunk_from_json(data["id"], data)
