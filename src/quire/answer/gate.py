"""Which passages an answer may rest on, and whether they are enough."""

from dataclasses import replace

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


def pass_gate(found: SearchResult, question: Question) -> tuple[list[Hit], Confidence]:
    """Give the hits above the question's threshold, and how good they are."""
    used = [hit for hit in found.hits if hit.similarity >= question.threshold]
    # A selection is one passage, and a filter may leave few: no more can be wanted then.
    top_k = min(question.top_k, len(found.hits))
    return used, score_confidence(used, top_k=top_k, answerability=found.answerability)
