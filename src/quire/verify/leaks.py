"""What a model says that is nobody's business: keys, and what it was told."""

import re
from collections.abc import Sequence

from quire.prose.terms import words

RUN = 6
"""So many words in a row that stand in the instructions too are no chance."""
A_KEY = "[withheld: it looks like a secret]"
TOLD = "[withheld: the model's own instructions]"
_SECRET = re.compile(
    r"\b(?:sk|pk|rk|qk|ghp|gho|ghs|glpat|xox[abprs]|hf)[-_][\w-]{12,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}"
    r"|(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----|\b\w+://[^\s/:@]+:[^\s/@]+@"
    r"|(?<![\w+/=-])(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])(?=[\w+/=-]*[A-Z])[\w+/=-]{32,}"
    r"|\b\w{0,64}(?:KEY|TOKEN|SECRET|PASSWORD)\w{0,64}+\s*+[=:]\s*\S+"
)


def tellable(text: str, instructions: Sequence[str]) -> str:
    """Give a withheld statement as it may be told: what should not be known is not said."""
    if _SECRET.search(text):
        return A_KEY
    return TOLD if any(shares_run(text, told) for told in instructions) else text


def shares_run(text: str, told: str) -> bool:
    """Tell whether a text repeats a run of words of another."""
    return bool(_runs(text) & _runs(told))


def _runs(text: str) -> set[tuple[str, ...]]:
    said = [word.casefold() for word in words(text)]
    return {tuple(said[at : at + RUN]) for at in range(len(said) - RUN + 1)}
