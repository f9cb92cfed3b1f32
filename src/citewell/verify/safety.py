"""Safety of answers: remove links, and reject prompt injections and leaked secrets."""

import re
from collections.abc import Sequence
from dataclasses import replace
from unicodedata import category, normalize

from citewell.domain import Chunk, Claim, Hit
from citewell.text.memo import memoize_text
from citewell.text.plain_text import INVISIBLE, strip_inline_markup
from citewell.text.sanitize import sanitize_markdown
from citewell.text.sentences import split_spans
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
        cites_injected_instruction(chunks[c.chunk_id], c.start, c.end)
        for c in claim.citations
        if c.chunk_id in chunks
    )


def is_off_topic(claim: Claim, hits: Sequence[Hit], question: str) -> bool:
    """Return whether all text that a claim cites is unrelated to the passage around it.

    A sentence injected into a passage shares no terms with the question and the headings, nor with
    a sentence beside it that does.
    """
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    cited = [(chunks[c.chunk_id], c.start, c.end) for c in claim.citations if c.chunk_id in chunks]
    return bool(cited) and not any(_is_on_topic(*span, question) for span in cited)


def _is_on_topic(chunk: Chunk, start: int, end: int, question: str) -> bool:
    headings = chunk.heading if chunk.source_file else ""  # a reader's selection has none
    topic_terms = set(terms(f"{question} {headings}"))
    spans = split_spans(chunk.text)
    overlapping = [n for n, span in enumerate(spans) if span.start < end and start < span.end]
    if not overlapping or any(spans[n].kind != "sentence" for n in overlapping):
        return True
    cited_terms = _terms_of(chunk.text[start:end])
    if not cited_terms or cited_terms & topic_terms:
        return True
    neighbors = (n for n in (overlapping[0] - 1, overlapping[-1] + 1) if 0 <= n < len(spans))
    neighbor_terms = {n: _terms_of(spans[n].of(chunk.text)) for n in neighbors}
    text = strip_inline_markup(chunk.text[start:end])
    if text.endswith(":"):
        # The next sentence is what the cited one introduces, so its terms count as cited, too.
        cited_terms |= neighbor_terms.get(overlapping[-1] + 1, set())
        if cited_terms & topic_terms:
            return True
    previous_terms = neighbor_terms.get(overlapping[0] - 1, set())
    return any(
        found & topic_terms and found & cited_terms for found in neighbor_terms.values()
    ) or bool(previous_terms & topic_terms and is_anaphoric(text))


def _terms_of(markdown: str) -> set[str]:
    return set(terms(strip_inline_markup(markdown)))


def reject_claim(claim: Claim) -> Claim:
    """Return the claim as unsupported, without citations."""
    return replace(claim, verdict="unsupported", probability=0.0, citations=())


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.I | re.M)


