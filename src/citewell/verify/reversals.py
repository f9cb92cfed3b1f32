"""Reversals of meaning with the book's own words: swapped roles, antonyms, scope, denial.

Unlike the strict comparison, this allows paraphrases with another word order.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from citewell.text.plain_text import strip_inline_markup
from citewell.text.terms import STOPWORDS, stem, terms, words
from citewell.verify.agreement import find_disagreements

ReversalKind = Literal["swapped", "exchanged", "opposed", "scope", "denied"]

_BETWEEN = frozenset(
    ("from", "to", "for", "than", "before", "after", "by", "with", "into", "without", "through",
     "over", "under")
)  # fmt: skip
"""Words that separate two parts with different roles."""
_CLAUSE = re.compile(
    r"[;:()—–]+(?=\s|$)|[.!?]\s|,\s|\s(?:and|but|while|whereas|or|then|because|since)\s", re.I
)
_PASSIVE = re.compile(r"\b\w+(?:ed|en|own|ught|ade|ft|pt|id|un) by\b", re.I)
_FRONTED = re.compile(
    r"\s*(?:(?:in|on|at|for|during|after|before|when|if|while|with|by|from|under|as|since|to"
    r"|within|between|among)\b|(?:every|each) \w+,? (?:the|a|an|it|they)\b)",
    re.I,
)
"""Phrases that can be fronted without a change of meaning."""
_DENIAL = re.compile(
    r"\b(?:no|not|never|none|nothing|nobody|neither|nor|cannot|without|unable|avoids?|lacks?"
    r"|fails? to|free of|instead of|prevents?|unlike|rather than)\b|n['’]t\b",
    re.I,
)
_SCOPES = (
    frozenset(["all", "every", "each", "any", "always"]),
    frozenset(("most", "usually", "mostly")),
    frozenset(["some", "many", "several", "few", "sometimes", "often"]),
    frozenset(("no", "none", "never")),
)
_PAIRS = """
    large larger big bigger great greater|small smaller little; high higher|low lower; fast
    faster quick quicker|slow slower; more|less fewer; early earlier|late later; increase
    raise grow rise|decrease reduce lower shrink fall drop; above over|below under beneath;
    before|after; first|last; maximum|minimum; forward forwards|backward backwards; inside
    internal inner|outside external outer; open|close shut; start begin|stop end;
    enable|disable; accept allow|reject forbid; true|false; clockwise|counterclockwise
    anticlockwise counter-clockwise; horizontal|vertical; input|output; publish|subscribe;
    push|pull; hot warm|cold cool; near close|far; strong stronger strengthen|weak weaker
    weaken; good better best|bad worse worst; cheap cheaper|expensive; long longer|short
    shorter; heavy heavier|light lighter; static|dynamic; succeed|fail; with|against; wide
    wider|narrow narrower; hard difficult|easy; left|right; up upward upwards|down downward
    downwards; most|least; deep deeper|shallow; attract|repel; absorb|emit; buy|sell;
    win|lose; gain|loss; parent|child; client|server; local|global; rare|common; thick
    thicker|thin thinner
