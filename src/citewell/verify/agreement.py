"""Strict comparison of a claim with its evidence, beyond the overlap of terms.

A small change can reverse the meaning of a sentence. Therefore numbers with units, names, code,
links, negations, quantifiers, directions, conditions and roles must agree exactly.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from citewell.text.memo import memoize_text
from citewell.text.plain_text import CODE, strip_inline_markup
from citewell.text.terms import STOPWORDS, terms, words
from citewell.verify.quantities import ORDINAL, Quantity, quantities

DifferenceKind = Literal[
    "number", "unit", "bound", "name", "link", "negation", "quantifier", "direction", "condition",
    "arrangement",
]  # fmt: skip
_CONFLICTS = ("number", "unit", "negation", "direction")

_NEGATION = re.compile(
    r"\b(?:no|not|never|none|neither|nor|cannot|without|unable|fails? to|lacks?|instead of)\b"
    r"|n['’]t\b",
    re.I,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|whether|except|only|false|wrong|myth|assum\w+|suppos\w+)\b", re.I
)
"""Conditions: a sentence with one differs from the sentence without."""
_STRONG = re.compile(
    r"\b(?:all|every|each|always|only|must|any|entire(?:ly)?|complete(?:ly)?|exactly|most|least"
    r"|half|twice|once|both|either|off)\b",
    re.I,
)
"""A claim may contain these only if the book does."""
_WEAK = re.compile(
    r"\b(?:some|many|few|several|may|might|could|can|sometimes|often|usually|typically|generally"
    r"|rarely|seldom|hardly|almost|nearly|partly|partially|probably|possibly|perhaps|likely|should"
    r"|most|mostly|about|approximately|roughly|off)\b",
    re.I,
)
"""A claim may not drop these from what the book says."""
_DEGREE = re.compile(
    r"\b(?:more|less|fewer|greater|smaller|higher|lower|larger|faster|slower|than|maximum|minimum)\b",
    re.I,
)
_PLACE = re.compile(r"\b(?:before|after|above|below|first|last|up|down)\b", re.I)
_OPPOSITES = tuple(
    tuple(frozenset(side.split()) for side in pair.split("|"))
    for pair in (
        "more greater higher larger bigger|less fewer lower smaller",
        "faster quicker sooner earlier|slower later",
        "before|after",
        "increase increases increased increasing raise raises raised grow grows rise rises"
        "|decrease decreases decreased decreasing reduce reduces reduced lower lowers lowered"
        " shrink shrinks fall falls",
        "above over|below under beneath",
        "first|last",
        "maximum max most upper|minimum min least lower",
        "on|off",
        "up upward upwards|down downward downwards",
        "left|right",
        "front forward forwards|rear back backward backwards",
        "inside internal inner|outside external outer",
        "open opens opened|close closes closed shut shuts",
        "start starts begin begins|stop stops end ends",
        "enable enables enabled|disable disables disabled",
        "accept accepts accepted allow allows allowed|reject rejects rejected forbid forbids",
        "true|false",
        "clockwise|counterclockwise anticlockwise",
        "horizontal horizontally|vertical vertically",
        "input inputs|output outputs",
        "publish publishes|subscribe subscribes",
        "push pushes|pull pulls",
        "hot hotter warm warmer|cold colder cool cooler",
        "near nearer|far farther further",
        "strong stronger|weak weaker",
        "better best|worse worst",
        "cheap cheaper|expensive",
        "long longer|short shorter",
        "heavy heavier|light lighter",
        "static|dynamic",
        "always|never",
        "succeed succeeds|fail fails",
        "with|without",
    )
)
_BOUND = re.compile(
    r"\b(?:(?P<least>at least|more than|over|above|no less than|no fewer than|a minimum of)"
    r"|(?P<most>at most|less than|fewer than|under|below|up to|no more than|a maximum of|within))"
    r"[\s\u00a0]+(?:the\s+|a\s+)?\Z",
    re.I,
)
_MATH = re.compile(r"(?<!\\)\$(?=\S)([^$\n]+?)(?<=\S)\$(?!\d)")
_LINK = re.compile(
    r"\]\(((?:[^)\]]|\](?!\())*+)\)|<((?:https?|mailto):[^<>\s]+)>|(https?://[^\s)>\]]+)"
)
_NAME = re.compile(
    r"(?<![\w'’])(?:[A-Za-z]*[a-z\d][A-Z]\w*|[A-Z]{2,}\w*|[A-Za-z]+\d\w*|\w+(?:[_/]\w+)+"
    r"|[B-HJ-Zb-z](?![\w'’.]))"
)
_PROPER = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+\b")
_STRICT = re.compile(r"\b(?:than|from|to|before|after|above|below|under|over)\b", re.I)
_PERSON = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]yself|[Yy]ou(?: are|['’]re) (?:an?|the))\b")
"""First person, or statements about the reader, which books rarely contain."""
_CLAUSE = re.compile(r"[;:,()!?—–]+(?=\s|$)|\.\s")
CLAUSE_BREAK = "|"
_BREAKS = re.compile(r"\||[.;:,()!?—–]+(?=\s|$)|\s[-–—]\s|\b(?:and|but|or|while|whereas)\b", re.I)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A difference between a claim and its evidence."""

    kind: DifferenceKind
    claimed: str
    """The text in the claim; empty for an omission."""
    found: str
    """The text in the evidence; empty for an addition."""

    @property
    def is_conflict(self) -> bool:
        """Whether both cannot be true, if the rest agrees."""
        stated = self.kind == "negation" or bool(self.claimed and self.found)
        return self.kind in _CONFLICTS and stated


