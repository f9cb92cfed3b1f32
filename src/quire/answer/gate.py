"""Which passages an answer may rest on, and whether they are enough."""

from collections.abc import Sequence
from dataclasses import replace

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
    """Give the first hits, as many as have room beside what the model has been shown already."""
    room = tokens - sum(hit.chunk.token_count for hit in beside)
    known = {hit.chunk.id for hit in beside}
    kept: list[Hit] = []
    for hit in (one for one in hits if one.chunk.id not in known):
        room -= hit.chunk.token_count
        if room < 0 and (kept or beside):
            break
        kept.append(hit)
    return kept
