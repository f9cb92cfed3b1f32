"""Sentences that say the same in other words, and sentences that say something else.

Rules only, so that every changed sentence is known to be changed and why.
"""

import random
import re
from collections.abc import Callable

SYNONYMS = {
    "begin": "start", "begins": "starts", "large": "big", "small": "little", "shows": "demonstrates",
    "show": "demonstrate", "help": "assist", "helps": "assists", "need": "require",
    "needs": "requires", "requires": "needs", "require": "need", "uses": "employs", "use": "employ",
    "used": "employed", "using": "by means of", "obtain": "get", "provides": "offers",
    "provide": "offer", "allows": "lets", "allow": "let", "enables": "allows", "enable": "allow",
    "often": "frequently", "usually": "typically", "typically": "usually", "generally": "in general",
    "important": "significant", "various": "different", "many": "numerous", "several": "a number of",
    "creates": "makes", "create": "make", "created": "made", "contains": "includes",
    "contain": "include", "includes": "contains", "include": "contain", "called": "named",
    "known as": "called", "such as": "like", "because": "since", "therefore": "thus",
    "however": "yet", "additionally": "also", "approximately": "about", "about": "roughly",
    "occurs": "happens", "occur": "happen", "results in": "leads to", "leads to": "results in",
    "causes": "leads to", "cause": "lead to", "consists of": "is made up of",
    "is made up of": "consists of", "in order to": "to", "a lot of": "much", "method": "technique",
    "technique": "method", "methods": "techniques", "type": "kind", "types": "kinds",
    "kind": "type", "purpose": "aim", "aim": "goal", "goal": "aim", "main": "principal",
    "primary": "main", "difficult": "hard", "easy": "simple", "entire": "whole", "whole": "entire",
    "fast": "quick", "quickly": "rapidly", "rapidly": "quickly", "build": "construct",
    "choose": "select", "select": "choose", "selected": "chosen", "specify": "state",
    "ensure": "make sure", "ensures": "makes sure", "modify": "change", "changes": "modifies",
    "change": "alter", "remove": "delete", "delete": "remove", "find": "locate",
    "determine": "find out", "receives": "gets", "receive": "get", "sends": "transmits",
    "send": "transmit", "describes": "explains", "describe": "explain", "developed": "created",
    "people": "persons", "individuals": "people", "disease": "illness", "illness": "disease",
    "shown": "demonstrated", "studies": "investigations", "study": "investigation",
    "amount": "quantity", "part": "portion", "parts": "components", "error": "mistake",
    "errors": "mistakes", "within": "inside", "inside": "within", "whereas": "while",
    "while": "whereas", "although": "though", "recommended": "advised", "default": "standard",
    "folder": "directory", "directory": "folder", "documentation": "docs", "application": "program",
    "run": "execute", "runs": "executes", "running": "executing", "launch": "start",
    "automatically": "by itself", "currently": "at present", "multiple": "several",
    "possible": "feasible", "similar to": "like", "depends on": "is determined by",
}  # fmt: skip

OPPOSITES = {
    "increase": "decrease", "increases": "decreases", "increased": "decreased",
    "increasing": "decreasing", "higher": "lower", "high": "low", "more": "less", "greater": "smaller",
    "larger": "smaller", "faster": "slower", "before": "after", "above": "below", "first": "last",
    "maximum": "minimum", "always": "never", "all": "no", "same": "different", "internal": "external",
    "inside": "outside", "positive": "negative", "enable": "disable", "enables": "disables",
    "enabled": "disabled", "allow": "forbid", "allows": "prevents", "start": "stop",
    "required": "optional", "optional": "required", "possible": "impossible", "easy": "difficult",
    "strong": "weak", "long": "short", "left": "right", "input": "output", "open": "closed",
    "early": "late", "few": "many", "many": "few", "large": "small", "fast": "slow",
    "public": "private", "local": "global", "static": "dynamic", "client": "server",
    "primary": "secondary", "upper": "lower", "include": "exclude", "includes": "excludes",
    "accept": "reject", "accepted": "rejected", "with": "without", "only": "not only",
    "male": "female", "common": "rare", "likely": "unlikely", "direct": "indirect",
    "successful": "unsuccessful", "safe": "unsafe", "necessary": "unnecessary", "hot": "cold",
    "warm": "cool", "majority": "minority", "active": "inactive", "push": "pull", "add": "remove",
    "adds": "removes", "better": "worse", "best": "worst", "most": "least", "synchronous":
    "asynchronous", "source": "destination", "parent": "child", "read": "write", "true": "false",
    "reduce": "raise", "reduces": "raises", "gain": "lose", "north": "south", "east": "west",
    "horizontal": "vertical", "forward": "backward", "upstream": "downstream", "acute": "chronic",
    "mandatory": "voluntary", "benefit": "harm", "agree": "disagree", "support": "oppose",
}  # fmt: skip
OPPOSITES = {**{v: k for k, v in OPPOSITES.items() if " " not in v}, **OPPOSITES}

