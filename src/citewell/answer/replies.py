"""The answer to a question about how the book is built, from its stored contents alone."""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from citewell.domain import Chunk, Confidence, Contents, Heading, Hit, VerdictKind
from citewell.questions.analyze import SmallTalkKind
from citewell.questions.phrases import parse_question
from citewell.questions.toc import TocEntry, pages_of
from citewell.questions.toc_questions import (
    AdjacentQuestion,
    CoverageQuestion,
    ListQuestion,
    LocationQuestion,
    TocQuestion,
    UnknownChapterQuestion,
    place_to_summarise,
)
from citewell.text.plain_text import INVISIBLE
from citewell.text.sanitize import sanitize_markdown
from citewell.text.terms import terms, words
from citewell.verify.confidence import MEDIUM_AVERAGE
from citewell.verify.safety import is_injected_instruction

TOC_MODEL_NAME = "contents"
"""Who wrote such an answer, where others have the name of their model."""
MAX_LINES = 60
"""How many headings an answer names."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence or line of such an answer, and the headings whose titles it quotes."""

    text: str
    headings: tuple[Heading, ...]
    lead: str = " "


def answer_from_toc(question: TocQuestion, contents: Contents) -> list[Statement]:
    """Return what the contents say."""
    match question:
        case ListQuestion(kind, count_only):
            listed = _list_parts if kind == "part" else _list_chapters
            return list(listed(contents, count_only=count_only))
        case CoverageQuestion(places):
            return [said for place in places for said in _describe_sections(place)]
        case UnknownChapterQuestion(number):
            chapters = _chapters(contents)
            return [_span(f"The book has no chapter {number}; it has", chapters, "chapter", ".")]
        case AdjacentQuestion(places, side):
            return [_describe_neighbour(place, side) for place in places]
        case LocationQuestion(place):
            return [_describe_location(place)]


def _chapters(contents: Contents) -> list[Heading]:
    pages = pages_of(contents)
    return [page for page in pages if page.kind == "chapter"] or list(pages)


def _list_chapters(contents: Contents, *, count_only: bool) -> Iterator[Statement]:
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


def _list_parts(contents: Contents, *, count_only: bool) -> Iterator[Statement]:
    parts = [heading for heading in contents.headings if heading.kind == "part"]
    yield _span("The book has", parts, "part", "." if count_only else ":")
    if not count_only:
        yield from _lines(parts[:MAX_LINES])


def _describe_sections(place: TocEntry) -> Iterator[Statement]:
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


def _describe_neighbour(place: TocEntry, side: str) -> Statement:
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


def _describe_location(place: TocEntry) -> Statement:
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


SMALL_TALK_MODEL_NAME = "small talk"
"""Who wrote such an answer, where others have the name of their model."""
MAX_SUGGESTED_CHAPTERS = 3
_SMALL_TALK_REPLIES: dict[SmallTalkKind, str] = {
    "greeting": "Hello! Ask me about “{title}”: I answer with sentences quoted from it.",
    "identity": (
        "I am Citewell, a program that has read “{title}”: I answer questions from its text alone, "
        "with a quote and a link for every sentence."
    ),
    "abilities": (
        "I answer questions about “{title}” with sentences quoted from it, and questions about how "
        "it is built, such as “list the chapters”. If the book doesn't say it, I'll tell you."
    ),
    "nothing": "I see no question there; ask me anything about “{title}”.",
    "insult": (
        "I am sorry that I was no help: I can only quote “{title}”, and other words may find more."
    ),
    "thanks": "You are welcome! Ask me more about “{title}” whenever you like.",
    "praise": "Thank you! Ask me more about “{title}” whenever you like.",
    "assent": "Good. Ask me more about “{title}” whenever you like.",
    "parting": "Goodbye, and enjoy “{title}”!",
}
_WITH_STARTERS = ("greeting", "identity", "abilities", "nothing", "insult")


