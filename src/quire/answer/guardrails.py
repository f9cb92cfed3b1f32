"""Cheap checks of a question before any model is called; none of them is made by a model.

They are the SDK's blocking input guardrails, so that nothing is sent where one of them trips. What
the model says is checked sentence by sentence instead (`quire.verify`): an output guardrail would
fire when all of it is out.
"""

import re
from typing import TYPE_CHECKING, Any

from agents import Agent, GuardrailFunctionOutput, RunContextWrapper, input_guardrail
from agents.items import TResponseInputItem

if TYPE_CHECKING:
    from quire.answer.agent import Evidence

LONGEST = 4_000
"""Characters of a question; the contracts allow half of it, and a rewritten one may grow."""
WORDLESS = "I found no words in this that I could look up. Please ask a question about the book."
TOO_LONG = "This is too long for one question. Please ask about one thing at a time."
NOT_A_QUESTION = (
    "I only answer questions about the book, from the book. This asks me to do something else, so "
    "I did not pass it on. Please ask about the book alone."
)

_WHOSE = (
    r"(?:all|any|your|my|these|those|every|previous|prior|above|earlier|preceding|system|initial|"
    r"original)"
)
_RULES = r"(?:instructions?|prompts?|rules|guidelines|directions|directives|constraints)"
_SHOW = (
    r"(?:reveal|show|print|repeat|output|leak|display|dump|recite|expose|send|tell\s+me|give\s+me)"
)
_INJECTIONS = tuple(
    re.compile(one, re.I)
    for one in (
        rf"\b(?:ignore|disregard|forget|override|bypass|drop)\b(?:\s+(?:of|the|other|and))*\s+{_WHOSE}"
        rf"(?:\s+(?:of|the|other|and|{_WHOSE}))*\s+{_RULES}\b",
        r"\b(?:ignore|disregard|forget)\s+(?:everything|all)\s+(?:above|before|you)\b",
        rf"\b{_SHOW}\b[^.?!\n]{{0,60}}\b(?:your|system|hidden|initial|developer)\s+(?:\w+\s+)?{_RULES}\b",
        rf"\b{_SHOW}\b[^.?!\n]{{0,40}}\byour\s+(?:\w+\s+)?(?:keys?|secrets?|passwords?|credentials)\b",
        r"\byou\s+are\s+now\s+(?:a|an|the|in|no\s+longer|free|unrestricted|dan)\b",
        r"\b(?:pretend|imagine)\s+(?:to\s+be|that\s+you|you\s+are|you're)\b",
        r"(?:^|[.!?\n]\s*)(?:please\s+|now\s+)*(?:act|behave|respond)\s+as\s+(?:if\s+you|an?|the|my)\b",
        r"\b(?:jailbreak|developer\s+mode|dan\s+mode|do\s+anything\s+now)\b(?!\s*\?)",
        r"<\|[a-z_]+\|>|\[/?INST\]|</?(?:system|assistant|passages)[^>]*>",
        r"(?:^|\n)\s*(?:system|assistant|developer)\s*:",
    )
)


def check_question(text: str) -> str:
    """Say why a question is not passed on to a model; nothing if it is."""
    if not any(sign.isalnum() for sign in text):
        return WORDLESS
    if len(text) > LONGEST:
        return TOO_LONG
    if is_injection(text):
        return NOT_A_QUESTION
    return ""


def is_injection(text: str) -> bool:
    """Tell whether a question gives orders to the one who answers; only plain cases are seen."""
    return any(pattern.search(text) for pattern in _INJECTIONS)


@input_guardrail(run_in_parallel=False)
async def question_guardrail(
    context: RunContextWrapper["Evidence"],
    agent: Agent[Any],
    given: str | list[TResponseInputItem],
) -> GuardrailFunctionOutput:
    """Stop before the model is called if the question is none.

    What is off the book's topic has not come here: the passages found for it did not pass the gate.
    """
    del agent, given  # the input has the conversation and the passages too, which are only data
    evidence = context.context
    evidence.refusal = check_question(evidence.question)
    return GuardrailFunctionOutput(evidence.refusal or None, bool(evidence.refusal))
