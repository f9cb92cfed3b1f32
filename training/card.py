"""Write a model card from what the runs of a model have kept.

python -m training.card reader --runs RUN/stage1 RUN/stage2 --model FOLDER/reader.onnx --out READER.md
"""

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.recipe import FOLDER, read_recipe

DOES = {
    "reader": "Reads a question and a whole passage under its headings: whether the passage answers, "
    "and which of its sentences it takes.",
    "judge": "Reads a claim and the sentences that bear on it: whether they support it, contradict it, "
    "or neither.",
}
FIGURES = {
    "own": "answered against unanswered questions on their own passage, AUROC",
    "withheld": "the same with the text withheld: what style alone gives away, AUROC",
    "contrast": "answered questions: own passage against the nearest other one of the book, AUROC",
    "best_sentence": "the best-scored sentence is one of those marked",
    "squad2_own_paragraph": "SQuAD2, eight articles: answerable against unanswerable on the own paragraph, AUROC",
    "auroc": "written claims, supported against unsupported, AUROC",
    "kept_at_5": "true claims kept where 5 % of the false ones are",
    "kept_at_10": "true claims kept where 10 % of the false ones are",
    "mnli": "MNLI dev, accuracy",
    "twins": "sentences changed by rule against unchanged ones, books held back, AUROC",
    "marked_found": "marked sentences that the choice of evidence finds",
    "claims_with_all": "claims with all their marked sentences among the evidence",
}


def card(name: str, runs: Sequence[Path], model: Path) -> str:
    """Return the card of a model."""
    stages = [json.loads((run / "about.json").read_text("utf-8")) for run in runs]
    figures = figures_of(runs[-1])
    size, digest = model.stat().st_size, hashlib.sha256(model.read_bytes()).hexdigest()
    head = [
        f"# citewell-{name}",
        "",
        DOES[name],
        "",
        "| | |",
        "| --- | --- |",
        f"| Form | BERT encoder, {stages[0]['layers']} layers, 384 wide, 12 heads; int8 ONNX, {size / 1e6:.0f} MB |",
        f"| SHA-256 | `{digest}` |",
        f"| Begun with | {stages[0]['begun_with']} (Apache-2.0) |",
        f"| Trained by | `training/{name}.py`, `training/recipes/{name}.toml`, seed {stages[0]['seed']} |",
        f"| Time | {' + '.join(str(round(s['minutes'])) for s in stages)} minutes on two cores |",
        "| Licence | Apache-2.0 |",
        "",
    ]
    return "\n".join([*head, *data_of(name, stages), *shown_figures(figures), ""])


def data_of(name: str, stages: Sequence[dict[str, Any]]) -> list[str]:
    """Return what was learnt from, by stage."""
    recipe = read_recipe(FOLDER / f"{name}.toml")
    lines = []
    for about in stages:
        lines += [f"## Stage {about['stage']}: {about['rows']:,} rows", ""]
        lines += ["| set | rows at most | licence | |", "| --- | --- | --- | --- |"]
        for one in recipe.stages[about["stage"] - 1]:
            lines.append(f"| {one.convert} | {one.rows:,} | {one.licence} | {one.note} |")
        lines += ["", "By source: " + "; ".join(_counted(about["counts"])) + ".", ""]
    return lines


def _counted(counts: dict[str, dict[str, int]]) -> list[str]:
    return [
        f"{source} " + ", ".join(f"{count:,} {label}" for label, count in sorted(found.items()))
        for source, found in counts.items()
    ]


def figures_of(run: Path) -> dict[str, float]:
    """Return the figures of a run: those of `training.evaluate`, else the best while training."""
    evaluated = run / "figures.json"
    if evaluated.exists():
        return json.loads(evaluated.read_text("utf-8"))
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    return rows[-1]


def shown_figures(figures: dict[str, float]) -> list[str]:
    """Return the figures as a table."""
    lines = [
        "## Figures",
        "",
        "On what no training saw: the written set's dev part and public sets.",
        "",
    ]
    lines += ["| | |", "| --- | --- |"]
    skipped = ("minutes", "steps", "examples", "mean")
    return lines + [
        f"| {FIGURES.get(key, key.replace('_', ' '))} | {value:.3f} |"
        for key, value in figures.items()
        if key not in skipped
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("name", choices=sorted(DOES))
    parser.add_argument("--runs", type=Path, nargs="+", required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.write_text(card(options.name, options.runs, options.model), "utf-8")


if __name__ == "__main__":
    main()