WIDER = {
    "some": "all", "may": "must", "can": "always", "often": "always", "usually": "always",
    "typically": "invariably", "sometimes": "always", "might": "will", "could": "will",
    "most": "all", "many": "all", "several": "all", "a few": "all", "should": "must",
    "in some cases": "in every case", "generally": "without exception", "likely": "certainly",
    "suggests": "proves", "suggest": "prove", "partly": "entirely", "nearly": "exactly",
    "about": "exactly", "at least": "exactly", "up to": "at least", "one of the": "the only one of the",
}  # fmt: skip

UNITS = {
    "Hz": "kHz", "kHz": "MHz", "MHz": "GHz", "ms": "s", "s": "min", "seconds": "minutes",
    "minutes": "hours", "hours": "days", "days": "weeks", "weeks": "months", "months": "years",
    "years": "months", "mm": "cm", "cm": "m", "m": "km", "km": "m", "MB": "GB", "GB": "TB",
    "KB": "MB", "kg": "g", "g": "mg", "mg": "g", "W": "kW", "V": "mV", "A": "mA", "°C": "°F",
    "meters": "kilometers", "metres": "kilometres", "percent": "per thousand", "degrees": "radians",
    "million": "billion", "billion": "million", "thousand": "million", "hundred": "thousand",
}  # fmt: skip
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|[.,]\d)")
_UNIT = re.compile(rf"(?<=\d)(\s?)({'|'.join(map(re.escape, UNITS))})\b")
_BE = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|may|might|has been|have been)\b"
)
_DOES = re.compile(r"^((?:\S+ ){1,5}?\S+) (\w{3,}[^s]s) (.+)$")
_NOT = re.compile(
    r"\b(?:is|are|was|were|can|could|will|would|should|must|do|does|did)(?: not|n't)\b|\bcannot\b"
)
_NAME = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][\w-]+(?: [A-Z][\w-]+)*|`[^`]+`|\b\w+_\w+\b")
_JOIN = re.compile(
    r"^(.{15,}?)(?:,? which |,? so that |, although |, because | because |, while |; |, but |, and )(.{15,})$"
)
_LEAD = re.compile(
    r"^(?:However|Therefore|Thus|In addition|Additionally|Moreover|Furthermore|For example|In fact|Finally|Also|Indeed|Note that|In general|As a result|In contrast|On the other hand),? ",
    re.I,
)
_PAREN = re.compile(r" \([^()]{3,60}\)")
_ROLES = re.compile(
    r"^((?:The |A |An )?[\w`/-]+(?: [\w`/-]+){0,2}) "
    r"(sends|uses|calls|contains|causes|produces|requires|controls|replaces|precedes|follows|creates|"
    r"depends on|publishes to|subscribes to|inherits from|converts|provides|supports|affects|is part of|"
    r"leads to|results in|stimulates|inhibits|activates|influences|includes|is faster than|is larger than|"
    r"is called by|is used by|is caused by|comes before|comes after|binds to|becomes) "
    r"((?:the |a |an )?[\w`/-]+(?: [\w`/-]+){0,3})\.$"
)

MADE = re.compile("docs|changed|added")
"""Sources whose claims were made by rule; the others were written by people or models."""

Change = Callable[[random.Random, str], str | None]


def _replace_one(rng: random.Random, text: str, table: dict[str, str]) -> str | None:
    found = [
        (m.start(), m.end(), new)
        for old, new in table.items()
        for m in re.finditer(rf"(?<![\w-]){re.escape(old)}(?![\w-])", text)
    ]
    if not found:
        return None
    start, end, new = rng.choice(sorted(found))
    return text[:start] + new + text[end:]


def reworded(rng: random.Random, text: str) -> str:
    """Say the same with other words, shorter or in another order."""
    said = text
    for _ in range(rng.choice((1, 2, 2, 3, 4))):
        said = _replace_one(rng, said, SYNONYMS) or said
    if rng.random() < 0.6:
        said = _PAREN.sub("", _LEAD.sub("", said))
    joined = _JOIN.match(said)
    if (
        joined
        and rng.random() < 0.45
        and not re.match(r"(?:If|When|Unless|While|Although)\b", said)
    ):
        said = joined[1] + "."
    elif rng.random() < 0.25:
        # A leading condition may stand behind as well.
        lead = re.match(
            r"^((?:When|If|Because|Since|After|Before|In|For|During) [^,]{8,70}), (.+)\.$", said
        )
        said = f"{lead[2]} {lead[1][0].lower()}{lead[1][1:]}." if lead else said
    return said[0].upper() + said[1:] if said else text


def number(rng: random.Random, text: str) -> str | None:
    found = list(_NUMBER.finditer(text))
    if not found:
        named = [w for w in WORDS if re.search(rf"\b{w}\b", text)]
        if not named:
            return None
        old = rng.choice(named)
        return re.sub(rf"\b{old}\b", rng.choice([w for w in WORDS if w != old]), text, count=1)
    one = rng.choice(found)
    value = float(one[0].replace(",", ""))
    other = rng.choice(
        [value * 10, value * 2, value + 1, value + 5, value / 2, value * 1.5, value - 1]
    )
    whole = "." not in one[0]
    shown = (
        f"{abs(other):,.0f}"
        if whole and "," in one[0]
        else f"{abs(other):.0f}"
        if whole
        else f"{abs(other):g}"
    )
    return text[: one.start()] + shown + text[one.end() :] if shown != one[0] else None


def unit(rng: random.Random, text: str) -> str | None:
    found = list(_UNIT.finditer(text))
    if not found:
        return None
    one = rng.choice(found)
    return text[: one.start(2)] + UNITS[one[2]] + text[one.end(2) :]


def negation(rng: random.Random, text: str) -> str | None:
    already = _NOT.search(text)
    if already:
        said = already[0]
        plain = "can" if said == "cannot" else re.sub(r" ?not|n't", "", said).strip()
        if plain in ("do", "does", "did"):
            plain = ""
        return re.sub(" +", " ", text[: already.start()] + plain + text[already.end() :])
    found = _BE.search(text)
    if found:
        return f"{text[: found.end()]} not{text[found.end() :]}"
    does = _DOES.match(text)
    if does and rng.random() < 0.8:
        return f"{does[1]} does not {does[2].removesuffix('s')} {does[3]}"
    return None


def opposite(rng: random.Random, text: str) -> str | None:
    return _replace_one(rng, text, OPPOSITES)


def wider(rng: random.Random, text: str) -> str | None:
    return _replace_one(rng, text, WIDER)


def roles(_: random.Random, text: str) -> str | None:
    found = _ROLES.match(text)
    if not found:
        return None
    first = found[3][0].upper() + found[3][1:]
    second = (
        found[1]
        if found[1][:2].isupper() or found[1][0] == "`"
        else found[1][0].lower() + found[1][1:]
    )
    return f"{first} {found[2]} {second}."


def names(rng: random.Random, text: str, others: list[str]) -> str | None:
    """Put another name of the same book in the place of one."""
    own = list(_NAME.finditer(text))
    theirs = [o for o in others if o not in text]
    if not own or not theirs:
        return None
    one = rng.choice(own)
    return text[: one.start()] + rng.choice(theirs) + text[one.end() :]


def named(text: str) -> list[str]:
    return [m[0] for m in _NAME.finditer(text)]


CHANGES: dict[str, Change] = {
    "number": number, "unit": unit, "negation": negation, "opposite": opposite, "wider": wider,
    "roles": roles,
}  # fmt: skip
