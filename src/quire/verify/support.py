"""Which sentences of the evidence bear on a claim: those that together hold most of its words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from quire.prose.plain import inline_plain
from quire.prose.terms import terms

MAX_SENTENCES = 3
MAX_CHARACTERS = 520
"""Of the chosen sentences together: what the judge reads at once."""
_ENOUGH = 0.08
"""A further sentence must add this share of the claim's weight."""


@dataclass(frozen=True, slots=True)
class Bearing:
    """The sentences that bear on a claim."""

    places: tuple[int, ...]
    """Where they stand among all sentences, in order."""
    present: float
    """Share of the claim's words that stand in any of the sentences, chosen or not."""


def bearing(claim: str, sentences: Sequence[str]) -> Bearing:
    """Choose the sentences that together cover the claim best.

    Each next one is chosen for what the others leave uncovered, so that a claim joined from two
    places is judged against both.
    """
    held = [frozenset(terms(inline_plain(sentence))) for sentence in sentences]
    known = Counter(term for own in held for term in own)
    left = {t: log(1 + len(sentences) / (0.5 + known[t])) for t in set(terms(inline_plain(claim)))}
    total = sum(left.values())
    present = sum(1 for term in left if known[term]) / len(left) if left else 1.0
    chosen: list[int] = []
    room = MAX_CHARACTERS
    while left and len(chosen) < MAX_SENTENCES:
        gains = {
            place: sum(weight for term, weight in left.items() if term in own)
            / (1 + len(own) / 100)
            for place, own in enumerate(held)
            if place not in chosen and (len(sentences[place]) <= room or not chosen)
        }
        best = max(gains, key=lambda place: (gains[place], -place), default=None)
        if best is None or gains[best] < (_ENOUGH if chosen else 0.01) * total:
            break
        chosen.append(best)
        room -= len(sentences[best])
        left = {term: weight for term, weight in left.items() if term not in held[best]}
    return Bearing(tuple(sorted(chosen)), present)


def shown(sentences: Sequence[str], chosen: Sequence[int]) -> str:
    """Write the chosen sentences as the judge reads them."""
    text = " ".join(" ".join(inline_plain(sentences[place]).split()) for place in chosen)
    return text[: MAX_CHARACTERS + 80]
