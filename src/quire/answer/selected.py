"""A reader's selection as the only passage of an answer."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID, uuid5

from quire.domain import SELECTION_LENGTH, Chunk, Citation, Claim, Hit, Selection
from quire.errors import BadRequest
from quire.ports import Embedder, Index
from quire.prose.plain import well_formed
from quire.prose.terms import terms, words
from quire.verify.grounding import Link
from quire.verify.locate import Located, locate

LABEL = "Selected text"
"""What stands where a passage of the book has its headings."""
BEGINNING = 400
"""Characters of a selection by whose meaning its page is looked for; its words all count."""
_NAMESPACE = UUID("0b6f4b5e-5d3e-5f6c-9c57-3a3f0f1de2c4")


@dataclass(frozen=True, slots=True)
class Selected:
    """The selection, and where the book has it."""

    chunk: Chunk
    """What the model and the judge see: the reader's words, and nothing of the book around them."""
    located: Located | None

    @property
    def selection(self) -> Selection:
        """What is told of it with the answer."""
        found = self.located.chunks if self.located else ()
        return Selection(text=self.chunk.text, found_in=tuple(chunk.id for chunk in found))

    def placed(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Give the hits as they are shown: under the headings that the selection came from."""
        if self.located is None:
            return tuple(hits)
        here = self.located.chunks[0]
        return tuple(
            replace(
                hit,
                chunk=replace(
                    hit.chunk,
                    source_file=here.source_file,
                    part=here.part,
                    chapter=here.chapter,
                    section=here.section,
                    path=here.path,
                    url=here.url,
                ),
            )
            for hit in hits
        )

    def cite(self, claim: Claim, link: Link) -> Claim:
        """Point a claim's citations at the book, or mark them as the reader's own text."""
        return replace(claim, citations=tuple(self._cite(one, link) for one in claim.citations))

    def _cite(self, citation: Citation, link: Link) -> Citation:
        place = self.located.find(citation.start, citation.end) if self.located else None
        if place is None:
            return replace(citation, of="own_text", url="")
        chunk = place.chunk
        return replace(
            citation,
            of="selection",
            chapter=chunk.chapter,
            section=chunk.section,
            url=link(chunk, place.start, place.end),
            found_in=chunk.id,
        )


async def read_selection(text: str, index: Index, embedder: Embedder) -> Selected:
    """Make a passage of the selection, and look for it in the book.

    Raises:
        BadRequest: the selection is too short or too long.
    """
    least, most = SELECTION_LENGTH
    if not least <= len(text.strip()) <= most:
        raise BadRequest(f"A selection has {least} to {most:,} characters.")

    text = well_formed(text)

    def find() -> Selected:
        located = locate(index, text, embedder.embed_query(text[:BEGINNING]))
        return Selected(_chunk(text, index.book, embedder), located)

    return await asyncio.to_thread(find)


def lacking(question: str, text: str) -> tuple[str, ...]:
    """Give the words of the question that the text does not have."""
    said = set(terms(text))
    asked = (word for word in words(question) if terms(word) and not said & set(terms(word)))
    return tuple(dict.fromkeys(asked))


def _chunk(text: str, book: str, embedder: Embedder) -> Chunk:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Chunk(
        id=str(uuid5(_NAMESPACE, digest)),
        book=book,
        source_file="",
        part="",
        chapter=LABEL,
        section=LABEL,
        path=(LABEL,),
        url="",
        text=text,
        content_hash=digest,
        sequence=1,
        total=1,
        token_count=embedder.count_tokens([text])[0],
        processed_at=datetime.now(UTC),
    )
