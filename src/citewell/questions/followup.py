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
_DENIAL = re.compile(r"^\s*(?:no|nope|nah|sorry|oops|wait|actually|rather)\b[,.!…\s]+(?=\S)", re.I)
_NOT_OLD_BUT_NEW = re.compile(
    r"^not\s+(?P<old>[^,;.]+?)\s*(?:[,;.]|\bbut\b)[\s,]*(?:but\s+)?(?P<new>[^?]+)$"
    r"|^(?P<new2>[^,;?]+?),?\s+(?:and\s+)?(?:not|instead of|rather than)\s+(?P<old2>[^?]+)$",
    re.I,
)
_MAX_CORRECTION_WORDS = 8
"""Longer messages are questions, not corrections."""


@dataclass(frozen=True, slots=True)
class Correction:
    """What the reader meant, and what it replaces, if stated."""

    new: str
    old: str = ""


def parse_correction(followup: str) -> Correction | None:
    """Return the correction that a message makes, if any."""
    opener = _CORRECTION.match(followup) or _DENIAL.match(followup)
    statement = followup[opener.end() :].strip(" ?.!,") if opener else ""
    if not statement or len(statement.split()) > _MAX_CORRECTION_WORDS:
        return None
    if match := _NOT_OLD_BUT_NEW.match(statement):
        return Correction(
            new=(match["new"] or match["new2"]).strip(), old=(match["old"] or match["old2"]).strip()
        )
    return Correction(new=statement)


