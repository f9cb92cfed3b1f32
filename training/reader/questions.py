"""Questions made without a model: from headings, from sentences, and from other questions."""

import random
import re

from citewell.text.terms import STOPWORDS, terms, words

_OPPOSITES = (
    ("maximum", "minimum"), ("largest", "smallest"), ("highest", "lowest"), ("first", "last"),
    ("before", "after"), ("increase", "decrease"), ("increases", "decreases"),
    ("advantage", "disadvantage"), ("advantages", "disadvantages"), ("with", "without"),
    ("more", "less"), ("most", "least"), ("early", "late"), ("higher", "lower"),
    ("start", "stop"), ("enable", "disable"), ("can", "cannot"), ("is", "is not"),
    ("cause", "prevent"), ("causes", "prevents"), ("positive", "negative"),
)  # fmt: skip
_OPPOSITE = {a: b for x, y in _OPPOSITES for a, b in ((x, y), (y, x))}
_ASPECTS = (
    "history", "price", "maximum size", "inventor", "duration", "weight", "colour", "name",
    "origin", "number", "location", "cost", "date", "length", "temperature", "range", "speed",
    "main risk", "successor", "alternative",
)  # fmt: skip
_SUBJECT = re.compile(
    r"^((?:The|A|An) )?([A-Za-z0-9_`/.-]+(?: [A-Za-z0-9_`/.-]+){0,4}?) "
    r"(is|are|can|uses|use|provides|requires|allows|contains|has|have|defines|supports|makes|"
    r"causes|produces|needs|consists of|must|should) (.+)$"
)


def hurried(question: str) -> str:
    """Write the question as a reader in a hurry would: content words only, in lower case."""
    return " ".join(w for w in words(question.lower()) if w not in STOPWORDS) or question


def from_heading(rng: random.Random, heading: str) -> str:
    """Ask for what stands under a heading."""
    title = heading.strip(" .:")
    lower = title[0].lower() + title[1:] if len(title) > 1 and title[1].islower() else title
    if re.match(r"^[A-Z][a-z]+ing\b", title):
        return rng.choice([f"How does {lower} work?", f"What about {lower}?", title])
    if re.match(r"^(?:Create|Install|Run|Build|Set|Add|Write|Use|Check|Configure|Start)\b", title):
        return rng.choice([f"How do I {lower}?", f"How to {lower}"])
    if re.match(r"^(?:How|What|Why|When|Where|Which)\b", title):
        return title.rstrip("?") + "?"
    return rng.choice([f"What is {lower}?", f"Explain {lower}", f"Why {lower}?", lower, title])


def from_sentence(rng: random.Random, sentence: str) -> str | None:
    """Turn a plain statement into a question it answers, where that is easy."""
    found = _SUBJECT.match(sentence)
    if not found or len(sentence) > 260:
        return None
    subject = f"{(found[1] or '').lower()}{found[2]}".strip()
    if subject.lower() in STOPWORDS or not terms(subject):
        return None
    verb, rest = found[3], found[4].rstrip(".")
    plural = verb in ("are", "have", "use")
    helper = "do" if plural else "does"
    base = {"has": "have", "uses": "use", "consists of": "consist of", "causes": "cause"}
    bare = base.get(verb, verb.rstrip("s"))
    if verb in ("is", "are"):
        # Asking by the predicate: the subject is the answer.
        return rng.choice([f"What {verb} {subject}?", f"What {verb} {rest}?"])
    if verb in ("can", "must", "should"):
        done = " ".join(rest.split()[:6])
        return rng.choice([f"What {verb} {subject} do?", f"What {verb} {done}?"])
    return rng.choice([f"What {helper} {subject} {bare}?", f"What {verb} {rest}?"])


def altered(rng: random.Random, question: str, others: list[str], answer: str) -> list[str]:
    """Change a question so that the sentence that answered it no longer does."""
    said = {w.lower() for w in words(answer)}
    ways = [
        _number(rng, question),
        _opposite(question),
        _aspect(rng, question),
        _swapped(rng, question, others, said),
        _swapped(rng, question, others, said),
    ]
    found = [w for w in ways if w and w != question]
    rng.shuffle(found)
    return found


def _number(rng: random.Random, question: str) -> str | None:
    found = list(re.finditer(r"\b\d+(?:\.\d+)?\b", question))
    if not found:
        return None
    one = rng.choice(found)
    other = str(int(float(one[0])) + rng.choice([1, 3, 7, 10, 15]))
    return question[: one.start()] + other + question[one.end() :]


def _opposite(question: str) -> str | None:
    for word in question.split():
        bare = word.strip("?,.").lower()
        if bare in _OPPOSITE:
            return re.sub(rf"\b{re.escape(bare)}\b", _OPPOSITE[bare], question, count=1, flags=re.I)
    return None


def _aspect(rng: random.Random, question: str) -> str | None:
    """Ask for another side of the same thing."""
    found = re.match(
        r"^(What|Which|How|Why|When|Where|Who)\b.*?\b(?:of|in|for|by|with) (.+)$", question
    )
    return f"What is the {rng.choice(_ASPECTS)} of {found[2]}" if found else None


def _swapped(rng: random.Random, question: str, others: list[str], said: set[str]) -> str | None:
    """Put in a word of another question about the same matter that the answer does not have."""
    own = [w for w in words(question) if w.lower() not in STOPWORDS and len(w) > 3]
    theirs = [
        w
        for w in words(rng.choice(others))
        if w.lower() not in STOPWORDS and len(w) > 3 and w.lower() not in said and w not in own
    ]
    if not own or not theirs:
        return None
    old = rng.choice(own)
    return re.sub(rf"\b{re.escape(old)}\b", rng.choice(theirs), question, count=1)
