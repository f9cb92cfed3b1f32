"""Questions about how the book is built, told from those about what it says.

Only what is plainly about chapters, or names a heading word for word, is taken for such a question;
everything else is left to the search.
"""

import re
from dataclasses import dataclass
from typing import Literal

from citewell.domain import Contents
from citewell.questions.toc import TocEntry, find_by_number, find_by_title, pages_of, toc_entries
from citewell.text.terms import terms, words

MAX_NAMESAKES = 3
"""How many headings of one name are still an answer, and not a choice that has to be made."""


@dataclass(frozen=True, slots=True)
class ListQuestion:
    """“List the chapters.”"""  # noqa: D415 - quoted as asked

    kind: Literal["chapter", "part"]
    count_only: bool = False


@dataclass(frozen=True, slots=True)
class CoverageQuestion:
    """“What does chapter 3 cover?”"""  # noqa: D415

    places: tuple[TocEntry, ...]


@dataclass(frozen=True, slots=True)
class UnknownChapterQuestion:
    """“What does chapter 99 cover?”"""  # noqa: D415

    number: int


@dataclass(frozen=True, slots=True)
class AdjacentQuestion:
    """“What comes after the chapter on localisation?”"""  # noqa: D415

    places: tuple[TocEntry, ...]
    side: Literal["after", "before"]


@dataclass(frozen=True, slots=True)
class LocationQuestion:
    """“In which chapter is odometry explained?”"""  # noqa: D415

    place: TocEntry


TocQuestion = (
    ListQuestion | CoverageQuestion | UnknownChapterQuestion | AdjacentQuestion | LocationQuestion
)

_COURTESY = re.compile(
    r"^(?:(?:please|hi|hello|ok(?:ay)?|so|and|then|now)\b[,!. ]*"
    r"|(?:can|could|would) you (?:please )?(?=(?:list|name|show|give|tell|print)\b)"
    r"|(?:tell|show|give) me (?=what|which|how|in which|the|a\b|all))+",
    re.I,
)
_BOOK = r"(?: (?:of|in|from|for) (?P<book>.+))?"
_UNITS = r"(?P<unit>chapters?|parts?)"
_UNIT = "(?:chapter|section|part|page)"
_WHAT_IS = "(?:what is|what's)"
_TREATS = (
    "cover|contain|discuss|treat|deal with|talk about|include|explain|teach|describe|introduce"
)
_TREATED = (
    "covered|contained|discussed|treated|dealt with|included|explained|taught|described"
    "|introduced|defined|presented"
)


def _patterns(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.I) for pattern in patterns)


