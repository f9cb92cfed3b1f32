"""Reports of verification, in the same form as those of retrieval."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evals import metrics
from evals.grounding import GroundingSet, Judged
from evals.metrics import Counts, best_f1, count, interval, overlap, quantile, span_f1
from evals.report import begin_report, markdown_table, pyplot_or_none, write_rows

PUBLISHED: dict[str, dict[str, str]] = {
    "attributionbench-dev": {"macro-F1, GPT-3.5 fine-tuned (arXiv 2402.15089)": "about 80"},
    "wice-dev": {
        "AUROC on 100 claims with oracle chunks (WiCE paper)": (
            "GPT-3.5 .569, GPT-4 .802, T5-3B ANLI .913, fine-tuned .947"
        )
    },
}
"""Published results for sets whose own file has none."""
SHOWN = ("precision", "recall", "f1", "macro_f1", "balanced_accuracy", "auroc")


def write_grounding_report(
    out: Path, asked: GroundingSet, judge: str, results: Sequence[Judged], figures: dict[str, Any]
) -> Path:
    """Write the report of one set and return the path of its Markdown file."""
    published = {k: v for k, v in asked.meta.items() if k.startswith("reference")}
    published |= PUBLISHED.get(asked.name, {})
    body = {"licence": asked.meta.get("licence"), "judge": judge, "figures": figures}
    stem, body = begin_report(out, asked.name, body | {"published": published})
    write_rows(stem, [_row(one) for one in results])
    plot = _draw(stem.with_name(f"{stem.name}.svg"), asked.name, results)
    lines = [
        f"# {asked.name}",
        "",
        f"Citewell {body['citewell']}, {body['measured_at']}; judge {judge}; {figures['examples']} "
        f"responses, {figures['unsupported']} of them with something unsupported, "
        f"{figures['claims']} claims.",
        "",
        *_table(figures),
    ]
    if plot:
        lines += [f"![Reliability, and precision by recall]({plot.name})", ""]
    if published:
        lines += ["Published figures of other systems:", "", "```json"]
        lines += [json.dumps(published, indent=1), "```", ""]
    page = stem.with_name(f"{stem.name}.md")
    page.write_text("\n".join(lines), "utf-8")
    return page


def _table(figures: dict[str, Any]) -> list[str]:
    sides = ("judge", "as_shown", "floor")
    lines = [
        f"“Unsupported” is the class that counts. The threshold, {figures['threshold']}, is the "
        "judge's own and was not chosen on this set; “as shown” is what the service would "
        "withhold; the floor is the share of words that the context does not have. In brackets: "
        "95 % by the bootstrap.",
        "",
        "| figure | judge | as shown | floor |",
        "|---|---|---|---|",
        *(f"| {n} | {' | '.join(_cell(figures[s], n) for s in sides)} |" for n in SHOWN),
    ]
    best = "f1_at_best_threshold_here"
    lines.append(
        f"| F1 at the best threshold *of this very set*, for information only | "
        f"{figures['judge'][best]} | | {figures['floor'][best]} |"
    )
    if figures["spans"]:
        lines.append(f"| span F1 (characters) | {_cell(figures['spans'], 'f1')} | | |")
    if figures["contradiction"]:
        cells = (f"{n} {figures['contradiction'][n]}" for n in ("precision", "recall"))
        lines.append(f"| contradicted, told from the rest | {', '.join(cells)} | | |")
    lines.append(f"| ms per claim, p50 / p95 | {figures['ms_p50']} / {figures['ms_p95']} | | |")
    lines += ["", "| label | responses | flagged | withheld | AUROC against supported |"]
    lines.append("|---|---|---|---|---|")
    for label, seen in figures["by_label"].items():
        against = seen["auroc_against_supported"]
        lines.append(
            f"| {label} | {seen['examples']} | {seen['flagged']} | {seen['withheld']} | "
            f"{'' if against is None else against} |"
        )
    return [*lines, ""]


def _cell(side: dict[str, Any], name: str) -> str:
    if side.get(name) is None:
        return ""
    low_high = side.get(f"{name}_95")
    return f"{side[name]}" + (f" [{low_high[0]}, {low_high[1]}]" if low_high else "")


def _row(judged: Judged) -> dict[str, Any]:
    return {
        "id": judged.example.id,
        "label": judged.example.label,
        "score": round(judged.score, 4),
        "floor": round(judged.floor, 4),
        "claims": [[c.place, c.kind, round(c.supported, 4)] for c in judged.claims],
    }


def _draw(path: Path, name: str, results: Sequence[Judged]) -> Path | None:
    pyplot = pyplot_or_none()
    if pyplot is None:
        return None
    wrong = [r.example.unsupported for r in results]
    figure, (left, beside) = pyplot.subplots(1, 2, figsize=(9, 4))
    bins = metrics.reliability([1 - r.score for r in results], [not was for was in wrong])
    left.plot([0, 1], [0, 1], ":", color="grey")
    left.plot([p for p, _, _ in bins], [share for _, share, _ in bins], "o-")
    left.set(xlabel="said to be supported", ylabel="supported", title=f"{name}: reliability")
    for label, scores in (
        ("judge", [r.score for r in results]),
        ("shared words", [r.floor for r in results]),
    ):
        # What is wrong in a risk–coverage curve is what is to be found here.
        curve = metrics.risk_coverage(scores, [not was for was in wrong])
        total = sum(wrong) or 1
        recalls = [precision * share * len(wrong) / total for share, precision in curve]
        beside.plot(recalls, [precision for _, precision in curve], label=label)
    beside.legend()
    beside.set(xlabel="recall", ylabel="precision", title="unsupported responses found")
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
    return path


def write_plain_report(  # noqa: PLR0913 - a report has so many parts
    out: Path,
    name: str,
    title: str,
    rows: Sequence[dict[str, Any]],
    figures: dict[str, Any],
    table: Sequence[Sequence[object]],
    *,
    judge: str,
) -> Path:
    """Write a report that consists of one table, whose first row is the header."""
    stem, body = begin_report(out, name, {"judge": judge, "figures": figures})
    write_rows(stem, rows)
    lines = [
        f"# {title}",
        "",
        f"Citewell {body['citewell']}, {body['measured_at']}; judge {judge}.",
        "",
        *markdown_table(table[0], table[1:]),
    ]
    page = stem.with_name(f"{stem.name}.md")
    page.write_text("\n".join(lines), "utf-8")
    return page


Flags = Sequence[bool]
CONTRADICTED = "contradicted"


def figures(results: Sequence[Judged], threshold: float) -> dict[str, Any]:
    """Return all metrics; `threshold` was fixed on other data."""
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
    """Return the threshold-free metrics of a score."""

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
    """Compare the flagged characters with those that annotators marked."""
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
    """Return the results by label, for sets with more than two."""
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
    """Return how well contradicted claims are detected, for sets and judges with that label.

    Compared as text: a judge may know fewer verdicts than the set has labels.
    """
    gold = [r.example.label == CONTRADICTED for r in results]
    said = [any(str(claim.kind) == CONTRADICTED for claim in r.claims) for r in results]
    return _decisions(said, gold) if any(gold) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _pair(values: tuple[float, float] | None) -> list[float] | None:
    return [round(value, 4) for value in values] if values else None
