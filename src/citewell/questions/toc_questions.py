"""Recognize questions about the table of contents.

Only questions that are clearly about chapters, or name a heading exactly, are recognized; all
others are left to the search.
"""

import re
from dataclasses import dataclass
from typing import Literal

from citewell.domain import Contents
from citewell.questions.toc import TocEntry, find_by_number, find_by_title, pages_of, toc_entries
from citewell.text.terms import terms, words

MAX_NAMESAKES = 3
"""A name that more headings share is ambiguous."""


@dataclass(frozen=True, slots=True)
class ListQuestion:
    """“List the chapters.”"""  # noqa: D415 - quoted as asked

    kind: Literal["chapter", "part"]
    count_only: bool = False


@dataclass(frozen=True, slots=True)
class CoverageQuestion:
    """“What does chapter 3 cover?”"""  # noqa: D415

    entries: tuple[TocEntry, ...]


@dataclass(frozen=True, slots=True)
class UnknownChapterQuestion:
    """“What does chapter 99 cover?”"""  # noqa: D415

    number: int


@dataclass(frozen=True, slots=True)
class AdjacentQuestion:
    """“What comes after the chapter on localisation?”"""  # noqa: D415

    entries: tuple[TocEntry, ...]
    side: Literal["after", "before"]


@dataclass(frozen=True, slots=True)
class LocationQuestion:
    """“In which chapter is odometry explained?”"""  # noqa: D415

    entry: TocEntry


TocQuestion = (
    ListQuestion | CoverageQuestion | UnknownChapterQuestion | AdjacentQuestion | LocationQuestion
)

_COURTESY = re.compile(
    r"^(?:(?:please|hi|hello|ok(?:ay)?|so|and|then|now)\b[,!. ]*"
    r"|(?:can|could|would) you (?:please )?(?=(?:list|name|show|give|tell|print)\b)"
    r"|(?:tell|show|give) me (?=what|which|how|in which|the|a\b|all))+",
    re.I,
)
_OF_BOOK = r"(?: (?:of|in|from|for) (?P<book>.+))?"
_CHAPTERS = r"(?P<unit>chapters?|parts?)"
_UNIT = "(?:chapter|section|part|page)"
_WHAT_IS = "(?:what is|what's)"
_COVER_VERBS = (
    "cover|contain|discuss|treat|deal with|talk about|include|explain|teach|describe|introduce"
)
_COVER_PARTICIPLES = (
    "covered|contained|discussed|treated|dealt with|included|explained|taught|described"
    "|introduced|defined|presented"
)


def _patterns(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.I) for pattern in patterns)


