"""Make the pairs the judge learns from: a claim, the sentences that bear on it, what is known.

    python -m training.judge.pairs --data DATA --books BOOKS --out PAIRS.jsonl

Each line holds `claim`, `evidence`, `label` (`supported`, `contradicted`, `unsupported`, or `not`
where only so much is known that it is not supported), `source` and `part` (train or held, by hash
of the document, so that no document is in both). The sentences are chosen by the same function as
in the product.

Sources: Climate-FEVER, COVID-Fact, Factcheck-GPT and SciFact (training part): claims with judged
evidence; RAGTruth data-to-text (MIT): answers of models with their unsupported spans marked;
PubMedQA (MIT) and MTRAG FiQA (Apache-2.0): conclusions and answers with what they were drawn from;
OpenStax Microbiology and Introduction to Sociology (CC BY 4.0): summaries and multiple-choice
questions with the text they are about; sentences of these and of the ROS 2 and Docusaurus
documentation (CC BY 4.0), reworded or changed by rule (`alter.py`).
"""

import argparse
import csv
import hashlib
import json
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from citewell.ingest.detect import find_format
from citewell.options import IngestOptions
from citewell.text.plain_text import strip_inline_markup
from citewell.text.sentences import split_spans
from citewell.text.terms import terms
from citewell.verify.judge import select_evidence, shown
from training.judge import alter

HELD = 0.12
PER_BOOK = 3200


@dataclass(frozen=True)
class Pair:
    claim: str
    evidence: str
    label: str
    source: str
    part: str
    present: float = 1.0
    context: tuple[str, ...] = ()
    """All the sentences there were to choose from; kept of what is held out, for `fit.py`."""
    response: str = ""
    """The answer that the claim is a sentence of, where it is one of several."""


def part_of(document: str) -> str:
    return "held" if hashlib.sha256(document.encode()).digest()[0] < 256 * HELD else "train"


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]


def sentences_of(text: str) -> list[str]:
    found = (" ".join(strip_inline_markup(s.of(text)).split()) for s in split_spans(text))
    return [s for s in found if len(s) > 12]


def against(
    claim: str, sentences: list[str], label: str, source: str, document: str, response: str = ""
) -> Pair | None:
    found = select_evidence(claim, sentences)
    if not found.places or not claim.strip():
        return None
    evidence = shown(sentences, found.places)
    part = part_of(f"{source}/{document}")
    context = tuple(sentences) if part == "held" else ()
    return Pair(claim, evidence, label, source, part, found.present, context, response)


def climate(data: Path, rng: random.Random) -> Iterator[Pair | None]:
    names = {"SUPPORTS": "supported", "REFUTES": "contradicted", "NOT_ENOUGH_INFO": "unsupported"}
    for row in rows_of(data / "climate-fever/climate-fever.jsonl"):
        part = part_of(f"climate/{row['claim_id']}")
        for one in row["evidences"]:
            label = names[one["evidence_label"]]
            sure = one["entropy"] < 0.1
            if sure or (label != "unsupported" and one["entropy"] < 0.6) or rng.random() < 0.3:
                text = f"{one['article']}: {one['evidence']}"
                present = select_evidence(row["claim"], [text]).present
                yield Pair(row["claim"], text, label, "climate-fever", part, present, (text,))


def covid(data: Path, _: random.Random) -> Iterator[Pair | None]:
    for row in rows_of(data / "covidfact/COVIDFACT_dataset.jsonl"):
        label = "supported" if row["label"] == "SUPPORTED" else "contradicted"
        yield against(row["claim"], row["evidence"], label, "covidfact", row["gold_source"])


def chatgpt(data: Path, rng: random.Random) -> Iterator[Pair | None]:
    names = {
        "completely-support": "supported", "partially-support": "not", "refute": "contradicted",
        "irrelevant": "unsupported",
    }  # fmt: skip
    for row in rows_of(data / "factcheck-gpt/subtask3_claim_evidence_stance.jsonl"):
        label = names[row["stance"]]
        if label == "unsupported" and rng.random() < 0.4:
            continue
        found = sentences_of(row["evidence"])
        yield against(row["claim"], found, label, "factcheck-gpt", row["claim"])


def scifact(data: Path, _: random.Random) -> Iterator[Pair | None]:
    csv.field_size_limit(sys.maxsize)
    with (data / "scifact-claims/corpus_train.csv").open(encoding="utf-8") as lines:
        abstracts = {r["doc_id"]: _listed(r["abstract"]) for r in csv.DictReader(lines)}
    with (data / "scifact-claims/claims_train.csv").open(encoding="utf-8") as lines:
        claims = list(csv.DictReader(lines))
    names = {"SUPPORT": "supported", "CONTRADICT": "contradicted", "": "unsupported"}
    for row in claims:
        cited = re.findall(r"\d+", row["cited_doc_ids"])
        document = row["evidence_doc_id"] or (cited[0] if cited else "")
        sentences = abstracts.get(document.removesuffix(".0"), [])
        label = names[row["evidence_label"]]
        if not sentences:
            continue
        yield against(row["claim"], sentences, label, "scifact", row["id"])
        places = [int(n) for n in re.findall(r"\d+", row["evidence_sentences"])]
        if label != "unsupported" and places:
            text = shown(sentences, [p for p in places if p < len(sentences)])
            own = tuple(sentences[p] for p in places if p < len(sentences))
            part = part_of(f"scifact/{row['id']}")
            yield Pair(row["claim"], text, label, "scifact", part, context=own)
            rest = [s for place, s in enumerate(sentences) if place not in places]
            yield against(row["claim"], rest, "unsupported", "scifact", row["id"])


