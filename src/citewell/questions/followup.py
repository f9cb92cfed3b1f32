"""Rewrite follow-ups to standalone questions, with terms from the conversation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from citewell.questions.phrases import (
    ParsedQuestion,
    Phrase,
    list_choices,
    parse_question,
    resolve_choice,
)
from citewell.text.plain_text import strip_inline_markup
from citewell.text.terms import STOPWORDS, terms, words

_CORRECTION = re.compile(
    r"^\s*(?:(?:no|nope|nah|sorry|oops|wait|actually|hm+|well|ok(?:ay)?|my bad|oh)\b[,.!…\s]*)*"
    r"(?:(?:i|what i|but i)\s+(?:actually\s+|really\s+)?(?:meant?|was (?:asking|talking)|am asking"
    r"|wanted|asked)(?:\s+(?:is|was))?(?:\s+about)?\s+|(?=(?:not|rather|instead)\b))",
    re.I,
)
_NO = re.compile(r"^\s*(?:no|nope|nah|sorry|oops|wait|actually|rather)\b[,.!…\s]+(?=\S)", re.I)
_NOT_THIS = re.compile(
    r"^not\s+(?P<old>[^,;.]+?)\s*(?:[,;.]|\bbut\b)[\s,]*(?:but\s+)?(?P<new>[^?]+)$"
    r"|^(?P<new2>[^,;?]+?),?\s+(?:and\s+)?(?:not|instead of|rather than)\s+(?P<old2>[^?]+)$",
    re.I,
)
_MOST_WORDS = 8
"""A longer message is a question, not a correction."""


@dataclass(frozen=True, slots=True)
class Correction:
    """What the reader meant, and what it replaces, if stated."""

    new: str
    old: str = ""


def parse_correction(asked: str) -> Correction | None:
    """Return the correction that a message makes, if any."""
    begun = _CORRECTION.match(asked) or _NO.match(asked)
    rest = asked[begun.end() :].strip(" ?.!,") if begun else ""
    if not rest or len(rest.split()) > _MOST_WORDS:
        return None
    if found := _NOT_THIS.match(rest):
        return Correction(
            new=(found["new"] or found["new2"]).strip(), old=(found["old"] or found["old2"]).strip()
        )
    return Correction(new=rest)


_COURTESY = re.compile(
    r"^\s*(?:(?:thanks|thank you|great|right|interesting|i see|ok|okay|hm+)\s*[,.!…]+\s*)+", re.I
)
_BARE = re.compile(
    r"^\s*(?:and|but|ok(?:ay)?|so)?[,\s]*"
    r"(?:please\s+)?(?:(?:can|could|would) you (?:please )?)?"
    r"(why|how|when|where|who|really|for (?:example|instance)|such as|like what|meaning"
    r"|how so|why not|why is that|why so|in what way|how come|since when|how exactly"
    r"|(?:(?:give|show)(?: me)? )?(?:an? |some |another |more )?(?:concrete |simple )?examples?"
    r"|(?:tell me |say |give me )?(?:some )?more(?: details?| about (?:it|that|this))?|go on"
    r"|explain(?: more| that| it| this)?|elaborate|continue|then)"
    r"(?:,? please)?\W*$",
    re.I,
)
_AND = re.compile(r"^\s*(?:and|but|so)[,\s]+", re.I)
_VERB = r"(?:is|are|was|were|do|does|did|can|could|should|will|would|must)\b"
_ASKS = re.compile(
    rf"(?!if\b|when\b).*\b(?:(?:what|which|who|whose|where|why|how)\b|{_VERB})", re.I
)
_ABOUT = re.compile(
    r"^\s*(?:(?:and|or|but|ok(?:ay)?|so|then|also|now)[,\s]+)?(?:what|how)\s+about\s+([^?]+?)[?.!…\s]*$"
    r"|^\s*(?:and|or|but)[,\s]+((?:[^\s?,]+\s+){0,5}[^\s?,]+)[?.\s]*$"
    r"|^\s*((?:if|unless)\s+[^,?]{1,60}?)[?.…\s]*$"
    r"|^\s*((?:for|with|without|in|on|under|at|during)\s+(?:[^\s?,]+\s+){0,3}[^\s?,]+)\?[?\s]*$",
    re.I,
)
_ADJUNCT = re.compile(
    r"(for|with|without|in|on|under|at|during|of|to|by|from|as|if|when)\s+(?=\S)", re.I
)
_PLACES = ("in", "on", "at", "under", "during", "with", "without")
"""Interchangeable prepositions: “in fog”, “and at night?”."""
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|she|him|his|her|this|these|those)\b"
    r"|\bthat\b(?=\W*$|,| (?:for|with|in|on|to|by|from)\b)"
    r"|(?<=\bis )that\b|(?<=\bdo )that\b|(?<=\bof )that\b|(?<=\bdoes )that\b|(?<=\bthan )that\b",
    re.I,
)
_EMPTY = re.compile(
    r"\b(?:is|was|be|isn[’']t)\s+it\s+(?:(?!able|going|similar|close|due|subject|equal|here|there)"
    r"\w+(?<!ed)\s+){1,3}?(?:that|to|if|for)\b"
    r"|\bis\s+it\s+worth\s+\w+ing\b|\bit\s+(?:takes?|costs?)\s+(?:\w+\s+)?to\b"
    r"|\b(?:this|that) (?:book|chapter)\b",
    re.I,
)
_ITS = "(?:its|their|his|her)"
_DEFINITE = {"the": True, "a": False, "an": False}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "last", "next", "other")
_POSSESSIVE = ("its", "their", "theirs", "his", "her")
_OWNED = re.compile(
    r"\s+([\w-]+(?:\s+(?!(?:be|become|have|look|mean|work)\b)[\w-]+)?)"
    r"((?:\s+(?:be|become|have|look|mean|work))?\W*)"
)
_PLURAL = ("they", "them", "their", "theirs", "these", "those")
_POINTING = ("this", "that", "these", "those")
_CLAUSE = re.compile(
    r"[,;:]|\s[-–—]\s|\b(?:when|if|while|because|and|so|after|before|once|until)\b", re.I
)
_CHOICE = re.compile(
    r"\b(?:which|another|other|best|right) ones?\b|\bones?\W*$"
    r"|\bof (?:the (?:two|three|four)|both)\b|^\s*which (?:is|are|has|have|would|should)\b"
    r"|\b(?:both|either|neither)\W*$"
    r"|\bthe (?:former|latter)\b|\bthe (?:same|other|first|second)\W*$",
    re.I,
)
_ELLIPSIS = re.compile(
    r"^\s*(?:why not|what if|what else|how else|anything else)\b"
    r"|^\s*(?:is|are) there (?:any |other |some )*\w+\W*$"
    r"|\b(?:the|any) (?:\w+ )?(?:drawback|downside|advantage|disadvantage|benefit|limitation"
    r"|alternative|difference|default|purpose|requirement|step|risk|trade-off|result|reason)s?\W*$",
    re.I,
)
_GENERIC = re.compile(
    r"^\s*(?:what|which|how (?:many|much))(?: other)?(?: \w+){1,2}"
    r" (?:do|should|can|could|would|must|will) (?:i|you|we|one)"
    r"(?: (?:need|use|take|do|choose|pick|buy|get|have|know|start with))?\W*$",
    re.I,
)
"""“What tools do I need?”: the previous question says for what."""
_ACT = re.compile(r"(\w+(?: up| down| off| on| out)?) (?:it|them|that|this|these)\W*$", re.I)
_PERSONAL = ("he", "she", "him", "his", "her")
_SAME = re.compile(
    r"^\s*(?:(?:does|is|would|will|and) )*(?:it |that )?(?:the same|likewise)"
    r"(?: (?:hold|apply|go|true|be|work|happen)s?)?(?: true| too| also)?"
    r" (?:for|to|of|with|in) (?P<new>[^?]+?)\W*$",
    re.I,
)
_BESIDE = re.compile(r"\(([^()]+)\)\W*$")
"""A topic that an earlier rewrite appended in brackets."""
_ABBREVIATION = re.compile(r"\s+\((?=[^()]*[A-Z][^()]*[A-Z])([A-Za-z0-9-]{2,9})\)")
_OF_IT = re.compile(r"\b(?:the|any|some)(?: [\w-]+){1,2}\W*$", re.I)
"""“What is the price?”, “Any drawbacks?”: the previous question says of what."""
_COMPARED = re.compile(
    r"\b(?:faster|slower|better|worse|safer|cheaper|larger|smaller|higher|lower|easier|harder"
    r"|(?:more|less) \w+)\W*$",
    re.I,
)

MOST_WORDS = 10
"""Maximum words of a phrase that can replace a pronoun."""
MOST_IN_BRACKETS = 16


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question, rewritten to stand alone, and its answer."""

    question: str
    headings: tuple[str, ...] = ()
    """Headings of the passages that the answer cites."""
    cited_chunk_ids: tuple[str, ...] = ()
    answer: str = ""
    answering_sentences: str = ""
    """The sentences that answer, without those quoted only for context."""


