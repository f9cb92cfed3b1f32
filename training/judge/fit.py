"""Fit the probability that sentences support a claim (`citewell.verify.judge`).

    python -m training.judge.fit PAIRS.jsonl --out src/citewell/verify/fitted

Only pairs whose documents the judge did not learn from are used. The judge has learnt from other
documents of the same sources, though, and is better on them than on a book it never saw: so what is
missing is fitted without it, by supported and unsupported claims, its output by supported and
changed ones, and `--trust` says how far it is believed. The figures are of sources left
out one at a time; those of `held_out` stand in the file. `--trust`, `--supported` and `--partly`
were chosen on the half of the own adversarial set that may be looked at.
"""

import argparse
import hashlib
import json
import pickle
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from citewell.models.cross_encoder import EntailmentModel
from citewell.verify.judge import (
    CLAIM_FEATURES,
    JudgeCalibration,
    LogitCalibration,
    claim_features,
    select_evidence,
    shown,
    support_logit,
)
from training.judge.alter import MADE

PENALTY = 0.01
AGGREGATES = {
    "least": min,
    "product": lambda p: float(np.sum(np.log(p))),
    "mean of the lowest two": lambda p: float(np.mean(sorted(p)[:2])),
    "geometric mean": lambda p: float(np.mean(np.log(p))),
}


def gathered(path: Path, cache: Path | None) -> list[dict]:
    """Read the held-out pairs with the model's output and the signs of each."""
    if cache and cache.is_file():
        return pickle.loads(cache.read_bytes())
    with path.open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["part"] == "held" and row["context"]]
    model = EntailmentModel()
    for row in rows:
        context = row.pop("context")
        places = select_evidence(row["claim"], context).places
        row["signs"] = claim_features(row["claim"], context, places)
        row["evidence"] = shown(context, places)
    for start in range(0, len(rows), 64):
        part = rows[start : start + 64]
        said = model.predict_entailment([(r["claim"], r["evidence"]) for r in part])
        for row, one in zip(part, said, strict=True):
            row["logit"] = support_logit(one)
    if cache:
        cache.write_bytes(pickle.dumps(rows))
    return rows


def family(source: str) -> str:
    return re.sub("-(?:changed|added|quiz)$", "", source)


def labels_of(rows: Sequence[dict]) -> np.ndarray:
    return np.array([float(row["label"] == "supported") for row in rows])


def weights_of(rows: Sequence[dict]) -> np.ndarray:
    """Let every source count alike, what was made by rule less, and both labels the same."""
    sources = np.array([row["source"] for row in rows])
    y = labels_of(rows)
    weight = np.ones(len(rows))
    for name in set(sources):
        own = sources == name
        weight[own] = min(150 if MADE.search(name) else 400, own.sum()) / own.sum()
    for label in (0, 1):
        weight[y == label] /= weight[y == label].sum()
    return weight / weight.sum()


def hazards(rows: Sequence[dict]) -> tuple[float, dict[str, float]]:
    """Fit exp(-(bias + weights · signs)) with no weight below zero."""
    x = np.array([[row["signs"][name] for name in CLAIM_FEATURES] for row in rows])
    scale = x.std(0) + 1e-6
    x = np.c_[np.ones(len(x)), x / scale]
    y, weight = labels_of(rows), weights_of(rows)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        p = np.clip(np.exp(-(x @ theta)), 1e-6, 1 - 1e-6)
        value = -(weight * (y * np.log(p) + (1 - y) * np.log(1 - p))).sum()
        slope = (weight * (y - (1 - y) * p / (1 - p))) @ x
        slope[1:] += 2 * PENALTY * theta[1:]
        return value + PENALTY * (theta[1:] ** 2).sum(), slope

    start, bounds = np.full(x.shape[1], 0.1), [(1e-3, None)] + [(0, None)] * len(CLAIM_FEATURES)
    theta = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(theta[0]), dict(
        zip(CLAIM_FEATURES, (theta[1:] / scale).round(4).tolist(), strict=True)
    )


