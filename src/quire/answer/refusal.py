"""What Quire says when the book does not answer."""

from collections.abc import Sequence

from quire.domain import Hit, VerdictKind

MAX_SHOWN = 120
UNPROVEN: dict[VerdictKind, str] = {
    "partly": "[supported only in part]",
    "unsupported": "[not supported by the book]",
    "contradicted": "[contradicted by the book]",
}
"""What stands behind a claim that is shown although the book does not support it."""
DISCLAIMER = "The book touches on this only in part; what follows is the closest it comes."


def refusal_text(question: str, nearest: Sequence[Hit]) -> str:
    """Say that the answer is not there, what was looked for, and what is nearest."""
    asked = " ".join(question.split())
    asked = asked if len(asked) <= MAX_SHOWN else asked[: MAX_SHOWN - 1] + "…"
    text = f"The book does not answer this. I searched it for “{asked}”"
    places = dict.fromkeys(
        hit.chunk.chapter
        if hit.chunk.section == hit.chunk.chapter
        else f"{hit.chunk.chapter} › {hit.chunk.section}"
        for hit in nearest
    )
    if not places:
        return f"{text} and found nothing near it."
    named = "; ".join(list(places)[:3])
    return f"{text}. The nearest passages are about: {named}."
