"""Questions as readers in a hurry type them; what they ask for stays the same."""

import random
import re

from citewell.text.terms import STOPWORDS

SHARE = 0.25
_NEAR = {
    "a": "qsz", "b": "vgn", "c": "xdv", "d": "sfec", "e": "wrd", "f": "dgr", "g": "fht",
    "h": "gjy", "i": "uok", "j": "hkn", "k": "jlm", "l": "ko", "m": "nk", "n": "bmh", "o": "ipl",
    "p": "ol", "q": "wa", "r": "etf", "s": "adw", "t": "ryg", "u": "yij", "v": "cbf", "w": "qes",
    "x": "zcs", "y": "tuh", "z": "xsa",
}  # fmt: skip
_KEPT = frozenset(
    [
        "not",
        "no",
        "without",
        "except",
        "after",
        "before",
        "until",
        "since",
        "from",
        "to",
        "between",
        "above",
        "below",
        "under",
        "over",
        "up",
        "down",
        "off",
        "on",
        "more",
        "most",
        "less",
        "least",
        "only",
        "all",
        "each",
        "every",
        "both",
        "few",
        "many",
        "once",
    ]
)
_ENDS = (" pls", " please", " like im 5", " thx", " in short", " for beginners", "??", " anyone?")
_STARTS = ("hi, ", "hey ", "pls tell me ", "quick question: ", "i dont get it, ", "so ", "um ")
_DEFINITION = re.compile(
    r"^what(?:'s| is| are) (?:an? |the )?([\w./`-]+(?: [\w./`-]+){0,2})\??$", re.I
)


def sloppy(question: str, rng: random.Random) -> str:
    """Return the question as typed in a hurry, in one to three of the usual ways."""
    defined = _DEFINITION.match(question)
    if defined and rng.random() < 0.3:
        return f"{defined[1].lower()} {rng.choice(('definition', 'meaning', 'what is it'))}"
    said = question
    for way in rng.sample((_lower, _bare, _typo, _around, _keywords), rng.choice((1, 2, 2, 3))):
        said = way(said, rng)
    return " ".join(said.split()) or question


def _lower(text: str, _: random.Random) -> str:
    return text.lower()


def _bare(text: str, _: random.Random) -> str:
    """Drop the question mark and the apostrophes."""
    return re.sub(r"['’]", "", text.rstrip("?. "))


def _typo(text: str, rng: random.Random) -> str:
    """Misspell one plain word: a neighbouring key, a dropped, doubled or exchanged letter."""
    places = [m for m in re.finditer(r"\b[A-Za-z]{4,}\b", text) if m[0][1:].islower()]
    if not places:
        return text
    one = rng.choice(places)
    at = rng.randrange(one.start() + 1, one.end() - 1)
    letter = text[at]
    way = rng.randrange(4)
    if way == 0:
        return text[:at] + rng.choice(_NEAR.get(letter, letter)) + text[at + 1 :]
    if way == 1:
        return text[:at] + text[at + 1 :]
    if way == 2:
        return text[:at] + letter + text[at:]
    return text[:at] + text[at + 1] + letter + text[at + 2 :]


def _around(text: str, rng: random.Random) -> str:
    """Put in front or behind what adds nothing."""
    if rng.random() < 0.5:
        start = rng.choice(_STARTS)
        return start + text[:1].lower() + text[1:] if text[1:2].islower() else start + text
    return text.rstrip("?. ") + rng.choice(_ENDS)


def _keywords(text: str, _: random.Random) -> str:
    """Keep the words that carry meaning, and those that turn it."""
    asked = re.match(r"^(how|why|when|where|who)\b", text, re.I)
    kept = [
        word
        for word in text.rstrip("?. ").split()
        if word.lower().strip(",;") not in STOPWORDS or word.lower() in _KEPT
    ]
    if len(kept) < 2:
        return text
    return " ".join([asked[1].lower(), *kept] if asked else kept)
