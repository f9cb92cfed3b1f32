"""The figures of a search over a labelled set."""

from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import Any

from quire.evals import metrics
from quire.evals.detection import interval, quantile
from quire.evals.retrieval import Found, QuestionSet
from quire.evals.timing import EMBEDDING, STAGES, TOTAL

SEEN = 5
"""So many passages are shown: the right one must be among them for an answer to be right."""
COVERAGES = tuple(tenths / 10 for tenths in range(1, 11))
FOUND = (
    "page@1", "page@5", "hit@1", "hit@5", "mrr@10", "ndcg@5", "ndcg@10", "recall@5", "recall@10",
)  # fmt: skip
REFUSED = ("refusal_auroc", "answered_at_5%_wrong", "ece_confidence", "ece_similarity")
MAIN = (*FOUND, *REFUSED)

Places = Sequence[int]


def figures(asked: QuestionSet, results: Sequence[Found]) -> dict[str, Any]:
    """Give every figure of a run; `_95` is its interval by the bootstrap over questions."""
    seen: dict[str, Any] = {
        "questions": len(results),
        "answerable": sum(r.query.answerable for r in results),
        "found_of": len(_covered(results)),
    }
    for name, (size, figure) in {**_found(asked, results), **_refused(results)}.items():
        seen[name] = _rounded(figure(range(size)))
        seen[f"{name}_95"] = _pair(interval(size, figure))
    said, right = correctness(results)
    curve = metrics.risk_coverage(said, right)
    return {
        **seen,
        "risk_by_coverage": [(c, _rounded(metrics.risk_at(curve, c))) for c in COVERAGES],
        "reliability_confidence": _bins(said, right),
        "reliability_similarity": _bins(*relevance(results)),
        **_latency(results),
    }


def correctness(results: Sequence[Found]) -> tuple[list[float], list[bool]]:
    """Give how sure each answer would be, and whether it could be right.

    That is so if the book holds an answer and the search has found it.
    """
    found = [metrics.hit_at(r.ids, r.query.gold, SEEN) > 0 for r in results]
    right = [r.query.answerable and hit for r, hit in zip(results, found, strict=True)]
    return [r.answerability for r in results], right


def relevance(results: Sequence[Found]) -> tuple[list[float], list[bool]]:
    """Give the similarity of every passage shown, and whether the set calls it right."""
    shown = [pair for r in results for pair in _shown(r)]
    return [s for s, _ in shown], [right for _, right in shown]


def _shown(found: Found) -> list[tuple[float, bool]]:
    pairs = list(zip(found.ids, found.similarities, strict=True))[:SEEN]
    return [(s, found.query.answerable and i in found.query.gold) for i, s in pairs]


def _covered(results: Sequence[Found]) -> list[Found]:
    return [r for r in results if r.query.answerable and r.query.gold]


Figure = tuple[int, Callable[[Places], float | None]]
"""Of how many questions a figure is, and what it is of some of them."""


def _found(asked: QuestionSet, results: Sequence[Found]) -> dict[str, Figure]:
    covered = _covered(results)
    rows = []
    for r in covered:
        pages, gold = list(dict.fromkeys(asked.page_of.get(i, i) for i in r.ids)), r.query.gold
        rows.append(
            {
                "page@1": metrics.hit_at(pages, r.query.pages, 1),
                "page@5": metrics.hit_at(pages, r.query.pages, 5),
                "hit@1": metrics.hit_at(r.ids, gold, 1),
                "hit@5": metrics.hit_at(r.ids, gold, 5),
                "mrr@10": metrics.reciprocal_rank(r.ids, gold),
                "ndcg@5": metrics.ndcg_at(r.ids, gold, 5),
                "ndcg@10": metrics.ndcg_at(r.ids, gold),
                "recall@5": metrics.recall_at(r.ids, gold, 5),
                "recall@10": metrics.recall_at(r.ids, gold, 10),
            }
        )

    def mean_of(name: str) -> Callable[[Places], float]:
        values = [row[name] for row in rows]
        return lambda places: fmean(values[p] for p in places) if places else 0.0

    return {name: (len(rows), mean_of(name)) for name in FOUND}


def _refused(results: Sequence[Found]) -> dict[str, Figure]:
    said, right = correctness(results)
    answerable = [r.query.answerable for r in results]
    shown = [_shown(r) for r in results]

    def auroc(places: Places) -> float | None:
        return metrics.auroc([said[p] for p in places], [answerable[p] for p in places])

    def answered(places: Places) -> float:
        return metrics.answered_at_risk([said[p] for p in places], [right[p] for p in places])

    def confidence(places: Places) -> float:
        return metrics.calibration_error([said[p] for p in places], [right[p] for p in places])

    def similarity(places: Places) -> float:
        pairs = [pair for p in places for pair in shown[p]]
        return metrics.calibration_error([s for s, _ in pairs], [was for _, was in pairs])

    given = (auroc, answered, confidence, similarity)
    return {name: (len(results), one) for name, one in zip(REFUSED, given, strict=True)}


def _latency(results: Sequence[Found]) -> dict[str, Any]:
    spent = {name: [1000 * r.stages[name] for r in results] for name in STAGES}
    alone = [(r.stages[TOTAL], r.stages[EMBEDDING]) for r in results if r.stages[EMBEDDING]]
    return {
        "ms": {
            name: {"p50": round(quantile(ms, 0.5), 2), "p95": round(quantile(ms, 0.95), 2)}
            for name, ms in spent.items()
        },
        "total_by_embedding": round(median(t / e for t, e in alone), 2) if alone else None,
    }


def _bins(said: Sequence[float], right: Sequence[bool]) -> list[tuple[float, float, int]]:
    return [(round(p, 3), round(share, 3), n) for p, share, n in metrics.reliability(said, right)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _pair(values: tuple[float, float] | None) -> list[float] | None:
    return [round(value, 4) for value in values] if values else None
