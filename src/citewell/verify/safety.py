"""Safety of answers: remove links, and reject prompt injections and leaked secrets."""

import re
from collections.abc import Sequence
from dataclasses import replace
from unicodedata import category, normalize

from citewell.domain import Chunk, Claim, Hit
from citewell.text.memo import memoize_text
from citewell.text.plain_text import INVISIBLE, strip_inline_markup
from citewell.text.sanitize import sanitize_markdown
from citewell.text.sentences import Span, split_spans
from citewell.text.terms import terms, words
from citewell.verify.claims import Piece
from citewell.verify.context import is_anaphoric


def without_links(piece: Piece) -> Piece:
    """Remove links and active markup from a piece; an answer links only to its citations."""
    if piece.kind in ("code", "math"):
        return piece
    return replace(piece, text=sanitize_markdown(piece.text))


def follows_injection(claim: Claim, hits: Sequence[Hit]) -> bool:
    """Return whether a claim is or cites an injected instruction."""
    chunks = {hit.chunk.id: hit.chunk.text for hit in hits}
    return is_injected_instruction(claim.text) or any(
        cites_injected_instruction(chunks[one.chunk_id], one.start, one.end)
        for one in claim.citations
        if one.chunk_id in chunks
    )


def is_off_topic(claim: Claim, hits: Sequence[Hit], question: str) -> bool:
    """Return whether all evidence of a claim is unrelated to its passage.

    An injected sentence shares no terms with the question, the headings, or related sentences next
    to it.
    """
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    places = [(chunks[c.chunk_id], c.start, c.end) for c in claim.citations if c.chunk_id in chunks]
    return bool(places) and not any(_is_on_topic(*place, question) for place in places)


def _is_on_topic(chunk: Chunk, start: int, end: int, question: str) -> bool:
    headings = chunk.heading if chunk.source_file else ""  # a selection has none of its own
    about = set(terms(f"{question} {headings}"))
    spans = split_spans(chunk.text)
    within = [n for n, span in enumerate(spans) if span.start < end and start < span.end]
    if not within or any(spans[n].kind != "sentence" for n in within):
        return True
    text = strip_inline_markup(chunk.text[start:end])
    own = set(terms(text))
    if not own or own & about:
        return True
    near = {
        n: set(terms(strip_inline_markup(spans[n].of(chunk.text)))) for n in _beside(within, spans)
    }
    if text.endswith(":"):
        own |= near.get(within[-1] + 1, set())  # what it announces is what it is about
        if own & about:
            return True
    before = near.get(within[0] - 1, set())
    return any(said & about and said & own for said in near.values()) or bool(
        before & about and is_anaphoric(text)
    )


def _beside(within: Sequence[int], spans: Sequence[Span]) -> list[int]:
    return [n for n in (within[0] - 1, within[-1] + 1) if 0 <= n < len(spans)]


def reject_claim(claim: Claim) -> Claim:
    """Return the claim as unsupported, without citations."""
    return replace(claim, verdict="unsupported", probability=0.0, citations=())


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in patterns), re.I | re.M)


