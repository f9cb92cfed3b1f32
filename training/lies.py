"""Ways to change a true sentence so that its evidence surely does not say it."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from citewell.text.terms import STOPWORDS, terms
from training.lie_words import OPPOSITES, PAST, PREFIXED, UNITS, WIDER
from training.question_twins import kind_of
from training.rows import Label


@dataclass(frozen=True, slots=True)
class Context:
    """What stands around a sentence: the whole passage, its other sentences, the book's names."""

    passage: str
    neighbours: Sequence[str] = ()
    names: Sequence[str] = ()


Lie = tuple[str, Label]
Way = Callable[[random.Random, str, Context], Lie | None]

_NUMBER = re.compile(r"(?<![\w.,/:^*=-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w^*/-]|[.,:]\d)")
_BOUND = re.compile(
    r"(?:\b(?:than|least|most|over|under|above|below|to|about|around|nearly|almost|approximately|"
    r"roughly|some|every|or|and|between|step|steps|figure|table|chapter|section|equation|example|"
    r"listing|line|version|up|ros|python|ubuntu)\W*|[~≈<>≤≥±$#])$",
    re.I,
)
_UNIT = re.compile(rf"(?<=\d)([ -]?)({'|'.join(map(re.escape, UNITS))})\b")
_OPPOSITE = {a: b for x, y in OPPOSITES for a, b in ((x, y), (y, x))}
_NOT = re.compile(
    r"\b(is|are|was|were|can|could|will|would|must|has|have)(?: not\b(?! only)|n't\b)|\bcannot\b|\b(do|does|did) not\b(?! only)"
)
_BE = re.compile(
    r"\b(is|are|was|were|can|will|must)\b(?! (?:not|n't|only|no|never|thought|believed)\b)"
)
_SUBORDINATE = re.compile(
    r"\b(?:if|when|because|although|while|unless|whether|that|which|who|where|so|since|as|but|not|"
    r"no|never|only|any|until|before|after|and|or|both|either|neither|hardly|rarely|few)\b",
    re.I,
)
_NP = r"(?:(?:[Tt]he|[Aa]n?|[Tt]his|[Ee]ach) )?[\w`/'-]+(?: [\w`/'-]+){0,3}"
_PASSIVE = re.compile(rf"^({_NP}) (is|are|was|were) (\w+(?:ed|wn|ne|de|nt|lt|ld)) by ({_NP})\.$")
_VERBS = (
    "sends|uses|calls|contains|causes|produces|requires|controls|replaces|precedes|follows|creates|"
    "supports|affects|stimulates|inhibits|activates|influences|includes|converts|provides|becomes|"
    "attacks|exceeds|extends|implements|wraps|owns|reads|writes|loads|invokes|defines|"
    "depends on|publishes to|subscribes to|inherits from|is part of|leads to|results in|binds to|"
    "is faster than|is larger than|is smaller than|is based on|comes before|comes after|relies on"
)
_ACTIVE = re.compile(rf"^({_NP}) ({_VERBS}) ({_NP})\.$")
_NO_ROLE = re.compile(
    r"\b(?:hand|default|accident|name|means|design|itself|using|that|which|who|also|both|or|and|\w+ly)\b"
)
_FROM_TO = re.compile(
    r"\bfrom ((?:the |an? )?[\w`/-]+(?: [\w`/-]+)?) (to|into) ((?:the |an? )?[\w`/-]+(?: [\w`/-]+)?)(?=[.,;]|$)"
)
_NO_END = re.compile(
    r"\d|\b(?:time|top|one|other|another|each|start|left|be|have|has|had|is|are|do|does|need|needs|"
    r"going|able|want|wants|how|which|what|it|them|get|run|use|make|day|side|this|that|and|or|calls?|access|reference|response|conform|do)\b"
)
_DETERMINER = re.compile(r"(the |an? )?")
_RANGE = re.compile(
    r"\b(?:rang\w+|var\w+|distance|path|anything|everything|far|span\w*|differ\w*)\b", re.I
)
_TIME = (
    (r"\bbefore (?=(?:the|a|an|it|you|they|we|any|\w+ing)\b)", "after "),
    (r"(?<!soon )(?<!shortly )(?<!named )(?<!look )\bafter (?=(?:the|a|an|it|you|they|we|\w+ing)\b)", "before "),
    (r"\buntil (?=(?:the|a|an|it|you|they|we|\d{4})\b)", "since "),
    (r"\bsince (?=\d{4}\b)", "until "),
    (r"\bprior to\b", "following"),
)  # fmt: skip
_COMPARED = (("more than", "less than"), ("fewer than", "more than"), ("less than", "more than"),
             ("at least", "at most"), ("at most", "at least"), ("no more than", "no less than"))  # fmt: skip