_LIST_QUESTIONS = _patterns(
    r"(?:(?:list|name|enumerate|show|print|what are|which are) )?(?:all )?(?:of )?(?:the |its )?"
    rf"(?:(?:titles|names) of (?:all )?(?:the )?)?{_CHAPTERS}(?: titles| names)?{_OF_BOOK}",
    rf"(?:what|which) {_CHAPTERS} (?:are there|(?:does|has) (?P<book>.+?) (?:have|contain))",
    rf"(?:what|which) {_CHAPTERS} are (?:there )?(?:in|part of) (?P<book>.+)",
    rf"(?:(?:{_WHAT_IS}|show|print|display) )?(?:the |its |a )?(?:full |complete )?"
    rf"(?:table of contents|toc|list of (?:all )?(?:the )?(?P<unit>chapters)){_OF_BOOK}",
    r"how is (?P<book>(?:the|this) book) (?:organi[sz]ed|structured|divided|laid out)",
)
_COUNT_QUESTIONS = _patterns(
    rf"how many {_CHAPTERS}(?: are there| are)?{_OF_BOOK}",
    rf"how many {_CHAPTERS} (?:does|has) (?P<book>.+?)(?: (?:have|contain|got))?",
    rf"(?:{_WHAT_IS} )?the number of {_CHAPTERS}{_OF_BOOK}",
)
_COVERAGE_QUESTIONS = _patterns(
    rf"what (?:topics |subjects )?(?:does|do|will) (?P<place>.+?) (?:{_COVER_VERBS})",
    rf"{_WHAT_IS} (?P<place>.+?)(?: all)? about",
    rf"{_WHAT_IS}(?: being)? (?:{_COVER_PARTICIPLES}) in (?P<place>.+)",
    rf"{_WHAT_IS} (?:in|inside) (?P<place>.+)",
    rf"{_WHAT_IS} (?:the )?(?:title|name|contents?|topic|subject) of (?P<place>.+)",
    rf"{_WHAT_IS} (?P<place>.+?)(?: called| titled)?",
    r"(?:list|name|show|what are|which are) (?:all )?(?:the )?(?:sub)?sections (?:of|in)"
    r" (?P<place>.+)",
    r"(?:what|which|how many) (?:sub)?sections (?:does|has) (?P<place>.+?)(?: have| contain)?",
    r"(?:what|which|how many) (?:sub)?sections are (?:there )?in (?P<place>.+)",
    r"(?:show |give )?(?:an |the )?(?:outline|contents|table of contents) of (?P<place>.+)",
)
_ADJACENT_QUESTIONS = _patterns(
    rf"(?:what|which {_UNIT}) (?:comes?|follows?|stands?|goes)"
    r"(?: next| directly| right| immediately| just)? (?P<side>after|before) (?P<place>.+)",
    rf"which {_UNIT} is (?P<side>after|before) (?P<place>.+)",
    rf"(?:what|which {_UNIT}) (?P<side>follows|precedes) (?P<place>.+)",
    rf"{_WHAT_IS} the (?P<side>next|previous) {_UNIT} (?:after|before) (?P<place>.+)",
)
_LOCATION_QUESTIONS = _patterns(
    rf"(?:in )?(?:which|what) {_UNIT} (?:is|are) (?P<topic>.+?) (?:{_COVER_PARTICIPLES})(?: in)?",
    rf"(?:which|what) {_UNIT} (?:explains|describes|covers|discusses|introduces|treats|defines"
    r"|presents|is about|is on|deals with) (?P<topic>.+)",
    rf"where (?:in (?:the|this) book )?(?:is|are) (?P<topic>.+?) (?:{_COVER_PARTICIPLES})"
    r"(?: in (?:the|this) book)?",
)
_SUMMARY_REQUESTS = _patterns(
    r"(?:(?:can|could) you )?(?:please )?(?:summari[sz]e|sum up|recap) (?P<place>.+)",
    r"(?:give|write|show)(?: me)? (?:an?|the) (?:\w+ )?summary of (?P<place>.+)",
)
_QUOTES = "\"'“”‘’«»"
_UNIT_FIRST = re.compile(
    rf"(?:the )?{_UNIT}(?: (?:on|about|called|titled|named|entitled))? (?P<name>.+)", re.I
)
_UNIT_LAST = re.compile(rf"(?:the )?(?P<name>.+?) {_UNIT}", re.I)
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_CARDINALS = "one two three four five six seven eight nine ten eleven twelve"
_HAS_NUMBER = re.compile(
    rf"\b(?:\d+|{'|'.join((_ORDINALS + ' ' + _CARDINALS).split())}|last)\b", re.I
)
_NUMBER_WORDS = {
    word: number
    for names in (_ORDINALS, _CARDINALS)
    for number, word in enumerate(names.split(), start=1)
}


def parse_toc_question(text: str, book: str, contents: Contents) -> TocQuestion | None:
    """Parse a question about the table of contents; return `None` for any other question.

    `book` is the name and title of the book; questions that name another book are not parsed.
    """
    question = _COURTESY.sub("", " ".join(text.split()).rstrip(" ?.!"))
    return (
        _parse_list_question(question, book, contents)
        or _parse_section_question(question, contents)
        or _parse_adjacent_question(question, contents)
        or _parse_location_question(question, contents)
    )


def section_to_summarize(text: str, contents: Contents) -> TocEntry | None:
    """Return the chapter or section that a reader wants summarized; `None` if in doubt."""
    for pattern in _SUMMARY_REQUESTS:
        if match := pattern.fullmatch(text.rstrip(" ?.!")):
            entries = _resolve_section(match["place"], contents) or _find_by_name(
                match["place"], contents
            )
            return entries[0] if not isinstance(entries, int) and len(entries) == 1 else None
    return None


def _parse_list_question(question: str, book: str, contents: Contents) -> ListQuestion | None:
    for patterns, count_only in ((_COUNT_QUESTIONS, True), (_LIST_QUESTIONS, False)):
        for pattern in patterns:
            match = pattern.fullmatch(question)
            if not match or not _is_this_book(match.groupdict().get("book"), book):
                continue
            unit = (match.groupdict().get("unit") or "chapters").lower()
            if unit.startswith("part"):
                # “The parts” can be those of a machine, unless the question names the book.
                has_parts = any(heading.kind == "part" for heading in contents.headings)
                about_book = has_parts and match.groupdict().get("book")
                return ListQuestion("part", count_only) if about_book else None
            return ListQuestion("chapter", count_only) if pages_of(contents) else None
    return None


