"""The figures of a run over a labelled set, beside the floor of shared words."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from quire.evals import metrics
from quire.evals.detection import Counts, best_f1, count, interval, overlap, quantile, span_f1
from quire.evals.grounding import Judged

Flags = Sequence[bool]
CONTRADICTED = "contradicted"


def figures(results: Sequence[Judged], threshold: float) -> dict[str, Any]:
    """Give every figure; `threshold` was fixed on other data."""
    wrong = [r.example.unsupported for r in results]
    seconds = [claim.seconds for r in results for claim in r.claims]
    return {
        "examples": len(results),
        "unsupported": sum(wrong),
        "claims": len(seconds),
        "threshold": threshold,
        "judge": {
            **_decisions([r.score >= threshold for r in results], wrong),
            **_ranking([r.score for r in results], wrong),
        },
        "floor": _ranking([r.floor for r in results], wrong),
        "as_shown": _decisions([r.withheld for r in results], wrong),
        "spans": _spans(results, threshold),
        "by_label": _by_label(results, threshold),
        "contradiction": _contradiction(results),
        "ms_p50": round(1000 * quantile(seconds, 0.5), 2),
        "ms_p95": round(1000 * quantile(seconds, 0.95), 2),
    }


def _ranking(scores: Sequence[float], wrong: Flags) -> dict[str, Any]:
    """Give the figures of a way to score that need no threshold."""

    def auroc(places: Sequence[int]) -> float | None:
        return metrics.auroc([scores[p] for p in places], [wrong[p] for p in places])

    best = best_f1(scores, wrong)
    return {
        "auroc": _rounded(auroc(range(len(scores)))),
        "auroc_95": _pair(interval(len(scores), auroc)),
        # Looks at the labels of this very set: an upper bound, never a result.
        "best_threshold_here": round(best[0], 4),
        "f1_at_best_threshold_here": round(best[1], 4),
    }


def _decisions(flagged: Flags, wrong: Flags) -> dict[str, Any]:
    def of(name: str) -> Callable[[Sequence[int]], float]:
        return lambda places: float(
            getattr(count([flagged[p] for p in places], [wrong[p] for p in places]), name)
        )

    counts: Counts = count(flagged, wrong)
    given: dict[str, Any] = {
        name: round(getattr(counts, name), 4)
        for name in ("precision", "recall", "f1", "macro_f1", "balanced_accuracy")
    }
    for name in ("f1", "macro_f1", "balanced_accuracy"):
        given[f"{name}_95"] = _pair(interval(len(wrong), of(name)))
    return given


def _spans(results: Sequence[Judged], threshold: float) -> dict[str, Any] | None:
    """Compare the characters of flagged claims with those that people marked."""
    if not any(r.example.spans for r in results):
        return None
    overlaps = [
        overlap(
            [c.place for c in r.claims if c.place and 1 - c.supported >= threshold],
            r.example.spans,
        )
        for r in results
    ]
    return {
        "f1": round(span_f1(overlaps), 4),
        "f1_95": _pair(interval(len(results), lambda ps: span_f1([overlaps[p] for p in ps]))),
        "claims_not_placed": sum(c.place is None for r in results for c in r.claims),
    }


def _by_label(results: Sequence[Judged], threshold: float) -> dict[str, Any]:
    """Give, for each label of the set, how it fared; of interest where there are three."""
    labels = sorted({r.example.label for r in results})
    fine = [r.score for r in results if not r.example.unsupported]
    given = {}
    for label in labels:
        chosen = [r for r in results if r.example.label == label]
        bad = [r.score for r in chosen if r.example.unsupported]
        against = metrics.auroc([*bad, *fine], [True] * len(bad) + [False] * len(fine))
        given[label] = {
            "examples": len(chosen),
            "flagged": sum(r.score >= threshold for r in chosen),
            "withheld": sum(r.withheld for r in chosen),
            "auroc_against_supported": _rounded(against),
            "verdicts": dict(Counter(claim.kind for r in chosen for claim in r.claims)),
        }
    return given


def _contradiction(results: Sequence[Judged]) -> dict[str, Any] | None:
    """Say how well contradicted claims are told from the rest, for sets and judges that name them.

    Compared as text: a judge may know fewer verdicts than the set has labels.
    """
    gold = [r.example.label == CONTRADICTED for r in results]
    said = [any(str(claim.kind) == CONTRADICTED for claim in r.claims) for r in results]
    return _decisions(said, gold) if any(gold) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _pair(values: tuple[float, float] | None) -> list[float] | None:
    return [round(value, 4) for value in values] if values else None