def _listed(text: str) -> list[str]:
    """Read numpy's print of a list of strings."""
    found = re.findall(r"'((?:[^'\\]|\\.|'(?!\s*[\]'\n\"]))*)'|\"((?:[^\"\\]|\\.)*)\"", text)
    return [" ".join((a or b).split()) for a, b in found if (a or b).strip()]


def data2txt(data: Path, _: random.Random) -> Iterator[Pair | None]:
    for row in rows_of(data / "ragtruth-data2txt/data.jsonl"):
        facts = _facts(json.loads(row["context"]))
        for span in split_spans(row["response"]):
            text = " ".join(span.of(row["response"]).split())
            marked = [s for s in row["spans"] if s["start"] < span.end and span.start < s["end"]]
            conflict = any("Conflict" in s["label_type"] for s in marked)
            label = "contradicted" if conflict else "unsupported" if marked else "supported"
            yield against(text, facts, label, "data2txt", row["source_id"], row["id"])


def _facts(about: dict) -> list[str]:
    """Write a business's record as sentences."""
    name = about.get("name", "")
    found = [f"{name}: {about.get('address')}, {about.get('city')}, {about.get('state')}."]
    found.append(
        f"{name} categories: {about.get('categories')}. Stars: {about.get('business_stars')}."
    )
    hours = about.get("hours") or {}
    found.append("Hours: " + ", ".join(f"{d} {h}" for d, h in hours.items()) + ".")
    for key, value in (about.get("attributes") or {}).items():
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key)
        parts = value.items() if isinstance(value, dict) else ()
        listed = ", ".join(f"{k}: {'yes' if v else 'no'}" for k, v in parts)
        plain = "yes" if value is True else "no" if value is False else value
        found.append(f"{words}: {listed or plain}.")
    for review in about.get("review_info") or []:
        found += [f"Review: {s}" for s in sentences_of(review["review_text"])]
    return found


def pubmed(data: Path, rng: random.Random) -> Iterator[Pair | None]:
    rows = json.loads((data / "pubmedqa/ori_pqal.json").read_text("utf-8"))
    for key, row in rows.items():
        text = [s for c in row["CONTEXTS"] for s in sentences_of(c)]
        others = sentences_of(" ".join(rows[rng.choice(sorted(rows))]["CONTEXTS"]))
        for claim in sentences_of(row["LONG_ANSWER"])[:2]:
            yield against(claim, text, "supported", "pubmedqa", key)
            yield against(claim, others, "unsupported", "pubmedqa", key)
            yield changed(rng, claim, text, "pubmedqa", key, [])


def fiqa(data: Path, rng: random.Random) -> Iterator[Pair | None]:
    folder = data / "mtrag-fiqa"
    text_of = {r["id"]: r["text"] for r in rows_of(folder / "corpus.jsonl")}
    rows = [r for r in rows_of(folder / "queries.jsonl") if r["answerability"] == "ANSWERABLE"]
    for row in rows:
        own = [s for g in row["gold_ids"] if g in text_of for s in sentences_of(text_of[g])]
        other = rng.choice(rows)["gold_ids"]
        far = [s for g in other if g in text_of for s in sentences_of(text_of[g])]
        for answer in row["gold_answers"][:1]:
            for claim in sentences_of(answer):
                yield against(claim, own, "supported", "mtrag-fiqa", row["id"][:32])
                if not set(other) & set(row["gold_ids"]):
                    yield against(claim, far, "unsupported", "mtrag-fiqa", row["id"][:32])
                yield changed(rng, claim, own, "mtrag-fiqa", row["id"][:32], [])


def openstax(data: Path, rng: random.Random) -> Iterator[Pair | None]:
    for name in ("openstax-microbiology", "openstax-sociology"):
        body: dict[str, list[str]] = {}
        summary: dict[str, list[str]] = {}
        for row in rows_of(data / name / "corpus.jsonl"):
            last = row["section"].split(">")[-1].strip()
            kept = summary if "Summary" in last else body
            if last != "Learning Objectives":
                kept.setdefault(row["page"], []).extend(sentences_of(row["text"]))
        pages = sorted(body)
        for page, claims in summary.items():
            others = [n for s in body.get(page, []) for n in alter.named(s)]
            for claim in claims:
                if len(claim) < 30 or not body.get(page):
                    continue
                yield against(claim, body[page], "supported", name, page)
                yield against(claim, body[rng.choice(pages)], "unsupported", name, page)
                yield changed(rng, claim, body[page], name, page, others)
                yield changed(rng, claim, body[page], name, page, others)
        for row in rows_of(data / name / "queries.jsonl"):
            page = row["gold_pages"][0]
            if page in body and row.get("options") and row["gold_answers"]:
                yield from options(rng, row, body[page], name, page)


