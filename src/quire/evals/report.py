"""A run's figures, kept: JSON for machines, Markdown for people, plots where they can be drawn."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quire.evals import metrics
from quire.evals.retrieval import Found, QuestionSet
from quire.version import __version__

SHOWN = (
    "page@1", "page@5", "hit@1", "hit@5", "mrr@10", "ndcg@10", "recall@10", "refusal_auroc",
    "answered_at_5%_wrong", "ece_confidence", "ece_similarity", "ms_p50", "ms_p95", "peak_mb",
)  # fmt: skip


def begin_report(out: Path, name: str, body: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Write the JSON of a report; give the stem of all its files, and the JSON with its date."""
    now = datetime.now(UTC).replace(microsecond=0)
    stem = out / f"{name}-{now:%Y%m%d-%H%M%S}"
    out.mkdir(parents=True, exist_ok=True)
    body = {"set": name, "quire": __version__, "measured_at": now.isoformat(), **body}
    stem.with_name(f"{stem.name}.json").write_text(json.dumps(body, indent=1) + "\n", "utf-8")
    return stem, body


def write_rows(stem: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write what was measured one by one, a line each."""
    with stem.with_name(f"{stem.name}.runs.jsonl").open("w", encoding="utf-8") as runs:
        for row in rows:
            runs.write(json.dumps(row, ensure_ascii=False) + "\n")


def write_report(
    out: Path, asked: QuestionSet, results: Sequence[Found], figures: dict[str, Any]
) -> Path:
    """Write the report of one set and give the path of its Markdown."""
    published = {k: v for k, v in asked.meta.items() if k.startswith("reference")}
    licence = asked.meta.get("licence")
    body = {"licence": licence, "figures": figures, "published": published}
    stem, body = begin_report(out, asked.name, body)
    write_rows(stem, [_row(one) for one in results])
    page = stem.with_name(f"{stem.name}.md")
    plots = draw(stem.with_name(f"{stem.name}.svg"), asked.name, results)
    page.write_text(_markdown(body, published, plots), "utf-8")
    return page


def _row(found: Found) -> dict[str, Any]:
    return {
        "id": found.query.id,
        "standalone": found.standalone,
        "ids": found.ids,
        "similarities": [round(s, 4) for s in found.similarities],
        "answerability": round(found.answerability, 4),
        "ms": round(1000 * found.seconds, 1),
    }


def _markdown(body: dict[str, Any], published: dict[str, Any], plot: Path | None) -> str:
    figures = body["figures"]
    lines = [
        f"# {body['set']}",
        "",
        f"Quire {body['quire']}, {body['measured_at']}; {figures['questions']} questions, "
        f"{figures['answerable']} of them answerable.",
        "",
        "| figure | value |",
        "|---|---|",
        *(f"| {name} | {figures[name]} |" for name in SHOWN if figures.get(name) is not None),
        "",
        "| said (mean) | right | questions |",
        "|---|---|---|",
        *(f"| {p} | {share} | {n} |" for p, share, n in figures["reliability"]),
        "",
    ]
    if plot:
        lines += [f"![Reliability, and risk by coverage]({plot.name})", ""]
    if published:
        lines += ["Published figures of other systems:", "", "```json"]
        lines += [json.dumps(published, indent=1), "```", ""]
    return "\n".join(lines)


def pyplot_or_none() -> Any:
    """Give what draws; `None` without the extra `bench`."""
    try:
        import matplotlib

        matplotlib.use("svg")
        from matplotlib import pyplot
    except ImportError:
        return None
    return pyplot


def draw(path: Path, name: str, results: Sequence[Found]) -> Path | None:
    """Draw the reliability and the risk–coverage curve; `None` without matplotlib."""
    pyplot = pyplot_or_none()
    if pyplot is None:
        return None
    said = [r.answerability for r in results]
    right = [r.query.answerable and metrics.hit_at(r.ids, r.query.gold, 5) > 0 for r in results]
    figure, (left, beside) = pyplot.subplots(1, 2, figsize=(9, 4))
    bins = metrics.reliability(said, right)
    left.plot([0, 1], [0, 1], ":", color="grey")
    left.plot([p for p, _, _ in bins], [share for _, share, _ in bins], "o-")
    left.set(xlabel="said", ylabel="right", title=f"{name}: reliability")
    curve = metrics.risk_coverage(said, right)
    beside.plot([c for c, _ in curve], [w for _, w in curve])
    beside.axhline(0.05, linestyle=":", color="grey")
    beside.set(xlabel="share answered", ylabel="share of these wrong", title="risk by coverage")
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
    return path