def _is_this_book(mention: str | None, book: str) -> bool:
    name = {word.casefold() for word in words(mention or "book")}
    title_words = name - {"the", "this", "whole", "entire", "book"}
    title = {word.casefold() for word in words(book)}
    unambiguous = "book" in name or 2 * len(title_words) >= len(title)
    return title_words <= title and unambiguous


def _parse_section_question(
    question: str, contents: Contents
) -> CoverageQuestion | UnknownChapterQuestion | None:
    for pattern in _COVERAGE_QUESTIONS:
        if match := pattern.fullmatch(question):
            name = match["place"]
            if isinstance(entries := _resolve_section(name, contents), int):
                return UnknownChapterQuestion(entries)
            # What a section without subsections covers is a question about its text.
            if entries and (_HAS_NUMBER.search(name) or all(e.heading.children for e in entries)):
                return CoverageQuestion(entries)
    return None


def _parse_adjacent_question(question: str, contents: Contents) -> AdjacentQuestion | None:
    for pattern in _ADJACENT_QUESTIONS:
        if match := pattern.fullmatch(question):
            side: Literal["after", "before"] = (
                "after" if match["side"].lower() in ("after", "follows", "next") else "before"
            )
            entries = _resolve_section(match["place"], contents) or _find_by_name(
                match["place"], contents
            )
            if entries and not isinstance(entries, int):
                return AdjacentQuestion(entries, side)
    return None


def _parse_location_question(question: str, contents: Contents) -> LocationQuestion | None:
    for pattern in _LOCATION_QUESTIONS:
        if match := pattern.fullmatch(question):
            entry = _find_by_topic(match["topic"], contents)
            return LocationQuestion(entry) if entry else None
    return None


def _resolve_section(name: str, contents: Contents) -> tuple[TocEntry, ...] | int:
    """Return the entries that “chapter 3” or “the chapter on X” refers to.

    Return the number if the book has numbered chapters, but none with it.
    """
    name = name.strip(" ,")
    unit_first, unit_last = _UNIT_FIRST.fullmatch(name), _UNIT_LAST.fullmatch(name)
    if unit_first and (number := _number(unit_first["name"])):
        return _chapter(number, name, contents)
    if unit_last and (number := _number(unit_last["name"])):
        return _chapter(number, name, contents)
    if unit_last and unit_last["name"].lower() == "last" and "chapter" in name.lower():
        chapters = [entry for entry in toc_entries(contents) if entry.heading.number]
        return tuple(chapters[-1:])
    for match in (unit_first, unit_last):
        if match and (entries := _find_by_name(match["name"], contents)):
            return entries
    return ()


def _chapter(number: int, name: str, contents: Contents) -> tuple[TocEntry, ...] | int:
    if "part" in name.lower():
        parts = [entry for entry in toc_entries(contents) if entry.heading.kind == "part"]
        return tuple(parts[number - 1 : number])
    if "chapter" not in name.lower():
        return ()
    entries = find_by_number(contents, number)
    if entries:
        return tuple(entries) if len(entries) <= MAX_NAMESAKES else ()
    return number if any(entry.heading.number for entry in toc_entries(contents)) else ()


def _number(text: str) -> int | None:
    text = text.lower().removeprefix("number ").removeprefix("no. ")
    return int(text) if re.fullmatch(r"\d{1,3}", text) else _NUMBER_WORDS.get(text)


def _find_by_name(name: str, contents: Contents) -> tuple[TocEntry, ...]:
    entries = find_by_title(contents, name.strip(f" ,{_QUOTES}"))
    return tuple(entries) if len(entries) <= MAX_NAMESAKES else ()


def _find_by_topic(topic: str, contents: Contents) -> TocEntry | None:
    """Return the section whose title mentions the topic; `None` if in doubt."""
    entries = find_by_title(contents, topic.strip(_QUOTES))
    if not entries:
        topic_terms = terms(topic)
        entries = [
            entry
            for entry in toc_entries(contents)
            if entry.heading.kind != "part"
            and _contains_terms(terms(entry.heading.title), topic_terms)
        ]
    return entries[0] if len(entries) == 1 else None


def _contains_terms(title: tuple[str, ...], topic: tuple[str, ...]) -> bool:
    size = len(topic)
    return size > 0 and any(title[n : n + size] == topic for n in range(len(title) - size + 1))
