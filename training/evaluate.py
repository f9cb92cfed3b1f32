"""Print the figures of a reader or a judge on what no training saw.

    python -m training.evaluate --reader RUN/best.pt --judge RUN/best.pt --data FOLDER

The written set's dev part, MNLI's, made twins about books that were held back, and the public sets:
of these as much as can be told from a question and its paragraph, or a claim and its passages.
"""

import argparse
import collections
import json
import os
import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from training import judge, reader
from training.encoder import PairEncoder, load
from training.evidence import Passage, select, shown
from training.figures import auroc
from training.recipe import train_data
from training.rows import Entailment, Reading, read_lines, sentences_of
from training.search import Words
from training.sets.made import passages_of_corpus, source_of
from training.sets.written import Evidence, claims, read_written
from training.tokens import count_tokens

HELD_BOOKS = ("openstax-anatomy", "ray-docs")
PASSAGES = 250
"""Passages of a held-back book that twins are made from."""
GROUNDING = (
    "ragtruth-qa-dev",
    "attributionbench-dev",
    "wice-dev",
    "scifact-claims-dev",
    "qags-sentences",
)
LEAST = 0.001
_NUMBERED = re.compile(r"^passage \d+:", re.M | re.I)


def squad2_book(model: PairEncoder, folder: Path) -> dict[str, float]:
    """Return the order of answerable and unanswerable questions on their own paragraphs."""
    texts = {
        row["id"]: (row["title"].replace("_", " "), sentences_of(row["text"]))
        for row in read_lines(folder / "corpus.jsonl")
    }
    small = folder / "queries.small.jsonl"
    rows: dict[bool, list[Reading]] = {True: [], False: []}
    for row in read_lines(small if small.exists() else folder / "queries.jsonl"):
        heading, sentences = texts[row["near_ids"][0]]
        one = Reading(row["text"], heading, sentences, row["answerable"], None, "squad2-book")
        rows[row["answerable"]].append(one)
    said = {key: [r.answers for r in reader.read(model, found)] for key, found in rows.items()}
    return {"squad2_own_paragraph": auroc(said[True], said[False])}


def evaluate_reader(model: PairEncoder, data: Path, cache: Path) -> dict[str, float]:
    """Return the reader's figures."""
    figures = reader.figures_of(model, reader.held_back(train_data(data), cache))
    book = data_folder(data) / "retrieval/squad2-book"
    return {**figures, **(squad2_book(model, book) if book.is_dir() else {})}


def data_folder(data: Path) -> Path:
    """Return the folder that holds `train`, `grounding` and `retrieval`."""
    return train_data(data).parent


def twins_of(folder: Path) -> list[Entailment]:
    """Return made twins about the books that were held back."""
    found: list[Entailment] = []
    for name in HELD_BOOKS:
        passages = passages_of_corpus(folder / name / "corpus.jsonl", PASSAGES)
        found += source_of(f"{name}-twins", passages).twins(random.Random(5))
    return found


def twin_figures(model: PairEncoder, rows: Sequence[Entailment]) -> dict[str, float]:
    """Return the order of made lies, by kind, and true twins."""
    by_kind = judge.scores_by_kind(rows, judge.support_of(model, rows))
    framed = by_kind.pop("true-framed", [])
    true = [s for kind, found in by_kind.items() if kind.startswith("true-") for s in found]
    lies = {kind: found for kind, found in by_kind.items() if kind.startswith("lie-")}
    figures = {
        f"twin_{kind.removeprefix('lie-')}": auroc(framed if kind == "lie-framed" else true, found)
        for kind, found in sorted(lies.items())
    }
    return {
        "twins": auroc(true, [s for k, f in lies.items() if k != "lie-framed" for s in f]),
        **figures,
    }


