"""Extract the noun phrases of a question, by function words and the position of the verb."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from citewell.text.terms import STOPWORDS

_VERB = "is|are|was|were|do|does|did|can|could|should|will|would|must|may|might|has|have|had"
_ANY_VERB = re.compile(rf"\b(?:{_VERB})\b", re.I)
_OPENING = re.compile(
    r"\s*(?:(?:so|and|but|or|ok|okay|please|now|then|also|yes|no|well)\b[,\s]*)*"
    r"(?:(?P<order>(?:(?:tell|show|give|explain|describe|define|compare|contrast|list|name|me|about)\b\s*)+)"
    r"|(?:(?:in|on|at|to|for|by|from|with|of)\s+)?"
    r"(?P<question_word>what|which|whose|whom|who|where|when|why|how)\b(?:\s+(?:often|long|far|fast)\b)?"
    rf"(?:(?P<short>['’]s\b)|\s+(?P<fronted>(?:[^\s,?]+\s+){{0,3}}?)(?P<verb>{_VERB})\b)?"
    rf"|(?P<first>{_VERB})\b)?",
    re.I,
)
_TOKEN = re.compile(r"[\w`/](?:[^\s,;:?!()\"“”]*[^\s,;:?!()\"“”.'’])?")
_FORMS_OF_BE = ("is", "are", "was", "were", "'s", "’s")
_SPEAKER = re.compile(r"\s*(?:i|you|we|one)\b", re.I)
_EXPLETIVE_IT = re.compile(
    r"\s*it\s+(?:takes?|costs?|\w+)\s+(?:(?:me|you|us|for \w+)\s+)?to\b", re.I
)
"""“How long does it take to …”: the topic follows this “it”."""
_PHRASE_JOINT = re.compile(r"\s*(?:,|and|or|of)\s+(?:(?:an?|the)\s+)?", re.I)
_LIGHT_VERBS = frozenset(
    re.findall(r"\S+", "need use work have mean make get give know say want do")
)
"""Verbs without content, which end a run of content words."""
_ENDS_IN_VERB = re.compile(r"\b(?:do|mean|work|have|need|use)\W*$", re.I)
"""“What does the speed of a fan do?”: everything before the verb is the subject."""
_ENDS_IN_PREPOSITION = re.compile(r"(\w+)\s+(?:on|for|of|from|by|with|in|to|at|as)\W*$", re.I)
_MAX_TOPIC_WORDS = 10
_PARTICLES = ("off", "out", "up", "down", "over")
"""Particles that can end a name, as in “safe torque off”."""

_Run = list[re.Match[str]]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase of a question."""

    start: int
    end: int
    """Offsets in the question, without the article."""
    text: str
    article: str = ""

    @property
    def full(self) -> str:
        """The phrase with its article."""
        return f"{self.article} {self.text}".strip()

    @property
    def is_name(self) -> bool:
        """Whether the phrase is written like a name or identifier."""
        return _is_name(self.text)

    @property
    def is_plural(self) -> bool:
        """Whether the phrase looks like a plural."""
        return _is_plural(self.text)


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """The parts of a question."""

    phrases: tuple[Phrase, ...]
    """The noun phrases, in order."""
    topic: str
    """What “it” would refer to in the next question."""
    clause: str
    """Everything after the interrogative."""
    has_action: bool
    """Whether the question has an action, so that “that” can refer to the whole clause."""
    is_complete: bool
    """Whether the question has a verb, and is more than a fragment."""
    interrogative_end: int
    """Offset of the end of the interrogative."""


def parse_question(question: str) -> ParsedQuestion:
    """Parse a question."""
    opening = _parse_opening(question)
    if expletive := _EXPLETIVE_IT.match(question, opening.end):
        opening = replace(opening, end=expletive.end(), verb="", has_expletive=True)
    runs = _content_word_runs(question, opening.end)
    clause = question[runs[0][0].start() : runs[-1][-1].end()] if runs else ""
    has_action = bool(runs) and (
        _has_predicate(opening, runs[0]) or _asks_what_is_verbed_on(question, opening)
    )
    speaker = _SPEAKER.match(question, opening.end)
    has_subject = has_action and bool(opening.verb) and not speaker
    subject_runs = 1
    if has_subject and opening.verb not in _FORMS_OF_BE and _ENDS_IN_VERB.search(question):
        subject_runs = len(runs)
    elif (
        has_action and not has_subject and not (speaker and _light_verb_at(question, speaker.end()))
    ):
        runs = [runs[0][1:], *runs[1:]]  # the verb comes first: “How do I install”, “Who wrote”
    elif has_subject:
        subject_runs = _count_subject_runs(question, runs)
        *earlier_runs, run = runs[:subject_runs]
        length = _count_subject_words(question, run, be=opening.verb in _FORMS_OF_BE)
        runs = [*earlier_runs, run[:length], run[length + 1 :], *runs[subject_runs:]]
    phrases = [_phrase(question, run) for run in map(_without_particle, runs) if run]
    if opening.fronted:
        clause = f"{opening.fronted.text} {clause}".strip()
    topic = _join_phrases(question, phrases[:subject_runs] if has_subject else phrases)
    if opening.fronted and not has_action:
        topic = _describe_choice(opening, question)
    elif _is_statement(question, opening):
        topic, has_action = clause, True
    return ParsedQuestion(
        phrases=(opening.fronted, *phrases) if opening.fronted else tuple(phrases),
        topic=topic or clause,
        clause=clause,
        has_action=has_action,
        is_complete=has_action or bool(opening.verb),
        interrogative_end=opening.end,
    )


