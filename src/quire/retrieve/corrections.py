"""“No, I meant the pump”: the last question again, with one thing put right."""

import re
from dataclasses import dataclass

_CORRECTION = re.compile(
    r"^\s*(?:(?:no|nope|nah|sorry|oops|wait|actually|hm+|well|ok(?:ay)?|my bad|oh)\b[,.!…\s]*)*"
    r"(?:(?:i|what i|but i)\s+(?:actually\s+|really\s+)?(?:meant?|was (?:asking|talking)|am asking"
    r"|wanted|asked)(?:\s+(?:is|was))?(?:\s+about)?\s+|(?=(?:not|rather|instead)\b))",
    re.I,
)
_NO = re.compile(r"^\s*(?:no|nope|nah|sorry|oops|wait|actually|rather)\b[,.!…\s]+(?=\S)", re.I)
_NOT_THIS = re.compile(
    r"^not\s+(?P<old>[^,;.]+?)\s*(?:[,;.]|\bbut\b)[\s,]*(?:but\s+)?(?P<new>[^?]+)$"
    r"|^(?P<new2>[^,;?]+?),?\s+(?:and\s+)?(?:not|instead of|rather than)\s+(?P<old2>[^?]+)$",
    re.I,
)
_MOST_WORDS = 8
"""A correction is short; what is longer is a question of its own."""


@dataclass(frozen=True, slots=True)
class Correction:
    """What was meant, and what was not, if that was said."""

    new: str
    old: str = ""


def correction_in(asked: str) -> Correction | None:
    """Give what a message puts right; nothing if it puts nothing right."""
    begun = _CORRECTION.match(asked) or _NO.match(asked)
    rest = asked[begun.end() :].strip(" ?.!,") if begun else ""
    if not rest or len(rest.split()) > _MOST_WORDS:
        return None
    if found := _NOT_THIS.match(rest):
        return Correction(
            new=(found["new"] or found["new2"]).strip(), old=(found["old"] or found["old2"]).strip()
        )
    return Correction(new=rest)