def standalone_question(question: str, history: Sequence[Exchange]) -> str:
    """Return the question with its references resolved; unchanged if there are none."""
    if not history:
        return question
    last = replace(history[-1], question=_core(_drop_expansions(history[-1].question)))
    asked = _COURTESY.sub("", question)
    if chosen := resolve_choice(asked, list_choices(last.question, last.answer)):
        return _AND.sub("", chosen)
    return (
        _repeat_with_change(asked, last.question)
        or _resolve_reference(_AND.sub("", asked), last)
        or question
    )


def _core(question: str) -> str:
    """Return the last sentence that is a question."""
    asking = [one for one in re.split(r"(?<=[.?!])\s+", question.strip()) if one.endswith("?")]
    return asking[-1] if asking else question


def _repeat_with_change(asked: str, previous: str) -> str | None:
    """Return the previous question as modified by this one; `None` if it does not modify it."""
    if found := _BARE.match(asked):
        return _ask_for_more(found[1], previous)
    if found := _ABOUT.match(asked):
        new = next(group for group in found.groups() if group).strip()
        if not _ASKS.match(new):
            return _replace_topic(previous, new)
    if found := _SAME.match(asked):
        return _replace_topic(previous, found["new"])
    if _is_name_alone(asked) and any(thing.is_name for thing in parse_question(previous).things):
        return _replace_topic(previous, asked.strip(" ?.!"))
    meant = parse_correction(asked)
    return _apply_correction(previous, meant) if meant else None