@dataclass(frozen=True, slots=True)
class _Opening:
    """The interrogative: “At what rate does”, “Which planners are”, “Explain”."""

    end: int
    question_word: str = ""
    verb: str = ""
    fronted: Phrase | None = None
    """The phrase between the question word and the verb."""
    has_expletive: bool = False
    """Whether the subject is an expletive “it”."""


def _parse_opening(question: str) -> _Opening:
    match = _OPENING.match(question)
    assert match is not None, "every part of the pattern may be empty"
    if match["order"]:
        return _Opening(match.end(), "what", "is")
    question_word = (match["question_word"] or "").lower()
    verb = (match["verb"] or match["first"] or match["short"] or "").lower()
    fronted = match["fronted"] or ""
    is_count = bool(re.match(r"(?:many|much)\b", fronted, re.I))
    fronted_words = re.sub(r"^(?:many|much)\s*", "", fronted, flags=re.I).split()
    if any(word.lower() in STOPWORDS for word in fronted_words):
        return _Opening(match.end("question_word"), question_word)
    if not fronted_words or (question_word == "how" and not is_count):
        return _Opening(match.end(), question_word, verb)
    text = " ".join(fronted_words)
    start = question.index(text, match.start("fronted"))
    return _Opening(match.end(), question_word, verb, Phrase(start, start + len(text), text))


def _content_word_runs(question: str, begin: int) -> list[_Run]:
    runs: list[_Run] = [[]]
    end = begin
    for token in _TOKEN.finditer(question, begin):
        word = token[0].lower()
        is_adjacent = not question[end : token.start()].strip()
        end = token.end()
        # “CAN” is a name, whatever “can” is.
        is_function_word = re.split("['’]", word)[0] in STOPWORDS and not _is_acronym(token[0])
        if is_function_word and not (word in _PARTICLES and is_adjacent and runs[-1]):
            runs.append([])
        elif is_adjacent:
            runs[-1].append(token)
        else:
            runs.append([token])
    return [run for run in runs if run]


def _has_predicate(opening: _Opening, subject: _Run) -> bool:
    """Return whether a predicate follows the first phrase."""
    if not opening.verb:
        return opening.question_word in ("what", "who") or opening.has_expletive
    if opening.verb not in _FORMS_OF_BE:
        return True
    if opening.question_word in ("where", "when"):
        return subject[-1][0].endswith("ed")
    return opening.question_word in ("", "how", "why")


def _asks_what_is_verbed_on(question: str, opening: _Opening) -> bool:
    """Return whether the question is like “What is the bridge built on?”."""
    is_what = (
        opening.question_word == "what" and not opening.fronted and opening.verb in _FORMS_OF_BE
    )
    match = _ENDS_IN_PREPOSITION.search(question)
    # “made”, in “made of”, is a stopword: no content word remains that could be the verb.
    return is_what and match is not None and match[1].lower() not in STOPWORDS


def _is_statement(question: str, opening: _Opening) -> bool:
    """Return whether the text is like “My lamp is dark although it is plugged in, why?”."""
    return not opening.question_word and not opening.verb and bool(_ANY_VERB.search(question))


def _describe_choice(opening: _Opening, question: str) -> str:
    """Return “the fan that is best for a loft” for “Which fan is best for a loft?”."""
    assert opening.fronted is not None, "only then there is something to describe"
    predicate = question[opening.end :].strip(" ?.!")
    description = f"the {opening.fronted.text} that {opening.verb} {predicate}"
    return (
        description
        if len(description.split()) <= _MAX_TOPIC_WORDS
        else f"the {opening.fronted.text}"
    )


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.isupper() and word.isalpha()


def _light_verb_at(question: str, offset: int) -> bool:
    following = _TOKEN.search(question, offset)
    return following is not None and following[0].lower() in _LIGHT_VERBS


def _count_subject_runs(question: str, runs: list[_Run]) -> int:
    """Return the number of runs in the subject: two in “how do stocks and bonds differ”."""
    are_joined = len(runs) > 1 and _PHRASE_JOINT.fullmatch(
        question, runs[0][-1].end(), runs[1][0].start()
    )
    return 2 if are_joined and len(runs[1]) > 1 else 1


