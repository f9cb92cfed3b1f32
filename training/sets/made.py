"""Claims made by rule from written claims, from SQuAD's answer sentences and from books."""

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from training.evidence import Passage, shown
from training.lies import Context, lies
from training.question_twins import kind_of, names_in
from training.rows import Entailment, cut, read_lines, sentence_at, sentences_of
from training.sets.written import Evidence, Written, held_sentences, of_part
from training.truths import led_in, lowered, truths
from training.twins import Source, usable

OPENSTAX = ("openstax-microbiology", "openstax-sociology")
SKIPPED = re.compile(r"Learning Objectives|Preface|About|Introduction$")


def passages_of_corpus(path: Path, most: int | None = None) -> list[Passage]:
    """Return the passages of a corpus of JSON lines."""
    found = []
    for row in read_lines(path):
        section = row.get("section") or row["title"]
        if SKIPPED.search(section):
            continue
        last = section.split(">")[-1].strip()
        text = row["text"].strip().removeprefix(last)
        sentences = tuple(s for s in sentences_of(text) if len(s) < 600)
        if len(sentences) > 1:
            found.append(Passage(section.replace(" > ", " › "), sentences))
    if most and len(found) > most:
        found = random.Random(0).sample(found, most)
    return found


def source_of(name: str, passages: Sequence[Passage]) -> Source:
    """Return passages as a source of twins, with the names that stand in them."""
    names = sorted({n for p in passages for s in p.sentences for n in names_in(s)})
    return Source(name, passages, names)


def book_twins(data: Path, rng: random.Random, _: Path) -> Iterator[Entailment]:
    """Yield twins of sentences of the books that may be learnt from."""
    held = held_sentences(data)
    by_book: dict[str, list[Passage]] = {}
    for one in of_part(data, "train"):
        by_book.setdefault(one.book, []).append(Passage(one.heading, one.sentences))
    for name in OPENSTAX:
        found = passages_of_corpus(data / name / "corpus.jsonl")
        by_book[name] = [one for one in found if not held & set(one.sentences)]
    for passages in by_book.values():
        yield from source_of("twins", passages).twins(rng)


def claim_twins(data: Path, rng: random.Random, _: Path) -> Iterator[Entailment]:
    """Yield twins of written claims that are supported, with evidence as at run time."""
    passages = of_part(data, "train")
    evidence = Evidence(passages)
    names: dict[str, set[str]] = {}
    for one in passages:
        names.setdefault(one.book, set()).update(n for s in one.sentences for n in names_in(s))
    for one in passages:
        # No neighbours: in other words, two subjects may be one.
        around = Context(" ".join(one.sentences), (), sorted(names[one.book]))
        for row in one.row["supported"]:
            yield from _of_claim(rng, one, row, around, evidence)
        yield from _joined(rng, one, around, evidence)


def _of_claim(
    rng: random.Random, one: Written, row: dict, around: Context, evidence: Evidence
) -> Iterator[Entailment]:
    made = [
        (f"lie-{kind}", said, label) for kind, said, label in lies(rng, row["claim"], around, 1)
    ]
    made += [(f"true-{kind}", said, "supported") for kind, said in truths(rng, row["claim"], 1)]
    for kind, said, label in made:
        claim = led_in(rng, said)
        passages, places, _ = evidence.places(one, claim, row["sentences"])
        yield Entailment(claim, *shown(passages, places), label, f"claim-twins/{kind}")


def _joined(
    rng: random.Random, one: Written, around: Context, evidence: Evidence
) -> Iterator[Entailment]:
    """Yield two supported claims as one, and one of them with a lie."""
    if len(one.row["supported"]) < 2:
        return
    first, second = rng.sample(one.row["supported"], 2)
    keep = sorted({*first["sentences"], *second["sentences"]})
    if len(keep) > 5:
        return
    begun = first["claim"].rstrip(".")
    found = [(second["claim"], "supported", "true-joined")]
    found += [
        (said, label, "lie-joined") for _, said, label in lies(rng, second["claim"], around, 1)
    ]
    for said, label, kind in found:
        claim = f"{begun}; {lowered(said)}"
        passages, places, _ = evidence.places(one, claim, keep)
        yield Entailment(claim, *shown(passages, places), label, f"claim-twins/{kind}")


def squad_claims(data: Path, rng: random.Random, _: Path) -> Iterator[Entailment]:
    """Yield SQuAD's answer sentences, and the same with another answer of the passage put in."""
    for row in read_lines(data / "reading/squad1.jsonl.gz"):
        pieces = cut(row["passage"])
        passage = Passage(row["title"].replace("_", " "), tuple(s for _, s in pieces))
        source = Source("squad-claims", [passage], ())
        answers = [(a["answer"], sentence_at(pieces, a["start"])) for a in row["questions"]]
        rng.shuffle(answers)
        for answer, place in answers[:2]:
            sentence = passage.sentences[place]
            others = [
                other
                for other, _ in answers
                if like(other, answer) and other not in sentence and answer not in other
            ]
            if not others or sentence.count(answer) != 1 or not usable(sentence):
                continue
            # “A and B”: another of a list may be meant as well.
            if re.search(
                rf"(?:,|\band|\bor) {re.escape(answer)}|{re.escape(answer)}(?:,| and| or)\b",
                sentence,
            ):
                continue
            said = sentence.replace(answer, rng.choice(others))
            yield source.row(said, passage, [place], "not", "lie-answer")
            kind, true = truths(rng, sentence, most=1)[0]
            yield source.row(true, passage, [place], "supported", f"true-{kind}")


def like(one: str, other: str) -> bool:
    """Return whether two answers are of one kind, so that one can stand in the other's place."""
    numbers = [bool(re.fullmatch(r"[\d.,]+", text)) for text in (one, other)]
    if any(numbers):
        return all(numbers) and len(one) == len(other) and one != other
    capitals = all(text[:1].isupper() and len(text.split()) <= 3 for text in (one, other))
    return capitals and kind_of(one) == kind_of(other) and one.lower() != other.lower()


CONVERTERS = {"book-twins": book_twins, "claim-twins": claim_twins, "squad-claims": squad_claims}