_LISTS = _patterns(
    r"(?:(?:list|name|enumerate|show|print|what are|which are) )?(?:all )?(?:of )?(?:the |its )?"
    rf"(?:(?:titles|names) of (?:all )?(?:the )?)?{_UNITS}(?: titles| names)?{_BOOK}",
    rf"(?:what|which) {_UNITS} (?:are there|(?:does|has) (?P<book>.+?) (?:have|contain))",
    rf"(?:what|which) {_UNITS} are (?:there )?(?:in|part of) (?P<book>.+)",
    rf"(?:(?:{_WHAT_IS}|show|print|display) )?(?:the |its |a )?(?:full |complete )?"
    rf"(?:table of contents|toc|list of (?:all )?(?:the )?(?P<unit>chapters)){_BOOK}",
    r"how is (?P<book>(?:the|this) book) (?:organi[sz]ed|structured|divided|laid out)",
)
_COUNTS = _patterns(
    rf"how many {_UNITS}(?: are there| are)?{_BOOK}",
    rf"how many {_UNITS} (?:does|has) (?P<book>.+?)(?: (?:have|contain|got))?",
    rf"(?:{_WHAT_IS} )?the number of {_UNITS}{_BOOK}",
)
_COVERS = _patterns(
    rf"what (?:topics |subjects )?(?:does|do|will) (?P<place>.+?) (?:{_TREATS})",
    rf"{_WHAT_IS} (?P<place>.+?)(?: all)? about",
    rf"{_WHAT_IS}(?: being)? (?:{_TREATED}) in (?P<place>.+)",
    rf"{_WHAT_IS} (?:in|inside) (?P<place>.+)",
    rf"{_WHAT_IS} (?:the )?(?:title|name|contents?|topic|subject) of (?P<place>.+)",
    rf"{_WHAT_IS} (?P<place>.+?)(?: called| titled)?",
    r"(?:list|name|show|what are|which are) (?:all )?(?:the )?(?:sub)?sections (?:of|in)"
    r" (?P<place>.+)",
    r"(?:what|which|how many) (?:sub)?sections (?:does|has) (?P<place>.+?)(?: have| contain)?",
    r"(?:what|which|how many) (?:sub)?sections are (?:there )?in (?P<place>.+)",
    r"(?:show |give )?(?:an |the )?(?:outline|contents|table of contents) of (?P<place>.+)",
)
_BESIDE = _patterns(
    rf"(?:what|which {_UNIT}) (?:comes?|follows?|stands?|goes)"
    r"(?: next| directly| right| immediately| just)? (?P<side>after|before) (?P<place>.+)",
    rf"which {_UNIT} is (?P<side>after|before) (?P<place>.+)",
    rf"(?:what|which {_UNIT}) (?P<side>follows|precedes) (?P<place>.+)",
    rf"{_WHAT_IS} the (?P<side>next|previous) {_UNIT} (?:after|before) (?P<place>.+)",
)
_WHERE = _patterns(
    rf"(?:in )?(?:which|what) {_UNIT} (?:is|are) (?P<topic>.+?) (?:{_TREATED})(?: in)?",
    rf"(?:which|what) {_UNIT} (?:explains|describes|covers|discusses|introduces|treats|defines"
    r"|presents|is about|is on|deals with) (?P<topic>.+)",
    rf"where (?:in (?:the|this) book )?(?:is|are) (?P<topic>.+?) (?:{_TREATED})"
    r"(?: in (?:the|this) book)?",
)
_SUMMARIES = _patterns(
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
_NUMBERED = re.compile(
    rf"\b(?:\d+|{'|'.join((_ORDINALS + ' ' + _CARDINALS).split())}|last)\b", re.I
)
_PLACES = {
    word: number
    for names in (_ORDINALS, _CARDINALS)
    for number, word in enumerate(names.split(), start=1)
}


def parse_toc_question(text: str, book: str, contents: Contents) -> TocQuestion | None:
    """Return what a question asks about the book's build; nothing if it asks about what is said.

    `book` is what the book is called: a question that names another one is not about this one's.
    """
    asked = _COURTESY.sub("", " ".join(text.split()).rstrip(" ?.!"))
    return (
        _parse_list_question(asked, book, contents)
        or _parse_section_question(asked, contents)
        or _parse_adjacent_question(asked, contents)
        or _parse_location_question(asked, contents)
    )


def place_to_summarise(text: str, contents: Contents) -> TocEntry | None:
    """Return the one chapter or section that a reader wants summarized; nothing if in doubt."""
    for pattern in _SUMMARIES:
        if found := pattern.fullmatch(text.rstrip(" ?.!")):
            places = _resolve_section(found["place"], contents) or _find_by_name(
                found["place"], contents
            )
            return places[0] if not isinstance(places, int) and len(places) == 1 else None
    return None


def _parse_list_question(asked: str, book: str, contents: Contents) -> ListQuestion | None:
    for patterns, count_only in ((_COUNTS, True), (_LISTS, False)):
        for pattern in patterns:
            found = pattern.fullmatch(asked)
            if not found or not _is_this_book(found.groupdict().get("book"), book):
                continue
            unit = (found.groupdict().get("unit") or "chapters").lower()
            if unit.startswith("part"):
                # A machine has parts, too: only those said to be the book's are meant.
                parts = any(heading.kind == "part" for heading in contents.headings)
                sure = parts and found.groupdict().get("book")
                return ListQuestion("part", count_only) if sure else None
            return ListQuestion("chapter", count_only) if pages_of(contents) else None
    return None


def _is_this_book(named: str | None, book: str) -> bool:
    """Whether words that may name a book leave no doubt that it is this one."""
    said = {word.casefold() for word in words(named or "book")}
    rest = said - {"the", "this", "whole", "entire", "book"}
    title = {word.casefold() for word in words(book)}
    sure = "book" in said or 2 * len(rest) >= len(title)
    return rest <= title and sure


def _parse_section_question(
    asked: str, contents: Contents
) -> CoverageQuestion | UnknownChapterQuestion | None:
    for pattern in _COVERS:
        if found := pattern.fullmatch(asked):
            place = found["place"]
            if isinstance(places := _resolve_section(place, contents), int):
                return UnknownChapterQuestion(places)
            # What a section without any below it covers is a question to its text.
            if places and (_NUMBERED.search(place) or all(p.heading.children for p in places)):
                return CoverageQuestion(places)
    return None


def _parse_adjacent_question(asked: str, contents: Contents) -> AdjacentQuestion | None:
    for pattern in _BESIDE:
        if found := pattern.fullmatch(asked):
            side: Literal["after", "before"] = (
                "after" if found["side"].lower() in ("after", "follows", "next") else "before"
            )
            places = _resolve_section(found["place"], contents) or _find_by_name(
                found["place"], contents
            )
            if places and not isinstance(places, int):
                return AdjacentQuestion(places, side)
    return None


def _parse_location_question(asked: str, contents: Contents) -> LocationQuestion | None:
    for pattern in _WHERE:
        if found := pattern.fullmatch(asked):
            place = _find_by_topic(found["topic"], contents)
            return LocationQuestion(place) if place else None
    return None


def _resolve_section(said: str, contents: Contents) -> tuple[TocEntry, ...] | int:
    """Return what words such as “chapter 3” or “the chapter on X” point at.

    A number is given back if there are chapters, but none of that number.
    """
    said = said.strip(" ,")
    first, last = _UNIT_FIRST.fullmatch(said), _UNIT_LAST.fullmatch(said)
    if first and (number := _number(first["name"])):
        return _chapter(number, said, contents)
    if last and (number := _number(last["name"])):
        return _chapter(number, said, contents)
    if last and last["name"].lower() == "last" and "chapter" in said.lower():
        chapters = [place for place in toc_entries(contents) if place.heading.number]
        return tuple(chapters[-1:])
    for found in (first, last):
        if found and (places := _find_by_name(found["name"], contents)):
            return places
    return ()


def _chapter(number: int, said: str, contents: Contents) -> tuple[TocEntry, ...] | int:
    if "part" in said.lower():
        parts = [place for place in toc_entries(contents) if place.heading.kind == "part"]
        return tuple(parts[number - 1 : number])
    if "chapter" not in said.lower():
        return ()
    places = find_by_number(contents, number)
    if places:
        return tuple(places) if len(places) <= MAX_NAMESAKES else ()
    return number if any(place.heading.number for place in toc_entries(contents)) else ()


def _number(said: str) -> int | None:
    said = said.lower().removeprefix("number ").removeprefix("no. ")
    return int(said) if re.fullmatch(r"\d{1,3}", said) else _PLACES.get(said)


def _find_by_name(name: str, contents: Contents) -> tuple[TocEntry, ...]:
    places = find_by_title(contents, name.strip(f" ,{_QUOTES}"))
    return tuple(places) if len(places) <= MAX_NAMESAKES else ()


def _find_by_topic(topic: str, contents: Contents) -> TocEntry | None:
    """Return the section whose title says that it is about the topic; nothing if in doubt."""
    named = find_by_title(contents, topic.strip(_QUOTES))
    if named:
        return named[0] if len(named) == 1 else None
    wanted = terms(topic)
    said = [
        place
        for place in toc_entries(contents)
        if place.heading.kind != "part" and _title_mentions(terms(place.heading.title), wanted)
    ]
    return said[0] if len(said) == 1 else None


def _title_mentions(title: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    size = len(wanted)
    return size > 0 and any(title[n : n + size] == wanted for n in range(len(title) - size + 1))