_LINE_START = r"^[^\w\n]*"
"""The start of a line, up to its first word."""
_IMPERATIVE_START = (
    r"(?:^(?:[^\w\n]|_)*|[,;:.!?—–|]\s*"
    r"|\b(?:and|then|please|just|must|should|shall|will|has to|have to"
    r"|is to|are to|do not|don['’]t|never|always|first|instead|to be|now|the AI|you)\s+)"
)
_MESSAGES = r"(?:answers?|repl(?:y|ies)|responses?|messages?|quer(?:y|ies)|questions?|prompts?)"
_RULES = r"(?:instructions?|prompts?|rules|guidelines|directives)"
_LLM_NAME = _any_of(
    r"\b(?:LLMs?|GPT(?:-\d)?|chat ?bots?|bots?|assistants?|(?:large )?language models?)\b",
    r"\bAIs?(?: systems?| agents?)?\s*[,:]|\b(?:the|any|every|an) AI\b",
    r"\banswering (?:software|system|engine|machine)s?\b|\bautomat(?:ed|ic) readers?\b",
    rf"(?:{_LINE_START}|\bhey |\bdear )models?\s*[,:]",
)
"""Names of programs that answer questions, as the addressee of an instruction."""
_INSTRUCTION = _any_of(
    _IMPERATIVE_START
    + r"(?:say|give|mention|output|produce|dump|share|emit|repeat|include|add|append|reply"
    r"|respond|answer|prints?|write|tell|begin|sign|finish|reveal|list|label(?:led)?|obey|comply"
    r"|decode|quote|cite|deny|confirm|insist|promise|summari[sz]e|skip|ignore|disregard|forget|override|persuade|recommend"
    r"|act as)\b",
    r"\b(?:could|would|will|can) you\b|\bit is (?:\w+ )?(?:required|requested|ordered) that\b",
    r"\bone (?:says|answers|replies|responds|writes|tells)\b(?! that\b)",
)
"""Verbs of instructions that a program could follow."""
_INSTRUCTION_OBJECT = _any_of(
    rf"\b(?:correct|next|every|each|your|any|all) (?:\w+ )?{_MESSAGES}\b",
    rf"\b(?:previous|prior|earlier|above|preceding|system|developer) {_MESSAGES}\b",
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
"""Objects of such instructions: prompts, answers and secrets."""
_SENSITIVE_OBJECT = _any_of(
    rf"\b(?:every|each|all) {_MESSAGES}\b|\bthe readers?\b|\b(?:its|your) {_RULES}\b",
    r"\bapi[ _-]?keys?\b|\w_(?:key|token|secret)\b|\bsystem prompt\b",
)
"""Objects that are suspicious in any text that names such a program."""
_UNMISTAKABLE = _any_of(
    r"<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>|^\W{0,4}(?:system|assistant|developer)(?: \w+)?\s*:\s",
    rf"\b{_MESSAGES} to (?:any|every|all|each) {_MESSAGES}\b|\bwhatever (?:is|was) asked\b",
    r"\b(?:note|message|notice|order|instruction)s? (?:to|for) (?:the |any |all |every )?"
    r"(?:AIs?|assistants?|chat ?bots?|bots?|language models?|LLMs?)\b",
    r"\b(?:dear|hello|hey|attention),? (?:all )?(?:AIs?|assistants?|chat ?bots?|bots?|models?)"
    r"\s*[,:;.!—–-]",
    r"\bpretend (?:to be|that you are|you are)\b",
    r"\bimagine you are (?:an? (?:AI|bot)\b|(?-i:[A-Z]))",
    rf"(?:{_LINE_START}|[.!?:;]\s*)act as \S+ and\b|\bgreet the readers?\b",
    r"\bfrom now on,? you\b|\byou are no longer an?\b|\byour (?:name|task|job|role) (?:is|has)\b",
    r"\bif you are an? (?:AI|assistant|bot|chat ?bot|LLM|(?:language )?model)\b",
    r"\byour (?:\w+ )?(?:persona|identity)\b",
    rf"(?:{_LINE_START}|[.!?:;]\s*)you are (?-i:[A-Z])[\w-]+, an?\b",
    rf"\|\s*{_MESSAGES}\s*\|(?=[^\0]{{0,600}}\|\s*(?:anything|everything|whatever)\b)",
    r"\byou are now (?:called|named|in \w+ mode|an? \w+ (?:assistant|bot|AI))\b",
    r"\bwhen(?:ever)? (?:you are|you're|someone|anyone|the reader) (?:is )?ask(?:ed|s)\b",
    rf"(?:{_LINE_START}|[.!?:]\s*)(?:tell|greet|direct|persuade|convince|show) (?:the|every|all)"
    r" readers?\b",
)
"""Phrases that are only ever addressed to a language model, and so need no other sign."""
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b(?=[^.!?\n]{0,40}"
    rf"\b(?:previous|prior|earlier|above|preceding)\b)[^.!?\n]{{0,40}}\b{_RULES}\b",
    re.I,
)
_QUOTATION = re.compile(r"“[^”]*”|\"[^\"]*\"|«[^»]*»|`[^`]*`|‘[^’]*’")
_CHAT_TEMPLATE = re.compile(r"<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>")
_INTERLEAVED = re.compile(rf"(?:\w{INVISIBLE.pattern}+){{3,}}")
"""Words obfuscated by invisible characters between the letters."""
_YOU_ARE = re.compile(r"\byou['’]re\b", re.I)
_MIN_UNQUOTED_WORDS = 3
"""With fewer words outside of quotations, the quotations themselves are checked."""
_MAX_PROSE_CHARS = 600
"""Longer text, such as a code listing, contains a verb and an object by chance."""


@memoize_text(4096)
def is_injected_instruction(text: str) -> bool:
    """Return whether a text gives instructions to a language model."""
    visible = _visible_text(text)
    checked = _without_quotations(visible)
    if len(words(checked)) < _MIN_UNQUOTED_WORDS:
        checked = re.sub(r"[“”\"«»`]", "", visible)
    if _UNMISTAKABLE.search(checked):
        return True
    if len(checked) > _MAX_PROSE_CHARS or visible.startswith("```"):
        return False
    addressee, instruction = _LLM_NAME.search(checked), _INSTRUCTION.search(checked)
    if instruction and (addressee or _INSTRUCTION_OBJECT.search(checked)):
        return True
    return bool(addressee and _SENSITIVE_OBJECT.search(checked))


@memoize_text(4096)
def addresses_llm(text: str) -> bool:
    """Return whether a text is clearly addressed to a language model."""
    visible = _visible_text(text)
    unquoted = _without_quotations(visible)
    return bool(
        _UNMISTAKABLE.search(unquoted) or _OVERRIDE.search(unquoted) or _INTERLEAVED.search(visible)
    )


def _visible_text(text: str) -> str:
    if not text.isascii():
        text = "".join(char for char in normalize("NFKC", text) if category(char) != "Cf")
    return text.strip()


def _without_quotations(text: str) -> str:
    return _QUOTATION.sub(" … ", _YOU_ARE.sub("you are", text))


def cites_injected_instruction(text: str, start: int, end: int) -> bool:
    """Return whether a span of a passage belongs to an instruction to a language model."""
    paragraph = text[text.rfind("\n\n", 0, start) + 1 : (text.find("\n\n", end) + 1) or len(text)]
    if _CHAT_TEMPLATE.search(paragraph) or _INTERLEAVED.search(paragraph):
        return True
    spans = [span for span in split_spans(text) if span.start < end and start < span.end]
    # An instruction can span several list items or table rows.
    if any(span.kind in ("item", "row") for span in spans) and is_injected_instruction(paragraph):
        return True
    return is_injected_instruction(text[start:end]) or any(
        is_injected_instruction(span.of(text)) for span in spans
    )


MIN_SHARED_WORDS = 6
"""Number of consecutive words shared with the system prompt that counts as a leak."""
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
    """Return the text of a withheld claim, or a note if it holds a secret or `instructions`."""
    if _SECRET.search(text):
        return REDACTION_NOTE
    return REDACTED_PROMPT if any(repeats_wording(text, line) for line in instructions) else text


def repeats_wording(text: str, original: str) -> bool:
    """Return whether a text repeats enough consecutive words of another to count as a leak."""
    return bool(_word_ngrams(text) & _word_ngrams(original))


def _word_ngrams(text: str) -> set[tuple[str, ...]]:
    folded = [word.casefold() for word in words(text)]
    return {
        tuple(folded[i : i + MIN_SHARED_WORDS]) for i in range(len(folded) - MIN_SHARED_WORDS + 1)
    }
