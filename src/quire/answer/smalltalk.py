"""What Quire says to small talk: who it is, which book it has read, and where one could begin."""

from collections.abc import Sequence

from quire.answer.contents import Statement
from quire.domain import Contents, Heading
from quire.prose.inert import inert
from quire.retrieve.outline import pages_of
from quire.retrieve.smalltalk import Talk
from quire.verify.orders import is_order

NAME = "small talk"
"""Who wrote such an answer, where others have the name of their model."""
STARTERS = 3
_TOLD: dict[Talk, str] = {
    "greeting": "Hello! Ask me about “{title}”: I answer with sentences quoted from it.",
    "identity": (
        "I am Quire, a program that has read “{title}”: I answer questions from its text alone, "
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


def answer_to_talk(talk: Talk, title: str, contents: Contents) -> list[Statement]:
    """Return something friendly, and chapters to begin with; it comes from no passage."""
    told = [Statement(_TOLD[talk].format(title=title), ())]
    starters = starters_of(contents) if talk in _WITH_STARTERS else []
    # Nobody has checked the titles: one that gives orders is not passed on.
    starters = [one for one in starters if not is_order(one.title)]
    return [*told, _begin_with(starters)] if starters else told


def starters_of(contents: Contents) -> list[Heading]:
    """Give a few chapters from all over the book."""
    pages = pages_of(contents)
    chapters = [page for page in pages if page.kind == "chapter"] or list(pages)
    step = max(1.0, len(chapters) / STARTERS)
    return [chapters[int(n * step)] for n in range(min(STARTERS, len(chapters)))]


def _begin_with(starters: Sequence[Heading]) -> Statement:
    named = [f"“{inert(heading.title)}”" for heading in starters]
    listed = f"{', '.join(named[:-1])} or {named[-1]}" if named[1:] else named[0]
    return Statement(f"You could begin with {listed}.", ())