def grounding(model: PairEncoder, path: Path) -> float:
    """Return the order of supported and unsupported responses; all sentences of one count."""
    scores: dict[bool, list[float]] = {True: [], False: []}
    rows, owners, labels = [], [], []
    for number, row in enumerate(read_lines(path)):
        labels.append(bool(int(row["label"])))
        sentences = row.get("context_sentences") or sentences_of(_NUMBERED.sub("", row["context"]))
        passage = Passage("", tuple(" ".join(s.split()) for s in sentences))
        words = Words(passage.sentences)
        for claim in sentences_of(row["response"]):
            places = select(claim, [passage], words.idf, count_tokens)
            rows.append(Entailment(claim, *shown([passage], places), "not", ""))
            owners.append(number)
    logits = np.array(judge.support_of(model, rows))
    by_response: dict[int, list[float]] = collections.defaultdict(list)
    for owner, logit in zip(owners, logits, strict=True):
        by_response[owner].append(max(1 / (1 + np.exp(-logit)), LEAST))
    for number, unsupported in enumerate(labels):
        mean = float(np.mean(np.log(by_response[number]))) if number in by_response else 0.0
        scores[unsupported].append(mean)
    return auroc(scores[False], scores[True])


def evaluate_judge(model: PairEncoder, data: Path) -> dict[str, float]:
    """Return the judge's figures."""
    held = judge.held_back(train_data(data), most=None)
    figures = judge.written_figures(model, held.claims)
    figures["mnli"] = judge.accuracy(model, held.mnli)
    folder = data_folder(data)
    if (folder / "retrieval").is_dir():
        figures |= twin_figures(model, twins_of(folder / "retrieval"))
    for name in GROUNDING:
        path = folder / "grounding" / name / "data.jsonl"
        if path.exists():
            figures[name] = grounding(model, path)
    return figures


def evidence_figures(data: Path) -> dict[str, float]:
    """Return what the choice of evidence loses: marked sentences that are not among it."""
    everything = read_written(train_data(data))
    evidence = Evidence(everything)
    marked = found = whole = total = size = 0
    for one in everything:
        if one.part != "dev":
            continue
        for row in one.row["supported"]:
            _, places, own = evidence.places(one, row["claim"])
            chosen = {place for number, place in places if number == own}
            wanted = set(row["sentences"])
            marked, found = marked + len(wanted), found + len(wanted & chosen)
            whole, total, size = whole + (wanted <= chosen), total + 1, size + len(places)
    return {
        "marked_found": found / marked,
        "claims_with_all": whole / total,
        "sentences_chosen": size / total,
    }


def written_claim_rows(data: Path, *, keep: bool) -> list[Entailment]:
    """Return the dev part's claims, with the marked sentences or with those that are found."""
    everything = read_written(train_data(data))
    dev = [one for one in everything if one.part == "dev"]
    return [row for _, row in claims(dev, Evidence(everything), keep=keep)]


def judge_with_all(model: PairEncoder, data: Path) -> dict[str, float]:
    """Return the judge's order of claims if no marked sentence were missed."""
    figures = judge.written_figures(model, written_claim_rows(data, keep=True))
    return {"auroc_marked_kept": figures["auroc"], "kept_at_5_marked_kept": figures["kept_at_5"]}


def table(name: str, figures: dict[str, float]) -> str:
    """Return figures as a table."""
    rows = "".join(f"| {key} | {value:.3f} |\n" for key, value in figures.items())
    return f"| {name} | |\n| --- | --- |\n{rows}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--reader", type=Path)
    parser.add_argument("--judge", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("CITEWELL_SHARED"))
    parser.add_argument("--cache", type=Path, help="folder for vectors")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data by --data or CITEWELL_SHARED")
    torch.set_num_threads(options.threads)
    data = Path(options.data)
    if options.reader:
        cache = options.cache or options.reader.parent.parent / "cache"
        figures = evaluate_reader(load(options.reader), data, cache)
        keep(options.reader, "reader", figures)
    if options.judge:
        model = load(options.judge)
        figures = evaluate_judge(model, data) | judge_with_all(model, data) | evidence_figures(data)
        keep(options.judge, "judge", figures)


def keep(weights: Path, name: str, figures: dict[str, float]) -> None:
    """Print figures and keep them beside the weights."""
    text = json.dumps({key: round(value, 4) for key, value in figures.items()}, indent=1)
    (weights.parent / "figures.json").write_text(text + "\n", "utf-8")
    print(table(name, figures), flush=True)


if __name__ == "__main__":
    main()
