"""A second opinion of a language model on a claim that the judge would withhold.

It has to name the sentence that says so, and what a small change of words can turn into its
opposite must agree there exactly, whatever the model thinks.
"""

import re
from collections.abc import Awaitable, Callable, Sequence

from quire.domain import Verdict
from quire.errors import ModelError
from quire.prose.plain import inline_plain
from quire.prose.sentences import split_spans
from quire.prose.terms import terms
from quire.verify.agreement import disagreements
from quire.verify.literal import Places
from quire.verify.reversals import is_turned_round

Ask = Callable[[str], Awaitable[str]]
READ = 8
"""Sentences that the model is shown."""
OPINION = 0.75
"""What its word counts as, in probability: less than what was compared."""


async def second_opinion(claim: str, passages: Sequence[str], ask: Ask) -> Verdict | None:
    """Give a verdict if the model names a sentence that may say so; nothing if it does not."""
    nearest = _nearest(inline_plain(claim), passages)
    if not nearest:
        return None
    listed = "\n".join(f"{n}. {text}" for n, (text, _) in enumerate(nearest, start=1))
    try:
        said = await ask(f"Claim: {inline_plain(claim)}\n\nSentences:\n{listed}")
    except ModelError:
        return None
    named = re.fullmatch(r"\[?(\d{1,2})[\].]?", said.strip())
    if not named or not 1 <= int(named[1]) <= len(nearest):
        return None
    text, place = nearest[int(named[1]) - 1]
    # The order of words is what the model was asked about; all else is not its to decide.
    differs = any(one.kind != "arrangement" for one in disagreements(claim, text))
    if differs or is_turned_round(claim, [text], [0]):
        return None
    return Verdict(kind="supported", probability=OPINION, evidence=place)


def _nearest(claim: str, passages: Sequence[str]) -> list[tuple[str, Places]]:
    """Give the sentences that share most words with the claim, and where they stand."""
    wanted = set(terms(claim))
    found = [
        (inline_plain(span.of(passage)), ((number, span.start, span.end),))
        for number, passage in enumerate(passages, start=1)
        for span in split_spans(passage)
        if span.kind in ("sentence", "item")
    ]
    shared = [(len(wanted & set(terms(text))), text, place) for text, place in found]
    best = sorted((one for one in shared if one[0]), key=lambda one: -one[0])
    return [(text, place) for _, text, place in best[:READ]]