def reply_to_small_talk(talk: SmallTalkKind, title: str, contents: Contents) -> list[Statement]:
    """Return something friendly, and chapters to begin with; it comes from no passage."""
    told = [Statement(_SMALL_TALK_REPLIES[talk].format(title=title), ())]
    starters = suggest_chapters(contents) if talk in _WITH_STARTERS else []
    # Nobody has checked the titles: one that gives orders is not passed on.
    starters = [one for one in starters if not is_injected_instruction(one.title)]
    return [*told, _suggest(starters)] if starters else told


def suggest_chapters(contents: Contents) -> list[Heading]:
    """Return a few chapters from all over the book."""
    pages = pages_of(contents)
    chapters = [page for page in pages if page.kind == "chapter"] or list(pages)
    step = max(1.0, len(chapters) / MAX_SUGGESTED_CHAPTERS)
    return [chapters[int(n * step)] for n in range(min(MAX_SUGGESTED_CHAPTERS, len(chapters)))]


def _suggest(starters: Sequence[Heading]) -> Statement:
    named = [f"“{sanitize_markdown(heading.title)}”" for heading in starters]
    listed = f"{', '.join(named[:-1])} or {named[-1]}" if named[1:] else named[0]
    return Statement(f"You could begin with {listed}.", ())


MAX_SHOWN, MAX_NAMED = 120, 3
FAR_ANSWERABILITY, FAR_SIMILARITY = 0.3, 0.7
"""Below both, nothing near the subject was found."""
_UNPROVEN: dict[VerdictKind, str] = {
    "partly": "[supported only in part]",
    "unsupported": "[not supported by {source}]",
    "contradicted": "[contradicted by {source}]",
}
NOT_FOUND = "I couldn't find that in the book."
NO_DIRECT_ANSWER = "I couldn't find a direct answer in the book."
REFUSALS = (NOT_FOUND, NO_DIRECT_ANSWER)
"""How the endings begin that a search came before."""
PARTIAL_ANSWER_NOTE = "The book covers this only partly. Here's the closest it gets."
PARTIAL_SELECTION_NOTE = "The selected text covers this only partly. Here's the closest it gets."
FEW_PASSAGES_NOTES = {
    1: "I found only one passage on this.",
    2: "I found only two passages on this.",
}
"""What stands before an answer that rests on so few passages."""

TRUNCATED_NOTE = "The answer breaks off here: the model did not finish it."


def warning(verdict: VerdictKind, *, selected: bool) -> str:
    """Return what stands behind a claim that is shown although the source does not support it."""
    source = "the selected text" if selected else "the book"
    return _UNPROVEN.get(verdict, "").format(source=source)


def disclaimer(confidence: Confidence, *, selected: bool) -> str:
    """Return what an answer of level `low` begins with: what is known about why it is low."""
    if selected:
        return PARTIAL_SELECTION_NOTE
    close = confidence.average_similarity >= MEDIUM_AVERAGE
    return (
        FEW_PASSAGES_NOTES.get(confidence.num_chunks, PARTIAL_ANSWER_NOTE)
        if close
        else PARTIAL_ANSWER_NOTE
    )


def selection_refusal(lacks: Sequence[str]) -> str:
    """Return that the selection does not hold the answer, what it lacks, and the book's offer."""
    missing = ", ".join(f"“{word[:MAX_SHOWN]}”" for word in lacks[:5])
    lack = f" It doesn't mention {missing}." if missing else ""
    return f"The selected text doesn't answer that.{lack} Search the whole book?"


def is_off_subject(nearest: Sequence[Hit], answerability: float) -> bool:
    """Whether neither the nearest passages nor their sentences are about what is asked."""
    best = max((hit.similarity for hit in nearest), default=0.0)
    return answerability < FAR_ANSWERABILITY and best < FAR_SIMILARITY


def not_found_reply(question: str, known: Container[str], *, filtered: bool = False) -> str:
    """Return that nothing near was found, and what of the subject the book never mentions.

    `known` are the terms of the book; what a filter leaves of it may lack more.
    """
    if filtered:
        return "I couldn't find that in the part of the book you chose."
    missing = [f"“{quote_question(one)}”" for one in unmentioned(question, known)][:MAX_NAMED]
    return f"{NOT_FOUND} It doesn't mention {' or '.join(missing)}." if missing else NOT_FOUND


