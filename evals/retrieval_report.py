"""Reports of retrieval: metrics with intervals, baselines and published results."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from evals import metrics
from evals.metrics import interval, quantile
from evals.references import Published, as_rows, fitted_on, published_of, spread
from evals.report import begin_report, markdown_table, pyplot_or_none, write_rows
from evals.retrieval import Found, QuestionSet
from evals.timing import EMBEDDING, READING, REST, SEARCH, STAGES, TOTAL

SUMMARY = (
    "page@1", "page@5", "hit@1", "hit@5", "mrr@10", "ndcg@10", "recall@10", "refusal_auroc",
    "answered_at_5%_wrong", "ece_confidence", "ece_similarity",
)  # fmt: skip
LOWER_IS_BETTER = ("ece_confidence", "ece_similarity")
MEANT = {
    EMBEDDING: "the model that embeds the question",
    SEARCH: "ranking and fetching passages",
    READING: "the cross-encoder over sentences of what was found",
    REST: "standalone question, fusing, cutting sentences, scoring",
    TOTAL: "question in, passages out",
}

Figures = dict[str, Any]


def write_retrieval_report(
    out: Path, asked: QuestionSet, results: Sequence[Found], figures: Figures, embedder: str
) -> Path:
    """Write the report of one set and return the path of its Markdown file."""
    published = published_of(asked.name, asked.meta, MAIN)
    body = {
        "licence": asked.meta.get("licence"),
        "embedder": embedder,
        "fitted_on": fitted_on(embedder, f"{asked.name} {asked.meta.get('name', '')}"),
        "figures": figures,
        "floors": asked.floors,
        "published": as_rows(published),
    }
    stem, body = begin_report(out, asked.name, body)
    write_rows(stem, [_row(one) for one in results])
    plot = draw(stem.with_name(f"{stem.name}.svg"), asked.name, results)
    page = stem.with_name(f"{stem.name}.md")
    page.write_text("\n".join(_markdown(body, asked, published, plot)), "utf-8")
    return page


def write_summary(out: Path, measured: Sequence[tuple[QuestionSet, Figures]]) -> Path:
    """Write a table with a row per set and return its path."""
    rows = [(asked.name, *summary_of(asked, seen).values()) for asked, seen in measured]
    head = ("set", *summary_of(*measured[0]))
    figures = {asked.name: seen for asked, seen in measured}
    stem, body = begin_report(out, "retrieval", {"figures": figures})
    lines = [
        "# Search on labelled sets",
        "",
        f"Citewell {body['citewell']}, {body['measured_at']}. In brackets: the best floor, of "
        f"BM25, a "
        "static dense model and their fusion, where it was measured.",
        "",
        *markdown_table(head, rows),
    ]
    page = stem.with_name(f"{stem.name}.md")
    page.write_text("\n".join(lines), "utf-8")
    return page


def summary_of(asked: QuestionSet, seen: Figures) -> dict[str, str]:
    """Return a set's main metrics, with the best baseline."""

    def cell(name: str) -> str:
        floors = [floor[name] for floor in asked.floors.values() if name in floor]
        best = f" ({max(floors):.3f})" if floors else ""
        return "" if seen[name] is None else f"{seen[name]:.3f}{best}"

    return {
        "questions": f"{seen['questions']}, {seen['answerable']} answerable",
        **{name: cell(name) for name in SUMMARY},
        "ms p50 / p95": f"{seen['ms'][TOTAL]['p50']} / {seen['ms'][TOTAL]['p95']}",
        "total ÷ query embedding": str(seen["total_by_embedding"] or ""),
        "peak MB": str(seen.get("peak_mb", "")),
    }


def _row(found: Found) -> dict[str, Any]:
    return {
        "id": found.query.id,
        "standalone": found.standalone,
        "ids": found.ids,
        "similarities": [round(s, 4) for s in found.similarities],
        "answerability": round(found.answerability, 4),
        "ms": {name: round(1000 * seconds, 2) for name, seconds in found.stages.items()},
    }


def _markdown(
    body: Figures, asked: QuestionSet, published: Sequence[Published], plot: Path | None
) -> list[str]:
    figures = body["figures"]
    return [
        f"# {body['set']}",
        "",
        f"Citewell {body['citewell']}, {body['measured_at']}; embedder {body['embedder']}; "
        f"{figures['questions']} questions, {figures['answerable']} of them answerable.",
        "",
        body["fitted_on"],
        "",
        *_main(figures, asked, published),
        *([f"![Reliability, and risk by coverage]({plot.name})", ""] if plot else []),
        *_refusal(figures),
        *_calibration(figures),
        *_speed(figures),
        *_published(figures, published),
    ]


def _main(figures: Figures, asked: QuestionSet, published: Sequence[Published]) -> list[str]:
    floors = asked.floors
    rows = []
    for name in MAIN:
        if figures[name] is None:
            continue
        shown = f"{name} (lower is better)" if name in LOWER_IS_BETTER else name
        low_high = figures[f"{name}_95"]
        between = f"{low_high[0]:.3f} to {low_high[1]:.3f}" if low_high else ""
        beside = [floor.get(name) for floor in floors.values()]
        rows.append(
            (shown, f"{figures[name]:.3f}", between, *beside, spread(published, name) or None)
        )
    lines = [
        "95 % by the bootstrap over questions, with a fixed seed. Found is what the set calls "
        f"right, among {figures['found_of']} questions; refusal is told by the answerability.",
        "",
        *markdown_table(("figure", "Citewell", "95 %", *floors, "published"), rows),
    ]
    asked_of = {int(floor["n"]) for floor in floors.values() if "n" in floor}
    if floors and asked_of - {figures["found_of"]}:
        lines += [f"The floors are of {max(asked_of)} questions, so of others than here.", ""]
    return lines


