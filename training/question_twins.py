"""Questions with one thing exchanged, so that the passage that answered them no longer does."""

import random
import re
from collections.abc import Callable, Sequence

from citewell.text.terms import STOPWORDS, stem, terms, words

_OPPOSITES = (
    ("maximum", "minimum"), ("largest", "smallest"), ("highest", "lowest"), ("first", "last"),
    ("before", "after"), ("increase", "decrease"), ("increases", "decreases"), ("best", "worst"),
    ("advantage", "disadvantage"), ("advantages", "disadvantages"), ("with", "without"),
    ("more", "fewer"), ("most", "least"), ("earliest", "latest"), ("higher", "lower"),
    ("start", "stop"), ("enable", "disable"), ("cause", "prevent"), ("causes", "prevents"),
    ("positive", "negative"), ("oldest", "youngest"), ("longest", "shortest"), ("fastest", "slowest"),
    ("larger", "smaller"), ("faster", "slower"), ("input", "output"),
    ("begin", "end"), ("won", "lost"), ("win", "lose"), ("open", "close"), ("opened", "closed"),
    ("add", "remove"), ("added", "removed"), ("adding", "removing"), ("install", "uninstall"),
    ("create", "delete"), ("creating", "deleting"), ("publish", "subscribe"), ("born", "buried"),
    ("export", "import"), ("north", "south"), ("east", "west"), ("northern", "southern"),
    ("allow", "forbid"), ("allowed", "forbidden"), ("required", "forbidden"), ("upper", "lower"),
    ("inside", "outside"), ("local", "remote"), ("parent", "child"), ("male", "female"),
    ("buy", "sell"), ("bought", "sold"), ("sender", "receiver"), ("benefit", "drawback"),
    ("benefits", "drawbacks"), ("include", "exclude"), ("included", "excluded"), ("rise", "fall"),
    ("common", "rare"), ("mutable", "immutable"), ("synchronous", "asynchronous"),
    ("supported", "deprecated"), ("static", "dynamic"), ("public", "private"),
)  # fmt: skip
_OPPOSITE: dict[str, list[str]] = {}
for _one, _other in _OPPOSITES:
    _OPPOSITE.setdefault(_one, []).append(_other)
    _OPPOSITE.setdefault(_other, []).append(_one)
_RELATIONS = (
    ("invented", "financed"), ("founded", "sold"), ("wrote", "translated"), ("discovered", "denied"),
    ("built", "demolished"), ("painted", "restored"), ("directed", "financed"), ("married", "sued"),
    ("killed", "rescued"), ("designed", "criticised"), ("developed", "banned"),
    ("appointed", "dismissed"), ("elected", "impeached"), ("formed", "dissolved"),
    ("introduced", "abolished"), ("created", "withdrew"), ("published", "censored"),
    ("located", "first sold"), ("released", "withdrawn"), ("signed", "revoked"), ("led", "left"),
    ("installed", "recalled"), ("configured", "encrypted"), ("defined", "forbidden"),
    ("caused", "cured"), ("produced", "destroyed"), ("joined", "left"),
)  # fmt: skip
_ASPECTS = (
    "price", "maximum size", "inventor", "weight", "colour", "release date", "successor", "author",
    "cost", "length", "temperature", "licence", "default timeout", "market share", "nickname",
)  # fmt: skip
_YES_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|can|could|will|would|should|must|has|have|may)\b", re.I
)
_NUMBER = re.compile(
    r"(?<![\w.,-])(?<![A-Z] )(?<![A-Za-z+]{3} )(?<!listing )\d+(?:,\d{3})*(?:\.\d+)?(?![\w-]|[.,]\d)"
)
_NAME = re.compile(
    r"(?<!^)(?<![.!?] )\b[A-Z][\w-]+(?: (?:of |the )?[A-Z][\w-]+)*|`[^`]+`|\b[A-Za-z]\w*(?:_|::)\w+"
)
_ASKS = re.compile(r"^(?:which|what|who|where|when)\b", re.I)
_BE = re.compile(r"\b(?:is|are|was|were|can|could|should|must|does|do|did)\b")

Way = Callable[[random.Random, str, str, Sequence[str]], str | None]


def twin(
    rng: random.Random, question: str, passage: str, names: Sequence[str]
) -> tuple[str, str] | None:
    """Return the kind of change and the question that the passage does not answer, if there is one.

    `names` are those of the same book that may be put in the place of another.
    """
    ways = rng.sample([kind for kind in WAYS if kind != "name"], len(WAYS) - 1)
    # Almost every question has a name: what fewer allow comes first.
    for kind in [*ways, "name"]:
        said = WAYS[kind](rng, question, passage, names)
        if said and said.lower() != question.lower():
            return kind, said
    return None


def names_in(text: str) -> list[str]:
    """Return the names and identifiers of a text."""
    return [found[0] for found in _NAME.finditer(text) if found[0].lower() not in STOPWORDS]


