"""Public sets of claims with evidence."""

import ast
import csv
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from training.evidence import Passage, select, shown
from training.negatives import answer_shared
from training.rows import Entailment, Label, read_lines, sentences_of
from training.search import Words
from training.sets.written import held_sentences
from training.tokens import count_tokens
from training.twins import usable

LABELS: dict[str, Label] = {
    "entailment": "supported", "contradiction": "contradicted", "neutral": "unsupported",
    "not_entailment": "not", "SUPPORTS": "supported", "REFUTES": "contradicted",
    "NOT_ENOUGH_INFO": "unsupported", "SUPPORT": "supported", "CONTRADICT": "contradicted",
    "": "unsupported", "completely-support": "supported", "partially-support": "not",
    "refute": "contradicted", "irrelevant": "unsupported",
}  # fmt: skip
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "``": '"', "''": '"'}
COVERED = 0.6
ALIKE = (0.6, 1.6)
"""Right and wrong answers of so different a length tell themselves apart by it."""


def clean(text: str) -> str:
    """Undo the spaces and brackets of a tokeniser."""
    for old, new in _BRACKETS.items():
        text = text.replace(old, new)
    text = re.sub(r"([(\[]) ", r"\1", re.sub(r" ([,.;:!?%)\]]|'s\b|n't\b)", r"\1", text))
    return " ".join(text.split())


def pairs(name: str, *, longest: int = 1500) -> Any:
    """Return the converter of a set of (claim, evidence, label) that leaves out long evidence.

    What is chosen from long evidence need not have all that a claim takes.
    """

    def convert(data: Path, _: random.Random, __: Path) -> Iterator[Entailment]:
        for row in read_lines(data / f"entailment/{name}.jsonl.gz"):
            claim, text = clean(row["claim"]), clean(row["evidence"])
            if claim and text and len(text) <= longest:
                yield Entailment(claim, "", (text,), LABELS[row["label"]], name)

    return convert


