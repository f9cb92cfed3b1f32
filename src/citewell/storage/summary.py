"""What a conversation was about, said from its own words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citewell.text.terms import STOPWORDS, stem, words

MAX_LENGTH = 200
PHRASES = 3
HEADINGS = 3
PHRASE_WORDS = 3
VAGUE_WORDS = STOPWORDS | frozenset(
    re.findall(
        r"\S+",
        """
        actually another apply best better call called cause change common compare compared
        comparison depend difference different differ differs exactly fail far find good happen
        happens help important instead job kind know long main mainly need normally often part
        point possible problem problems purpose reason role rule said show simple sort sorts take
        tell type types typically versus vs work wrong
        """,
    )
)
"""Words of questions that are not what they are about."""
GENERIC_HEADINGS = frozenset(
    {"summary", "introduction", "overview", "exercises", "conclusion", "references"}
)
"""Headings that every chapter may have."""
ARTICLES = frozenset({"a", "an", "the", "its", "their", "my", "your", "this", "these"})
_BREAK = re.compile(r"[,;:.?!()\[\]\"“”„]+(?:\s|$)|\s[–—-]+\s|\n")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question, complete in itself, and the headings of the passages that answered it."""

    question: str
    headings: Sequence[str] = ()


@dataclass(slots=True)
class _Phrase:
    text: str
    stems: frozenset[str]
    asked: int = 0

    @property
    def weight(self) -> float:
        # A longer phrase says more than its words; one that is asked about again, more still.
        return self.asked * (1 + 0.6 * (len(self.stems) - 1))


def summarise(exchanges: Sequence[Exchange]) -> str | None:
    """Name what was asked about more than once, and where in the book it was found.

    At most 200 characters; `None` if no question has a word that says what it is about.
    """
    phrases = _chosen(exchanges, least=2)
    headings = _most_cited(exchanges, leaving_out=phrases)
    if not phrases and not headings:
        phrases = _chosen(exchanges, least=1)
    return _fitted(phrases, headings)


def find_mentioned(said: str, exchanges: Sequence[Exchange]) -> str | None:
    """Name what `said` names of what was asked about, and of the headings that answered.

    No word of `said` itself comes into it. At most 200 characters; `None` if it names nothing.
    """
    spoken = _run(said)
    asked = {text: _run(text) for one in exchanges for text in _phrases(one.question)}
    places = {text: at for text, run in asked.items() if (at := _place(run, spoken)) is not None}
    phrases: dict[str, int] = {}
    for text in sorted(places, key=lambda text: (-len(asked[text]), places[text])):
        if not any({*asked[text]} & {*asked[other]} for other in phrases):
            phrases[text] = places[text]
    headings = [
        heading
        for heading in _most_cited(exchanges, leaving_out=list(phrases))
        if _place(_run(heading), spoken) is not None
    ]
    return _fitted(sorted(phrases, key=phrases.__getitem__)[:PHRASES], headings)


def _run(text: str) -> list[str]:
    return [stem(word.lower()) for word in words(text)]


def _place(run: Sequence[str], spoken: Sequence[str]) -> int | None:
    """Return where the words stand one after the other; `None` if they do not."""
    starts = range(len(spoken) - len(run) + 1)
    return next((at for at in starts if run and spoken[at : at + len(run)] == run), None)


def _fitted(phrases: list[str], headings: list[str]) -> str | None:
    while phrases or headings:
        text = _sentence(phrases, headings)
        if len(text) <= MAX_LENGTH:
            return text
        (headings or phrases).pop()
    return None


def _chosen(exchanges: Sequence[Exchange], *, least: int) -> list[str]:
    found: dict[frozenset[str], _Phrase] = {}
    for exchange in exchanges:
        for text in _phrases(exchange.question):
            stems = _stems(words(text))
            found.setdefault(stems, _Phrase(text, stems))
    asked = [_stems(words(exchange.question)) for exchange in exchanges]
    for phrase in found.values():
        phrase.asked = sum(phrase.stems <= stems for stems in asked)
    chosen: list[_Phrase] = []
    for phrase in sorted(found.values(), key=lambda one: -one.weight):
        new = not any(phrase.stems & other.stems for other in chosen)
        if new and phrase.asked >= least:
            chosen.append(phrase)
    return [phrase.text for phrase in chosen[:PHRASES]]


def _phrases(question: str) -> Iterator[str]:
    """Yield runs of words that name something: “Fresnel lens” of “What is a Fresnel lens?”."""
    for clause in _BREAK.split(question):
        run: list[str] = []
        for word in [*words(clause), ""]:
            if word and word.lower() not in VAGUE_WORDS and not word.isdigit():
                run.append(word)
                continue
            if word.lower() in ARTICLES:
                del run[-1:]  # what stands before an article is a verb: “winds the clockwork”
            yield from _parts(run)
            run = []


def _parts(run: Sequence[str]) -> Iterator[str]:
    for length in range(1, PHRASE_WORDS + 1):
        for start in range(len(run) - length + 1):
            yield " ".join(run[start : start + length])


def _stems(said: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(word.lower()) for word in said)


def _most_cited(exchanges: Sequence[Exchange], *, leaving_out: Sequence[str]) -> list[str]:
    said = {text.casefold() for text in leaving_out} | GENERIC_HEADINGS
    counts: dict[str, int] = {}
    for exchange in exchanges:
        for heading in dict.fromkeys(" ".join(one.split()) for one in exchange.headings):
            if heading and heading.casefold() not in said:
                counts[heading] = counts.get(heading, 0) + 1
    return sorted(counts, key=lambda heading: -counts[heading])[:HEADINGS]


def _sentence(phrases: Sequence[str], headings: Sequence[str]) -> str:
    about = _listed(phrases)
    # `cmd_vel` and `iPhone` keep the case that they are written in.
    if about[:1].islower() and about.split()[0].strip(",").isalpha() and about.split()[0].islower():
        about = about[0].upper() + about[1:]
    where = _listed([f"“{heading}”" for heading in headings])
    return f"{about}, in {where}" if about and where else about or where


def _listed(items: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))
