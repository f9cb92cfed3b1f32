"""The answer to a question about how the book is built, from its stored contents alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quire.domain import Contents, Heading
from quire.retrieve.outline import Place, pages_of
from quire.retrieve.structure import (
    Beside,
    Covers,
    ListAll,
    NoSuchChapter,
    StructureQuestion,
    Where,
)

NAME = "contents"
"""Who wrote such an answer, where others have the name of their model."""
MAX_LINES = 60
"""How many headings an answer names."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence or line of such an answer, and the headings whose titles it quotes."""

    text: str
    headings: tuple[Heading, ...]
    lead: str = " "


def answer_from_contents(question: StructureQuestion, contents: Contents) -> list[Statement]:
    """Say what the contents say."""
    match question:
        case ListAll(kind, count_only):
            listed = _listed_parts if kind == "part" else _listed_chapters
            return list(listed(contents, count_only=count_only))
        case Covers(places):
            return [said for place in places for said in _covered(place)]
        case NoSuchChapter(number):
            chapters = _chapters(contents)
            return [_span(f"The book has no chapter {number}; it has", chapters, "chapter", ".")]
        case Beside(places, side):
            return [_beside(place, side) for place in places]
        case Where(place):
            return [_found(place)]


def _chapters(contents: Contents) -> list[Heading]:
    pages = pages_of(contents)
    return [page for page in pages if page.kind == "chapter"] or list(pages)


def _listed_chapters(contents: Contents, *, count_only: bool) -> Iterator[Statement]:
    chapters = _chapters(contents)
    if count_only:
        yield _span("The book has", chapters, "chapter", ".")
        return
    shown = pages_of(contents)[:MAX_LINES]
    cut = (
        f"; the first {MAX_LINES} lines of its contents:"
        if len(pages_of(contents)) > MAX_LINES
        else ":"
    )
    yield _span("The book has", chapters, "chapter", cut)
    inside = False
    for heading in contents.headings:
        own = [page for page in heading.children or () if page in shown]
        if heading.kind == "part" and own:
            yield Statement(heading.title, (heading,), "\n\n")
            yield from _lines(own)
            inside = True
        elif heading in shown:
            (line,) = _lines([heading])
            yield line if not inside else Statement(line.text, line.headings, f"\n{line.lead}")
            inside = False


def _listed_parts(contents: Contents, *, count_only: bool) -> Iterator[Statement]:
    parts = [heading for heading in contents.headings if heading.kind == "part"]
    yield _span("The book has", parts, "part", "." if count_only else ":")
    if not count_only:
        yield from _lines(parts[:MAX_LINES])


def _covered(place: Place) -> Iterator[Statement]:
    heading = place.heading
    below = heading.children
    unit = "chapter" if heading.kind == "part" else "section"
    name = (
        f"Chapter {heading.number} is “{heading.title}”" if heading.number else f"“{heading.title}”"
    )
    verb = "with" if heading.number else "has"
    if not below:
        yield Statement(f"{name} {verb} no {unit}s of its own.", (heading,))
        return
    count = f"{len(below)} {unit}{'s' if len(below) > 1 else ''}"
    shown = "" if len(below) <= MAX_LINES else f", of which the first {MAX_LINES} are"
    yield Statement(f"{name} {verb} {count}{shown}:", (heading,))
    yield from _lines(below[:MAX_LINES])


def _beside(place: Place, side: str) -> Statement:
    heading = place.heading
    other = place.after if side == "after" else place.before
    if other:
        return Statement(
            f"{side.capitalize()} “{heading.title}” comes “{other.title}”.", (heading, other)
        )
    edge = "last" if side == "after" else "first"
    if heading.kind == "section" and place.above:
        around = place.above[-1]
        return Statement(
            f"“{heading.title}” is the {edge} section of “{around.title}”.", (heading, around)
        )
    unit = "part" if heading.kind == "part" else "page"
    return Statement(f"“{heading.title}” is the {edge} {unit} of the book.", (heading,))


def _found(place: Place) -> Statement:
    heading, chapter = place.heading, place.chapter
    if chapter is None:
        number = f", chapter {heading.number} of the book" if heading.number else ""
        return Statement(f"“{heading.title}” is a page of its own{number}.", (heading,))
    number = f"chapter {chapter.number}, " if chapter.number else ""
    return Statement(
        f"“{heading.title}” is a section of {number}“{chapter.title}”.", (heading, chapter)
    )


def _span(lead: str, headings: Sequence[Heading], unit: str, end: str) -> Statement:
    if len(headings) == 1:
        return Statement(f"{lead} one {unit}, “{headings[0].title}”{end}", (headings[0],))
    first, last = headings[0], headings[-1]
    count = f"{lead} {len(headings)} {unit}s, from “{first.title}” to “{last.title}”{end}"
    return Statement(count, (first, last))


def _lines(headings: Sequence[Heading]) -> Iterator[Statement]:
    for place, heading in enumerate(headings):
        mark = f"{heading.number}. " if heading.number else "- "
        yield Statement(heading.title, (heading,), f"\n\n{mark}" if place == 0 else f"\n{mark}")
