"""What is said about the build of a book, against the headings its passages are stored under."""

from collections.abc import Sequence

from quire.domain import Chunk, Citation, Claim, Heading, Hit

_BETWEEN = " › "


def check_titles(text: str, quoted: Sequence[tuple[Heading, Hit]]) -> Claim:
    """Check a sentence that quotes headings; give its claim with a citation for each of them.

    It is supported if each title stands in the sentence, and, byte for byte, among the headings of
    a passage of the book.
    """
    citations: list[Citation] = []
    for heading, hit in quoted:
        place = find_title(hit.chunk, heading.title)
        if place is None or heading.title not in text:
            return _claim(text, ())
        citations.append(
            Citation(
                number=hit.rank,
                chunk_id=hit.chunk.id,
                chapter=hit.chunk.chapter,
                section=hit.chunk.section,
                quote=heading.title,
                start=place[0],
                end=place[1],
                url=heading.url,
                of="heading",
            )
        )
    return _claim(text, tuple(citations))


def find_title(chunk: Chunk, title: str) -> tuple[int, int] | None:
    """Give where a title stands among the headings of a passage, whole."""
    start = f"{_BETWEEN}{chunk.heading}{_BETWEEN}".find(f"{_BETWEEN}{title}{_BETWEEN}")
    return (start, start + len(title)) if start >= 0 else None


def _claim(text: str, citations: tuple[Citation, ...]) -> Claim:
    return Claim(
        text=text,
        start=0,
        end=0,
        verdict="supported" if citations else "unsupported",
        probability=1.0 if citations else 0.0,
        citations=citations,
    )
