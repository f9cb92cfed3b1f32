"""Context for retrieval metrics: baselines, published results and training data.

Floors are measured on the set itself with plain means, and lie beside the sets as `BASELINES.json`.
What others report is in the `META.json` of a set, under names that begin with `reference`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

BASELINES = "BASELINES.json"
NAMES = {
    "r@5": "recall@5",
    "r@10": "recall@10",
    "refusal_auroc_topscore": "refusal_auroc",
    "refusal_auroc_dense": "refusal_auroc",
}
"""Aliases of metrics."""


@dataclass(frozen=True, slots=True)
class Published:
    """A published metric of another system."""

    figure: str
    """The comparable metric of ours; empty if there is none."""
    system: str
    value: str
    source: str = ""


PUBLISHED: dict[str, tuple[Published, ...]] = {
    "ray-docs": (
        Published(
            "page@5",
            "gte-base, 5 chunks, 177 questions, index with the API pages",
            "0.52",
            "ray-project/llm-applications, experiments/evaluations",
        ),
    ),
    "squad2-book": tuple(
        Published(
            "",
            f"{system}: F1 of the answer, the paragraph being given; official dev or test",
            value,
            "SQuAD-explorer",
        )
        for system, value in (
            ("people", "89.45"),
            ("the best", "93.21"),
            ("BERT-large, fine-tuned", "85.86"),
            ("BiDAF++", "71.58"),
        )
    ),
}
"""Published results for sets whose own file lacks them."""


def floors_of(folder: Path) -> dict[str, dict[str, float]]:
    """Return the baselines of a set, if they are available."""
    path = folder.resolve().parent.parent / BASELINES
    if not path.is_file():
        return {}
    known = json.loads(path.read_text("utf-8"))
    name = folder.resolve().name
    keyword = _of_set(known.get("bm25", {}), name)
    meaning = _of_set(known.get("wordllama", {}), name)
    dense = {**meaning.get("dense", {}), **_numbers(meaning)}
    floors = {"BM25": keyword, "static dense": dense, "RRF of both": meaning.get("hybrid", {})}
    return {means: _numbers(found) for means, found in floors.items() if found}


def _of_set(known: Mapping[str, Any], name: str) -> dict[str, Any]:
    return next((dict(v) for k, v in known.items() if k.rpartition("/")[2] == name), {})


def _numbers(found: Mapping[str, Any]) -> dict[str, float]:
    return {NAMES.get(k, k): float(v) for k, v in found.items() if isinstance(v, int | float)}


def published_of(name: str, meta: Mapping[str, Any], figures: Sequence[str]) -> list[Published]:
    """Return published results on a set, with our names for comparable metrics."""
    source = str(meta.get("reference_source", "META.json of the set"))
    found = list(PUBLISHED.get(name, ()))
    for key, told in meta.items():
        if not key.startswith("reference") or key == "reference_source":
            continue
        about = key.removeprefix("reference").strip("_").replace("_", " ")
        for path, value in _leaves(told):
            figure = next((f for p in path if (f := _ours(p)) in figures), "")
            parts = [p for p in path if not figure or _ours(p) != figure]
            system = ", ".join([*parts, *([about] if about else [])])
            found.append(Published(figure, system, value, source))
    return found


def _ours(name: str) -> str:
    return NAMES.get(name.lower(), name.lower())


def _leaves(told: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(told, dict):
        for name, inner in told.items():
            yield from _leaves(inner, (*path, str(name)))
    elif isinstance(told, list):
        yield path, " / ".join(map(str, told))
    else:
        yield path, str(told)


def spread(published: Sequence[Published], figure: str) -> str:
    """Return the range of the published values of a metric."""
    values = [float(one.value) for one in published if one.figure == figure]
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:.3f}" if low == high else f"{low:.3f} to {high:.3f} ({len(values)})"


def as_rows(published: Sequence[Published]) -> list[dict[str, str]]:
    """Return published metrics as JSON."""
    return [asdict(one) for one in published]


def fitted_on(embedder: str, set_name: str) -> str:
    """Return the calibration's training data, and that the set is not part of it."""
    folder = resources.files("citewell.retrieve") / "fitted"
    path = folder / f"{embedder.partition('@')[0]}.json"
    if not path.is_file():
        return f"No fitted calibration is known for {embedder}."
    known = json.loads(path.read_text("utf-8"))
    said = f"The calibration was fitted on {', '.join(known['fitted_on'])}"
    if any(_plain(one.partition(" (")[0]) in _plain(set_name) for one in known["fitted_on"]):
        return f"{said}. **This set is among them**, so its figures say little."
    return f"{said}; no question or passage of this set was used."


def _plain(name: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", name.lower()))
