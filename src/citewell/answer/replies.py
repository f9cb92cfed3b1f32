"""Replies made without a model: the table of contents, small talk, refusals and disclaimers."""

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
    section_to_summarize,
)
from citewell.text.plain_text import INVISIBLE
from citewell.text.sanitize import sanitize_markdown
from citewell.text.terms import terms, words
from citewell.verify.confidence import MEDIUM_AVERAGE_SIMILARITY
from citewell.verify.safety import is_injected_instruction

MAX_LINES = 60
"""Maximum number of headings in an answer."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or line of a reply, and the headings that it quotes."""

    text: str
    headings: tuple[Heading, ...]
    lead: str = " "


def answer_from_toc(question: TocQuestion, contents: Contents) -> list[Statement]:
    """Answer from the table of contents."""
    match question:
        case ListQuestion(kind, count_only):
            list_headings = _list_parts if kind == "part" else _list_chapters
            return list(list_headings(contents, count_only=count_only))
        case CoverageQuestion(entries):
            return [line for entry in entries for line in _describe_sections(entry)]
        case UnknownChapterQuestion(number):
            chapters = _chapters(contents)
            lead = f"The book has no chapter {number}; it has"
            return [_describe_range(lead, chapters, "chapter", ".")]
        case AdjacentQuestion(entries, side):
            return [_describe_neighbour(entry, side) for entry in entries]
        case LocationQuestion(entry):
            return [_describe_location(entry)]


def _chapters(contents: Contents) -> list[Heading]:
    pages = pages_of(contents)
    return [page for page in pages if page.kind == "chapter"] or list(pages)


def _list_chapters(contents: Contents, *, count_only: bool) -> Iterator[Statement]:
    chapters = _chapters(contents)
    if count_only:
        yield _describe_range("The book has", chapters, "chapter", ".")
        return
    listed_pages = pages_of(contents)[:MAX_LINES]
    line_end = (
        f"; the first {MAX_LINES} lines of its contents:"
        if len(pages_of(contents)) > MAX_LINES
        else ":"
    )
    yield _describe_range("The book has", chapters, "chapter", line_end)
    in_part = False
    for heading in contents.headings:
        pages = [page for page in heading.children or () if page in listed_pages]
        if heading.kind == "part" and pages:
            yield Statement(heading.title, (heading,), "\n\n")
            yield from _list_lines(pages)
            in_part = True
        elif heading in listed_pages:
            (line,) = _list_lines([heading])
            yield line if not in_part else Statement(line.text, line.headings, f"\n{line.lead}")
            in_part = False


def _list_parts(contents: Contents, *, count_only: bool) -> Iterator[Statement]:
    parts = [heading for heading in contents.headings if heading.kind == "part"]
    yield _describe_range("The book has", parts, "part", "." if count_only else ":")
    if not count_only:
        yield from _list_lines(parts[:MAX_LINES])


def _describe_sections(entry: TocEntry) -> Iterator[Statement]:
    heading = entry.heading
    children = heading.children
    unit = "chapter" if heading.kind == "part" else "section"
    name = (
        f"Chapter {heading.number} is “{heading.title}”" if heading.number else f"“{heading.title}”"
    )
    verb = "with" if heading.number else "has"
    if not children:
        yield Statement(f"{name} {verb} no {unit}s of its own.", (heading,))
        return
    count = f"{len(children)} {unit}{'s' if len(children) > 1 else ''}"
    limit_note = "" if len(children) <= MAX_LINES else f", of which the first {MAX_LINES} are"
    yield Statement(f"{name} {verb} {count}{limit_note}:", (heading,))
    yield from _list_lines(children[:MAX_LINES])


def _describe_neighbour(entry: TocEntry, side: str) -> Statement:
    heading = entry.heading
    neighbour = entry.next if side == "after" else entry.previous
    if neighbour:
        text = f"{side.capitalize()} “{heading.title}” comes “{neighbour.title}”."
        return Statement(text, (heading, neighbour))
    edge = "last" if side == "after" else "first"
    if heading.kind == "section" and entry.ancestors:
        parent = entry.ancestors[-1]
        return Statement(
            f"“{heading.title}” is the {edge} section of “{parent.title}”.", (heading, parent)
        )
    unit = "part" if heading.kind == "part" else "page"
    return Statement(f"“{heading.title}” is the {edge} {unit} of the book.", (heading,))


def _describe_location(entry: TocEntry) -> Statement:
    heading, chapter = entry.heading, entry.chapter
    if chapter is None:
        number = f", chapter {heading.number} of the book" if heading.number else ""
        return Statement(f"“{heading.title}” is a page of its own{number}.", (heading,))
    number = f"chapter {chapter.number}, " if chapter.number else ""
    return Statement(
        f"“{heading.title}” is a section of {number}“{chapter.title}”.", (heading, chapter)
    )