def append_topic(question: str, history: Sequence[Exchange]) -> str | None:
    """Return the question with the previous topic in brackets; `None` if it names the topic."""
    topic = topic_of(history[-1]) if history else ""
    if not topic or _names_topic(question, topic):
        return None
    return f"{question.rstrip('?. ')} ({topic})?"


def topic_of(exchange: Exchange) -> str:
    """Return the topic of an earlier question."""
    question = _drop_expansions(exchange.question)
    if beside := _BESIDE.search(question):
        return beside[1]
    return parse_question(question).topic or "".join(exchange.headings[:1])


def _ask_for_more(word: str, previous: str) -> str:
    """Repeat the previous question with “why”, “more” and the like."""
    before, colon, after = previous.partition(": ")
    if colon and _BARE.match(before):
        previous = after
    if re.match(_VERB, previous, re.I) and word.lower() in ("why", "how", "when", "where"):
        return f"{word.capitalize()} {previous[:1].lower()}{previous[1:]}"
    return f"{word.capitalize()}: {previous}"


def _replace_topic(previous: str, new: str) -> str:
    """Repeat the previous question about another topic."""
    if all(word.lower() in STOPWORDS for word in words(new)):
        return previous
    before = parse_question(previous)
    if found := _ACT.match(new):
        # “How do I open it? And close it?”
        reader = re.search(r"\b(?:i|you|we|one)\b", previous, re.I)
        if reader and reader.end() < (before.things[0].start if before.things else 0):
            return f"{previous[: reader.end()]} {found[1]} {before.things[0].full}?"
    if found := _ADJUNCT.match(new):
        word = found[1].lower()
        if word not in ("for", "with", "of") or re.search(rf"\b{word}\b", previous, re.I):
            return _replace_adjunct(previous, before, word, new)
        # “How do I call a service? And for an action?” asks the same of another thing.
        new = new[found.end() :]
    article, text = _article_of(new)
    own = Phrase(0, 0, text, article)
    if not before.things:
        return f"{previous.rstrip('?. ')}: {new}?"
    # “The speed of the fan – and the pump?” asks for another fan; “and its weight?”, for another
    # of its measures.
    things = before.things if re.match(_ITS, new, re.I) else before.things[::-1]
    old = max(things, key=lambda thing: _shared_shape(thing, own))
    if one := re.fullmatch(rf"(.+) ones?|(?:{'|'.join(_ORDINALS)})", text, re.I):
        own = Phrase(0, 0, _qualify_ordinal(one[1] or text, old.text.split()), article)
    elif one := re.match(r"ones? (?=that|which|who|with|without|of|in|on|for)\b", text, re.I):
        # “How is a relative name resolved? And one that starts with a tilde?”
        kind = " ".join(old.text.split()[1:][-2:] or [old.text])
        own = Phrase(0, 0, f"{kind} {text[one.end() :]}", old.article)
    start = old.start - (len(old.article) + 1 if old.article else 0)
    return previous[:start] + own.full + previous[old.end :]


