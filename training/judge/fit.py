"""Fit the probability that evidence supports a claim, from the judge's outputs and strict checks.

    python -m training.judge.fit PAIRS.jsonl --out src/quire/verify/calibration

Only the pairs whose documents the judge did not learn from are used: half of them (by hash) fit,
the other half give the figures. Every source counts alike, and so do supported and not.
"""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from training.judge.alter import MADE

from quire.index.crossencoder import EntailmentModel
from quire.verify.trained import features_of

KEPT = 0.05
"""At most this share of what is shown as supported may be unsupported, where half of all is."""


def gathered(path: Path, limit: int) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["part"] == "held"]
    rows = sorted(rows, key=lambda r: hashlib.sha256(r["claim"].encode()).digest())[:limit]
    model = EntailmentModel()
    for start in range(0, len(rows), 64):
        part = rows[start : start + 64]
        said = model.entails([(r["claim"], r["evidence"]) for r in part])
        for row, one in zip(part, said, strict=True):
            row["features"] = features_of(row["claim"], row["evidence"], row["present"], one)
    return rows


def weights_of(rows: list[dict], y: np.ndarray) -> np.ndarray:
    kind = [r["source"] for r in rows]
    weight = np.ones(len(rows))
    for name in set(kind):
        own = np.array([k == name for k in kind])
        # What people wrote counts more than what was made by rule.
        weight[own] = min(150 if MADE.search(name) else 400, own.sum()) / own.sum()
    for label in (0, 1):
        weight[y == label] /= weight[y == label].sum()
    return weight * len(rows)


def threshold_for(y: np.ndarray, p: np.ndarray, weight: np.ndarray) -> float:
    """Give the lowest threshold above which few enough are wrong."""
    for cut in np.arange(0.3, 0.99, 0.01):
        above = p >= cut
        if above.any() and np.average(1 - y[above], weights=weight[above]) <= KEPT:
            return round(float(cut), 2)
    return 0.98


def error_of(y: np.ndarray, p: np.ndarray, weight: np.ndarray) -> float:
    total = 0.0
    for low in np.arange(10) / 10:
        inside = (p >= low) & (p < low + 0.1 if low < 0.9 else p <= 1)
        if inside.any():
            gap = np.average(p[inside] - y[inside], weights=weight[inside])
            total += weight[inside].sum() / weight.sum() * abs(float(gap))
    return total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=7000)
    options = parser.parse_args()
    rows = gathered(options.pairs, options.limit)
    names = [n for n in rows[0]["features"] if n != "link"]
    x = np.array([[r["features"][n] for n in names] for r in rows])
    y = np.array([float(r["label"] == "supported") for r in rows])
    weight = weights_of(rows, y)
    part = np.array([hashlib.sha256(r["claim"].encode()).digest()[3] % 2 == 0 for r in rows])
    model = LogisticRegression(C=1.0, max_iter=3000)
    model.fit(x[part], y[part], sample_weight=weight[part])
    p = model.predict_proba(x)[:, 1]
    held = ~part
    figures = {
        "claims": int(held.sum()),
        "auroc": round(float(roc_auc_score(y[held], p[held], sample_weight=weight[held])), 4),
        "model_alone": round(
            float(roc_auc_score(y[held], x[held, 0], sample_weight=weight[held])), 4
        ),
        "ece": round(error_of(y[held], p[held], weight[held]), 4),
    }
    for name in sorted({r["source"] for r in rows}):
        own = held & np.array([r["source"].startswith(name) for r in rows])
        if 0 < y[own].sum() < own.sum():
            print(f"{name:32} {int(own.sum()):5} {roc_auc_score(y[own], p[own]):.3f}")
    cut = threshold_for(y[part], p[part], weight[part])
    above = held & (p >= cut)
    figures["shown"] = round(
        float(weight[above & (y == 1)].sum() / weight[held & (y == 1)].sum()), 4
    )
    figures["wrong_among_shown"] = round(float(np.average(1 - y[above], weights=weight[above])), 4)
    result = {
        "model": EntailmentModel.id,
        "fitted_by": "training/judge/fit.py",
        "bias": round(float(model.intercept_[0]), 4),
        "weights": {n: round(float(w), 4) for n, w in zip(names, model.coef_[0], strict=True)},
        "thresholds": {"supported": cut, "partly": 0.4},
        "held_out": figures,
    }
    print(json.dumps(result, indent=1))
    options.out.mkdir(parents=True, exist_ok=True)
    name = EntailmentModel.id.partition("@")[0]
    (options.out / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