def options(
    rng: random.Random, row: dict, text: list[str], name: str, page: str
) -> Iterator[Pair | None]:
    """Make claims of a question and its options, of which one is right."""
    right = row["gold_answers"][0]
    if re.search(r"\b(?:NOT|EXCEPT|not|following statements)\b", row["text"]) or len(right) < 4:
        return
    wrong = [o for o in row["options"] if o != right and "of the above" not in o]
    if "of the above" in right or not wrong:
        return
    yield against(_stated(row["text"], right), text, "supported", f"{name}-quiz", page)
    for one in rng.sample(wrong, min(2, len(wrong))):
        yield against(_stated(row["text"], one), text, "not", f"{name}-quiz", page)


def _stated(question: str, answer: str) -> str:
    blank = re.search(r"_{3,}", question)
    if blank:
        return question[: blank.start()] + answer + question[blank.end() :]
    asked = re.match(r"(?:Which|What)(?: of the following)? (.+)\?$", question)
    return f"{answer} {asked[1]}." if asked and rng_free(asked[1]) else f"{question} {answer}."


def rng_free(rest: str) -> bool:
    """Say whether what follows `which` is a predicate that an answer can stand before."""
    return bool(re.match(r"(?:is|are|was|were|has|have|can|does|causes|describes|[a-z]+s) ", rest))


def changed(
    rng: random.Random, claim: str, text: list[str], source: str, document: str, others: list[str]
) -> Pair | None:
    """Change a true claim so that its evidence no longer says it."""
    ways = [(kind, change(rng, claim)) for kind, change in alter.CHANGES.items()]
    ways.append(("names", alter.names(rng, claim, others)))
    found = [(kind, said) for kind, said in ways if said and said != claim]
    if not found:
        return None
    kind, said = rng.choice(found)
    label = "not" if kind in ("wider", "names", "roles") else "contradicted"
    return against(said, text, label, f"{source}-changed", document)


def books(data: Path, folder: Path, rng: random.Random) -> Iterator[Pair | None]:
    pages: dict[str, dict[str, list[str]]] = {}
    for name in ("ros2-docs", "docusaurus-docs"):
        read = find_format(folder / name).read(folder / name, IngestOptions())
        pages[name] = {
            page.source: sentences_of(
                "\n\n".join(
                    b.text for s in page.sections for b in s.blocks if b.kind in ("prose", "list")
                )
            )
            for page in read.pages
        }
    for name in ("openstax-microbiology", "openstax-sociology"):
        own = pages.setdefault(name, {})
        for row in rows_of(data / name / "corpus.jsonl"):
            own.setdefault(row["page"], []).extend(sentences_of(row["text"]))
    for name, own in pages.items():
        yield from made(rng, name, own)


def made(rng: random.Random, name: str, pages: dict[str, list[str]]) -> Iterator[Pair | None]:
    """Reword and change sentences of a book, each against a window of its page."""
    everything = [(page, place) for page, found in pages.items() for place in range(len(found))]
    rng.shuffle(everything)
    count = 0
    for page, place in everything:
        claim = pages[page][place]
        if (
            not (40 < len(claim) < 260)
            or not claim[0].isupper()
            or claim[-1] != "."
            or len(set(terms(claim))) < 4
        ):
            continue
        window = pages[page][max(0, place - 6) : place + 7]
        others = [n for s in window for n in alter.named(s)]
        document = f"{page}"
        true = claim if rng.random() < 0.15 else alter.reworded(rng, claim)
        yield against(true, window, "supported", name, document)
        basis = claim if rng.random() < 0.5 else true
        yield changed(rng, basis, window, name, document, others)
        if rng.random() < 0.25:
            rest = [s for s in window if s != claim]
            yield against(true, rest, "unsupported", name, document)
        if rng.random() < 0.2:
            # Half of it is there: what a model adds to a true sentence.
            tail = rng.choice(pages[rng.choice(sorted(pages))] or [""])
            tail = re.sub(r"^(?:The|A|An) ", lambda m: m[0].lower(), tail)
            if 20 < len(tail) < 140:
                said = f"{true.rstrip('.')}, and {tail}"
                yield against(said, window, "unsupported", f"{name}-added", document)
        count += 1
        if count == PER_BOOK:
            return


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--books", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options_ = parser.parse_args()
    data = options_.data
    makers = [
        lambda rng, make=make: make(data, rng)
        for make in (climate, covid, chatgpt, scifact, data2txt, pubmed, fiqa, openstax)
    ]
    makers.append(lambda rng: books(data, options_.books, rng))
    counts: dict[str, dict[str, int]] = {}
    with options_.out.open("w", encoding="utf-8") as out:
        for make in makers:
            for pair in make(random.Random(7)):
                if pair is None or not pair.evidence:
                    continue
                own = counts.setdefault(pair.source, {})
                own[pair.label] = own.get(pair.label, 0) + 1
                out.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
    for source, own in counts.items():
        print(source, own)


if __name__ == "__main__":
    main()
