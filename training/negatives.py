"""On-topic negatives for the reader: the same style of question, another passage."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from citewell.text.terms import terms
from training.question_twins import names_in, twin
from training.rows import Reading
from training.search import Shelf, Words

ALIKE = 0.6
"""A passage that has so much of what the answer says may well answer, too."""
DEPTH = 8
COMMON = 0.1


def answer_shared(words: Words, answer: str, passage: str) -> float:
    """Return the share of the answer's weight of terms that a passage has."""
    wanted = {term: words.idf(term) for term in set(terms(answer))}
    have = set(terms(passage))
    whole = sum(wanted.values())
    return sum(weight for term, weight in wanted.items() if term in have) / whole if whole else 1.0


class Book:
    """The passages of one book, by which negatives are found."""

    def __init__(self, readings: Sequence[tuple[str, tuple[str, ...]]], cache: Path | None) -> None:
        """Take (heading, sentences) of every passage."""
        self.passages = list(readings)
        self.texts = [f"{heading}\n{' '.join(s)}" for heading, s in self.passages]
        self.place = {passage: number for number, passage in enumerate(self.passages)}
        self.shelf = Shelf(self.texts, cache)
        counted = Counter(name for text in self.texts for name in set(names_in(text)))
        # What every other passage names is the subject of the book, and nothing to tell them by.
        self.names = sorted(n for n, times in counted.items() if times < COMMON * len(self.texts))

    def others(self, row: Reading, count: int) -> Iterator[Reading]:
        """Yield an answered question on the nearest passages that do not answer it."""
        own = self.place[row.heading, row.sentences]
        answer = " ".join(row.sentences[i] for i in row.marked or ())
        for place in self.shelf.nearest(row.question, DEPTH + 1, but=[own]):
            heading, sentences = self.passages[place]
            # A long section is several passages: what one says, the next may say again.
            if count and heading != row.heading and not self.answers_too(answer, place):
                count -= 1
                yield Reading(
                    row.question, heading, sentences, False, (), f"{row.source}/other-passage"
                )

    def answers_too(self, answer: str, place: int) -> bool:
        """Return whether another passage has almost all that the answer says."""
        return answer_shared(self.shelf.words, answer, self.texts[place]) > ALIKE


def twins(
    rows: Sequence[Reading], names: Callable[[Reading], Sequence[str]], rng: random.Random
) -> Iterator[Reading]:
    """Yield answered questions with one thing exchanged, on their own passage."""
    for row in rows:
        if not row.answers:
            continue
        made = twin(rng, row.question, f"{row.heading}\n{' '.join(row.sentences)}", names(row))
        if made:
            kind, said = made
            yield replace(
                row, question=said, answers=False, marked=(), source=f"{row.source}/twin-{kind}"
            )


def nearest(rows: Sequence[Reading], words_of: Callable[[Reading], str]) -> Iterator[Reading]:
    """Yield each answered question on the nearest passage of another document of its set.

    `words_of` gives what the answer says; a passage that has it is left out.
    """
    passages = sorted({(row.heading, row.sentences) for row in rows})
    texts = [f"{heading}\n{' '.join(sentences)}" for heading, sentences in passages]
    index = Words(texts)
    place = {passage: number for number, passage in enumerate(passages)}
    for row in rows:
        if not row.answers:
            continue
        own = place[row.heading, row.sentences]
        for found in index.nearest(row.question, 6, but=[own]):
            heading, sentences = passages[found]
            same = heading == row.heading and heading
            answer = words_of(row)
            if not same and answer_shared(index, answer, texts[found]) <= ALIKE:
                yield Reading(
                    row.question, heading, sentences, False, (), f"{row.source}/other-passage"
                )
                break
