"""What Quire says when the book does not answer."""

from collections.abc import Sequence

from quire.domain import Hit

MAX_SHOWN = 120
DISCLAIMER = "The book touches on this only in part; what follows is the closest it comes."
SELECTION_DISCLAIMER = (
    "The selected text touches on this only in part; what follows is the closest it comes."
)


def selection_refusal(lacks: Sequence[str]) -> str:
    """Say that the selection does not hold the answer, what it lacks, and offer the whole book."""
    missing = ", ".join(f"“{word[:MAX_SHOWN]}”" for word in lacks[:5])
    lack = (
        f"it does not mention {missing}"
        if missing
        else "it has the words of the question, but does not say what is asked"
    )
    return (
        f"The selected text does not answer this: {lack}. "
        "The whole book may: ask again without the selection."
    )


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