_COURTESY = re.compile(
    r"^\s*(?:(?:thanks|thank you|great|right|interesting|i see|ok|okay|hm+)\s*[,.!…]+\s*)+", re.I
)
_ASKS_FOR_MORE = re.compile(
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
_LEADING_CONJUNCTION = re.compile(r"^\s*(?:and|but|so)[,\s]+", re.I)
_VERB = r"(?:is|are|was|were|do|does|did|can|could|should|will|would|must)\b"
_QUESTION_WORD = re.compile(
    rf"(?!if\b|when\b).*\b(?:(?:what|which|who|whose|where|why|how)\b|{_VERB})", re.I
)
_WHAT_ABOUT = re.compile(
    r"^\s*(?:(?:and|or|but|ok(?:ay)?|so|then|also|now)[,\s]+)?(?:what|how)\s+about\s+([^?]+?)[?.!…\s]*$"
    r"|^\s*(?:and|or|but)[,\s]+((?:[^\s?,]+\s+){0,5}[^\s?,]+)[?.\s]*$"
    r"|^\s*((?:if|unless)\s+[^,?]{1,60}?)[?.…\s]*$"
    r"|^\s*((?:for|with|without|in|on|under|at|during)\s+(?:[^\s?,]+\s+){0,3}[^\s?,]+)\?[?\s]*$",
    re.I,
)
_ADJUNCT = re.compile(
    r"(for|with|without|in|on|under|at|during|of|to|by|from|as|if|when)\s+(?=\S)", re.I
)
_SETTING_PREPOSITIONS = ("in", "on", "at", "under", "during", "with", "without")
"""Prepositions of place, time and manner, which replace each other: “in fog”, “and at night?”."""
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|she|him|his|her|this|these|those)\b"
    r"|\bthat\b(?=\W*$|,| (?:for|with|in|on|to|by|from)\b)"
    r"|(?<=\bis )that\b|(?<=\bdo )that\b|(?<=\bof )that\b|(?<=\bdoes )that\b|(?<=\bthan )that\b",
    re.I,
)
_NO_ANTECEDENT = re.compile(
    r"\b(?:is|was|be|isn[’']t)\s+it\s+(?:(?!able|going|similar|close|due|subject|equal|here|there)"
    r"\w+(?<!ed)\s+){1,3}?(?:that|to|if|for)\b"
    r"|\bis\s+it\s+worth\s+\w+ing\b|\bit\s+(?:takes?|costs?)\s+(?:\w+\s+)?to\b"
    r"|\b(?:this|that) (?:book|chapter)\b",
    re.I,
)
_POSSESSIVES = "(?:its|their|his|her)"
_DEFINITE = {"the": True, "a": False, "an": False}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "last", "next", "other")
_POSSESSIVE_PRONOUNS = ("its", "their", "theirs", "his", "her")
_POSSESSED = re.compile(
    r"\s+([\w-]+(?:\s+(?!(?:be|become|have|look|mean|work)\b)[\w-]+)?)"
    r"((?:\s+(?:be|become|have|look|mean|work))?\W*)"
)
_PLURAL_PRONOUNS = ("they", "them", "their", "theirs", "these", "those")
_DEMONSTRATIVES = ("this", "that", "these", "those")
_CLAUSE_BOUNDARY = re.compile(
    r"[,;:]|\s[-–—]\s|\b(?:when|if|while|because|and|so|after|before|once|until)\b", re.I
)
_ASKS_TO_CHOOSE = re.compile(
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
_TOPIC_NOT_NAMED = re.compile(
    r"^\s*(?:what|which|how (?:many|much))(?: other)?(?: \w+){1,2}"
    r" (?:do|should|can|could|would|must|will) (?:i|you|we|one)"
    r"(?: (?:need|use|take|do|choose|pick|buy|get|have|know|start with))?\W*$",
    re.I,
)
"""“What tools do I need?”: the previous question says what for."""
_VERB_IT = re.compile(r"(\w+(?: up| down| off| on| out)?) (?:it|them|that|this|these)\W*$", re.I)
_PERSONAL_PRONOUNS = ("he", "she", "him", "his", "her")
_SAME_FOR = re.compile(
    r"^\s*(?:(?:does|is|would|will|and) )*(?:it |that )?(?:the same|likewise)"
    r"(?: (?:hold|apply|go|true|be|work|happen)s?)?(?: true| too| also)?"
    r" (?:for|to|of|with|in) (?P<new>[^?]+?)\W*$",
    re.I,
)
_BRACKETED_TOPIC = re.compile(r"\(([^()]+)\)\W*$")
"""A topic that an earlier rewrite appended in brackets."""
_ABBREVIATION = re.compile(r"\s+\((?=[^()]*[A-Z][^()]*[A-Z])([A-Za-z0-9-]{2,9})\)")
_NEEDS_OF_TOPIC = re.compile(r"\b(?:the|any|some)(?: [\w-]+){1,2}\W*$", re.I)
"""“What is the price?”, “Any drawbacks?”: the previous question says of what."""
_NEEDS_THAN_TOPIC = re.compile(
    r"\b(?:faster|slower|better|worse|safer|cheaper|larger|smaller|higher|lower|easier|harder"
    r"|(?:more|less) \w+)\W*$",
    re.I,
)

MAX_TOPIC_WORDS = 10
"""Maximum words of a phrase that can replace a pronoun."""
MAX_BRACKETED_WORDS = 16


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
    question_before = _last_question(_drop_expansions(history[-1].question))
    previous = replace(history[-1], question=question_before)
    followup = _COURTESY.sub("", question)
    if choice := resolve_choice(followup, list_choices(previous.question, previous.answer)):
        return _LEADING_CONJUNCTION.sub("", choice)
    return (
        _repeat_with_change(followup, previous.question)
        or _resolve_reference(_LEADING_CONJUNCTION.sub("", followup), previous)
        or question
    )


def _last_question(question: str) -> str:
    """Return the last sentence that is a question."""
    sentences = re.split(r"(?<=[.?!])\s+", question.strip())
    return next((sentence for sentence in reversed(sentences) if sentence.endswith("?")), question)


def _repeat_with_change(followup: str, previous: str) -> str | None:
    """Return the previous question as modified by this one; `None` if it does not modify it."""
    if match := _ASKS_FOR_MORE.match(followup):
        return _ask_for_more(match[1], previous)
    if match := _WHAT_ABOUT.match(followup):
        new = next(group for group in match.groups() if group).strip()
        if not _QUESTION_WORD.match(new):
            return _replace_topic(previous, new)
    if match := _SAME_FOR.match(followup):
        return _replace_topic(previous, match["new"])
    if _is_name_alone(followup) and any(
        phrase.is_name for phrase in parse_question(previous).phrases
    ):
        return _replace_topic(previous, followup.strip(" ?.!"))
    correction = parse_correction(followup)
    return _apply_correction(previous, correction) if correction else None


def append_topic(question: str, history: Sequence[Exchange]) -> str | None:
    """Return the question with the previous topic in brackets; `None` if it names the topic."""
    topic = topic_of(history[-1]) if history else ""
    if not topic or _names_topic(question, topic):
        return None
    return f"{question.rstrip('?. ')} ({topic})?"


def topic_of(exchange: Exchange) -> str:
    """Return the topic of an earlier question."""
    question = _drop_expansions(exchange.question)
    if bracketed := _BRACKETED_TOPIC.search(question):
        return bracketed[1]
    return parse_question(question).topic or "".join(exchange.headings[:1])


def _ask_for_more(word: str, previous: str) -> str:
    """Repeat the previous question with “why”, “more” and the like."""
    request, colon, repeated = previous.partition(": ")
    if colon and _ASKS_FOR_MORE.match(request):
        previous = repeated
    if re.match(_VERB, previous, re.I) and word.lower() in ("why", "how", "when", "where"):
        return f"{word.capitalize()} {previous[:1].lower()}{previous[1:]}"
    return f"{word.capitalize()}: {previous}"


def _replace_topic(previous: str, new: str) -> str:
    """Repeat the previous question about another topic."""
    if all(word.lower() in STOPWORDS for word in words(new)):
        return previous
    parsed = parse_question(previous)
    if match := _VERB_IT.match(new):
        # “How do I open it? And close it?”
        reader = re.search(r"\b(?:i|you|we|one)\b", previous, re.I)
        if reader and reader.end() < (parsed.phrases[0].start if parsed.phrases else 0):
            return f"{previous[: reader.end()]} {match[1]} {parsed.phrases[0].full}?"
    if match := _ADJUNCT.match(new):
        word = match[1].lower()
        if word not in ("for", "with", "of") or re.search(rf"\b{word}\b", previous, re.I):
            return _replace_adjunct(previous, parsed, word, new)
        # “How do I call a service? And for an action?” asks the same about another topic.
        new = new[match.end() :]
    article, text = _article_of(new)
    new_phrase = Phrase(0, 0, text, article)
    if not parsed.phrases:
        return f"{previous.rstrip('?. ')}: {new}?"
    # “The speed of the fan – and the pump?” asks for another fan; “and its weight?”, for another
    # of its measures.
    phrases = parsed.phrases if re.match(_POSSESSIVES, new, re.I) else parsed.phrases[::-1]
    old = max(phrases, key=lambda phrase: _shared_shape(phrase, new_phrase))
    if ordinal := re.fullmatch(rf"(.+) ones?|(?:{'|'.join(_ORDINALS)})", text, re.I):
        new_phrase = Phrase(0, 0, _qualify_ordinal(ordinal[1] or text, old.text.split()), article)
    elif ordinal := re.match(r"ones? (?=that|which|who|with|without|of|in|on|for)\b", text, re.I):
        # “How is a relative name resolved? And one that starts with a tilde?”
        noun = " ".join(old.text.split()[1:][-2:] or [old.text])
        new_phrase = Phrase(0, 0, f"{noun} {text[ordinal.end() :]}", old.article)
    start = old.start - (len(old.article) + 1 if old.article else 0)
    return previous[:start] + new_phrase.full + previous[old.end :]


def _is_name_alone(followup: str) -> bool:
    """Return whether a follow-up is only a name with a question mark: “K2?”."""
    parsed = parse_question(followup)
    names = [phrase for phrase in parsed.phrases if phrase.text == followup.strip(" ?.!")]
    return followup.rstrip().endswith("?") and any(phrase.is_name for phrase in names)


def _apply_correction(previous: str, correction: Correction) -> str:
    if correction.old:
        old = _article_of(correction.old)[1]
        match = re.search(rf"\b(?:(?:an?|the)\s+)?{re.escape(old)}\b", previous, re.I)
        if match:
            return previous[: match.start()] + correction.new + previous[match.end() :]
    return _replace_topic(previous, correction.new)


def _qualify_ordinal(ordinal: str, words: list[str]) -> str:
    """Return “second violin concerto” for “the second one”, if the previous was the first."""
    both = ordinal.lower() in _ORDINALS and words[0].lower() in _ORDINALS
    return " ".join((ordinal, *(words[1:] if both else words[-1:])))


def _article_of(new: str) -> tuple[str, str]:
    match = re.match(rf"(?:(a|an|the)|{_POSSESSIVES})\s+(?=\S)", new, re.I)
    return ((match[1] or "the").lower(), new[match.end() :]) if match else ("", new)


def _shared_shape(old: Phrase, new: Phrase) -> int:
    shared = set(terms(old.text)) & set(terms(new.text))
    return (
        4 * bool(shared)
        + 2 * (old.is_name == new.is_name)
        + (_DEFINITE.get(old.article) == _DEFINITE.get(new.article))
        + (old.is_plural == new.is_plural)
    )


def _replace_adjunct(previous: str, parsed: ParsedQuestion, word: str, new: str) -> str:
    """Replace “in fog” with “at night”, or append it."""
    topic = parsed.topic
    clause = re.search(r"\b(?:if|when)\s+(.+)$", previous, re.I)
    if clause and word in ("if", "when") and not re.search(_VERB, clause[1]):
        # The topic is the subject of that clause: “when a lease expires”.
        topic = parse_question(f"does {clause[1]}").topic
    new = _PRONOUN.sub(lambda pronoun: _referring_phrase(pronoun[0], topic), new)
    prepositions = "|".join(_SETTING_PREPOSITIONS) if word in _SETTING_PREPOSITIONS else word
    begin = parsed.interrogative_end
    for match in re.finditer(rf"\b(?:{prepositions})\s+", previous[begin:], re.I):
        start, phrase_start = (begin + offset for offset in match.span())
        ends = [phrase.end for phrase in parsed.phrases if phrase.start >= phrase_start]
        if ends:
            end = ends[-1 if word in ("if", "when") else 0]
            return previous[:start] + new + previous[end:]
    return f"{previous.rstrip('?. ')} {new}?"


def _resolve_reference(followup: str, previous: Exchange) -> str | None:
    """Return the question with pronouns and ellipses resolved; `None` if there are none."""
    parsed = parse_question(previous.question)
    topic = topic_of(previous)
    if not topic or _names_topic(followup, topic):
        return None
    clause = topic if _BRACKETED_TOPIC.search(previous.question) else parsed.clause or topic
    bracketed = f"{followup.rstrip('?. ')} ({_in_brackets(clause)})?"
    # After “Who painted it?”, nothing says who “he” is.
    asks_who = re.match(r"\s*who\b(?! (?:is|was|were))", previous.question, re.I)
    unresolved = _PERSONAL_PRONOUNS if asks_who else ()
    if pronoun := _find_anaphor(followup, unresolved):
        if pronoun[0].lower() in _PLURAL_PRONOUNS:
            topic = next((phrase.full for phrase in parsed.phrases if phrase.is_plural), topic)
        if _refers_to_clause(followup, pronoun, parsed) or len(topic.split()) > MAX_TOPIC_WORDS:
            return bracketed
        return _replace_pronoun(followup, pronoun, topic)
    # If the topic is only a part of the clause, append the whole clause in brackets.
    is_whole_clause = (
        set(terms(clause)) <= set(terms(topic)) and len(topic.split()) <= MAX_TOPIC_WORDS
    )
    return _with_topic(followup, topic, bracketed, is_whole_clause=is_whole_clause)


def _with_topic(followup: str, topic: str, bracketed: str, *, is_whole_clause: bool) -> str | None:
    """Return an elliptical question with its topic; `None` if it is complete."""
    if _ASKS_TO_CHOOSE.search(followup):
        return bracketed
    is_elliptical = _ELLIPSIS.search(followup) or _TOPIC_NOT_NAMED.search(followup)
    if is_elliptical or _is_fragment(followup):
        of_topic = is_whole_clause and _NEEDS_OF_TOPIC.search(followup)
        return f"{followup.rstrip('?. ')} of {topic}?" if of_topic else bracketed
    if (
        _NEEDS_THAN_TOPIC.search(followup)
        and " than " not in followup
        and len(followup.split()) <= MAX_TOPIC_WORDS
    ):
        return f"{followup.rstrip('?. ')} than {topic}?"
    return None


def _names_topic(followup: str, topic: str) -> bool:
    topic_terms = set(terms(topic)) or {word.lower() for word in words(topic)}
    return topic_terms <= {*terms(followup), *(word.lower() for word in words(followup))}


def _drop_expansions(question: str) -> str:
    """Remove expansions of abbreviations, which were added for the search."""
    for match in reversed(list(_ABBREVIATION.finditer(question))):
        preceding = list(re.finditer(r"\S+", question[: match.start()]))[-len(match[1]) :]
        initial = match[1][0].lower()
        starts = (word.start() for word in preceding if word[0].lower().startswith(initial))
        start = next(starts, None)
        kept = question[: match.start()] if start is None else question[:start] + match[1]
        question = kept + question[match.end() :]
    return question


def _in_brackets(text: str) -> str:
    """Return a topic for brackets: without brackets of its own, and truncated."""
    return " ".join(re.sub(r"[()]", " ", text).split()[:MAX_BRACKETED_WORDS])


def _refers_to_clause(followup: str, pronoun: re.Match[str], parsed: ParsedQuestion) -> bool:
    """Return whether the pronoun refers to a clause or a subset, which no name can replace."""
    if pronoun[0].lower() in ("this", "that"):
        return parsed.has_action
    return pronoun[0].lower() in _PLURAL_PRONOUNS and followup[: pronoun.start()].endswith(" of ")


def _is_fragment(followup: str) -> bool:
    """Return whether a follow-up is too short to be a complete question."""
    parsed = parse_question(followup)
    if len(set(terms(followup[parsed.interrogative_end :]))) > 1:
        return False
    return not parsed.is_complete or all(
        phrase.article == "the" and not phrase.is_name for phrase in parsed.phrases
    )


def _find_anaphor(followup: str, unresolved: Sequence[str] = ()) -> re.Match[str] | None:
    """Find the first pronoun with an antecedent outside the question."""
    expletives = [match.span() for match in _NO_ANTECEDENT.finditer(followup)]
    phrases = parse_question(followup).phrases
    for pronoun in _PRONOUN.finditer(followup):
        offset = pronoun.start()
        earlier = [phrase for phrase in phrases if phrase.end <= offset]
        is_expletive = any(start <= offset < end for start, end in expletives)
        if pronoun[0].lower() in unresolved or is_expletive:
            continue
        if pronoun[0].lower() in _POSSESSIVE_PRONOUNS:
            is_resolved = any(p.is_name or p.is_plural or p.article in ("a", "an") for p in earlier)
        else:
            is_resolved = any(_CLAUSE_BOUNDARY.search(followup, p.end, offset) for p in earlier)
        if not is_resolved:
            return pronoun
    return None


def _replace_pronoun(followup: str, pronoun: re.Match[str], topic: str) -> str:
    following = words(followup[pronoun.end() :])[:1]
    noun_terms = set(terms(" ".join(following)))
    if pronoun[0].lower() in _DEMONSTRATIVES and noun_terms & set(terms(topic)):
        # “this filter”: only the rest of its name is missing.
        followup_terms = set(terms(followup))
        topic = " ".join(word for word in words(topic) if not followup_terms & set(terms(word)))
    possessed = _POSSESSED.fullmatch(followup, pronoun.end())
    if pronoun[0].lower() in _POSSESSIVE_PRONOUNS and possessed:
        # “what are its drawbacks?”, “how bad can its result be?”
        return f"{followup[: pronoun.start()]}the {possessed[1]} of {topic}{possessed[2]}"
    replacement = _referring_phrase(pronoun[0], topic)
    return followup[: pronoun.start()] + replacement + followup[pronoun.end() :]


def _referring_phrase(pronoun: str, topic: str) -> str:
    if pronoun.lower() in _POSSESSIVE_PRONOUNS:
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
        " ".join(strip_inline_markup(_CITATION_MARK.sub("", answer)).split()) for answer in answers
    )