def _refusal(figures: Figures) -> list[str]:
    rows = [(f"{share:.0%}", f"{wrong:.3f}") for share, wrong in figures["risk_by_coverage"]]
    return [
        "## Risk by coverage",
        "",
        "If only the surest share of all questions is answered, how much of that is wrong: the "
        "book holds no answer, or it is not among the first five passages.",
        "",
        *markdown_table(("answered", "of these wrong"), rows),
    ]


def _calibration(figures: Figures) -> list[str]:
    return [
        "## Calibration",
        "",
        "`confidence`, the probability that what was found holds the answer, against whether it "
        "does:",
        "",
        *markdown_table(("said (mean)", "right", "questions"), figures["reliability_confidence"]),
        "`similarity_score` of each of the first five passages, against whether the set calls it "
        "right; sets seldom name every passage that would do:",
        "",
        *markdown_table(("said (mean)", "right", "passages"), figures["reliability_similarity"]),
    ]


def _speed(figures: Figures) -> list[str]:
    rows = [(name, MEANT[name], ms["p50"], ms["p95"]) for name, ms in figures["ms"].items()]
    lines = ["## Speed and memory", ""]
    lines += markdown_table(("stage", "what", "ms, p50", "ms, p95"), rows)
    if figures["total_by_embedding"]:
        lines += [
            f"A question takes {figures['total_by_embedding']}× its embedding alone (the median).",
            "",
        ]
    if "peak_mb" in figures:
        lines += [
            f"Peak memory: {figures['peak_mb']} MB while asking, "
            f"{figures['peak_mb_indexing']} MB while indexing "
            f"({figures['embedded']} passages embedded in this run).",
            "",
        ]
    return lines


def _published(figures: Figures, published: Sequence[Published]) -> list[str]:
    if not published:
        return []
    rows = [
        (one.figure, one.system, one.value, figures.get(one.figure), one.source)
        for one in sorted(published, key=lambda one: one.figure or "~")
    ]
    return [
        "## Published figures of other systems",
        "",
        *markdown_table(("figure", "system", "published", "Citewell here", "source"), rows),
    ]


def draw(path: Path, name: str, results: Sequence[Found]) -> Path | None:
    """Plot both reliability diagrams and the risk–coverage curve; `None` without matplotlib."""
    pyplot = pyplot_or_none()
    if pyplot is None:
        return None
    figure, (left, middle, beside) = pyplot.subplots(1, 3, figsize=(13, 4))
    said, right = correctness(results)
    for axes, what, pairs in (
        (left, "confidence", (said, right)),
        (middle, "similarity_score", relevance(results)),
    ):
        bins = metrics.reliability(*pairs)
        axes.plot([0, 1], [0, 1], ":", color="grey")
        axes.plot([p for p, _, _ in bins], [share for _, share, _ in bins], "o-")
        axes.set(xlabel="said", ylabel="right", title=f"{name}: {what}")
    curve = metrics.risk_coverage(said, right)
    beside.plot([c for c, _ in curve], [w for _, w in curve])
    beside.axhline(0.05, linestyle=":", color="grey")
    beside.set(xlabel="share answered", ylabel="share of these wrong", title="risk by coverage")
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
    return path


SEEN = 5
"""Passages shown: an answer is correct only if the right one is among them."""
COVERAGES = tuple(tenths / 10 for tenths in range(1, 11))
FOUND = (
    "page@1", "page@5", "hit@1", "hit@5", "mrr@10", "ndcg@5", "ndcg@10", "recall@5", "recall@10",
)  # fmt: skip
REFUSED = ("refusal_auroc", "answered_at_5%_wrong", "ece_confidence", "ece_similarity")
MAIN = (*FOUND, *REFUSED)

Places = Sequence[int]


def figures(asked: QuestionSet, results: Sequence[Found]) -> dict[str, Any]:
    """Return all metrics of a run; `_95` is the bootstrap interval over questions."""
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
    """Return the confidence of each answer, and whether it could be correct.

    That is so if the book holds an answer and the search has found it.
    """
    found = [metrics.hit_at(r.ids, r.query.gold, SEEN) > 0 for r in results]
    right = [r.query.answerable and hit for r, hit in zip(results, found, strict=True)]
    return [r.answerability for r in results], right


def relevance(results: Sequence[Found]) -> tuple[list[float], list[bool]]:
    """Return the similarity and the set's label of every shown passage."""
    shown = [pair for r in results for pair in _shown(r)]
    return [s for s, _ in shown], [right for _, right in shown]


def _shown(found: Found) -> list[tuple[float, bool]]:
    pairs = list(zip(found.ids, found.similarities, strict=True))[:SEEN]
    return [(s, found.query.answerable and i in found.query.gold) for i, s in pairs]


def _covered(results: Sequence[Found]) -> list[Found]:
    return [r for r in results if r.query.answerable and r.query.gold]


Figure = tuple[int, Callable[[Places], float | None]]
"""A metric over some of the questions, and their number."""


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
