"""Ways to say the same again, so that a judge does not take shared words for a sign of a lie."""

import random
import re
from collections.abc import Callable

from citewell.text.terms import STOPWORDS

SYNONYMS = {
    "begins": "starts", "begin": "start", "large": "big", "shows": "demonstrates",
    "helps": "assists", "needs": "requires", "requires": "needs", "uses": "employs",
    "provides": "offers", "allows": "lets", "often": "frequently", "usually": "typically",
    "typically": "usually", "important": "significant", "many": "numerous",
    "creates": "makes", "contains": "includes", "called": "named", "such as": "like",
    "because": "as", "therefore": "thus", "however": "yet", "approximately": "about",
    "occurs": "happens", "occur": "happen", "results in": "leads to", "leads to": "results in",
    "consists of": "is made up of", "in order to": "to", "method": "technique", "purpose": "aim",
    "goal": "aim", "main": "principal", "difficult": "hard", "entire": "whole", "quickly": "rapidly",
    "rapidly": "quickly", "choose": "select", "select": "choose", "ensure": "make sure",
    "modify": "change", "determine": "find out", "receives": "gets", "sends": "transmits",
    "describes": "explains", "individuals": "people", "disease": "illness", "amount": "quantity",
    "inside": "within", "whereas": "while", "although": "though", "recommended": "advised",
    "folder": "directory", "directory": "folder", "runs": "executes", "automatically": "by itself",
    "currently": "at present", "possible": "feasible", "depends on": "is determined by",
    "is able to": "can", "has to": "must", "must": "has to", "cannot": "is unable to",
}  # fmt: skip
_PLURAL = re.compile(r"\b(?:they|we|you|I|\w+s) (?:must|cannot)\b")
_LEAD = re.compile(
    r"^(?:However|Therefore|Thus|In addition|Additionally|Moreover|Furthermore|In fact|Finally|Also|"
    r"Indeed|As a result|In contrast|On the other hand|Similarly|Likewise), ",
    re.I,
)
_CLAUSE = re.compile(
    r"^(.{25,}?)(?:; |, (?:and|but|so|while|whereas) (?=(?:it|they|this|these|you|we|he|she|there)\b))(.{15,})$"
)
_OPEN = re.compile(
    r"^(?:If|When|Unless|While|Although|Though|Either|Neither|Once|Before|After|Whether)\b"
)
_FRONT = re.compile(
    r"^(If|When|Because|After|Before|Once|Unless) ([^,]{8,80}), (?!then\b)([^,].{10,})\.$"
)
_VOICE = (("uses", "used"), ("causes", "caused"), ("produces", "produced"), ("creates", "created"),
          ("provides", "provided"), ("controls", "controlled"), ("replaces", "replaced"),
          ("requires", "required"), ("calls", "called"), ("supports", "supported"),
          ("activates", "activated"), ("inhibits", "inhibited"), ("affects", "affected"),
          ("influences", "influenced"), ("precedes", "preceded"), ("follows", "followed"))  # fmt: skip
_NOUN = r"(?:(?:[Tt]he|[Aa]n?) )?[\w`/'-]+(?: [\w`/'-]+){0,2}"
_MANY = re.compile(r"[^is]s$|ia$|ae$|\b(?:also|both|all|each|\w+ly|people|children)\b")
_SAYS = (
    "According to the book, {}", "As the text puts it, {}", "The book says that {}", "In short, {}",
    "Yes, {}", "Here, {}", "In this section, {}",
)  # fmt: skip

Way = Callable[[random.Random, str], str | None]


def lowered(text: str) -> str:
    """Return a sentence as it stands behind other words; only a plain first word becomes small."""
    first = text.split(maxsplit=1)[0].strip(",").lower() if text.split() else ""
    plain = text[1:2].islower() or first == "a"
    return text[:1].lower() + text[1:] if plain and first in STOPWORDS else text


def same(_: random.Random, text: str) -> str:
    """Return the sentence itself."""
    return text


def reworded(rng: random.Random, text: str) -> str | None:
    """Put in one to three other words for the same."""
    said = text
    for _ in range(rng.choice((1, 2, 3))):
        found = [
            (m.start(), m.end(), new)
            for old, new in SYNONYMS.items()
            for m in re.finditer(rf"(?<![\w-]){old}(?![\w-])", said)
            if not _PLURAL.search(said[: m.end()])
            and not re.search(r"(?:not|n't|no)\W*$", said[: m.start()])
        ]
        if not found:
            break
        start, end, new = rng.choice(sorted(found))
        said = said[:start] + new + said[end:]
    return said if said != text else None


def clause(_: random.Random, text: str) -> str | None:
    """Keep the first clause alone."""
    found = _CLAUSE.match(text)
    return None if not found or _OPEN.match(text) else found[1].rstrip(",") + "."


def unled(_: random.Random, text: str) -> str | None:
    """Drop what joins a sentence to the one before it."""
    said = _LEAD.sub("", text)
    return said[:1].upper() + said[1:] if said != text else None


def turned(_: random.Random, text: str) -> str | None:
    """Put a condition behind what holds under it."""
    found = _FRONT.match(text)
    if not found or re.match(r"(?:it|they|this|he|she)\b", found[3], re.I):
        return None
    return f"{found[3][:1].upper()}{found[3][1:]} {found[1].lower()} {found[2]}."


def voice(_: random.Random, text: str) -> str | None:
    """Turn a plain sentence about single things into the passive, or back."""
    for active, passive in _VOICE:
        found = re.match(rf"^({_NOUN}) {active} ({_NOUN})\.$", text)
        if found and not _MANY.search(found[2]):
            return f"{found[2][:1].upper()}{found[2][1:]} is {passive} by {lowered(found[1])}."
        found = re.match(rf"^({_NOUN}) (?:is|are) {passive} by ({_NOUN})\.$", text)
        if found and not _MANY.search(found[2]):
            return f"{found[2][:1].upper()}{found[2][1:]} {active} {lowered(found[1])}."
    return None


def led_in(rng: random.Random, text: str, share: float = 0.12) -> str:
    """Now and then put in front what a model says before it quotes, be it true or a lie."""
    return rng.choice(_SAYS).format(lowered(text)) if rng.random() < share else text


WAYS: dict[str, Way] = {
    "same": same, "reworded": reworded, "clause": clause, "unled": unled, "turned": turned,
    "voice": voice,
}  # fmt: skip
RARE = ("voice", "turned", "clause")


def truths(rng: random.Random, text: str, most: int = 2) -> list[tuple[str, str]]:
    """Return (kind, claim) of up to so many ways to say the same, rare kinds first."""
    rest = [kind for kind in WAYS if kind not in RARE]
    found = []
    for kind in [*rng.sample(RARE, len(RARE)), *rng.sample(rest, len(rest))]:
        said = WAYS[kind](rng, text)
        if said:
            found.append((kind, said))
            if len(found) == most:
                break
    return found
