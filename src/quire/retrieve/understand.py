"""What a message is, before anything is searched: talk, another language, or a question."""

from dataclasses import dataclass

from quire.ports import Index
from quire.retrieve.language import Language, foreign_language, in_english
from quire.retrieve.smalltalk import Talk, small_talk
from quire.retrieve.spelling import corrected


@dataclass(frozen=True, slots=True)
class Understood:
    """A message and what it is."""

    text: str
    """In English and as the book spells, as far as could be told."""
    talk: Talk | None = None
    foreign: Language | None = None
    """The language it is in, if that is not the book's and it could not be put into English."""


def understand(text: str, index: Index) -> Understood:
    """Tell what a message is."""
    if talk := small_talk(text):
        return Understood(text, talk=talk)
    if language := foreign_language(text, index.statistics):
        english = in_english(text, language, index.statistics)
        return Understood(english) if english else Understood(text, foreign=language)
    return Understood(corrected(text, index.vocabulary, index.statistics))
