"""Chooses the sentences that bear on a claim, as the product does before it asks the judge."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from citewell.text.terms import terms

LEAST, MOST = 4, 6
TOKENS = 200
FAR = 0.02
"""A sentence of another passage must bear so much more than one of the passage before it."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as evidence: its heading path and its sentences."""

    heading: str
    sentences: tuple[str, ...]


Place = tuple[int, int]
"""A sentence by the numbers of its passage and its own."""


def select(
    claim: str,
    passages: Sequence[Passage],
    idf: Callable[[str], float],
    count: Callable[[str], int],
    keep: Sequence[Place] = (),
) -> list[Place]:
    """Return the places of the sentences that together cover most of the claim, in book order.

    Greedy: the next sentence is the one with most weight of what none before it covered; when all
    is covered, the one with most weight of the claim at all. `keep` is taken in any case.
    """
    wanted = {term: idf(term) for term in set(terms(claim))}
    said = {
        (number, place): set(terms(f"{passage.heading.split(' › ')[-1]} {sentence}"))
        for number, passage in enumerate(passages)
        for place, sentence in enumerate(passage.sentences)
    }
    chosen = list(keep)
    left = set(wanted) - {term for place in keep for term in said[place]}
    room = TOKENS - sum(count(passages[n].sentences[p]) for n, p in keep)
    open_ = [place for place in said if place not in keep]
    while open_ and len(chosen) < MOST:
        best = max(open_, key=lambda place: _bearing(said[place], left, wanted, place))
        new = sum(wanted[term] for term in said[best] & left)
        if not said[best] & set(wanted) or (len(chosen) >= LEAST and not new):
            break
        open_.remove(best)
        size = count(passages[best[0]].sentences[best[1]])
        if size <= room or not chosen:
            chosen.append(best)
            left -= said[best]
            room -= size
    return sorted(chosen)


def _bearing(
    said: set[str], left: set[str], wanted: dict[str, float], place: Place
) -> tuple[float, float, int]:
    """Return how much a sentence adds, then how much it says at all, then how early it stands."""
    new = sum(wanted[term] for term in said & left)
    return new - FAR * place[0], sum(wanted[t] for t in said if t in wanted), -place[0]


def shown(passages: Sequence[Passage], places: Sequence[Place]) -> tuple[str, tuple[str, ...]]:
    """Return the heading and the sentences as the judge reads them.

    In front stands the heading path of the passage with most of the sentences. Where another passage
    begins, or that one again, its sentence carries the last part of its heading.
    """
    if not places:
        return "", ()
    numbers = [number for number, _ in places]
    main = max(dict.fromkeys(numbers), key=numbers.count)
    texts = []
    before = main
    for number, place in places:
        heading = passages[number].heading.split(" › ")[-1]
        text = passages[number].sentences[place]
        texts.append(f"{heading}: {text}" if number != before and heading else text)
        before = number
    return passages[main].heading, tuple(texts)
