"""Finding words in a passage: byte-exact offsets, whatever the line breaks."""

import re
from functools import lru_cache

from quire.prose.plain import INVISIBLE


@lru_cache(maxsize=2048)
def _folded(text: str) -> tuple[str, tuple[int, ...]]:
    """Fold white space, drop what has no ink; give the text left and where each character was."""
    folded: list[str] = []
    places: list[int] = []
    for match in re.finditer(r"\s+|\S", text):
        if INVISIBLE.match(match[0]):
            continue
        folded.append(" " if match[0].isspace() else match[0])
        places.append(match.start())
    return "".join(folded), tuple(places)


def find_quote(passage: str, words: str) -> tuple[int, int] | None:
    """Give the offsets in `passage` at which `words` stand, white space aside.

    Whole words and numbers only: “10 Hz” does not stand in “110 Hz” nor “5 m” in “2.5 m”.
    """
    needle = " ".join(INVISIBLE.sub("", words).split())
    if not needle:
        return None
    folded, places = _folded(passage)
    found = re.search(rf"(?<!\w)(?<!\d[.,])(?!\s){re.escape(needle)}(?!\w|[.,]\d)", folded)
    if not found:
        return None
    return places[found.start()], places[found.end() - 1] + 1