def unmentioned(question: str, known: Container[str]) -> list[str]:
    """Return the names and words of a question's subject that the book never uses."""
    found: list[list[str]] = [[]]
    for word in words(parse_question(question).topic or question):
        said = terms(word)
        if said and not any(term in known for term in said):
            found[-1].append(word)
        elif found[-1]:
            found.append([])
    return list(dict.fromkeys(" ".join(run) for run in found if run))


def closest_section_reply(nearest: Sequence[Hit]) -> str:
    """Return that no sentence answers, and where to read on."""
    places = (
        place for hit in nearest if not is_injected_instruction(place := section_name(hit.chunk))
    )
    place = next(places, "")
    return f"{NO_DIRECT_ANSWER} The closest section is “{place}”." if place else NO_DIRECT_ANSWER


def quote_question(question: str) -> str:
    """Return a question as it is repeated to who asked it: short, and leading nowhere."""
    return _cut(" ".join(sanitize_markdown(INVISIBLE.sub("", question)).split()))


def section_name(chunk: Chunk) -> str:
    """Return the chapter and section of a passage, as they are told to a reader."""
    return sanitize_markdown(" › ".join(dict.fromkeys((chunk.chapter, chunk.section))))


def _cut(text: str) -> str:
    if len(text) <= MAX_SHOWN:
        return text
    short = text[: MAX_SHOWN - 1]
    # Half an address would not be code any more.
    return (short[: short.rfind("`")].rstrip() if short.count("`") % 2 else short) + "…"


_SUMMARY = re.compile(
    r"(?:chapter )?(?:summary|recap|overview)|key (?:points|takeaways|ideas)", re.I
)
_EXERCISES = re.compile(
    r"(?:(?:can|could) you )?(?:please )?(?:give|write|make|create|generate|set)(?: me| us)? "
    r"(?:an?|some|more|\d+) "
    r"(?:[\w-]+ )?(?:exercises?|quiz(?:zes)?|(?:test|exam|practice) (?:questions?|problems?))\b",
    re.I,
)
_OPINION = re.compile(r"\bwhat do you think\b|\byour (?:own )?(?:opinion|favou?rite)\b", re.I)


@dataclass(frozen=True, slots=True)
class UnsupportedReply:
    """What is said instead of an answer, and the passages that it points to."""

    text: str
    passages: tuple[str, ...] = ()


def unsupported_reply(text: str, contents: Contents) -> UnsupportedReply | None:
    """Return what to say to a request that cannot be met by quoting; nothing for a question."""
    asked = " ".join(text.split())
    if place := place_to_summarise(asked, contents):
        return _point_to_summary(place)
    if _EXERCISES.match(asked):
        return UnsupportedReply(
            "I can't write exercises. I can quote what the book says about a topic."
        )
    if _OPINION.search(asked):
        return UnsupportedReply(
            "I don't have opinions. I can quote what the book says about a topic."
        )
    return None


def _point_to_summary(place: TocEntry) -> UnsupportedReply:
    # Of this place itself: a chapter's summary does not sum up its part.
    summary = next((one for one in place.heading.children if _is_summary(one)), None)
    said = "I quote the book rather than summarize it."
    if summary is None:
        return UnsupportedReply(
            f"{said} The section to read is {_named(place.heading)}.", _ids(place.heading)
        )
    named = _named(place.heading, summary)
    return UnsupportedReply(f"{said} Its own summary is {named}.", _ids(summary))


def _is_summary(heading: Heading) -> bool:
    return heading.kind == "section" and bool(_SUMMARY.fullmatch(heading.title))


def _named(*headings: Heading) -> str:
    return f"“{sanitize_markdown(' › '.join(one.title for one in headings))}”"


def _ids(heading: Heading) -> tuple[str, ...]:
    return tuple(identity for one in heading.walk() for identity in one.chunks)