def _is_name_alone(asked: str) -> bool:
    """Return whether it is only a name with a question mark: “K2?”."""
    own = parse_question(asked)
    named = [thing for thing in own.things if thing.text == asked.strip(" ?.!")]
    return asked.rstrip().endswith("?") and any(thing.is_name for thing in named)


def _apply_correction(previous: str, meant: Correction) -> str:
    if meant.old:
        bare = _article_of(meant.old)[1]
        found = re.search(rf"\b(?:(?:an?|the)\s+)?{re.escape(bare)}\b", previous, re.I)
        if found:
            return previous[: found.start()] + meant.new + previous[found.end() :]
    return _replace_topic(previous, meant.new)


def _qualify_ordinal(which: str, words: list[str]) -> str:
    """Return “second violin concerto” for “the second one”, after one about the first."""
    rest = words[1:] if which.lower() in _ORDINALS and words[0].lower() in _ORDINALS else words[-1:]
    return " ".join((which, *rest))


def _article_of(new: str) -> tuple[str, str]:
    found = re.match(rf"(?:(a|an|the)|{_ITS})\s+(?=\S)", new, re.I)
    return ((found[1] or "the").lower(), new[found.end() :]) if found else ("", new)


def _shared_shape(old: Phrase, new: Phrase) -> int:
    shared = set(terms(old.text)) & set(terms(new.text))
    return (
        4 * bool(shared)
        + 2 * (old.is_name == new.is_name)
        + (_DEFINITE.get(old.article) == _DEFINITE.get(new.article))
        + (old.is_plural == new.is_plural)
    )


def _replace_adjunct(previous: str, before: ParsedQuestion, word: str, new: str) -> str:
    """Replace “in fog” with “at night”, or append it."""
    topic = before.topic
    if word in ("if", "when") and (clause := re.search(r"\b(?:if|when)\s+(.+)$", previous, re.I)):
        # Who acts in that clause: “when a lease expires”.
        topic = (
            parse_question(f"does {clause[1]}").topic if not re.search(_VERB, clause[1]) else topic
        )
    new = _PRONOUN.sub(lambda pronoun: _referring_phrase(pronoun[0], topic), new)
    kin = "|".join(_PLACES) if word in _PLACES else word
    for found in re.finditer(rf"\b(?:{kin})\s+", previous[before.begin :], re.I):
        start, after = (before.begin + place for place in found.span())
        ends = [thing.end for thing in before.things if thing.start >= after]
        if ends:
            end = ends[-1 if word in ("if", "when") else 0]
            return previous[:start] + new + previous[end:]
    return f"{previous.rstrip('?. ')} {new}?"


def _resolve_reference(asked: str, last: Exchange) -> str | None:
    """Return the question with pronouns and ellipses resolved; `None` if there are none."""
    before = parse_question(last.question)
    topic = topic_of(last)
    if not topic or _names_topic(asked, topic):
        return None
    said = topic if _BESIDE.search(last.question) else before.clause or topic
    aside = f"{asked.rstrip('?. ')} ({_in_brackets(said)})?"
    # “Who painted it?” leaves open who “he” is.
    unknown = _PERSONAL if re.match(r"\s*who\b(?! (?:is|was|were))", last.question, re.I) else ()
    if pronoun := _find_anaphor(asked, unknown):
        if pronoun[0].lower() in _PLURAL:
            topic = next((thing.full for thing in before.things if thing.is_plural), topic)
        if _refers_to_clause(asked, pronoun, before) or len(topic.split()) > MOST_WORDS:
            return aside
        return _replace_pronoun(asked, pronoun, topic)
    # What acts is not all that was spoken of; brackets then hold the rest, too.
    whole = set(terms(said)) <= set(terms(topic)) and len(topic.split()) <= MOST_WORDS
    return _with_topic(asked, topic, aside, whole=whole)


def _with_topic(asked: str, topic: str, aside: str, *, whole: bool) -> str | None:
    """Return an elliptical question with its topic; `None` if it is complete."""
    if _CHOICE.search(asked):
        return aside
    if any(one.search(asked) for one in (_ELLIPSIS, _GENERIC)) or _is_fragment(asked):
        owned = whole and _OF_IT.search(asked)
        return f"{asked.rstrip('?. ')} of {topic}?" if owned else aside
    if _COMPARED.search(asked) and " than " not in asked and len(asked.split()) <= MOST_WORDS:
        return f"{asked.rstrip('?. ')} than {topic}?"
    return None


