"""What Quire says where it does not answer: each ending claims only what is known."""

from collections.abc import Container, Sequence

from quire.domain import Chunk, Confidence, Hit, VerdictKind
from quire.prose.inert import inert
from quire.prose.plain import INVISIBLE
from quire.prose.terms import terms, words
from quire.retrieve.phrases import parse
from quire.verify.confidence import MEDIUM_AVERAGE
from quire.verify.orders import is_order

MAX_SHOWN, MAX_NAMED = 120, 3
FAR_ANSWERABILITY, FAR_SIMILARITY = 0.3, 0.7
"""Below both, nothing near the subject was found."""
_UNPROVEN: dict[VerdictKind, str] = {
    "partly": "[supported only in part]",
    "unsupported": "[not supported by {source}]",
    "contradicted": "[contradicted by {source}]",
}
NOT_FOUND = "I couldn't find that in the book."
NO_DIRECT_ANSWER = "I couldn't find a direct answer in the book."
REFUSALS = (NOT_FOUND, NO_DIRECT_ANSWER)
"""How the endings begin that a search came before."""
PARTLY = "The book covers this only partly. Here's the closest it gets."
SELECTION_PARTLY = "The selected text covers this only partly. Here's the closest it gets."
FEW = {1: "I found only one passage on this.", 2: "I found only two passages on this."}
"""What stands before an answer that rests on so few passages."""

BROKEN_OFF = "The answer breaks off here: the model did not finish it."


def warning(verdict: VerdictKind, *, selected: bool) -> str:
    """Give what stands behind a claim that is shown although the source does not support it."""
    source = "the selected text" if selected else "the book"
    return _UNPROVEN.get(verdict, "").format(source=source)


def disclaimer(confidence: Confidence, *, selected: bool) -> str:
    """Return what an answer of level `low` begins with: what is known about why it is low."""
    if selected:
        return SELECTION_PARTLY
    close = confidence.average_similarity >= MEDIUM_AVERAGE
    return FEW.get(confidence.num_chunks, PARTLY) if close else PARTLY


def selection_refusal(lacks: Sequence[str]) -> str:
    """Return that the selection does not hold the answer, what it lacks, and the book's offer."""
    missing = ", ".join(f"“{word[:MAX_SHOWN]}”" for word in lacks[:5])
    lack = f" It doesn't mention {missing}." if missing else ""
    return f"The selected text doesn't answer that.{lack} Search the whole book?"


def is_off_subject(nearest: Sequence[Hit], answerability: float) -> bool:
    """Whether neither the nearest passages nor their sentences are about what is asked."""
    best = max((hit.similarity for hit in nearest), default=0.0)
    return answerability < FAR_ANSWERABILITY and best < FAR_SIMILARITY


def not_found(question: str, known: Container[str], *, filtered: bool = False) -> str:
    """Return that nothing near was found, and what of the subject the book never mentions.

    `known` are the terms of the book; what a filter leaves of it may lack more.
    """
    if filtered:
        return "I couldn't find that in the part of the book you chose."
    missing = [f"“{echoed(one)}”" for one in unmentioned(question, known)][:MAX_NAMED]
    return f"{NOT_FOUND} It doesn't mention {' or '.join(missing)}." if missing else NOT_FOUND


def unmentioned(question: str, known: Container[str]) -> list[str]:
    """Return the names and words of a question's subject that the book never uses."""
    found: list[list[str]] = [[]]
    for word in words(parse(question).topic or question):
        said = terms(word)
        if said and not any(term in known for term in said):
            found[-1].append(word)
        elif found[-1]:
            found.append([])
    return list(dict.fromkeys(" ".join(run) for run in found if run))


def closest_section(nearest: Sequence[Hit]) -> str:
    """Return that no sentence answers, and where to read on."""
    places = (place for hit in nearest if not is_order(place := place_of(hit.chunk)))
    place = next(places, "")
    return f"{NO_DIRECT_ANSWER} The closest section is “{place}”." if place else NO_DIRECT_ANSWER


def echoed(question: str) -> str:
    """Give a question as it is repeated to who asked it: short, and leading nowhere."""
    return _cut(" ".join(inert(INVISIBLE.sub("", question)).split()))


def place_of(chunk: Chunk) -> str:
    """Return the chapter and section of a passage, as they are told to a reader."""
    return inert(" › ".join(dict.fromkeys((chunk.chapter, chunk.section))))


def _cut(text: str) -> str:
    if len(text) <= MAX_SHOWN:
        return text
    short = text[: MAX_SHOWN - 1]
    # Half an address would not be code any more.
    return (short[: short.rfind("`")].rstrip() if short.count("`") % 2 else short) + "…"