_CONDITION = re.compile(
    r"^(?:If|Only if|Unless) (?!you (?:want|need|like|prefer|wish|are|have)\b)[^,]{6,80}, (?:then )?(\w.{15,})$"
)
_CONDITION_BEHIND = re.compile(r"^(.{20,}?),? (?:only if|unless|provided that) [^,.]{6,80}\.$")
_MAY = re.compile(r"\b(?:can|may|might|could|should|use|try|see|consider|possible)\b", re.I)
_SUBJECT = re.compile(
    rf"^({_NP}) (is|are|was|were|has|have|can|must|uses|provides|contains|causes|requires|allows) (.+)$"
)
_DONE = re.compile(
    rf"^({_NP}) ({'|'.join(PAST)}) ((?:the|an?|its|their|his|her|that|more|many|two|three) .+)$"
)
_BEING = re.compile(r"\b(?:is|are|was|were|be|been|has|have|had|gets?|got|by|when|as)\b")
_CAPITAL = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][\w-]+(?: [A-Z][\w-]+)*|`[^`]+`|\b\w+_\w+\b")


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lowered(text: str) -> str:
    plain = (
        text[:1].isupper()
        and text[1:2].islower()
        and text.split(maxsplit=1)[0] in ("The", "A", "An", "This", "Each")
    )
    return text[:1].lower() + text[1:] if plain else text


def number(rng: random.Random, text: str, around: Context) -> Lie | None:
    """Put another number in the place of an exact one."""
    found = [
        m
        for m in _NUMBER.finditer(text)
        if not _BOUND.search(text[: m.start()][-16:])
        # A year in brackets is of a source, and says nothing of the thing itself.
        and text[: m.start()].count("(") == text[: m.start()].count(")")
    ]
    if not found:
        return None
    one = rng.choice(found)
    value = float(one[0].replace(",", ""))
    steps = [value * 2, value * 10, value + 1, value + 5, value * 3]
    if 1000 <= value <= 2100 and "," not in one[0]:
        steps = [value + step for step in (-20, -8, -3, 4, 9, 30)]
    shown = [
        f"{s:,.0f}" if "," in one[0] else f"{s:g}" if "." in one[0] else f"{s:.0f}" for s in steps
    ]
    shown = [s for s in shown if s not in around.passage and s not in text]
    if not shown:
        return None
    return text[: one.start()] + rng.choice(shown) + text[one.end() :], "contradicted"


def unit(rng: random.Random, text: str, _: Context) -> Lie | None:
    """Put another unit of the same kind behind a number."""
    found = list(_UNIT.finditer(text))
    if not found:
        return None
    one = rng.choice(found)
    return text[: one.start(2)] + UNITS[one[2]] + text[one.end(2) :], "contradicted"


def quantities_swapped(_: random.Random, text: str, around: Context) -> Lie | None:
    """Exchange two quantities of a sentence that belong to different things."""
    found = list(_NUMBER.finditer(text))
    if len(found) != 2 or found[0][0] == found[1][0]:
        return None
    one, two = found
    between = text[one.end() : two.start()]
    if len(between.split()) < 3 or re.search(r"\b(?:to|and|or|times|by|x)\W*$", between):
        return None
    return (
        text[: one.start()] + two[0] + between + one[0] + text[two.end() :],
        "not",
    )


def roles(_: random.Random, text: str, __: Context) -> Lie | None:
    """Exchange who does and who it is done to."""
    passive, active = _PASSIVE.match(text), _ACTIVE.match(text)
    if _NO_ROLE.search(text):
        return None
    if passive and passive[1].endswith("s") == passive[4].endswith("s"):
        return f"{_begun(passive[4])} {passive[2]} {passive[3]} by {_lowered(passive[1])}.", "not"
    if active and active[1].lower() != active[3].lower():
        return f"{_begun(active[3])} {active[2]} {_lowered(active[1])}.", "not"
    return None


def from_to(rng: random.Random, text: str, __: Context) -> Lie | None:
    """Exchange where something comes from and where it goes."""
    found = [m for m in _FROM_TO.finditer(text) if not _RANGE.search(text[: m.start()][-40:])]
    found = [
        m
        for m in found
        if not _NO_END.search(f"{m[1]} {m[3]}")
        and _DETERMINER.match(m[1])[1] == _DETERMINER.match(m[3])[1]
    ]
    if not found:
        return None
    one = rng.choice(found)
    return f"{text[: one.start()]}from {one[3]} {one[2]} {one[1]}{text[one.end() :]}", "not"


def time(rng: random.Random, text: str, _: Context) -> Lie | None:
    """Exchange before and after, until and since."""
    found = [(m, new) for pattern, new in _TIME for m in re.finditer(pattern, text)]
    if not found or re.search(
        r"\b(?:before and after|after or before|as before|not until)\b", text
    ):
        return None
    one, new = rng.choice(found)
    return text[: one.start()] + new + text[one.end() :], "not"


def compared(rng: random.Random, text: str, _: Context) -> Lie | None:
    """Exchange more than and less than."""
    found = [
        (m, new)
        for old, new in _COMPARED
        for m in re.finditer(rf"(?<!no )\b{old}\b(?! or equal)", text)
    ]
    found = [
        (m, new)
        for m, new in found
        if not (m[0] == "more than" and re.match(r" one\b", text[m.end() :]))
    ]
    if not found:
        return None
    one, new = rng.choice(found)
    return text[: one.start()] + new + text[one.end() :], "not"


def opposite(rng: random.Random, text: str, _: Context) -> Lie | None:
    """Exchange a word for its opposite."""
    found = [m for m in re.finditer(r"\b[a-z]+\b", text) if m[0] in _OPPOSITE]
    # “increase or decrease”, “the more … the more”: exchanged, it says the same.
    found = [m for m in found if len(re.findall(rf"\b(?:{m[0]}|{_OPPOSITE[m[0]]})\b", text)) == 1]
    found = [
        m
        for m in found
        if not re.match(
            r" (?:or|and|than|of the|information|details|about|recent|likely)\b", text[m.end() :]
        )
    ]
    found = [
        m
        for m in found
        if not re.search(r"\b(?:or|and|no|not|once|any|the)\W*$", text[: m.start()])
        or m[0].endswith("est")
    ]
    if not found:
        return None
    one = rng.choice(found)
    return text[: one.start()] + _OPPOSITE[one[0]] + text[one.end() :], "not"


def prefix(rng: random.Random, text: str, _: Context) -> Lie | None:
    """Cut a prefix that negates, or put it in front."""
    table = {
        **PREFIXED,
        **{
            plain: cut
            for cut, plain in PREFIXED.items()
            if plain not in ("like", "used", "known", "able", "limited")
        },
    }
    found = [(m, table[m[0]]) for m in re.finditer(r"\b[a-z]+\b", text) if m[0] in table]
    found += [
        (m, m[1])
        for m in re.finditer(r"\bnon-?([a-z]{4,})\b", text)
        if m[1] not in ("sense", "etheless")
    ]
    found = [
        (m, new)
        for m, new in found
        if not re.search(rf"\b{new}\b", text)
        and not re.search(r"\b(?:not|n't)\W*$", text[: m.start()])
    ]
    if not found:
        return None
    one, new = rng.choice(found)
    said = text[: one.start()] + new + text[one.end() :]
    said = (
        re.sub(r"\b([Aa])n? (?=[aeiou])", r"\1n ", said)
        if new[0] in "aeiou"
        else re.sub(rf"\b([Aa])n (?={new}\b)", r"\1 ", said)
    )
    return said, "not"


def failing(rng: random.Random, text: str, _: Context) -> Lie | None:
    """Drop “failed to” and the like, or put it before what was done."""
    found = re.search(r"\b(?:failed|refused|declined|neglected|forgot) to ", text)
    if found:
        return text[: found.start()] + "managed to " + text[found.end() :], "contradicted"
    found = re.search(r"\b(?:managed|were able|was able) to ", text)
    if found:
        return text[: found.start()] + "failed to " + text[found.end() :], "contradicted"
    done = _DONE.match(text)
    if not done or _SUBORDINATE.search(done[1]) or _BEING.search(done[1]):
        return None
    start = f"{done[1]} {rng.choice(('failed to', 'refused to', 'did not manage to'))}"
    return f"{start} {PAST[done[2]]} {done[3]}", "not"


def negation(_: random.Random, text: str, __: Context) -> Lie | None:
    """Take a negation out, or put one into the main clause."""
    already = _NOT.search(text)
    if already:
        if len(re.findall(r"\bnot\b|n't|\bno\b|\bnever\b|\bcannot\b", text)) > 1:
            return None
        plain = already[1] or ("can" if already[0] == "cannot" else "")
        said = text[: already.start()] + plain + text[already.end() :]
        return re.sub(" +", " ", said), "not"
    found = _BE.search(text)
    if not found or _SUBORDINATE.search(text[: found.end()]) or text[: found.start()].count(","):
        return None
    label: Label = "not" if _SUBORDINATE.search(text) else "contradicted"
    said = f"{text[: found.end()]} not{text[found.end() :]}"
    return re.sub(r"\bcan not\b", "cannot", said), label


def wider(rng: random.Random, text: str, around: Context) -> Lie | None:
    """Claim more than is said; the guarded word must be the book's own."""
    found = [
        (m, new)
        for old, new in WIDER
        if re.search(rf"\b{old}\b", around.passage)
        for m in re.finditer(
            rf"\b{old}\b(?! not\b| (?:also|common|important|likely|recent)\b)", text
        )
        if not re.search(
            r"\b(?:the|as|not|n't|how|at|of|too|more|is|are|so)\W*$", text[: m.start()]
        )
    ]
    found = [
        (m, new)
        for m, new in found
        if not (m[0] in ("may", "can", "might") and not re.match(r" [a-z]+\b", text[m.end() :]))
    ]
    if not found:
        return None
    one, new = rng.choice(found)
    if new == "always" and one[0] == "can":
        return None
    return text[: one.start()] + new + text[one.end() :], "unsupported"


def condition(_: random.Random, text: str, __: Context) -> Lie | None:
    """Drop the condition under which a sentence holds."""
    found = _CONDITION.match(text) or _CONDITION_BEHIND.match(text)
    # What may be, may be under other conditions as well.
    if not found or _MAY.search(found[1]) or re.match(r"(?:it|they|this|that)\b", found[1], re.I):
        return None
    return _begun(found[1].rstrip(".")) + ".", "unsupported"


def only(_: random.Random, text: str, __: Context) -> Lie | None:
    """Say of one thing that it is the only one."""
    found = re.match(
        rf"^({_NP}) (is|are|was|were) (used|found|needed|caused|produced|made) ((?:by|in|for|with|from|to) .+)$",
        text,
    )
    if not found or "only" in text or "not" in text.split():
        return None
    return f"{found[1]} {found[2]} only ever {found[3]} {found[4]}", "unsupported"


def name(rng: random.Random, text: str, around: Context) -> Lie | None:
    """Put another name of the same kind in the place of one."""
    own = [m for m in _CAPITAL.finditer(text) if m[0].lower() not in STOPWORDS and len(m[0]) > 2]
    rng.shuffle(own)
    for one in own:
        theirs = [
            other
            for other in around.names
            if kind_of(other) == kind_of(one[0])
            and not set(terms(other)) & set(terms(text))
            and set(terms(other))
        ]
        if theirs:
            near = [other for other in theirs if other in around.passage]
            chosen = rng.choice(near if near and rng.random() < 0.7 else theirs)
            return text[: one.start()] + chosen + text[one.end() :], "not"
    return None


def subject(rng: random.Random, text: str, around: Context) -> Lie | None:
    """Say of a neighbouring sentence's subject what is said of this one's."""
    own = _SUBJECT.match(text)
    if not own or not _names_a_thing(own[1]):
        return None
    said = set(terms(text))
    others = [m for s in around.neighbours if (m := _SUBJECT.match(s)) and _names_a_thing(m[1])]
    fit = [m for m in others if m[2] == own[2] and not set(terms(m[1])) & said]
    if not fit:
        return None
    return f"{rng.choice(fit)[1]} {own[2]} {own[3]}", "not"


def _names_a_thing(noun: str) -> bool:
    """Return whether a subject names a thing by itself: no pronoun, no adverb, something of its own."""
    first = noun.split(maxsplit=1)[0].lower()
    return (
        first
        not in (
            "this",
            "that",
            "these",
            "those",
            "it",
            "they",
            "there",
            "he",
            "she",
            "we",
            "you",
            "here",
            "each",
            "one",
            "such",
            "what",
            "another",
            "other",
            "both",
            "these",
            "however",
            "when",
            "if",
            "in",
            "all",
            "most",
            "some",
        )
        and bool(terms(noun))
        and not re.search(
            r"\b(?:of|in|for|with|and|or|that|which|to|when|as|is|on|by|from|not)\b", noun
        )
    )


WAYS: dict[str, Way] = {
    "number": number, "unit": unit, "quantities": quantities_swapped, "roles": roles,
    "from-to": from_to, "time": time, "compared": compared, "opposite": opposite, "prefix": prefix,
    "failing": failing, "negation": negation, "wider": wider, "condition": condition, "only": only,
    "name": name, "subject": subject,
}  # fmt: skip
RARE = (
    "roles",
    "from-to",
    "time",
    "compared",
    "prefix",
    "failing",
    "condition",
    "subject",
    "unit",
    "quantities",
    "only",
)
"""What few sentences allow comes first, so that it is not crowded out."""


LAST = "name"
"""What almost every sentence allows comes last."""


def lies(
    rng: random.Random, text: str, around: Context, most: int = 2
) -> list[tuple[str, str, Label]]:
    """Return (kind, claim, label) of up to so many changes of a sentence, the rare kinds first."""
    rest = [kind for kind in WAYS if kind not in RARE and kind != LAST]
    order = [*rng.sample(RARE, len(RARE)), *rng.sample(rest, len(rest)), LAST]
    found = []
    for kind in order:
        made = WAYS[kind](rng, text, around)
        if made and " ".join(made[0].split()).lower() != " ".join(text.split()).lower():
            found.append((kind, made[0], made[1]))
            if len(found) == most:
                break
    return found
