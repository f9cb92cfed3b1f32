"""Which passages an answer may rest on, and whether they are enough."""

from collections.abc import Sequence
from dataclasses import replace
from math import log2

from quire.answer.options import CONTEXT_TOKENS
from quire.domain import Confidence, Hit, Question
from quire.retrieve.calibrate import Calibration
from quire.retrieve.search import SearchResult
from quire.verify.confidence import score_confidence


def at_risk(question: Question, calibration: Calibration, target: float | None) -> Question:
    """Give the question with the threshold that keeps wrong answers to the target."""
    if target is None:
        return question
    least = calibration.threshold_for(target)
    return replace(question, threshold=max(question.threshold, least))


def pass_gate(
    found: SearchResult, question: Question, tokens: int = CONTEXT_TOKENS
) -> tuple[list[Hit], Confidence]:
    """Give the hits above the question's threshold that fit, and how good they are."""
    shown = fitting(found.hits, tokens)
    used = [hit for hit in shown if hit.similarity >= question.threshold]
    # A selection is one passage, and a filter may leave few: no more can be wanted then.
    top_k = min(question.top_k, len(shown))
    return used, score_confidence(used, top_k=top_k, answerability=found.answerability)


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
