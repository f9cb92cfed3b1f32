"""The words around statements: what frames a claim, and what states nothing at all.

What states nothing is shown without proof, so the lists here are closed: a word that is not in them
may carry a fact, and then the sentence is a claim.
"""

import re
from collections.abc import Iterable

from quire.prose.plain import inline_plain
from quire.prose.terms import words
from quire.verify.claims import Piece

_HEDGE = re.compile(
    r"(?:(?:and|but|also|however|moreover|furthermore|additionally|in addition|in short|in summary"
    r"|in other words|to sum up|to summari[sz]e|overall|essentially|basically|put simply|simply put"
    r"|yes|sure|certainly|indeed|in fact|specifically|in particular|for example|for instance"
    r"|importantly|as far as i (?:know|can tell)|according to the (?:book|text|passages?|author)"
    r"|as the (?:book|text|author) (?:says|states|explains|notes|puts it))\s*[,:]\s+"
    r"|(?:i (?:think|believe|guess|suppose)|it (?:seems|appears)|note|remember|keep in mind"
    r"|the (?:book|text|passages?|author|chapter|section) (?:also )?"
    r"(?:says?|states?|explains?|notes?|mentions?|points out))"
    r"(?: that\s+|\s*[,:]\s+|\s+(?=[A-Z])))+",
    re.I,
)
_QUOTED = re.compile(r"\n[ \t]*(?:>[ \t]?)+")
_HEADING = re.compile(r"^(?:#{1,6}\s+|:{3,}[ \t]*\w*[ \t]*\[?)|(?:\s+#+|\])$")
_OPENING = re.compile(
    r"(?:here(?:'s|’s| is| are)|let(?:'s|’s| us| me)|below (?:is|are)|the following|see below"
    r"|i hope|to (?:sum up|summari[sz]e)|in (?:short|summary|other words|brief)"
    r"|for (?:example|instance))\b",
    re.I,
)
_RICH = re.compile(r"[`$<>|\\\[\]{}=]|https?:|\d")
"""Code, formulas, links, images, HTML and numbers can always say something."""
_SILENT = re.compile(r"[\s!-/:-@\[-`{-~…–—‘’“”«»·•]*")
_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
        a about above also an and another answer any anything are as at background be below brief
        book briefly by can caution chapter code conclusion consider could danger definition detail
        details do does else equation example examples explain explains explanation figure
        following follows for formula from further go good have help helpful helps here here's
        here’s hope how i idea ideas if important in info instance introduction is it its key know
        let let's let’s like list look main may me more need note notes of on or other our overview
        part parts passage passages please point points put question questions quote reason reasons
        say says section see shall short should show simply some source sources step steps sum
        summarise summarize summary table take tell text that the them these they this those tip to
        turn us want warning was way we what where which why will with word words work works would
        you your
        """,
    )
)


def statement_of(piece: Piece) -> str:
    """Give what a piece states, without hedges, connectives and the markup of its block."""
    text = _QUOTED.sub("\n", piece.text)
    if piece.is_block:
        return text
    text = _HEADING.sub("", text) if piece.kind == "heading" else text
    hedge = _HEDGE.match(text)
    return text[hedge.end() : hedge.end() + 1].upper() + text[hedge.end() + 1 :] if hedge else text


def states_nothing(piece: Piece, titles: Iterable[str]) -> bool:
    """Whether a piece says nothing about the book: it may be shown unproven.

    `titles` are the book's own headings over the passages; an answer may use them as its own.
    """
    if piece.is_block:
        return False
    if _SILENT.fullmatch(piece.text) and "](" not in piece.text:
        return True
    bare = _HEADING.sub("", piece.text) if piece.kind == "heading" else piece.text
    plain = inline_plain(_QUOTED.sub(" ", bare))
    spoken = [word.lower() for word in words(plain)]
    if piece.kind == "heading" and plain.casefold() in {title.casefold() for title in titles}:
        return True
    if _RICH.search(bare):
        return False
    named = [word for word in spoken if word not in _WORDS]
    if not named:
        return _shaped_so(piece, plain)
    return bool(_OPENING.match(plain)) and _stand_in_a_title(named, spoken, titles)


def _shaped_so(piece: Piece, plain: str) -> bool:
    """Whether words that name nothing also state nothing: “It works.” answers a question."""
    if piece.kind == "heading" or plain.endswith(("?", ":")) or _OPENING.match(plain):
        return True
    return bool(re.fullmatch(r"(\*\*|__)[^*_.!?]+\1", piece.text))


def _stand_in_a_title(named: list[str], spoken: list[str], titles: Iterable[str]) -> bool:
    first = spoken.index(named[0])
    if spoken[first : first + len(named)] != named:
        return False
    phrase = f" {' '.join(named)} "
    return any(phrase in f" {' '.join(w.lower() for w in words(title))} " for title in titles)