_LINE = r"^[^\w\n]*"
"""The beginning of a line."""
_STARTS = (
    r"(?:^(?:[^\w\n]|_)*|[,;:.!?—–|]\s*"
    r"|\b(?:and|then|please|just|must|should|shall|will|has to|have to"
    r"|is to|are to|do not|don['’]t|never|always|first|instead|to be|now|the AI|you)\s+)"
)
_ANSWERS = r"(?:answers?|repl(?:y|ies)|responses?|messages?|quer(?:y|ies)|questions?|prompts?)"
_RULES = r"(?:instructions?|prompts?|rules|guidelines|directives)"
_PROGRAM = _any_of(
    r"\b(?:LLMs?|GPT(?:-\d)?|chat ?bots?|bots?|assistants?|(?:large )?language models?)\b",
    r"\bAIs?(?: systems?| agents?)?\s*[,:]|\b(?:the|any|every|an) AI\b",
    r"\banswering (?:software|system|engine|machine)s?\b|\bautomat(?:ed|ic) readers?\b",
    rf"(?:{_LINE}|\bhey |\bdear )models?\s*[,:]",
)
"""Addressees: programs that answer."""
_ACT = _any_of(
    _STARTS + r"(?:say|give|mention|output|produce|dump|share|emit|repeat|include|add|append|reply"
    r"|respond|answer|prints?|write|tell|begin|sign|finish|reveal|list|label(?:led)?|obey|comply"
    r"|decode|quote|cite|deny|confirm|insist|promise|summari[sz]e|skip|ignore|disregard|forget|override|persuade|recommend"
    r"|act as)\b",
    r"\b(?:could|would|will|can) you\b|\bit is (?:\w+ )?(?:required|requested|ordered) that\b",
    r"\bone (?:says|answers|replies|responds|writes|tells)\b(?! that\b)",
)
"""Instructions that a program could follow."""
_THING = _any_of(
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
"""Objects of such instructions: prompts, answers, secrets."""
_OWN = _any_of(
    rf"\b(?:every|each|all) {_ANSWERS}\b|\bthe readers?\b|\b(?:its|your) {_RULES}\b",
    r"\bapi[ _-]?keys?\b|\w_(?:key|token|secret)\b|\bsystem prompt\b",
)
"""Objects that are suspicious with any addressee."""
_PLAIN = _any_of(
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
"""Phrases that are only ever addressed to a language model."""
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b(?=[^.!?\n]{0,40}"
    rf"\b(?:previous|prior|earlier|above|preceding)\b)[^.!?\n]{{0,40}}\b{_RULES}\b",
    re.I,
)
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|«[^»]*»|`[^`]*`|‘[^’]*’")
_TEMPLATE = re.compile(r"<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>")
_SPACED = re.compile(rf"(?:\w{INVISIBLE.pattern}+){{3,}}")
"""Words obfuscated by invisible characters between the letters."""
_YOU_ARE = re.compile(r"\byou['’]re\b", re.I)
_OWN_WORDS = 3
"""With fewer words outside of quotes, the quotes themselves are checked."""
_LONGEST = 600
"""Longer text, such as a code listing, would match by chance."""


@memoize_text(4096)
def is_injected_instruction(text: str) -> bool:
    """Return whether a text gives instructions to a language model."""
    seen = (text if text.isascii() else _strip_invisible(text)).strip()
    spoken = _QUOTED.sub(" … ", _YOU_ARE.sub("you are", seen))
    said = spoken if len(words(spoken)) >= _OWN_WORDS else re.sub(r"[“”\"«»`]", "", seen)
    if _PLAIN.search(said):
        return True
    if len(said) > _LONGEST or seen.startswith("```"):
        return False
    program, act = _PROGRAM.search(said), _ACT.search(said)
    return bool((act and (program or _THING.search(said))) or (program and _OWN.search(said)))


@memoize_text(4096)
def addresses_llm(text: str) -> bool:
    """Return whether a text is clearly addressed to a language model."""
    seen = (text if text.isascii() else _strip_invisible(text)).strip()
    spoken = _QUOTED.sub(" … ", _YOU_ARE.sub("you are", seen))
    return any(
        pattern.search(text)
        for pattern, text in ((_PLAIN, spoken), (_OVERRIDE, spoken), (_SPACED, seen))
    )


def _strip_invisible(text: str) -> str:
    return "".join(one for one in normalize("NFKC", text) if category(one) != "Cf")


def cites_injected_instruction(text: str, start: int, end: int) -> bool:
    """Return whether a span of a passage belongs to an injected instruction."""
    paragraph = text[text.rfind("\n\n", 0, start) + 1 : (text.find("\n\n", end) + 1) or len(text)]
    if _TEMPLATE.search(paragraph) or _SPACED.search(paragraph):
        return True
    spans = [span for span in split_spans(text) if span.start < end and start < span.end]
    # An instruction can span several list items or table rows.
    if any(span.kind in ("item", "row") for span in spans) and is_injected_instruction(paragraph):
        return True
    return is_injected_instruction(text[start:end]) or any(
        is_injected_instruction(span.of(text)) for span in spans
    )


MIN_SHARED_WORDS = 6
"""Consecutive words in common with the instructions that count as a leak."""
REDACTION_NOTE = "[withheld: it looks like a secret]"
REDACTED_PROMPT = "[withheld: the model's own instructions]"
_SECRET = re.compile(
    r"\b(?:sk|pk|rk|qk|ghp|gho|ghs|glpat|xox[abprs]|hf)[-_][\w-]{12,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}"
    r"|(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE "
    r"KEY-----|\b\w+://[^\s/:@]+:[^\s/@]+@"
    r"|(?<![\w+/=-])(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])(?=[\w+/=-]*[A-Z])[\w+/=-]{32,}"
    r"|\b\w{0,64}(?:KEY|TOKEN|SECRET|PASSWORD)\w{0,64}+\s*+[=:]\s*\S+"
)


def redact_secrets(text: str, instructions: Sequence[str]) -> str:
    """Return a withheld claim as readers may see it."""
    if _SECRET.search(text):
        return REDACTION_NOTE
    return REDACTED_PROMPT if any(repeats_wording(text, one) for one in instructions) else text


def repeats_wording(text: str, original: str) -> bool:
    """Return whether a text repeats consecutive words of another."""
    return bool(_word_ngrams(text) & _word_ngrams(original))


def _word_ngrams(text: str) -> set[tuple[str, ...]]:
    folded = [word.casefold() for word in words(text)]
    return {
        tuple(folded[i : i + MIN_SHARED_WORDS]) for i in range(len(folded) - MIN_SHARED_WORDS + 1)
    }
