"""Finding words in a passage: byte-exact offsets, whatever the line breaks."""

import re

from quire.prose.plain import INVISIBLE
from quire.prose.remembered import remembered

_RUN = re.compile(rf"(\s+)|[^\s{INVISIBLE.pattern[1:]}+")
"""White space, or signs with ink."""
_BEGIN = re.compile(r"(?<!\w)(?<!\d[.,])(?!\s)")
_END = re.compile(r"(?!\w|[.,]\d)")


@remembered(2048)
def _folded(text: str) -> tuple[str, tuple[int, ...]]:
    """Fold white space, drop what has no ink; give the text left and where each character was."""
    folded: list[str] = []
    places: list[int] = []
    for run in _RUN.finditer(text):
        folded.append(" " if run[1] else run[0])
        places += range(*run.span())[: len(folded[-1])]
    return "".join(folded), tuple(places)


def find_quote(passage: str, words: str) -> tuple[int, int] | None:
    """Give the offsets in `passage` at which `words` stand, white space aside.

    Whole words and numbers only: “10 Hz” does not stand in “110 Hz” nor “5 m” in “2.5 m”.
    """
    needle = " ".join(INVISIBLE.sub("", words).split())
    if not needle:
        return None
    folded, places = _folded(passage)
    start = folded.find(needle)
    while start >= 0:
        end = start + len(needle)
        if _BEGIN.match(folded, start) and _END.match(folded, end):
            return places[start], places[end - 1] + 1
        start = folded.find(needle, start + 1)
    return None
