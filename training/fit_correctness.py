"""Fit the one confidence (`citewell.verify.confidence`).

    python -m training.fit_correctness --data DATA --out src/citewell/verify/fitted

The author-written questions of OpenStax Microbiology and Introduction to Sociology (CC BY 4.0) are
asked through the whole pipeline, each of its own book and a quarter as many of the other one, where
any answer is wrong. An answer is right if it cites a right page first. One book fits and the other
gives the figures, both ways; what ships is fitted on both. A weight that would say that better
evidence makes an answer less likely is left at zero.
"""

import argparse
import json
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from citewell.cli.bench_verification import ask_all
from rich.console import Console
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from citewell.settings import read_settings
from citewell.verify.confidence import FEATURES, correctness_features
from evals.metrics import calibration_error
from evals.retrieval import read_set

BOOKS = ("openstax-microbiology", "openstax-sociology")
UNNATURAL = re.compile(r"following|\bEXCEPT\b|\b(?:not|NOT)\b|_{3,}")
WANTED = {"answerable": 1, "first": 1, "agreed": 1, "withheld": -1}


def asked_of(data: Path, options: argparse.Namespace) -> list[dict]:
    settings = read_settings()
    sets = {name: read_set(data / name) for name in BOOKS}
    rows = []
    for name, other in zip(BOOKS, BOOKS[::-1], strict=True):
        own = [q for q in sets[name].queries if not UNNATURAL.search(q.text)]
        own = random.Random(5).sample(own, min(options.limit, len(own)))
        far = [
            replace(q, answerable=False)
            for q in random.Random(6).sample(sets[other].queries, len(own) // 4)
            if not UNNATURAL.search(q.text)
        ]
        asked = replace(sets[name], queries=(*own, *far))
        for one in ask_all(settings, data / name, asked, Console()):
            answer = one.answer
            features = correctness_features(
                answer.confidence.answerability, answer.hits, answer.claims, answer.withheld
            )
            if answer.status == "answered" and features:
                said = answer.confidence.answerability
                rows.append({"book": name, "right": one.right, "said": said, **features})
        print(name, sum(r["book"] == name for r in rows), "answered of", len(asked.queries))
    return rows


def fitted(rows: list[dict]) -> np.ndarray:
    x = np.c_[np.ones(len(rows)), [[row[name] for name in FEATURES] for row in rows]]
    y = np.array([row["right"] for row in rows], float)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ theta
        slope = x.T @ (1 / (1 + np.exp(-z)) - y) / len(y)
        slope[1:] += 0.002 * theta[1:]
        return float(np.mean(np.logaddexp(0, z) - y * z) + 0.001 * (theta[1:] ** 2).sum()), slope

    bounds = [(None, None)] + [(0, None) if WANTED[n] > 0 else (None, 0) for n in FEATURES]
    return minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--limit", type=int, default=300)
    options = parser.parse_args()
    if options.cache and options.cache.is_file():
        rows = json.loads(options.cache.read_text("utf-8"))
    else:
        rows = asked_of(options.data, options)
        if options.cache:
            options.cache.write_text(json.dumps(rows), "utf-8")
    held = {}
    for name in BOOKS:
        theta = fitted([row for row in rows if row["book"] != name])
        own = [row for row in rows if row["book"] == name]
        x = np.c_[np.ones(len(own)), [[row[n] for n in FEATURES] for row in own]]
        p, right = 1 / (1 + np.exp(-(x @ theta))), [row["right"] for row in own]
        said = [row["said"] for row in own]
        held[name] = {
            "answers": len(own),
            "right": sum(right),
            "ece": round(calibration_error(p.tolist(), right), 4),
            "auroc": round(float(roc_auc_score(right, p)), 4),
            "ece_of_answerability": round(calibration_error(said, right), 4),
            "auroc_of_answerability": round(float(roc_auc_score(right, said)), 4),
        }
    theta = fitted(rows).round(4).tolist()
    result = {
        "fitted_by": "training/fit_correctness.py",
        "bias": theta[0],
        "weights": dict(zip(FEATURES, theta[1:], strict=True)),
        "held_out": held,
    }
    print(json.dumps(result, indent=1))
    (options.out / "correctness.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