def find_disagreements(claim: str, evidence: str) -> list[Disagreement]:
    """Return all material differences between a claim and its evidence."""
    ours, theirs = strip_inline_markup(claim), strip_inline_markup(evidence)
    found = [
        *_quantities(ours, theirs),
        *_names(claim, evidence),
        *_persons(ours, theirs),
        *_negations(ours, theirs),
        *_directions(ours, theirs),
        *_quantifiers(ours, theirs),
        *_conditions(ours, theirs),
    ]
    strict = bool(quantities(ours) or names_of(claim) or _STRICT.search(ours))
    if not has_same_order(comparable_terms(ours), terms_by_clause(theirs), rotated=not strict):
        kind: DifferenceKind = "direction" if _swapped(ours, theirs) else "arrangement"
        found.append(Disagreement(kind, ours, theirs))
    return found


@memoize_text(16384)
def terms_by_clause(text: str) -> tuple[str, ...]:
    """Return the terms of plain text in order, with normalized quantities and clause breaks."""
    found: list[str] = []
    done = 0
    for quantity in (*quantities(text), None):
        between = text[done : quantity.start if quantity else len(text)]
        for place, clause in enumerate(_BREAKS.split(between)):
            if place:
                found.append(CLAUSE_BREAK)
            found += terms(clause)
        if quantity:
            found.append(quantity.key)
            done = quantity.end
    return tuple(found)


def comparable_terms(text: str) -> tuple[str, ...]:
    """Return the terms of plain text in order, with normalized quantities."""
    return tuple(term for term in terms_by_clause(text) if term != CLAUSE_BREAK)


def topic_terms(text: str) -> set[str]:
    """Return the terms of plain text without quantities and directions."""
    left = {term for term in comparable_terms(text) if not term[:1].isdigit() and term[:1] != "-"}
    return left - {part for word in _directed(text) for part in terms(word)}


def holds_out_of_context(before: str, after: str) -> bool:
    """Return whether a quote holds without the rest of its sentence, unlike “it is false that …”.

    A weak word counts only in the clause of the quote: “most arms …”, “… in some cases”.
    """
    around = (before, after)
    if any(pattern.search(text) for pattern in (_NEGATION, _CONDITION) for text in around):
        return False
    near = (_CLAUSE.split(before)[-1], _CLAUSE.split(after)[0])
    return not any(_WEAK.search(text) for text in near)


def names_of(text: str) -> set[str]:
    """Return the names in Markdown: code, formulas, identifiers, abbreviations, single letters."""
    marked = {m[2].strip() for m in CODE.finditer(text)}
    marked |= {re.sub(r"\s+", "", m[1]) for m in _MATH.finditer(text)}
    bare = _MATH.sub(" ", CODE.sub(" ", text))
    bare = strip_inline_markup(_LINK.sub(lambda m: "]" if m[1] is not None else " ", bare))
    spans = [(q.start, q.end) for q in quantities(bare)]
    plain = {
        m[0]
        for pattern in (_NAME, _PROPER)
        for m in pattern.finditer(bare)
        if not any(start <= m.start() < end for start, end in spans)
    }
    return marked | {name for name in plain if name.lower() not in STOPWORDS}


def has_same_order(wanted: Sequence[str], said: Sequence[str], *, rotated: bool = True) -> bool:
    """Return whether the evidence has the claim's terms in order, with no other terms between.

    A word of its clause may be left out, a number or a change of clause may not. `rotated` lets
    what stands last in the claim stand first: “in fog the horn sounds”.
    """
    known = [term for term in wanted if term in said]
    turns = range(len(known)) if rotated else range(min(1, len(known)))
    return not known or any(_follows([*known[t:], *known[:t]], said, set(known)) for t in turns)


def _follows(wanted: Sequence[str], said: Sequence[str], known: set[str]) -> bool:
    for start in (place for place, term in enumerate(said) if term == wanted[0]):
        at = start
        for term in wanted[1:]:
            after = next((p for p in range(at + 1, len(said)) if said[p] == term), None)
            if after is None or not _may_skip(said[at + 1 : after], known):
                break
            at = after
        else:
            return True
    return False


def _may_skip(gap: Sequence[str], known: set[str]) -> bool:
    foreign = [term for term in gap if term != CLAUSE_BREAK and term not in known]
    return not foreign or (
        CLAUSE_BREAK not in gap and not any(c.isdigit() for t in foreign for c in t)
    )


def _swapped(ours: str, theirs: str) -> bool:
    than = all(re.search(r"\bthan\b", text, re.I) for text in (ours, theirs))
    return than and sorted(comparable_terms(ours)) == sorted(comparable_terms(theirs))


