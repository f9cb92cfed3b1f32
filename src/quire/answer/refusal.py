"""What Quire says when the book does not answer."""

from collections.abc import Sequence

from quire.domain import Chunk, Hit, VerdictKind
from quire.prose.inert import inert
from quire.prose.plain import INVISIBLE, inline_plain
from quire.prose.sentences import split_spans
from quire.verify.orders import is_order, rests_on_order

MAX_SHOWN = 120
NEAREST = 3
_UNPROVEN: dict[VerdictKind, str] = {
    "partly": "[supported only in part]",
    "unsupported": "[not supported by {source}]",
    "contradicted": "[contradicted by {source}]",
}
REFUSAL = "The book does not answer this."
"""How every refusal begins that a search came before."""
DISCLAIMER = "The book touches on this only in part; what follows is the closest it comes."
SELECTION_DISCLAIMER = (
    "The selected text touches on this only in part; what follows is the closest it comes."
)

BROKEN_OFF = "The answer breaks off here: the model did not finish it."


def warning(verdict: VerdictKind, *, selected: bool) -> str:
    """Give what stands behind a claim that is shown although the source does not support it."""
    source = "the selected text" if selected else "the book"
    return _UNPROVEN.get(verdict, "").format(source=source)


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
    """Say that the answer is not there, what was looked for, and what the nearest passages say."""
    asked = echoed(question)
    text = f"{REFUSAL} I searched it for “{asked}”"
    places: dict[str, str] = {}
    for hit in nearest:
        if not is_order(place := _place(hit.chunk)):
            places.setdefault(place, _opening(hit.chunk))
    if not places:
        return f"{text} and found nothing near it."
    lines = (
        f"- {place}: “{opening}”" if opening else f"- {place}"
        for place, opening in list(places.items())[:NEAREST]
    )
    return f"{text}. The nearest passages are about:\n\n" + "\n".join(lines)


def echoed(question: str) -> str:
    """Give a question as it is repeated to who asked it: short, and leading nowhere."""
    return _cut(" ".join(inert(INVISIBLE.sub("", question)).split()))


def _place(chunk: Chunk) -> str:
    return inert(" › ".join(dict.fromkeys((chunk.chapter, chunk.section))))


def _opening(chunk: Chunk) -> str:
    """Give the first sentence of a passage, which tells what it is about; none if it has none."""
    for span in split_spans(chunk.text):
        if span.kind in ("sentence", "item"):
            # Nobody has checked it: what is not told as an answer is not told here either.
            wrong = rests_on_order(chunk.text, span.start, span.end)
            return "" if wrong else _cut(inert(inline_plain(span.of(chunk.text))))
    return ""


def _cut(text: str) -> str:
    if len(text) <= MAX_SHOWN:
        return text
    short = text[: MAX_SHOWN - 1]
    # Half an address would not be code any more.
    return (short[: short.rfind("`")].rstrip() if short.count("`") % 2 else short) + "…"
