"""Public reading sets: questions with passages that answer them or do not."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from training.negatives import nearest, twins
from training.question_twins import names_in
from training.rows import Reading, cut, read_lines, sentence_at, sentences_of

LONG = 1100
"""Characters that surely fit: of a longer passage without marks it is not known which part answers."""
_WIKI = ((" ``", ' "'), ("`` ", '"'), (" ''", '"'), ("( ", "("), (" )", ")"), (" n't", "n't"))


def _rows(data: Path, name: str) -> list[dict[str, Any]]:
    return list(read_lines(data / f"reading/{name}.jsonl.gz"))


def _squad_rows(data: Path) -> Iterator[tuple[str, str, Reading]]:
    """Yield the id, the answer and the row of every SQuAD question."""
    for row in _rows(data, "squad1"):
        pieces = cut(row["passage"])
        sentences = tuple(said for _, said in pieces)
        title = row["title"].replace("_", " ")
        for asked in row["questions"]:
            marked = (sentence_at(pieces, asked["start"]),)
            question = " ".join(asked["q"].split())
            yield (
                asked["id"],
                asked["answer"],
                Reading(question, title, sentences, True, marked, "squad"),
            )


def squad(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
    """Yield SQuAD 1.1 training questions on their own paragraphs."""
    yield from (row for _, _, row in _squad_rows(data))


def squad_negatives(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
    """Yield the same questions on the closest other paragraph of their article."""
    asked = {key: (answer, row) for key, answer, row in _squad_rows(data)}
    starts = {row["passage"][:80]: row for row in _rows(data, "squad1")}
    for row in _rows(data, "squad1-negatives"):
        answer, own = asked.get(row["id"].removesuffix("-n"), (None, None))
        other = starts.get(row["passage_start"])
        if own is None or other is None or _says(other["passage"], answer):
            continue
        sentences = sentences_of(other["passage"])
        if sentences != own.sentences:
            yield Reading(own.question, own.heading, sentences, False, (), "squad/other-passage")


def _says(passage: str, answer: str) -> bool:
    """Return whether a passage has the answer's words; then it may answer, too."""
    return bool(re.search(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", passage, re.I))


def squad_twins(data: Path, rng: random.Random, _: Path) -> Iterator[Reading]:
    """Yield SQuAD questions with one thing exchanged, on their own paragraphs."""
    rows = [row for _, _, row in _squad_rows(data)]
    names: dict[str, set[str]] = {}
    for row in rows:
        names.setdefault(row.heading, set()).update(names_in(row.question))
    ordered = {heading: sorted(found) for heading, found in names.items()}
    yield from twins(rng.sample(rows, len(rows)), lambda row: ordered[row.heading], rng)


def qnli(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
    """Yield questions with one sentence of the paragraph."""
    for row in _rows(data, "qnli"):
        marked = (0,) if row["answers"] else ()
        sentence = " ".join(row["sentence"].split())
        yield Reading(row["q"], "", (sentence,), row["answers"], marked, "qnli")


def quac(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
    """Yield questions of dialogues behind the one before them, without which many mean nothing."""
    for row in _rows(data, "quac"):
        pieces = cut(row["passage"])
        sentences = tuple(said for _, said in pieces)
        for asked in row["questions"]:
            question = " ".join([*asked["history"][-1:], asked["q"]])
            marked: tuple[int, ...] = ()
            if asked["answerable"]:
                last = asked["start"] + max(len(asked["answer"]) - 1, 0)
                marked = tuple(
                    range(sentence_at(pieces, asked["start"]), sentence_at(pieces, last) + 1)
                )
            yield Reading(question, "", sentences, asked["answerable"], marked, "quac")


def natural_questions(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
    """Yield real search questions on the paragraph that answers, and on the nearest other one."""
    rows, answers = [], {}
    for row in _rows(data, "nq-qed"):
        sentences = sentences_of(_spaced(row["passage"]))
        marked = None
        if row["answer_sentence"]:
            said = _spaced(row["answer_sentence"])
            marked = tuple(i for i, s in enumerate(sentences) if s in said or said in s) or None
        if marked is None and len(row["passage"]) > LONG:
            continue
        one = Reading(row["question"], row["title"], sentences, True, marked, "nq")
        rows.append(one)
        answers[one] = row["answer_text"] or ""
    yield from rows
    yield from nearest(rows, lambda row: f"{row.question} {answers[row]}")


def _spaced(text: str) -> str:
    """Undo the spaces that a tokeniser of the Penn treebank put in."""
    for old, new in _WIKI:
        text = text.replace(old, new)
    text = re.sub(r" ([,.;:!?%]|'s\b|'(?= ))", r"\1", text)
    return " ".join(re.sub(r" ([-–]) ", r"\1", text).split())


def labelled(name: str) -> Any:
    """Return the converter of a set of questions that say whether their passage answers."""

    def convert(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
        for row in _rows(data, name):
            question = row["question"]
            if row.get("history"):
                before = re.findall(r"Q: (.*?)(?= A:|$)", row["history"])
                question = " ".join([*before[-1:], question])
            if row["answerable"] and len(row["passage"]) > LONG:
                continue
            marked = None if row["answerable"] else ()
            sentences = sentences_of(row["passage"])
            yield Reading(question, "", sentences, row["answerable"], marked, name)

    return convert


def boolq(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
    """Yield yes-or-no questions on their passage, and on the nearest other one."""
    rows = []
    for row in _rows(data, "boolq"):
        title, _, text = row["passage"].partition(" -- ")
        if len(text) <= LONG:
            rows.append(Reading(row["question"], title, sentences_of(text), True, None, "boolq"))
    yield from rows
    yield from nearest(rows, lambda row: row.question)


def qasper(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
    """Yield questions about papers on their evidence; any other paper may answer them, too."""
    for row in _rows(data, "qasper_evidence"):
        if len(row["passage"]) <= LONG:
            yield Reading(row["question"], "", sentences_of(row["passage"]), True, None, "qasper")


def selqa(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
    """Yield questions with the sentences that answer, and on the nearest other article."""
    rows = [
        Reading(
            row["question"],
            f"{row['article']} › {row['section']}",
            tuple(row["sentences"]),
            True,
            tuple(row["answer_idx"]),
            "selqa",
        )
        for row in _rows(data, "selqa")
    ]
    yield from rows
    yield from nearest(rows, lambda row: " ".join(row.sentences[i] for i in row.marked or ()))


def hotpot(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
    """Yield questions on the two paragraphs that answer together, and on two that do not."""
    for row in _rows(data, "hotpotqa-1000"):
        facts = {(title, place) for title, place in row["supporting_facts"]}
        needed = {title for title, _ in facts}
        for own in (True, False):
            texts = [(t, s) for t, s in row["context"] if (t in needed) == own][:2]
            placed = [
                ((t, i), " ".join(s.split())) for t, found in texts for i, s in enumerate(found)
            ]
            marked = tuple(i for i, (key, _) in enumerate(placed) if key in facts)
            source = "hotpot" if own else "hotpot/other-passage"
            sentences = tuple(said for _, said in placed if said)
            if len(sentences) == len(placed) and (marked or not own):
                heading = " · ".join(t for t, _ in texts)
                yield Reading(row["question"], heading, sentences, own, marked, source)


def squad_files(folder: str, source: str) -> Any:
    """Return the converter of a set in SQuAD's own form; other documents may answer as well."""

    def convert(data: Path, rng: random.Random, _: Path) -> Iterator[Reading]:
        rows = [
            row
            for path in sorted((data / folder).glob("*.json"))
            for row in _paragraphs(path, source, rng)
        ]
        yield from rng.sample(rows, min(len(rows), 5000))

    return convert


def _paragraphs(path: Path, source: str, rng: random.Random) -> Iterator[Reading]:
    for entry in json.loads(path.read_text("utf-8"))["data"]:
        for paragraph in entry["paragraphs"]:
            text = paragraph["context"]
            pieces = cut(text)
            first = text.strip().split("\n")[0][:100]
            for asked in paragraph["qas"]:
                if not asked["answers"]:
                    continue
                start = asked["answers"][0]["answer_start"]
                near = sentence_at(pieces, start)
                begin = max(near - rng.randrange(7), 0)  # else the place would give it away
                part = pieces[begin : near + 7]
                yield Reading(
                    " ".join(asked["question"].split()),
                    entry.get("title", first),
                    tuple(said for _, said in part),
                    True,
                    (near - begin,),
                    source,
                )


CONVERTERS = {
    "squad": squad, "squad-negatives": squad_negatives, "squad-twins": squad_twins, "qnli": qnli,
    "quac": quac, "natural-questions": natural_questions, "iirc": labelled("iirc"),
    "doqa": labelled("doqa"), "adversarialqa": labelled("adversarialqa"),
    "tellmewhy": labelled("tellmewhy"), "boolq": boolq, "qasper": qasper, "selqa": selqa,
    "hotpot": hotpot, "policyqa": squad_files("policyqa", "policyqa"),
    "covid-qa": squad_files("covid-qa", "covid-qa"),
}  # fmt: skip