def _describe_range(lead: str, headings: Sequence[Heading], unit: str, end: str) -> Statement:
    if len(headings) == 1:
        return Statement(f"{lead} one {unit}, “{headings[0].title}”{end}", (headings[0],))
    first, last = headings[0], headings[-1]
    count = f"{lead} {len(headings)} {unit}s, from “{first.title}” to “{last.title}”{end}"
    return Statement(count, (first, last))


def _list_lines(headings: Sequence[Heading]) -> Iterator[Statement]:
    for index, heading in enumerate(headings):
        bullet = f"{heading.number}. " if heading.number else "- "
        newline = "\n\n" if index == 0 else "\n"
        yield Statement(heading.title, (heading,), newline + bullet)


SMALL_TALK_MODEL_NAME = "small talk"
"""Stands in for the model name in replies to small talk."""
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
_KINDS_WITH_SUGGESTIONS = ("greeting", "identity", "abilities", "nothing", "insult")


def reply_to_small_talk(kind: SmallTalkKind, title: str, contents: Contents) -> list[Statement]:
    """Return a friendly reply; some kinds of small talk get chapters to start with."""
    reply = [Statement(_SMALL_TALK_REPLIES[kind].format(title=title), ())]
    chapters = suggest_chapters(contents) if kind in _KINDS_WITH_SUGGESTIONS else []
    # Titles are untrusted: one may contain an injected instruction.
    chapters = [chapter for chapter in chapters if not is_injected_instruction(chapter.title)]
    return [*reply, _suggest(chapters)] if chapters else reply


def suggest_chapters(contents: Contents) -> list[Heading]:
    """Return a few chapters, spread over the book."""
    chapters = _chapters(contents)
    step = max(1.0, len(chapters) / MAX_SUGGESTED_CHAPTERS)
    return [chapters[int(n * step)] for n in range(min(MAX_SUGGESTED_CHAPTERS, len(chapters)))]


def _suggest(chapters: Sequence[Heading]) -> Statement:
    titles = [f"“{sanitize_markdown(heading.title)}”" for heading in chapters]
    enumeration = f"{', '.join(titles[:-1])} or {titles[-1]}" if titles[1:] else titles[0]
    return Statement(f"You could begin with {enumeration}.", ())


MAX_QUOTED_CHARS, MAX_MISSING_TERMS = 120, 3
OFF_SUBJECT_ANSWERABILITY, OFF_SUBJECT_SIMILARITY = 0.3, 0.7
"""Below both, the question is off the book's subject."""
_WARNINGS: dict[VerdictKind, str] = {
    "partly": "[supported only in part]",
    "unsupported": "[not supported by {source}]",
    "contradicted": "[contradicted by {source}]",
}
NOT_FOUND = "I couldn't find that in the book."
NO_DIRECT_ANSWER = "I couldn't find a direct answer in the book."
NOT_PROVEN = "The book doesn't clearly prove what I wrote about this, so I don't show it."
REFUSALS = (NOT_FOUND, NO_DIRECT_ANSWER, NOT_PROVEN)
"""First sentences of the refusals after a search."""
PARTIAL_ANSWER_NOTE = "The book covers this only partly. Here's the closest it gets."
PARTIAL_SELECTION_NOTE = "The selected text covers this only partly. Here's the closest it gets."
FEW_PASSAGES_NOTES = {
    1: "I found only one passage on this.",
    2: "I found only two passages on this.",
}
"""Disclaimers by number of passages."""
QUOTES_NOTE = "In the book's own words:"
"""Introduces quotes after an answer of which little could be proven."""
TRUNCATED_NOTE = "The answer breaks off here: the model did not finish it."


def warning(verdict: VerdictKind, *, selected: bool) -> str:
    """Return the warning after a claim that is shown without full support."""
    source = "the selected text" if selected else "the book"
    return _WARNINGS.get(verdict, "").format(source=source)


def disclaimer(confidence: Confidence, *, selected: bool) -> str:
    """Return the disclaimer before an answer of low confidence."""
    if selected:
        return PARTIAL_SELECTION_NOTE
    if confidence.average_similarity < MEDIUM_AVERAGE_SIMILARITY:
        return PARTIAL_ANSWER_NOTE
    return FEW_PASSAGES_NOTES.get(confidence.num_chunks, PARTIAL_ANSWER_NOTE)


