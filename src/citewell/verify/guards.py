"""Guards: what a claim must not change, whatever a model says about it.

Quantities with units, names and identifiers, and negation are compared with the evidence.
"""

import re
from collections.abc import Sequence

from citewell.text.plain_text import strip_inline_markup
from citewell.verify.agreement import names_of
from citewell.verify.quantities import quantities

NEGATION = re.compile(
    r"\b(?:no|not|never|none|neither|nor|cannot|without|nothing|nobody)\b|n['’]t\b", re.I
)


def objection(claim: str, evidence: Sequence[str], headings: str = "") -> str:
    """Return which guard objects to a claim: `quantity`, `name`, `negation`; or an empty string."""
    plain = [strip_inline_markup(text) for text in evidence]
    known = {quantity.key for text in (*plain, headings) for quantity in quantities(text)}
    if any(quantity.key not in known for quantity in quantities(strip_inline_markup(claim))):
        return "quantity"
    said = " ".join(" ".join((*evidence, *plain, headings)).split()).lower()
    if any(" ".join(name.split()).lower() not in said for name in names_of(claim)):
        return "name"
    negated = [bool(NEGATION.search(text)) for text in plain]
    claims_negation = bool(NEGATION.search(strip_inline_markup(claim)))
    if claims_negation and not any(negated):
        return "negation"
    if not claims_negation and negated and all(negated) and len(negated) == 1:
        return "negation"
    return ""