def _names_topic(asked: str, topic: str) -> bool:
    meant = set(terms(topic)) or {word.lower() for word in words(topic)}
    return meant <= {*terms(asked), *(word.lower() for word in words(asked))}


def _drop_expansions(question: str) -> str:
    """Remove expansions of abbreviations, which were added for the search."""
    for found in reversed(list(_ABBREVIATION.finditer(question))):
        before = list(re.finditer(r"\S+", question[: found.start()]))[-len(found[1]) :]
        initial = found[1][0].lower()
        start = next((one.start() for one in before if one[0].lower().startswith(initial)), None)
        cut = (found.start(), "") if start is None else (start, found[1])
        question = question[: cut[0]] + cut[1] + question[found.end() :]
    return question


def _in_brackets(said: str) -> str:
    """Return a topic for brackets: without brackets of its own, and truncated."""
    return " ".join(re.sub(r"[()]", " ", said).split()[:MOST_IN_BRACKETS])


def _refers_to_clause(asked: str, pronoun: re.Match[str], before: ParsedQuestion) -> bool:
    """Return whether the pronoun refers to a clause or a subset, which no name can replace."""
    if pronoun[0].lower() in ("this", "that"):
        return before.acts
    return pronoun[0].lower() in _PLURAL and asked[: pronoun.start()].endswith(" of ")


def _is_fragment(asked: str) -> bool:
    """Return whether it is too short to be a complete question."""
    own = parse_question(asked)
    if len(set(terms(asked[own.begin :]))) > 1:
        return False
    return not own.whole or all(
        thing.article == "the" and not thing.is_name for thing in own.things
    )


def _find_anaphor(asked: str, unknown: Sequence[str] = ()) -> re.Match[str] | None:
    """Find the first pronoun with an antecedent outside the question."""
    empty = [found.span() for found in _EMPTY.finditer(asked)]
    things = parse_question(asked).things
    for pronoun in _PRONOUN.finditer(asked):
        at = pronoun.start()
        own = [thing for thing in things if thing.end <= at]
        if pronoun[0].lower() in unknown or any(start <= at < end for start, end in empty):
            continue
        if pronoun[0].lower() in _POSSESSIVE:
            inward = any(t.is_name or t.is_plural or t.article in ("a", "an") for t in own)
        else:
            inward = any(_CLAUSE.search(asked, thing.end, at) for thing in own)
        if not inward:
            return pronoun
    return None


def _replace_pronoun(asked: str, pronoun: re.Match[str], topic: str) -> str:
    following = words(asked[pronoun.end() :])[:1]
    if pronoun[0].lower() in _POINTING and set(terms(" ".join(following))) & set(terms(topic)):
        # “this filter”: only the rest of its name is missing.
        said = set(terms(asked))
        topic = " ".join(word for word in words(topic) if not said & set(terms(word)))
    owned = _OWNED.fullmatch(asked, pronoun.end())
    if pronoun[0].lower() in _POSSESSIVE and owned:
        # “what are its drawbacks?”, “how bad can its result be?”
        return f"{asked[: pronoun.start()]}the {owned[1]} of {topic}{owned[2]}"
    named = _referring_phrase(pronoun[0], topic)
    return asked[: pronoun.start()] + named + asked[pronoun.end() :]


def _referring_phrase(pronoun: str, topic: str) -> str:
    if pronoun.lower() in _POSSESSIVE:
        topic = f"{topic}'" if topic.endswith("s") else f"{topic}'s"
    return topic[:1].upper() + topic[1:] if pronoun[0].isupper() else topic


_CITATION_MARK = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True, slots=True)
class ConversationContext:
    """What the search for a follow-up takes from the conversation; empty otherwise."""

    cited_chunk_ids: tuple[str, ...] = ()
    """Chunks cited by recent answers: additional candidates."""
    previous_answers: str = ""
    """Text of recent answers, whose sentences rank lower: the reader knows them."""
    original_question: str = ""
    """The question before terms from the conversation were added."""


STANDALONE = ConversationContext()


def answers_as_plain_text(answers: Sequence[str]) -> str:
    """Return the text of answers, without citation marks and markup."""
    return " ".join(
        " ".join(strip_inline_markup(_CITATION_MARK.sub("", one)).split()) for one in answers
    )
