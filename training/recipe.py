"""Recipes: which sets a model learns from in each stage, as data, and the rows made by them."""

import argparse
import collections
import hashlib
import json
import os
import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from training.encoder import PairEncoder, load, started
from training.loop import Options, Task, Training
from training.rows import load_rows, save_rows
from training.sets import Row, converters

FOLDER = Path(__file__).parent / "recipes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredient:
    """A set in a stage: its converter, how many rows at most, what each counts, and its licence."""

    convert: str
    rows: int
    licence: str
    weight: float = 1.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a model learns in its stages, and how fast."""

    name: str
    best: str
    stages: tuple[tuple[Ingredient, ...], ...]
    rates: tuple[float, ...]


def read_recipe(path: Path) -> Recipe:
    """Return a recipe from its file."""
    stored = tomllib.loads(path.read_text("utf-8"))
    stages = [stored["stage"][key] for key in sorted(stored["stage"])]
    return Recipe(
        path.stem,
        stored["best"],
        tuple(tuple(Ingredient(**one) for one in stage["sets"]) for stage in stages),
        tuple(stage["rate"] for stage in stages),
    )


def rows_of(
    recipe: Recipe, stage: int, data: Path, cache: Path, *, share: float = 1.0, seed: int = 11
) -> list[Row]:
    """Return the rows of a stage, made once and then kept in `cache`."""
    key = hashlib.sha256(repr((recipe.stages[stage - 1], share, seed)).encode()).hexdigest()[:12]
    stored = cache / f"{recipe.name}-{stage}-{key}.jsonl.gz"
    if not stored.exists():
        known = converters()
        made: list[Row] = []
        for one in recipe.stages[stage - 1]:
            rng = random.Random(f"{seed} {one.convert}")
            found = list(known[one.convert](data, rng, cache))
            chosen = rng.sample(found, min(len(found), max(1, round(one.rows * share))))
            print(f"{one.convert}: {len(chosen)} of {len(found)} rows", flush=True)
            made += [replace(row, weight=one.weight) for row in chosen]
        save_rows(stored, made)
    return load_rows(stored)


def counts_of(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Return how many rows of each label every source has."""
    counted: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for row in rows:
        label = row.label if hasattr(row, "label") else _answers(row.answers)
        counted[row.source][label] += 1
    return {source: dict(found) for source, found in sorted(counted.items())}


def _answers(answers: bool | None) -> str:
    return {True: "answers", False: "does not", None: "unknown"}[answers]


def options_of(description: str | None) -> argparse.Namespace:
    """Return the options that training takes for either model."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        default=os.environ.get("CITEWELL_SHARED"),
        help="folder with data/train",
    )
    add(
        "--run", type=Path, required=True, help="folder of the run; it goes on where it was stopped"
    )
    add("--cache", type=Path, help="folder for rows and vectors (default: beside the run)")
    add("--weights", type=Path, help="the teacher's model.onnx, to begin with")
    add("--begin", type=Path, help="begin with these trained weights instead")
    add("--teacher", type=Path, help="learn from the outputs of this run's best weights, too")
    add("--recipe", type=Path, help="another recipe than the model's own")
    add("--stage", type=int, required=True)
    add("--layers", default="0,2,4,6,8,10", help="layers of the teacher to begin with")
    add("--minutes", type=float, required=True, help="of active training")
    add("--rate", type=float, help="learning rate (default: the recipe's)")
    add("--tokens", type=int, default=4096, help="of a batch")
    add("--share", type=float, default=1.0, help="of every set's rows")
    add("--seed", type=int, default=11)
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data by --data or CITEWELL_SHARED")
    options.data = train_data(Path(options.data))
    options.cache = options.cache or options.run.parent / "cache"
    return options


def train_data(folder: Path) -> Path:
    """Return the folder of the training sets, of which a parent may be named."""
    return next((f for f in (folder / "data/train", folder / "train") if f.is_dir()), folder)


def train(
    recipe: Recipe, options: argparse.Namespace, task: Task, outputs: int, *, marks: bool
) -> None:
    """Run one stage to its end, or go on with it."""
    torch.manual_seed(options.seed)
    if options.begin:
        model = load(options.begin)
    else:
        layers = [int(number) for number in options.layers.split(",")]
        model = started(options.weights, layers, outputs, marks=marks)
    training = Training(
        model,
        task,
        Options(
            run=options.run,
            minutes=options.minutes,
            rate=options.rate or recipe.rates[options.stage - 1],
            tokens=options.tokens,
            seed=options.seed,
        ),
        teacher_of(options.teacher),
    )
    if training.done:
        print(f"{options.run} is done", flush=True)
        return
    rows = rows_of(
        recipe, options.stage, options.data, options.cache, share=options.share, seed=options.seed
    )
    about = {
        "recipe": recipe.name, "stage": options.stage, "layers": len(model.layers),
        "minutes": options.minutes, "seed": options.seed, "begun_with": _begun(options),
        "teacher": options.teacher and options.teacher.name,
        "rows": len(rows), "counts": counts_of(rows),
    }  # fmt: skip
    (options.run / "about.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    task.prepare(rows)
    training.run(rows)
    if not training.done:
        raise SystemExit("stopped before its end; the same command goes on")


def _begun(options: argparse.Namespace) -> str:
    if options.begin:
        return "the stage before"
    return f"layers {options.layers} of ms-marco-MiniLM-L-12-v2"


def teacher_of(run: Path | None) -> PairEncoder | None:
    """Return the best model of a run."""
    return load(run / "best.pt") if run else None


def shown(rows: Sequence[Row], count: int = 10, seed: int = 0) -> dict[str, list[Any]]:
    """Return some rows of every source, to be read by people."""
    by_source: dict[str, list[Any]] = collections.defaultdict(list)
    for row in random.Random(seed).sample(list(rows), len(rows)):
        if len(by_source[row.source]) < count:
            by_source[row.source].append(row)
    return dict(sorted(by_source.items()))