def _count_subject_words(question: str, run: _Run, *, be: bool) -> int:
    """Return the number of words in the subject of “the depth camera measure”."""
    words = [token[0] for token in run]
    if not be and _light_verb_at(question, run[-1].end()):
        return len(words)
    without_last = max(1, len(words) - 1)
    if be or len(words[1:]) <= 1:
        return without_last
    if _is_plural(words[-1]):
        return len(words) - 2
    names = next((at for at, word in enumerate(words) if not _is_name(word)), 0)
    followed_by_object = len(words) == names + 2 and not _article(question, run[0].start())
    return names if names and followed_by_object else without_last


def _without_particle(run: _Run) -> _Run:
    return run[1:] if run and run[0][0].lower() in _PARTICLES else run


def _phrase(question: str, run: _Run) -> Phrase:
    start, end = run[0].start(), run[-1].end()
    return Phrase(start, end, question[start:end], _article(question, start))


def _join_phrases(question: str, phrases: list[Phrase]) -> str:
    """Join the phrases up to the next verb: “the focal length of a lens”."""
    if not phrases:
        return ""
    end = phrases[0].end
    for phrase in phrases[1:]:
        if _ANY_VERB.search(question, end, phrase.start):
            break
        end = phrase.end
    return f"{phrases[0].article} {question[phrases[0].start : end]}".strip()


def _article(question: str, at: int) -> str:
    match = re.search(r"\b(a|an|the)\s+$", question[:at], re.I)
    return match[1].lower() if match else ""


def _is_name(text: str) -> bool:
    return any(c.isupper() or c.isdigit() or c in "_/" for c in text)


def _is_plural(text: str) -> bool:
    return bool(re.search(r"[^siu]s$", text))


_ORDINAL_INDEX = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_ORDINAL_INDEX |= {"former": 0, "latter": -1}
_ORDINAL = "first|second|third|fourth|fifth|last"
CHOICE = re.compile(
    r"\bthe (?:(?P<side>former|latter)"
    rf"|(?P<place>{_ORDINAL})(?: (?:one|option|kind|type|of (?:them|these|those))\b"
    r"|(?=\W*$|[,;?]| (?:is|are|was|were|do|does|did|has|have|can|will|would)\b)))",
    re.I,
)
_CHOICE_JOINT = re.compile(
    r"\s*(?:differs?\s+|different\s+|compared?\s+)?"
    r"(?:,|,?\s*(?:and|or)|versus|vs\.?|from|with|to|than)\s+(?:an?|the)?\s*",
    re.I,
)
_LIST_ITEM = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+(.+)$", re.M)
_MAX_ITEM_WORDS = 8
_MAX_NAME_WORDS = 4
"""Maximum words of a name."""
_SERIES = re.compile(
    r"(?:\b(?:are|include|includes|namely|as)|:)\s+"
    r"((?:[^\s,.;:]+\s){0,3}[^\s,.;:]+(?:,\s+(?:[^\s,.;:]+\s){0,3}[^\s,.;:]+)*"
    r",?\s+(?:and|or)\s+(?:[^\s,.;:]+\s?){1,4})(?=[.;]|$)",
    re.M,
)


def list_choices(question: str, answer: str = "") -> tuple[str, ...]:
    """Return the alternatives in a question, or else those in its answer."""
    choices: list[str] = []
    end = -1
    for phrase in parse_question(question).phrases:
        gap = question[end : phrase.start] if end >= 0 else ""
        if choices and not _CHOICE_JOINT.fullmatch(gap):
            if len(choices) > 1:
                break
            choices = []
        choices.append(phrase.full)
        end = phrase.end
    return tuple(choices) if len(choices) > 1 else _list_items(answer)


def _list_items(answer: str) -> tuple[str, ...]:
    items = [re.split(r"[:–—]\s", item)[0] for item in _LIST_ITEM.findall(answer)]
    if len(items) > 1:
        return tuple(" ".join(item.split()[:_MAX_ITEM_WORDS]).rstrip(".") for item in items)
    match = _SERIES.search(re.sub(r"\s*\[[\d, ]+\]", "", answer))
    return tuple(re.split(r",\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+", match[1])) if match else ()


def resolve_choice(question: str, options: Sequence[str]) -> str | None:
    """Resolve “the second one” to one of the options, if the question refers to one."""
    match = CHOICE.search(question)
    index = _ORDINAL_INDEX[(match["side"] or match["place"]).lower()] if match else 0
    if not match or not options or index >= len(options):
        return None
    option = options[index].strip()
    if len(option.split()) > _MAX_NAME_WORDS:
        return f"{question.rstrip('?. ')} ({option})?"
    return question[: match.start()] + option + question[match.end() :]