def _quantities(ours: str, theirs: str) -> Iterator[Disagreement]:
    mine, other = quantities(ours), quantities(theirs)
    keys = {quantity.key for quantity in other}
    free = [quantity for quantity in other if quantity.key not in {q.key for q in mine}]
    for quantity in mine:
        said = ours[quantity.start : quantity.end]
        if quantity.key in keys:
            bounds = {_bound(theirs, q) for q in other if q.key == quantity.key}
            if _bound(ours, quantity) not in bounds:
                yield Disagreement("bound", said, theirs)
            continue
        rival = next((q for q in free if _rivals(ours, quantity, theirs, q)), None)
        kind: DifferenceKind = "number"
        if rival and rival.dimension != quantity.dimension:
            kind = "unit"
        yield Disagreement(kind, said, theirs[rival.start : rival.end] if rival else "")


def _rivals(ours: str, mine: Quantity, theirs: str, other: Quantity) -> bool:
    """Return whether two quantities measure the same thing, by unit, numeral or counted noun."""
    if mine.dimension != other.dimension:
        return mine.number == other.number and ORDINAL not in (mine.dimension, other.dimension)
    counted = (terms(ours[mine.end :])[:1], terms(theirs[other.end :])[:1])
    return bool(mine.dimension) or counted[0] == counted[1]


def _bound(text: str, quantity: Quantity) -> str:
    found = _BOUND.search(text[: quantity.start])
    return (found.lastgroup or "") if found else ""


def _names(claim: str, evidence: str) -> Iterator[Disagreement]:
    theirs = names_of(evidence)
    plain = {word.lower() for word in words(strip_inline_markup(evidence))}
    squeezed = re.sub(r"\s+", "", evidence)
    rivals = sorted(theirs - names_of(claim))
    for name in sorted(names_of(claim) - theirs):
        spoken = {word.lower() for word in words(name)} - {""}
        exact = "$" in claim and re.sub(r"\s+", "", name) in squeezed
        if exact or (name.isidentifier() and spoken <= plain):
            continue
        yield Disagreement("name", name, rivals[0] if rivals else "")
    for link in _LINK.finditer(claim):
        target = next(part for part in link.groups() if part is not None).strip()
        if target not in evidence:
            yield Disagreement("link", target, "")


def _persons(ours: str, theirs: str) -> Iterator[Disagreement]:
    said = {found[0].lower() for found in _PERSON.finditer(theirs)}
    for found in _PERSON.finditer(ours):
        if found[0].lower() not in said:
            yield Disagreement("name", found[0], "")


def _negations(ours: str, theirs: str) -> Iterator[Disagreement]:
    mine, other = _negated(ours), _negated(theirs)
    said, found = set(comparable_terms(ours)), set(comparable_terms(theirs))
    # Counted: “does not not know” is no “does not know”.
    for about in sorted((mine - other) + (other - mine)):
        ahead = mine[about] > other[about]
        # A negation of what the other does not mention says nothing against it.
        known = bool(about) and set(about) <= (found if ahead else said)
        kind: DifferenceKind = "negation" if known else "condition"
        denied = f"not {' '.join(about)}".strip()
        yield Disagreement(kind, denied if ahead else "", "" if ahead else denied)


def _negated(text: str) -> Counter[tuple[str, ...]]:
    return Counter(terms(text[negation.end() :])[:1] for negation in _NEGATION.finditer(text))


def _directed(text: str) -> set[str]:
    known = frozenset().union(*(side for pair in _OPPOSITES for side in pair))
    return {word.lower() for word in words(text)} & known


def _directions(ours: str, theirs: str) -> Iterator[Disagreement]:
    mine, other = _directed(ours), _directed(theirs)
    for one, two in (pair for left, right in _OPPOSITES for pair in ((left, right), (right, left))):
        said, against = (mine - other) & one, (other - mine) & two
        if said and against and not other & one:
            yield Disagreement("direction", min(said), min(against))


def _quantifiers(ours: str, theirs: str) -> Iterator[Disagreement]:
    for pattern in (_STRONG, _DEGREE, _PLACE):
        for word in sorted(_find_all(pattern, ours) - _find_all(pattern, theirs)):
            yield Disagreement("quantifier", word, "")
    near = _clauses_of(ours, theirs)
    for pattern in (_WEAK, _DEGREE):
        for word in sorted(_find_all(pattern, near) - _find_all(pattern, ours)):
            yield Disagreement("quantifier", "", word)


def _clauses_of(ours: str, theirs: str) -> str:
    wanted = set(terms(ours))
    clauses = _CLAUSE.split(theirs)
    return ". ".join(clause for clause in clauses if wanted & set(terms(clause)))


def _conditions(ours: str, theirs: str) -> Iterator[Disagreement]:
    mine, other = _find_all(_CONDITION, ours), _find_all(_CONDITION, theirs)
    for word in sorted(mine - other):
        yield Disagreement("condition", word, "")
    for word in sorted(other - mine):
        yield Disagreement("condition", "", word)


def _find_all(pattern: re.Pattern[str], text: str) -> set[str]:
    return {match[0].lower() for match in pattern.finditer(text)}
