"""A follow-up question to one that can stand alone, from the words of the conversation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quire.prose.terms import STOPWORDS, terms, words

_ABOUT = re.compile(
    r"^\s*(?:and|or|but|ok(?:ay)?|so|then|also|now)?[,\s]*"
    r"(?:what|how)\s+about\s+(?:the\s+|a\s+|an\s+)?(.+?)\s*\?*\s*$"
    r"|^\s*(?:and|or|but)[,\s]+(?:for|with|in|on|of|to|by|at|from|as)\s+(.+?)\s*\?*\s*$"
    r"|^\s*(?:and|or)[,\s]+(?:the\s+|a\s+|an\s+)?((?:[\w/`'-]+\s*){1,4})\?+\s*$",
    re.I,
)
_BARE = re.compile(
    r"^\s*(?:and|but|ok(?:ay)?|so)?[,\s]*"
    r"(why|how|when|where|who|really|for example|such as|like what"
    r"|how so|why not|why is that|why so|in what way|how come"
    r"|(?:can|could|would) you (?:give|show)(?: me)? (?:an )?examples?"
    r"|(?:give|show)(?: me)? (?:an )?examples?"
    r"|tell me more|go on|more|explain(?: more| that)?|elaborate)\W*$",
    re.I,
)
_PRONOUN = re.compile(
    r"\b(?:it|its|it's|they|them|their|theirs|this|that|these|those|he|she|him|her|one|ones|there"
    r"|the (?:former|latter|same|other|first|second))\b",
    re.I,
)
_RELATIVE = re.compile(
    r"\b(?:is|was)\s+(?:it|there)\s+(?:true|possible|safe|worth|better|any)\b"
    r"|\w+\s+(?:that|this)\s+(?=\w+(?:s|ed|es)\b)"
    r"|\b(?:this|that|these|those|the) (?:book|chapter)\b",
    re.I,
)
_OPENING = re.compile(
    r"^\s*(?:so|and|but|ok|okay|please|now)?[,\s]*"
    r"(?:(?:what|which|who|where|when|why|how)(?:'s|’s)?(?:\s+(?:much|many|often|long|far|fast))?"
    r"|can|could|should|do|does|did|is|are|tell me|explain|describe|define|give me|list|name)\b",
    re.I,
)
_JOIN = {"of", "and", "for", "in", "to", "with", "on", "the", "vs", "a"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question, made standalone, and the headings its answer cited."""

    question: str
    headings: tuple[str, ...] = ()


def standalone_question(question: str, history: Sequence[Exchange]) -> str:
    """Give the question with what it leaves unsaid filled in; unchanged if it leaves nothing."""
    if not history:
        return question
    last = history[-1]
    topic = topic_of(last)
    if found := _ABOUT.match(question):
        return _swapped(last.question, next(g for g in found.groups() if g), topic)
    if found := _BARE.match(question):
        return f"{found[1].capitalize()}: {last.question}"
    plain = _RELATIVE.sub(" ", question)
    if topic and _PRONOUN.search(plain):
        return _with_topic(question, topic)
    if topic and len(set(terms(question))) <= 1:
        return f"{question.rstrip('? ')} ({topic})?"
    return question


def topic_of(exchange: Exchange) -> str:
    """Give the words an earlier question was about."""
    runs = _runs(_OPENING.sub("", exchange.question))
    if runs:
        return max(runs, key=lambda run: (len(set(terms(run))), -runs.index(run)))
    return exchange.headings[0] if exchange.headings else ""


def _runs(text: str) -> list[str]:
    """Split into runs of meaning-carrying words; small words inside a run stay."""
    runs: list[list[str]] = [[]]
    for word in words(text):
        if word.lower() in STOPWORDS and not (runs[-1] and word.lower() in _JOIN):
            runs.append([])
        else:
            runs[-1].append(word)
    trimmed = [_without_tail(run) for run in runs]
    return [" ".join(run) for run in trimmed if run]


def _without_tail(run: list[str]) -> list[str]:
    while run and run[-1].lower() in STOPWORDS:
        run = run[:-1]
    return run


def _with_topic(question: str, topic: str) -> str:
    said = set(terms(question))
    new = " ".join(word for word in words(topic) if not said & set(terms(word)))
    if not set(terms(new)):
        return question
    return _PRONOUN.sub(lambda match: _replaced(match[0], new), question, count=1)


def _replaced(pronoun: str, topic: str) -> str:
    return f"{topic}'s" if pronoun.lower() in ("its", "their", "theirs", "his", "her") else topic


def _swapped(previous: str, new: str, topic: str) -> str:
    """Ask the earlier question again, about something else."""
    new = new.strip()
    if _PRONOUN.fullmatch(new):
        return previous
    for pronoun in ("its ", "their ", "the "):
        new = new[len(pronoun) :] if new.lower().startswith(pronoun) else new
    runs = _runs(_OPENING.sub("", previous))
    if not runs:
        return f"{new}: {topic}"
    target = runs[-1].split()
    count = max(1, min(len(target), len(new.split())))
    tail = " ".join(target[-count:])
    place = previous.rfind(tail)
    if place < 0:
        return f"{previous.rstrip('? ')}: {new}?"
    return previous[:place] + new + previous[place + len(tail) :]