def selection_refusal(missing_terms: Sequence[str]) -> str:
    """Return a refusal that names the terms missing from the selection."""
    missing = ", ".join(f"“{word[:MAX_QUOTED_CHARS]}”" for word in missing_terms[:5])
    reason = f" It doesn't mention {missing}." if missing else ""
    return f"The selected text doesn't answer that.{reason} Search the whole book?"


def is_off_subject(nearest: Sequence[Hit], answerability: float) -> bool:
    """Return whether nothing that was found is about the question."""
    best = max((hit.similarity for hit in nearest), default=0.0)
    return answerability < OFF_SUBJECT_ANSWERABILITY and best < OFF_SUBJECT_SIMILARITY


def not_found_reply(question: str, book_terms: Container[str], *, filtered: bool = False) -> str:
    """Return a refusal that names the terms of the question that the book never mentions.

    `known` are the terms of the book. With a filter, no terms are named, since the part of the
    book that was searched may lack others.
    """
    if filtered:
        return "I couldn't find that in the part of the book you chose."
    missing = [f"“{quote_question(phrase)}”" for phrase in unmentioned(question, book_terms)][
        :MAX_MISSING_TERMS
    ]
    return f"{NOT_FOUND} It doesn't mention {' or '.join(missing)}." if missing else NOT_FOUND


def unmentioned(question: str, book_terms: Container[str]) -> list[str]:
    """Return the words and phrases of a question's topic that the book never uses."""
    runs: list[list[str]] = [[]]
    for word in words(parse_question(question).topic or question):
        word_terms = terms(word)
        if word_terms and not any(term in book_terms for term in word_terms):
            runs[-1].append(word)
        elif runs[-1]:
            runs.append([])
    return list(dict.fromkeys(" ".join(run) for run in runs if run))


def closest_section_reply(nearest: Sequence[Hit], *, withheld: bool = False) -> str:
    """Return a refusal that names the closest section, if sentences were `withheld` or not."""
    reason = NOT_PROVEN if withheld else NO_DIRECT_ANSWER
    names = (section_name(hit.chunk) for hit in nearest)
    name = next((name for name in names if not is_injected_instruction(name)), "")
    return f"{reason} The closest section is “{name}”." if name else reason


def quote_question(question: str) -> str:
    """Return a question for quotation in a reply: sanitized and truncated."""
    return _truncate(" ".join(sanitize_markdown(INVISIBLE.sub("", question)).split()))


def section_name(chunk: Chunk) -> str:
    """Return the sanitized chapter and section of a passage."""
    return sanitize_markdown(" › ".join(dict.fromkeys((chunk.chapter, chunk.section))))


def _truncate(text: str) -> str:
    if len(text) <= MAX_QUOTED_CHARS:
        return text
    start = text[: MAX_QUOTED_CHARS - 1]
    # Do not cut inside inline code.
    return (start[: start.rfind("`")].rstrip() if start.count("`") % 2 else start) + "…"


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
    """The refusal of a request, and the chunks it points to."""

    text: str
    chunk_ids: tuple[str, ...] = ()


def unsupported_reply(text: str, contents: Contents) -> UnsupportedReply | None:
    """Return the refusal of a request that quotes cannot meet; `None` for a question."""
    request = " ".join(text.split())
    if entry := section_to_summarize(request, contents):
        return _point_to_summary(entry)
    if _EXERCISES.match(request):
        return UnsupportedReply(
            "I can't write exercises. I can quote what the book says about a topic."
        )
    if _OPINION.search(request):
        return UnsupportedReply(
            "I don't have opinions. I can quote what the book says about a topic."
        )
    return None


def _point_to_summary(entry: TocEntry) -> UnsupportedReply:
    # Direct children only: the summary of a chapter does not summarize its part.
    summary = next((child for child in entry.heading.children if _is_summary(child)), None)
    reply = "I quote the book rather than summarize it."
    if summary is None:
        return UnsupportedReply(
            f"{reply} The section to read is {_quote_path(entry.heading)}.",
            _chunk_ids(entry.heading),
        )
    path = _quote_path(entry.heading, summary)
    return UnsupportedReply(f"{reply} Its own summary is {path}.", _chunk_ids(summary))


def _is_summary(heading: Heading) -> bool:
    return heading.kind == "section" and bool(_SUMMARY.fullmatch(heading.title))


def _quote_path(*headings: Heading) -> str:
    return f"“{sanitize_markdown(' › '.join(heading.title for heading in headings))}”"


def _chunk_ids(heading: Heading) -> tuple[str, ...]:
    return tuple(chunk_id for descendant in heading.walk() for chunk_id in descendant.chunks)
