"""Make the pairs the reader learns from: a question, a sentence under its heading, what is known.

    python -m training.reader.pairs --data DATA --books BOOKS --out PAIRS.jsonl

Each line holds `q`, `t`, `label` (1: the sentence answers, 0: it does not, null: not known) and
`part` (train or held, by hash of the document, so that no document is in both).

Sources, all with text that may be used so: COVID-QA (Apache-2.0), PolicyQA (MIT), PubMedQA (MIT),
OpenStax Microbiology and Introduction to Sociology (CC BY 4.0), MTRAG FiQA (Apache-2.0), the ROS 2
documentation (CC BY 4.0), the Docusaurus documentation (CC BY 4.0).
"""

import argparse
import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from citewell.ingest.detect import find_format
from citewell.options import IngestOptions
from citewell.text.plain_text import strip_inline_markup
from citewell.text.sentences import split_spans
from citewell.text.terms import terms
from training.reader.questions import altered, from_heading, from_sentence, hurried

MAX_TEXT = 320
MAX_PAIR = 338
"""Characters of a question and a sentence together: longer ones cost most and teach little."""
HELD = 0.1


@dataclass(frozen=True)
class Sentence:
    """A sentence as the reader sees it, and the document it is of."""

    text: str
    heading: str
    document: str

    @property
    def shown(self) -> str:
        return f"{self.heading}: {self.text[:MAX_TEXT]}"


@dataclass(frozen=True)
class Pair:
    q: str
    t: str
    label: int | None
    source: str
    part: str


class Words:
    """Finds sentences by their words (BM25), to make negatives that look right."""

    def __init__(self, sentences: list[Sentence]) -> None:
        self.sentences = sentences
        self._postings: dict[str, list[int]] = {}
        for place, one in enumerate(sentences):
            for term in set(terms(f"{one.heading} {one.text}")):
                self._postings.setdefault(term, []).append(place)
        self._length = np.array([len(s.text.split()) + 5 for s in sentences], float)

    def find(self, question: str, count: int, *, within: str | None = None) -> list[Sentence]:
        scores: dict[int, float] = {}
        total = len(self.sentences)
        for term in set(terms(question)):
            places = self._postings.get(term, ())
            weight = np.log(1 + total / (1 + len(places)))
            for place in places:
                scores[place] = scores.get(place, 0.0) + weight
        norm = self._length / self._length.mean()
        order = sorted(scores, key=lambda p: (-scores[p] / (0.75 + 0.25 * norm[p]), p))
        found = (self.sentences[p] for p in order)
        return [s for s in found if within is None or s.document == within][:count]


def sentences_of(text: str, heading: str, document: str) -> list[Sentence]:
    found = []
    for span in split_spans(text):
        if span.kind not in ("sentence", "item"):
            continue
        shown = " ".join(strip_inline_markup(span.of(text)).split())
        if len(shown) > 25 and not shown.endswith("?"):
            found.append(Sentence(shown, heading, document))
    return found


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]


def part_of(document: str) -> str:
    return "held" if hashlib.sha256(document.encode()).digest()[0] < 256 * HELD else "train"


def answering(own: list[Sentence], answer: str) -> list[Sentence]:
    """Return the sentences that hold (the beginning of) an answer."""
    start = " ".join(strip_inline_markup(answer).split())[:40].strip()
    return [s for s in own if start and start in s.text]


def asked(  # noqa: PLR0913, PLR0917 - one for each kind of sentence
    rng: random.Random,
    q: str,
    document: str,
    right: list[Sentence],
    wrong: list[Sentence],
    open_: list[Sentence],
    source: str,
) -> Iterator[Pair]:
    part = part_of(f"{source}/{document}")
    ways = [q, hurried(q)] if rng.random() < 0.25 else [q]
    for way in ways:
        for sentences, label in ((right, 1), (wrong, 0), (open_, None)):
            for one in sentences:
                yield Pair(way, one.shown, label, source, part)


def covid(data: Path, rng: random.Random) -> Iterator[Pair]:
    articles = [
        p
        for entry in json.loads((data / "covid-qa/200423_covidQA.json").read_text("utf-8"))["data"]
        for p in entry["paragraphs"]
    ]
    by_document: dict[str, list[Sentence]] = {}
    for number, article in enumerate(articles):
        title = article["context"].strip().split("\n")[0][:100]
        by_document[str(number)] = sentences_of(article["context"], title, str(number))
    index = Words([s for own in by_document.values() for s in own])
    for number, article in enumerate(articles):
        questions = [a["question"] for a in article["qas"]]
        for one in article["qas"]:
            q = " ".join(one["question"].split())
            right = answering(by_document[str(number)], one["answers"][0]["text"])[:1]
            if not right:
                continue
            near = [s for s in index.find(q, 6, within=str(number)) if s not in right][:5]
            far = [s for s in index.find(q, 12) if s.document != str(number)][:3]
            yield from asked(rng, q, str(number), right, near, far, "covid-qa")
            for changed in altered(rng, q, questions, right[0].text)[:2]:
                yield from asked(rng, changed, str(number), [], right, [], "covid-qa-altered")