def fitted(rows: Sequence[dict], options: argparse.Namespace) -> JudgeCalibration:
    missing = [row for row in rows if row["label"] in ("supported", "unsupported")]
    changed = [row for row in rows if row["label"] != "unsupported"]
    bias, weights = hazards(missing)
    logits = np.array([[row["logit"]] for row in changed])
    read = LogisticRegression(C=10).fit(
        logits, labels_of(changed), sample_weight=len(changed) * weights_of(changed)
    )
    reading = LogitCalibration(
        round(float(read.intercept_[0]), 4), round(float(read.coef_[0][0]), 4), options.trust
    )
    raw = JudgeCalibration(
        round(bias, 4), weights, reading, 0.0, 1.0, options.supported, options.partly, 0.5
    )
    product = [[raw.likelihood(row["signs"], row["logit"])] for row in rows]
    last = LogisticRegression(C=10).fit(
        product, labels_of(rows), sample_weight=len(rows) * weights_of(rows)
    )
    return JudgeCalibration(
        raw.bias, raw.weights, reading, round(float(last.intercept_[0]), 4),
        round(float(last.coef_[0][0]), 4), options.supported, options.partly, 0.5,
    )  # fmt: skip


def left_out(rows: Sequence[dict], options: argparse.Namespace) -> np.ndarray:
    """Give each claim the probability of a fit that saw nothing of its source."""
    families = np.array([family(row["source"]) for row in rows])
    p = np.zeros(len(rows))
    for name in sorted(set(families)):
        scale = fitted([r for r, f in zip(rows, families, strict=True) if f != name], options)
        for place in np.flatnonzero(families == name):
            p[place] = scale.probability(rows[place]["signs"], rows[place]["logit"])
    return np.clip(p, 1e-6, 1 - 1e-6)


def by_source(rows: Sequence[dict], p: np.ndarray) -> dict[str, float]:
    y, sources = labels_of(rows), np.array([row["source"] for row in rows])
    return {
        name: round(float(roc_auc_score(y[sources == name], p[sources == name])), 3)
        for name in sorted(set(sources))
        if 0 < y[sources == name].sum() < (sources == name).sum()
    }


def of_responses(rows: Sequence[dict], p: np.ndarray) -> dict[str, float]:
    """Compare the ways to judge a whole response by its claims."""
    claims: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        if row["response"]:
            claims.setdefault(row["response"], []).append(place)
    y = labels_of(rows)
    true = [min(y[places]) for places in claims.values()]
    return {
        name: round(float(roc_auc_score(true, [way(p[places]) for places in claims.values()])), 3)
        for name, way in AGGREGATES.items()
    }


def best_cut(rows: Sequence[dict], p: np.ndarray) -> float:
    """Return the threshold with the highest balanced accuracy, every source counting alike."""
    y, weight = labels_of(rows), weights_of(rows)
    cuts = np.arange(0.05, 0.95, 0.01)
    scores = [(weight * ((p >= cut) == (y == 1))).sum() for cut in cuts]
    return round(float(cuts[int(np.argmax(scores))]), 2)


def error_of(rows: Sequence[dict], p: np.ndarray) -> float:
    y, weight = labels_of(rows), weights_of(rows)
    bins = np.minimum((p * 10).astype(int), 9)
    return float(sum(abs((weight * (p - y))[bins == n].sum()) for n in range(10)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--trust", type=float, default=0.5)
    parser.add_argument("--supported", type=float, default=0.85)
    parser.add_argument("--partly", type=float, default=0.4)
    options = parser.parse_args()
    rows = gathered(options.pairs, options.cache)
    scale, p = fitted(rows, options), left_out(rows, options)
    sources = by_source(rows, p)
    for name, auroc in sources.items():
        print(f"{name:32} {auroc:.3f}")
    print(of_responses(rows, p))
    result = {
        "model": EntailmentModel.id,
        "fitted_by": "training/judge/fit.py",
        "bias": scale.bias,
        "weights": scale.weights,
        "reading": {
            "bias": scale.reading.bias,
            "slope": scale.reading.slope,
            "trust": options.trust,
        },
        "level": scale.level,
        "spread": scale.spread,
        "thresholds": {
            "supported": options.supported,
            "partly": options.partly,
            "flagged": best_cut(rows, p),
        },
        "held_out": {
            "claims": len(rows),
            "pairs": hashlib.sha256(options.pairs.read_bytes()).hexdigest()[:12],
            "auroc": round(
                float(roc_auc_score(labels_of(rows), p, sample_weight=weights_of(rows))), 4
            ),
            "auroc_people": round(
                float(np.mean([a for name, a in sources.items() if not MADE.search(name)])), 4
            ),
            "ece": round(error_of(rows, p), 4),
            "responses": of_responses(rows, p),
        },
    }
    print(json.dumps(result, indent=1))
    options.out.mkdir(parents=True, exist_ok=True)
    name = EntailmentModel.id.partition("@")[0]
    (options.out / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