def _number(rng: random.Random, question: str, passage: str, _: Sequence[str]) -> str | None:
    found = list(_NUMBER.finditer(question))
    if not found:
        return None
    one = rng.choice(found)
    value = float(one[0].replace(",", ""))
    if value != int(value):
        return None
    year = 1000 <= value <= 2100
    others = [int(value) + step for step in ((-17, -9, -6, 8, 13) if year else (1, 2, 3, 7, 10))]
    others = [n for n in others if n > 0 and str(n) not in passage]
    return (
        question[: one.start()] + str(rng.choice(others)) + question[one.end() :]
        if others
        else None
    )


def _opposite(rng: random.Random, question: str, passage: str, _: Sequence[str]) -> str | None:
    """Exchange a word for its opposite, which the passage does not have."""
    if _YES_NO.match(question):
        return None  # “no” is an answer, too
    said = set(terms(passage)) | set(re.findall(r"\w+", passage.lower()))
    found = [
        (match, other)
        for match in re.finditer(r"\b[a-z]+\b", question)
        for other in _OPPOSITE.get(match[0], ())
        if other not in said and stem(other) not in said
    ]
    return _put(rng, question, found)


def _relation(rng: random.Random, question: str, passage: str, _: Sequence[str]) -> str | None:
    if _YES_NO.match(question):
        return None
    said = set(terms(passage))
    found = [
        (match, new)
        for old, new in _RELATIONS
        if stem(new.split()[-1]) not in said
        for match in re.finditer(rf"\b{old}\b", question)
    ]
    return _put(rng, question, found)


def _aspect(rng: random.Random, question: str, passage: str, _: Sequence[str]) -> str | None:
    """Ask for another side of the same thing, which the passage does not speak of."""
    found = re.match(r"^What (?:is|are|was|were) the ([a-z]+(?: [a-z]+)?) of (.+)$", question)
    if not found or rng.random() < 0.75:
        return None
    said = set(terms(passage))
    open_ = [aspect for aspect in _ASPECTS if not set(terms(aspect)) & said]
    return f"What is the {rng.choice(open_)} of {found[2]}" if open_ else None


def _name(rng: random.Random, question: str, passage: str, names: Sequence[str]) -> str | None:
    """Put another name of the same kind in the place of one that the passage speaks of."""
    known = set(names)
    own = [m for m in _NAME.finditer(question) if m[0] in passage and m[0] in known]
    if not own:
        return None
    one = rng.choice(own)
    asked = set(terms(question)) - set(terms(one[0]))
    theirs = [
        name
        for name in names
        if kind_of(name) == kind_of(one[0])
        and not set(words(name.lower())) & set(words(question.lower()))
        and not _answered_for(name, asked, passage)
    ]
    if not theirs:
        return None
    # A name that the passage knows is the harder twin.
    near = [name for name in theirs if name in passage]
    chosen = rng.choice(near if near and rng.random() < 0.7 else theirs)
    return question[: one.start()] + chosen + question[one.end() :]


def kind_of(name: str) -> str:
    """Return what a name looks like; only like may take the place of like."""
    if name[0] == "`" or "_" in name or "::" in name:
        return "code"
    return "capitals" if name.isupper() else f"name {min(len(name.split()), 3)}"


def _answered_for(name: str, asked: set[str], passage: str) -> bool:
    """Return whether the passage may say of a name what is asked: a sentence near it has the words."""
    pieces = re.split(r"(?<=[.!?])\s+", passage)
    near = " ".join(
        part
        for place, piece in enumerate(pieces)
        if name in piece
        for part in pieces[max(place - 1, 0) : place + 2]
    )
    return bool(near) and len(asked & set(terms(near))) * 3 > len(asked)


def _negation(rng: random.Random, question: str, passage: str, _: Sequence[str]) -> str | None:
    """Ask for what is not so; yes-or-no questions and questions that say “not” are left alone."""
    found = _BE.search(question)
    if (
        not found
        or not _ASKS.match(question)
        or re.search(r"n't\b|\b(?:not|never|no|except|without|besides|other than|mean)\b", question)
        or re.search(r"n't\b|\b(?:not|never|neither|cannot|except|unlike|only)\b", passage)
        or not re.match(
            r"^(?:which|what) (?!is\b|are\b|was\b|were\b|does\b|do\b)\w+", question, re.I
        )
        or not re.match(
            r" (?:\w+(?:ed|en)|used|most|usually|often|common|made|found)\b",
            question[found.end() :],
        )
        or rng.random() < 0.5
    ):
        return None
    return f"{question[: found.end()]} not{question[found.end() :]}"


def _put(
    rng: random.Random, question: str, found: Sequence[tuple[re.Match[str], str]]
) -> str | None:
    if not found:
        return None
    match, new = rng.choice(found)
    return question[: match.start()] + new + question[match.end() :]


WAYS: dict[str, Way] = {
    "number": _number, "opposite": _opposite, "relation": _relation, "aspect": _aspect,
    "name": _name, "negation": _negation,
}  # fmt: skip


def altered(rng: random.Random, question: str, others: Sequence[str], answer: str) -> list[str]:
    """Return changes of a question so that the sentence that answered it no longer does."""
    names = [name for other in others for name in names_in(other)]
    made = (way(rng, question, answer, names) for way in WAYS.values())
    found = [said for said in made if said and said != question]
    rng.shuffle(found)
    return found
