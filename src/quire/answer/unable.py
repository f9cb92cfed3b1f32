"""Requests that quoting the book cannot meet, and what can be done instead."""

import re
from dataclasses import dataclass

from quire.domain import Contents, Heading
from quire.prose.inert import inert
from quire.retrieve.outline import Place
from quire.retrieve.structure import place_to_summarise

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
class Unable:
    """What is said instead of an answer, and the passages that it points to."""

    text: str
    passages: tuple[str, ...] = ()


def unable(text: str, contents: Contents) -> Unable | None:
    """Return what to say to a request that cannot be met by quoting; nothing for a question."""
    asked = " ".join(text.split())
    if place := place_to_summarise(asked, contents):
        return _own_summary(place)
    if _EXERCISES.match(asked):
        return Unable("I can't write exercises. I can quote what the book says about a topic.")
    if _OPINION.search(asked):
        return Unable("I don't have opinions. I can quote what the book says about a topic.")
    return None


def _own_summary(place: Place) -> Unable:
    # Of this place itself: a chapter's summary does not sum up its part.
    summary = next((one for one in place.heading.children if _is_summary(one)), None)
    said = "I quote the book rather than summarize it."
    if summary is None:
        return Unable(
            f"{said} The section to read is {_named(place.heading)}.", _ids(place.heading)
        )
    named = _named(place.heading, summary)
    return Unable(f"{said} Its own summary is {named}.", _ids(summary))


def _is_summary(heading: Heading) -> bool:
    return heading.kind == "section" and bool(_SUMMARY.fullmatch(heading.title))


def _named(*headings: Heading) -> str:
    return f"“{inert(' › '.join(one.title for one in headings))}”"


def _ids(heading: Heading) -> tuple[str, ...]:
    return tuple(identity for one in heading.walk() for identity in one.chunks)
