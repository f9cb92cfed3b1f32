"""Which passages an answer may rest on, and whether they are enough."""

from collections.abc import Sequence
from dataclasses import replace
from math import log2

from quire.answer.options import CONTEXT_TOKENS
from quire.domain import Confidence, Hit, Question
from quire.retrieve.calibrate import Calibration
from quire.retrieve.search import SearchResult
from quire.retrieve.selection import asks_about_whole
from quire.verify.confidence import score_confidence


def at_risk(question: Question, calibration: Calibration, target: float | None) -> Question:
    """Return the question with the gate that keeps wrong answers to the target."""
    if target is None:
        return question
    least = max(question.least_answerability, calibration.threshold_for(target))
    return replace(question, least_answerability=least)


def pass_gate(
    found: SearchResult, question: Question, tokens: int = CONTEXT_TOKENS
) -> tuple[list[Hit], Confidence]:
    """Return the hits that an answer may rest on, and how good they are; none for a refusal.

    Whether the question is answered depends on its answerability, and on whether enough relevant
    passages were found. The question's threshold says which passages are relevant enough. What is
    asked about a selection as a whole, the selection answers.
    """
    if question.selected_text is not None and asks_about_whole(question.text):
        return list(found.hits), confidence_in(found.hits, question, found.answerability)
    used = [hit for hit in fitting(found.hits, tokens) if hit.similarity >= question.threshold]
    confidence = confidence_in(used, question, found.answerability)
    if found.answerability >= question.least_answerability and confidence.should_answer:
        return used, confidence
    return [], confidence_in((), question, found.answerability)


def confidence_in(hits: Sequence[Hit], question: Question, answerability: float) -> Confidence:
    """Return how good the passages are that an answer to the question rests on."""
    # A selection is the one passage that is asked for.
    top_k = 1 if question.selected_text is not None else question.top_k
    return score_confidence(hits, top_k=top_k, answerability=answerability)


def fitting(hits: Sequence[Hit], tokens: int, *, beside: Sequence[Hit] = ()) -> list[Hit]:
    """Give the hits that are worth most together and have room beside what was shown already.

    The best one is always among them, unless something was shown before.
    """
    known = {hit.chunk.id for hit in beside}
    room = tokens - sum(hit.chunk.token_count for hit in beside)
    new = [hit for hit in hits if hit.chunk.id not in known]
    first = [] if beside else new[:1]
    room -= sum(hit.chunk.token_count for hit in first)
    return first + _worthiest(new[len(first) :], room)


def _worthiest(hits: Sequence[Hit], room: int) -> list[Hit]:
    """Choose by value, not by order: a long passage may cost several that say more together."""
    best: dict[int, tuple[float, tuple[Hit, ...]]] = {0: (0.0, ())}
    for hit in hits:
        for used, (value, chosen) in list(best.items()):
            tokens, worth = used + hit.chunk.token_count, value + _worth(hit)
            if tokens <= room and worth > best.get(tokens, (0.0, ()))[0]:
                best[tokens] = (worth, (*chosen, hit))
    # Of equal worth, what takes less room and was found first.
    return list(max(best.items(), key=lambda one: (round(one[1][0], 6), -one[0]))[1][1])


def _worth(hit: Hit) -> float:
    """Give the discounted gain of a hit: what is found later is less likely to be what is asked."""
    return hit.similarity / log2(hit.rank + 1)