"""
_OPPOSITES = tuple(
    tuple(frozenset(map(stem, side.split())) for side in pair.split("|"))
    for pair in _PAIRS.split(";")
)
_SIDE = {
    word: (n, side) for n, pair in enumerate(_OPPOSITES) for side in (0, 1) for word in pair[side]
}
_DENYING = ("non-", "non", "un", "in", "im", "a", "dis", "ir")
_LEAST = 5
"""Minimum letters of a word after a negative prefix."""


def is_reversal(claim: str, sentences: Sequence[str], read: Sequence[int]) -> bool:
    """Return whether a claim reverses the sentence that shares most of its words."""
    wanted = frozenset(terms(strip_inline_markup(claim)))
    best = max(read, key=lambda place: len(wanted.intersection(terms(sentences[place]))))
    sentence = sentences[best]
    return bool(find_reversals(claim, sentence)) or any(
        one.kind in ("number", "unit") for one in find_disagreements(claim, sentence)
    )


def find_reversals(claim: str, sentence: str) -> set[ReversalKind]:
    """Return the ways in which a claim reverses the meaning of a sentence."""
    ours, theirs = strip_inline_markup(claim), strip_inline_markup(sentence)
    parts = _parts(theirs)
    own = set(terms(ours))
    near = max(parts, key=lambda part: len(own & set(terms(part))), default=theirs)
    found: set[ReversalKind] = set()
    if _swapped(ours, theirs, parts):
        found.add("swapped")
    if _exchanged(_parts(ours), parts):
        found.add("exchanged")
    if _opposed(ours, theirs):
        found.add("opposed")
    if _rescoped(ours, theirs):
        found.add("scope")
    if len(_DENIAL.findall(ours)) % 2 != len(_DENIAL.findall(near)) % 2:
        found.add("denied")
    return found


def _parts(text: str) -> list[str]:
    return [part for part in _CLAUSE.split(text) if part.strip()]


def _tokens(text: str) -> list[str]:
    """Return the stems in order, with the separating words."""
    kept = []
    for word in words(text):
        lower = word.lower()
        if lower in _BETWEEN:
            kept.append(f"~{lower}")
        elif lower not in STOPWORDS:
            kept.extend(terms(word)[:1])
    return kept


def _swapped(ours: str, theirs: str, parts: Sequence[str]) -> bool:
    """Return whether two parts around a third are swapped: “A sends to B”, “B sends to A”.

    In the passive they have to.
    """
    if bool(_PASSIVE.search(ours)) != bool(_PASSIVE.search(theirs)):
        return False
    mine, whole = _tokens(ours), _tokens(theirs)
    own = {token for token in mine if token[0] != "~"}
    most = len(own & set(whole))
    full = [part for part in map(_tokens, parts) if len(own & set(part)) == most] or [whole]
    fronted = bool(_FRONTED.match(ours)), bool(_FRONTED.match(theirs))
    return most > 1 and all(
        _turned(mine, part, *fronted) or _swaps_ends(mine, part) for part in full
    )


def _turned(mine: Sequence[str], said: Sequence[str], ours: bool, theirs: bool) -> bool:
    """Return whether three runs of the evidence are in reverse order in the claim.

    `ours` and `theirs` say whether the first run may have been put there from elsewhere.
    """
    runs: list[list[tuple[str, int]]] = []
    for token, rank in _ranked(mine, said):
        if runs and rank == runs[-1][-1][1] + 1:
            runs[-1].append((token, rank))
        else:
            runs.append([(token, rank)])
    return any(
        second[-1][1] + 1 == first[0][1] and third[-1][1] + 1 == second[0][1]
        for first, second, third in zip(runs, runs[1:], runs[2:], strict=False)
        if all(any(token[0] != "~" for token, _ in run) for run in (first, third))
        and not (ours and first is runs[0])
        and not (theirs and third[0][1] == 0)
    )


def _ranked(mine: Sequence[str], said: Sequence[str]) -> list[tuple[str, int]]:
    """Return the shared tokens in the order of the claim, with their rank in the evidence."""
    places: dict[str, list[int]] = {}
    for place, token in enumerate(said):
        places.setdefault(token, []).append(place)
    shared = [(token, places[token].pop(0)) for token in mine if places.get(token)]
    rank = {place: n for n, place in enumerate(sorted(place for _, place in shared))}
    return [(token, rank[place]) for token, place in shared]


def _swaps_ends(mine: Sequence[str], said: Sequence[str]) -> bool:
    """Return whether the parts before and after “to” are swapped."""
    for token in (token for token in set(mine) & set(said) if token[0] == "~"):
        if mine.count(token) > 1 or said.count(token) > 1:
            continue
        (before, after), (first, second) = (_split_around(side, token) for side in (mine, said))
        ahead = [word for word in before if word in said][-1:]
        behind = [word for word in after if word in said][:1]
        if (
            ahead and behind
            and ahead[0] in second and ahead[0] not in first
            and behind[0] in first and behind[0] not in second
        ):  # fmt: skip
            return True
    return False


def _split_around(tokens: Sequence[str], middle: str) -> tuple[list[str], list[str]]:
    at = tokens.index(middle)
    plain = [token[0] != "~" for token in tokens]
    return (
        [t for t, keep in zip(tokens[:at], plain[:at], strict=True) if keep],
        [t for t, keep in zip(tokens[at + 1 :], plain[at + 1 :], strict=True) if keep],
    )


def _exchanged(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether two words are swapped between clauses: “X has A, and Y has B”."""
    mine = [frozenset(terms(part)) for part in ours]
    said = [frozenset(terms(part)) for part in theirs]
    if len(mine) < 2 or len(said) < 2:  # noqa: PLR2004 - two clauses
        return False
    homes = {word: (_find_only(word, mine), _find_only(word, said)) for own in mine for word in own}
    placed = [(w, a, b) for w, (a, b) in homes.items() if a is not None and b is not None]
    return any(
        _shared(mine[i], said[q], one, two) + _shared(mine[j], said[p], one, two)
        > _shared(mine[i], said[p], one, two) + _shared(mine[j], said[q], one, two)
        for n, (one, i, p) in enumerate(placed)
        for two, j, q in placed[n + 1 :]
        if i != j and p != q
    )


def _find_only(word: str, clauses: Sequence[frozenset[str]]) -> int | None:
    found = [n for n, clause in enumerate(clauses) if word in clause]
    return found[0] if len(found) == 1 else None


def _shared(own: frozenset[str], other: frozenset[str], *without: str) -> int:
    return len((own & other).difference(without))


def _opposed(ours: str, theirs: str) -> bool:
    """Return whether a word is replaced by its opposite."""
    mine, other = _sides(ours), _sides(theirs)
    for pair in mine.keys() & other.keys():
        if sum(mine[pair]) == sum(other[pair]) and mine[pair] != other[pair]:
            return True
    own = {word.lower() for word in words(ours)}
    said = {word.lower() for word in words(theirs)}
    return any(_denies(w, said - own) for w in own - said) or any(
        _denies(w, own - said) for w in said - own
    )


def _denies(word: str, others: set[str]) -> bool:
    return any(
        word == syllable + other
        for other in others
        if len(other) >= _LEAST
        for syllable in _DENYING
    )


def _sides(text: str) -> dict[int, list[int]]:
    counts: dict[int, list[int]] = {}
    for word in words(text):
        pair, side = _SIDE.get(stem(word.lower()), (None, 0))
        if pair is not None:
            counts.setdefault(pair, [0, 0])[side] += 1
    return counts


def _rescoped(ours: str, theirs: str) -> bool:
    """Return whether “all” replaces “some”, or vice versa."""
    other: dict[str, set[int]] = {}
    for about, scope in _scopes(theirs):
        other.setdefault(about, set()).add(scope)
    return any(about in other and scope not in other[about] for about, scope in _scopes(ours))


def _scopes(text: str) -> Iterator[tuple[str, int]]:
    spoken = words(text)
    for place, word in enumerate(spoken):
        for number, scope in enumerate(_SCOPES):
            if word.lower() in scope:
                after = terms(" ".join(spoken[place + 1 : place + 4]))
                if after:
                    yield after[0], number
