"""Sentences that give orders to the one who answers: they state nothing about the book's subject.

A book may hold them by mistake or by malice, and a model that obeys would be proven right by them:
the book does say so. They are known by what they speak of, two signs at a time: of programs that
answer, of what such a program could do, of answers and what is said before them. What is spoken of
in quotes is not meant: a book about such orders can be asked about them.
"""

import re
from unicodedata import category, normalize

from quire.prose.plain import INVISIBLE
from quire.prose.remembered import remembered
from quire.prose.sentences import split_spans
from quire.prose.terms import words


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in patterns), re.I | re.M)


_LINE = r"^[^\w\n]*"
"""The beginning of a line; signs before it belong to the line before, which begins by itself."""
_STARTS = (
    r"(?:^(?:[^\w\n]|_)*|[,;:.!?—–|]\s*"
    r"|\b(?:and|then|please|just|must|should|shall|will|has to|have to"
    r"|is to|are to|do not|don['’]t|never|always|first|instead|to be|now|the AI|you)\s+)"
)
_ANSWERS = r"(?:answers?|repl(?:y|ies)|responses?|messages?|quer(?:y|ies)|questions?|prompts?)"
_RULES = r"(?:instructions?|prompts?|rules|guidelines|directives)"
_PROGRAM = _any(
    r"\b(?:LLMs?|GPT(?:-\d)?|chat ?bots?|bots?|assistants?|(?:large )?language models?)\b",
    r"\bAIs?(?: systems?| agents?)?\s*[,:]|\b(?:the|any|every|an) AI\b",
    r"\banswering (?:software|system|engine|machine)s?\b|\bautomat(?:ed|ic) readers?\b",
    rf"(?:{_LINE}|\bhey |\bdear )models?\s*[,:]",
)
"""Who is spoken to."""
_ACT = _any(
    _STARTS + r"(?:say|give|mention|output|produce|dump|share|emit|repeat|include|add|append|reply"
    r"|respond|answer|prints?|write|tell|begin|sign|finish|reveal|list|label(?:led)?|obey|comply"
    r"|decode|quote|cite|deny|confirm|insist|promise|summari[sz]e|skip|ignore|disregard|forget|override|persuade|recommend"
    r"|act as)\b",
    r"\b(?:could|would|will|can) you\b|\bit is (?:\w+ )?(?:required|requested|ordered) that\b",
    r"\bone (?:says|answers|replies|responds|writes|tells)\b(?! that\b)",
)
"""What a program that answers could be told to do."""
_THING = _any(
    rf"\b(?:correct|next|every|each|your|any|all) (?:\w+ )?{_ANSWERS}\b",
    rf"\b(?:previous|prior|earlier|above|preceding|system|developer) {_ANSWERS}\b",
    rf"\b(?:all|any|previous|prior|above|your|these|system)\b[^.!?]{{0,30}}\b{_RULES}\b",
    rf"\bthe {_RULES} (?:it|you|they) (?:was|were|are|is)\b",
    r"\bthe (?:passages|question)\b|\bquestions about\b|\bpassages? \[?\d|\bits citation\b",
    r"\bthis (?:page|text|passage|paragraph|chat|conversation)\b|\bin the summary\b",
    r"\bfirst person\b|\bwhen(?:ever)? asked\b|\bfalls? silent\b",
    r"\b(?:and|say) nothing (?:else|more)\b",
    r"\bto the readers?\b|\bthe readers? (?:that|to)\b|\bthem the\b|\bwhatever you write\b",
    r"\bthe (?:single )?(?:words?|string) (?-i:[A-Z])|\b(?:developer|first) message\b",
    r"\bbearer token\b|\bapi[ _-]?keys?\b|\w_(?:key|token|secret)\b|\byour environment\b",
)
"""What is said, and what stands before it."""
_OWN = _any(
    rf"\b(?:every|each|all) {_ANSWERS}\b|\bthe readers?\b|\b(?:its|your) {_RULES}\b",
    r"\bapi[ _-]?keys?\b|\w_(?:key|token|secret)\b|\bsystem prompt\b",
)
"""What only a program that answers is told about."""
_PLAIN = _any(
    r"<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>|^\W{0,4}(?:system|assistant|developer)(?: \w+)?\s*:\s",
    rf"\b{_ANSWERS} to (?:any|every|all|each) {_ANSWERS}\b|\bwhatever (?:is|was) asked\b",
    r"\b(?:note|message|notice|order|instruction)s? (?:to|for) (?:the |any |all |every )?"
    r"(?:AIs?|assistants?|chat ?bots?|bots?|language models?|LLMs?)\b",
    r"\b(?:dear|hello|hey|attention),? (?:all )?(?:AIs?|assistants?|chat ?bots?|bots?|models?)"
    r"\s*[,:;.!—–-]",
    r"\bpretend (?:to be|that you are|you are)\b",
    r"\bimagine you are (?:an? (?:AI|bot)\b|(?-i:[A-Z]))",
    rf"(?:{_LINE}|[.!?:;]\s*)act as \S+ and\b|\bgreet the readers?\b",
    r"\bfrom now on,? you\b|\byou are no longer an?\b|\byour (?:name|task|job|role) (?:is|has)\b",
    r"\bif you are an? (?:AI|assistant|bot|chat ?bot|LLM|(?:language )?model)\b",
    r"\byour (?:\w+ )?(?:persona|identity)\b",
    rf"(?:{_LINE}|[.!?:;]\s*)you are (?-i:[A-Z])[\w-]+, an?\b",
    rf"\|\s*{_ANSWERS}\s*\|(?=[^\0]{{0,600}}\|\s*(?:anything|everything|whatever)\b)",
    r"\byou are now (?:called|named|in \w+ mode|an? \w+ (?:assistant|bot|AI))\b",
    r"\bwhen(?:ever)? (?:you are|you're|someone|anyone|the reader) (?:is )?ask(?:ed|s)\b",
    rf"(?:{_LINE}|[.!?:]\s*)(?:tell|greet|direct|persuade|convince|show) (?:the|every|all)"
    r" readers?\b",
)
"""What is meant for nobody else."""
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|«[^»]*»|`[^`]*`|‘[^’]*’")
_TEMPLATE = re.compile(r"<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>")
_SPACED = re.compile(rf"(?:\w{INVISIBLE.pattern}+){{3,}}")
"""Words written so that a search for them fails: with a sign that nobody sees after each letter."""
_YOU_ARE = re.compile(r"\byou['’]re\b", re.I)
_OWN_WORDS = 3
"""What has fewer words outside of quotes speaks of nothing: it is what it quotes."""
_LONGEST = 600
"""Orders are short; a listing of a program has all these words somewhere."""


@remembered(4096)
def is_order(text: str) -> bool:
    """Tell whether a text tells the one who answers what to do, say or be."""
    seen = (text if text.isascii() else _inked(text)).strip()
    spoken = _QUOTED.sub(" … ", _YOU_ARE.sub("you are", seen))
    said = spoken if len(words(spoken)) >= _OWN_WORDS else re.sub(r"[“”\"«»`]", "", seen)
    if _PLAIN.search(said):
        return True
    if len(said) > _LONGEST or seen.startswith("```"):
        return False
    program, act = _PROGRAM.search(said), _ACT.search(said)
    return bool((act and (program or _THING.search(said))) or (program and _OWN.search(said)))


@remembered(4096)
def addresses_a_program(text: str) -> bool:
    """Whether a text speaks to a program that answers, and to nobody who reads the book."""
    seen = (text if text.isascii() else _inked(text)).strip()
    spoken = _QUOTED.sub(" … ", _YOU_ARE.sub("you are", seen))
    return bool(_PLAIN.search(spoken) or _SPACED.search(seen))


def _inked(text: str) -> str:
    return "".join(one for one in normalize("NFKC", text) if category(one) != "Cf")


def rests_on_order(text: str, start: int, end: int) -> bool:
    """Tell whether what stands there in a passage is an order, or part of one."""
    paragraph = text[text.rfind("\n\n", 0, start) + 1 : (text.find("\n\n", end) + 1) or len(text)]
    if _TEMPLATE.search(paragraph) or _SPACED.search(paragraph):
        return True
    spans = [span for span in split_spans(text) if span.start < end and start < span.end]
    # Points of a list and rows of a table go on from each other.
    if any(span.kind in ("item", "row") for span in spans) and is_order(paragraph):
        return True
    return is_order(text[start:end]) or any(is_order(span.of(text)) for span in spans)