def bearing(claim: str, heading: str, sentences: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences of one text that bear on a claim."""
    words = Words(sentences)
    places = select(claim, [Passage(heading, tuple(sentences))], words.idf, count_tokens)
    return shown([Passage(heading, tuple(sentences))], places)[1]


def halueval(data: Path, rng: random.Random, _: Path) -> Iterator[Entailment]:
    """Yield right and invented answers behind their question; length tells nothing."""
    longer, shorter = [], []
    for row in read_lines(data / "entailment/halueval-qa.jsonl.gz"):
        right, wrong = row["right_answer"].strip(), row["hallucinated_answer"].strip()
        share = len(wrong.split()) / max(len(right.split()), 1)
        if ALIKE[0] <= share <= ALIKE[1] and right.lower() != wrong.lower():
            (longer if len(wrong) > len(right) else shorter).append((row, right, wrong))
    most = min(len(longer), len(shorter))
    for row, right, wrong in [*rng.sample(longer, most), *rng.sample(shorter, most)]:
        # Two sentences are often stuck together without a space.
        text = re.sub(r"(?<=[a-z\d)\"][.!?])(?=[A-Z])", " ", " ".join(row["knowledge"].split()))
        for answer, label in ((right, "supported"), (wrong, "not")):
            claim = f"{row['question'].strip()} {answer}"
            yield Entailment(claim, "", sentences_of(text), label, "halueval-qa")


def halueval_dialogue(data: Path, _: random.Random, __: Path) -> Iterator[Entailment]:
    """Yield right and invented turns of a dialogue; what is right is often more than was known."""
    for row in read_lines(data / "entailment/halueval-dialogue.jsonl.gz"):
        known = sentences_of(row["knowledge"])
        for key, label in (("right_response", "supported"), ("hallucinated_response", "not")):
            yield Entailment(row[key].strip(), "", known, label, "halueval-dialogue")


def climate(data: Path, _: random.Random, __: Path) -> Iterator[Entailment]:
    """Yield claims about the climate with single sentences that people agreed on."""
    for row in read_lines(data / "climate-fever/climate-fever.jsonl"):
        for one in row["evidences"]:
            if one["entropy"] < 0.1:
                text = " ".join(one["evidence"].split()).strip('"')
                label = LABELS[one["evidence_label"]]
                yield Entailment(row["claim"], one["article"], (text,), label, "climate-fever")


def covidfact(data: Path, _: random.Random, __: Path) -> Iterator[Entailment]:
    """Yield claims of forum posts and changed ones."""
    for row in read_lines(data / "covidfact/COVIDFACT_dataset.jsonl"):
        label: Label = "supported" if row["label"] == "SUPPORTED" else "not"
        found = bearing(row["claim"], "", row["evidence"])
        if found:
            yield Entailment(row["claim"], "", found, label, "covidfact")


def factcheck(data: Path, _: random.Random, __: Path) -> Iterator[Entailment]:
    """Yield claims of a language model with pages that were found for them."""
    for row in read_lines(data / "factcheck-gpt/subtask3_claim_evidence_stance.jsonl"):
        found = bearing(row["claim"], "", sentences_of(row["evidence"]))
        if found:
            yield Entailment(row["claim"], "", found, LABELS[row["stance"]], "factcheck-gpt")


def scifact(data: Path, _: random.Random, __: Path) -> Iterator[Entailment]:
    """Yield claims with the sentences of an abstract that decide them, and with the others."""
    csv.field_size_limit(sys.maxsize)
    with (data / "scifact-claims/corpus_train.csv").open(encoding="utf-8") as lines:
        abstracts = {
            r["doc_id"]: (r["title"], _listed(r["abstract"])) for r in csv.DictReader(lines)
        }
    with (data / "scifact-claims/claims_train.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    for row in rows:
        cited = re.findall(r"\d+", row["cited_doc_ids"])
        document = (row["evidence_doc_id"] or (cited or [""])[0]).removesuffix(".0")
        title, sentences = abstracts.get(document, ("", ()))
        label = LABELS[row["evidence_label"]]
        places = [int(n) for n in re.findall(r"\d+", row["evidence_sentences"])]
        kept = tuple(sentences[p] for p in places if p < len(sentences))
        if kept:
            yield Entailment(row["claim"], title, kept, label, "scifact")
        found = bearing(row["claim"], title, sentences) if sentences else ()
        # Chosen by words, the sentences that decide may be missing.
        if found and (label == "unsupported" or set(kept) <= set(found)):
            yield Entailment(row["claim"], title, found, label, "scifact")


def _listed(text: str) -> tuple[str, ...]:
    """Read numpy's print of a list of strings."""
    found = re.findall(r"'(?:[^'\\]|\\.|'(?!\s*[\]'\n\"]))*'|\"(?:[^\"\\]|\\.)*\"", text)
    return tuple(_unquoted(one) for one in found)


def _unquoted(text: str) -> str:
    try:
        return str(ast.literal_eval(text))
    except (SyntaxError, ValueError):
        return text[1:-1]


def openstax(data: Path, _: random.Random, __: Path) -> Iterator[Entailment]:
    """Yield the sentences of chapter summaries with the pages that they sum up."""
    held = held_sentences(data)
    for name in ("openstax-microbiology", "openstax-sociology"):
        pages = _pages(data / name)
        for body, summary in pages.values():
            passages = [Passage(heading, sentences) for heading, sentences in body]
            words = Words([" ".join(p.sentences) for p in passages] or ["none"])
            for claim in summary:
                near = sorted(words.nearest(claim, 3))
                chosen = [passages[i] for i in near]
                heading, texts = shown(chosen, select(claim, chosen, words.idf, count_tokens))
                said = answer_shared(words, claim, " ".join(texts))
                # A summary may sum up what no few sentences say.
                if said > COVERED and usable(claim) and not held & set(texts):
                    yield Entailment(claim, heading, texts, "supported", f"{name}/summary")


def _pages(
    folder: Path,
) -> dict[str, tuple[list[tuple[str, tuple[str, ...]]], list[str]]]:
    """Return (heading, sentences) of every section of each page, and its summary's sentences."""
    pages: dict[str, tuple[list[tuple[str, tuple[str, ...]]], list[str]]] = {}
    for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        body, summary = pages.setdefault(row["page"], ([], []))
        last = row["section"].split(">")[-1].strip()
        sentences = sentences_of(row["text"].removeprefix(last))
        if "Summary" in last:
            summary += sentences
        elif last != "Learning Objectives":
            body.append((row["section"].replace(" > ", " › "), sentences))
    return pages


CONVERTERS = {
    "fever": pairs("fever", longest=900), "snli": pairs("snli"), "snli-2": pairs("snli-2"),
    "snli-counterfactual": pairs("snli-counterfactual"), "mnli": pairs("mnli"),
    "mnli-2": pairs("mnli-2"), "wikipedia-nli": pairs("wikipedia-new-protocols"),
    "paws": pairs("paws"), "scitail": pairs("scitail"),
    "summedits": pairs("summedits", longest=900), "fever-symmetric": pairs("fever-symmetric"),
    "foolmetwice": pairs("foolmetwice"), "linguist-in-the-loop": pairs("linguist-in-the-loop"),
    "halueval-qa": halueval, "halueval-dialogue": halueval_dialogue, "climate-fever": climate,
    "covidfact": covidfact, "factcheck-gpt": factcheck, "scifact": scifact, "openstax": openstax,
}  # fmt: skip
