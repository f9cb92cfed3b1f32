"""The written set: passages of open books with questions and claims, each with its sentences."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from training.evidence import Passage, select, shown
from training.negatives import Book, twins
from training.rows import Entailment, Reading, plain, read_lines
from training.search import Words
from training.tokens import count_tokens

NEAR = 4
"""Passages that are searched for evidence beside the claim's own, as many as the product finds."""
OTHERS = 3


@dataclass(frozen=True, slots=True)
class Written:
    """A passage as it was written for, with its sentences in plain text."""

    book: str
    heading: str
    part: str
    sentences: tuple[str, ...]
    row: dict[str, Any]


@lru_cache(maxsize=2)
def read_written(data: Path) -> tuple[Written, ...]:
    """Return all passages; sentences that are empty in plain text keep their place as “…”."""
    return tuple(
        Written(
            row["book"],
            row["heading"],
            row["part"],
            tuple(plain(s["text"]) or "…" for s in row["sentences"]),
            row,
        )
        for row in read_lines(data / "written/passages.jsonl.gz")
    )


def books_of(passages: Sequence[Written], cache: Path | None) -> dict[str, Book]:
    """Return the passages as books that negatives are found in."""
    by_book: dict[str, list[Written]] = {}
    for one in passages:
        by_book.setdefault(one.book, []).append(one)
    return {
        name: Book([(one.heading, one.sentences) for one in own], cache)
        for name, own in by_book.items()
    }


def answered(passages: Sequence[Written]) -> Iterator[tuple[Written, Reading]]:
    """Yield the answered questions on their own passages."""
    for one in passages:
        for asked in one.row["answered"]:
            marked = tuple(asked["sentences"])
            yield (
                one,
                Reading(
                    asked["question"], one.heading, one.sentences, True, marked, "written/answered"
                ),
            )


def unanswered(passages: Sequence[Written]) -> Iterator[tuple[Written, Reading]]:
    """Yield the questions that were written so that their passage does not answer them."""
    for one in passages:
        for question in one.row["unanswered"]:
            yield (
                one,
                Reading(question, one.heading, one.sentences, False, (), "written/unanswered"),
            )


def of_part(data: Path, part: str) -> list[Written]:
    """Return the passages of a part."""
    return [one for one in read_written(data) if one.part == part]


def held_sentences(data: Path) -> frozenset[str]:
    """Return the longer sentences of the dev part, which other copies of the books have, too."""
    return frozenset(s for one in of_part(data, "dev") for s in one.sentences if len(s) > 40)


def written_answered(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
    """Yield the answered questions of the training part."""
    yield from (row for _, row in answered(of_part(data, "train")))


def written_unanswered(data: Path, _: random.Random, __: Path) -> Iterator[Reading]:
    """Yield the unanswered questions of the training part."""
    yield from (row for _, row in unanswered(of_part(data, "train")))


def written_others(data: Path, _: random.Random, cache: Path) -> Iterator[Reading]:
    """Yield answered questions on the nearest other passages of their book."""
    passages = of_part(data, "train")
    books = books_of(passages, cache)
    for one, row in answered(passages):
        yield from books[one.book].others(row, OTHERS)


def written_twins(data: Path, rng: random.Random, cache: Path) -> Iterator[Reading]:
    """Yield answered questions with one thing exchanged, on their own passages; two of each."""
    passages = of_part(data, "train")
    books = books_of(passages, None)
    for name, book in books.items():
        own = [row for one, row in answered(passages) if one.book == name]
        names = tuple(book.names)
        seen = set()
        for _ in range(2):
            for row in twins(own, lambda _, names=names: names, rng):
                if row.question not in seen:
                    seen.add(row.question)
                    yield row


class Evidence:
    """Finds what the product would show the judge for a claim about a written passage."""

    def __init__(self, passages: Sequence[Written]) -> None:
        """Index the passages of every book."""
        self._own: dict[str, list[Passage]] = {}
        for one in passages:
            self._own.setdefault(one.book, []).append(Passage(one.heading, one.sentences))
        self._words = {
            book: Words([f"{p.heading}\n{' '.join(p.sentences)}" for p in own])
            for book, own in self._own.items()
        }

    def near(self, one: Written, claim: str) -> tuple[list[Passage], int]:
        """Return the claim's own passage among its neighbours, in book order, and its number."""
        own, words = self._own[one.book], self._words[one.book]
        place = own.index(Passage(one.heading, one.sentences))
        found = sorted([place, *words.nearest(claim, NEAR, but=[place])])
        return [own[i] for i in found], found.index(place)

    def places(
        self, one: Written, claim: str, keep: Sequence[int] = ()
    ) -> tuple[list[Passage], list[tuple[int, int]], int]:
        """Return the passages, the places of the evidence in them and the own passage's number."""
        passages, number = self.near(one, claim)
        # The own passage comes first: a retriever finds it first, and distance counts from there.
        order = [number, *(i for i in range(len(passages)) if i != number)]
        places = select(
            claim,
            [passages[i] for i in order],
            self._words[one.book].idf,
            count_tokens,
            [(0, place) for place in keep],
        )
        return passages, sorted((order[n], place) for n, place in places), number


def claims(
    passages: Sequence[Written], evidence: Evidence, *, keep: bool
) -> Iterator[tuple[Written, Entailment]]:
    """Yield written claims with evidence; `keep` puts the marked sentences among it."""
    for one in passages:
        for side in ("supported", "unsupported"):
            for row in one.row[side]:
                claim = row["claim"]
                found, places, _ = evidence.places(one, claim, row["sentences"] if keep else ())
                heading, texts = shown(found, places)
                label = "supported" if side == "supported" else "not"
                kind = row.get("kind", "supported")
                yield one, Entailment(claim, heading, texts, label, f"written-claims/{kind}")


def written_claims(data: Path, _: random.Random, __: Path) -> Iterator[Entailment]:
    """Yield the claims of the training part."""
    passages = of_part(data, "train")
    yield from (row for _, row in claims(passages, Evidence(passages), keep=True))


CONVERTERS = {
    "written-answered": written_answered, "written-unanswered": written_unanswered,
    "written-others": written_others, "written-twins": written_twins,
    "written-claims": written_claims,
}  # fmt: skip