def policy(data: Path, rng: random.Random) -> Iterator[Pair]:
    for name in ("dev", "test"):
        for site in json.loads((data / f"policyqa/{name}.json").read_text("utf-8"))["data"]:
            paragraphs = site["paragraphs"]
            asked_here = [q["question"] for p in paragraphs for q in p["qas"]]
            everything = Words(
                [s for p in paragraphs for s in sentences_of(p["context"], site["title"], "x")]
            )
            for paragraph in paragraphs:
                own = sentences_of(paragraph["context"], site["title"], "x")
                for one in rng.sample(paragraph["qas"], min(2, len(paragraph["qas"]))):
                    right = answering(own, one["answers"][0]["text"])[:1]
                    if not right:
                        continue
                    q = one["question"]
                    wrong = [s for s in own if s not in right][:2]
                    open_ = [s for s in everything.find(q, 3) if s not in right + wrong]
                    yield from asked(rng, q, site["title"], right, wrong, open_[:2], "policyqa")
                    for changed in altered(rng, q, asked_here, right[0].text)[:1]:
                        yield from asked(
                            rng, changed, site["title"], [], right, [], "policyqa-altered"
                        )


def pubmed(data: Path, rng: random.Random) -> Iterator[Pair]:
    rows = json.loads((data / "pubmedqa/ori_pqal.json").read_text("utf-8"))
    context, conclusion = {}, {}
    for key, row in rows.items():
        text = "\n\n".join(row["CONTEXTS"])
        context[key] = sentences_of(text, "Study", key)
        conclusion[key] = sentences_of(row["LONG_ANSWER"], "Study", key)
    index = Words([s for own in (*context.values(), *conclusion.values()) for s in own])
    questions = [row["QUESTION"] for row in rows.values()]
    for key, row in rows.items():
        q = row["QUESTION"]
        if not conclusion[key]:
            continue
        near = Words(context[key]).find(q, 4) if context[key] else []
        far = [s for s in index.find(q, 10) if s.document != key][:3]
        yield from asked(rng, q, key, conclusion[key][:1], far, near, "pubmedqa")
        for changed in altered(rng, q, questions, conclusion[key][0].text)[:1]:
            yield from asked(rng, changed, key, [], conclusion[key][:1], [], "pubmedqa-altered")


def openstax(data: Path, rng: random.Random) -> Iterator[Pair]:
    for name in ("openstax-microbiology", "openstax-sociology"):
        folder = data / name
        rows = rows_of(folder / "corpus.jsonl")
        found = [
            s
            for row in rows
            for s in sentences_of(row["text"], row["section"].replace(" > ", " › "), row["page"])
        ]
        index = Words(found)
        for row in rows_of(folder / "queries.jsonl"):
            if len(row["text"]) > 300:
                continue
            own = [s for p in row["gold_pages"] for s in index.find(row["text"], 6, within=p)]
            rest = [s for s in index.find(row["text"], 6) if s.document not in row["gold_pages"]]
            page = row["gold_pages"][0]
            yield from asked(rng, row["text"], page, [], [], own[:6] + rest[:4], name)
        yield from made(rng, found, index, name, 900)


def fiqa(data: Path, rng: random.Random) -> Iterator[Pair]:
    folder = data / "mtrag-fiqa"
    rows = rows_of(folder / "corpus.jsonl")
    found = [s for r in rows for s in sentences_of(r["text"], "Finance", r["page"])]
    index = Words(found)
    for row in rows_of(folder / "queries.jsonl"):
        q = row["rewrite"] or row["text"]
        sentences = index.find(q, 10)
        yield from asked(rng, q, row["id"][:32], [], [], sentences, "mtrag-fiqa")
    yield from made(rng, found, index, "mtrag-fiqa", 500)


def books(folder: Path, rng: random.Random) -> Iterator[Pair]:
    for name, count in (("ros2-docs", 2200), ("docusaurus-docs", 800)):
        found = [
            s
            for page in find_format(folder / name).read(folder / name, IngestOptions()).pages
            for section in page.sections
            for s in sentences_of(
                "\n\n".join(b.text for b in section.blocks if b.kind != "code"),
                " › ".join(section.path or (page.title,)),
                page.source,
            )
        ]
        yield from made(rng, found, Words(found), name, count)


def made(
    rng: random.Random, found: list[Sentence], index: Words, source: str, count: int
) -> Iterator[Pair]:
    """Ask questions made from headings and sentences; only the teacher knows how good they are."""
    headings = {s.heading.split(" › ")[-1]: s.document for s in found}
    chosen = rng.sample(sorted(headings.items()), min(count // 2, len(headings)))
    for heading, document in chosen:
        q = from_heading(rng, heading)
        yield from asked(rng, q, document, [], [], index.find(q, 7), source)
    left = count - len(chosen)
    for one in rng.sample(found, len(found)):
        q = from_sentence(rng, one.text) if left else None
        if q is None:
            continue
        left -= 1
        near = [one, *(s for s in index.find(q, 7) if s is not one)][:7]
        yield from asked(rng, q, one.document, [], [], near, source)
        if left == 0:
            break


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--books", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    seen: set[tuple[str, str]] = set()
    counts: dict[str, int] = {}
    with options.out.open("w", encoding="utf-8") as out:
        for make, where in (
            (covid, options.data),
            (policy, options.data),
            (pubmed, options.data),
            (openstax, options.data),
            (fiqa, options.data),
            (books, options.books),
        ):
            for pair in make(where, random.Random(7)):
                if (pair.q, pair.t) in seen or len(pair.q) + len(pair.t) > MAX_PAIR:
                    continue
                seen.add((pair.q, pair.t))
                counts[pair.source] = counts.get(pair.source, 0) + 1
                out.write(json.dumps(pair.__dict__, ensure_ascii=False) + "\n")
            print(counts, flush=True)


if __name__ == "__main__":
    main()
