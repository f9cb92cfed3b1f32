"""Ask a language model which claims follow from the passages, all claims in one prompt."""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from citewell.domain import Hit
from citewell.errors import ModelError
from citewell.text.plain_text import strip_inline_markup
from citewell.text.sentences import split_spans
from citewell.verify.literal import EvidenceSpans

AskModel = Callable[[str], Awaitable[str]]
_LINE = re.compile(
    r"^\W*(\d{1,3})\W+(supported|contradicted|unsupported)\b([^|\n]*)(?:\|[ \t]*(.*))?$",
    re.I | re.M,
)
_SENTENCE = re.compile(r"\b(\d{1,2})\.(\d{1,3})\b")
_VERDICTS: dict[str, Literal["supported", "contradicted", "unsupported"]] = {
    "supported": "supported",
    "contradicted": "contradicted",
    "unsupported": "unsupported",
}


@dataclass(frozen=True, slots=True)
class Check:
    """The model's verdict on a claim."""

    verdict: Literal["supported", "contradicted", "unsupported"]
    spans: EvidenceSpans
    """The sentences that the model names."""
    correction: str = ""
    """What the passages say instead, in the model's words."""


class ClaimChecker:
    """Asks a language model about several claims at once."""

    def __init__(self, ask_model: AskModel) -> None:
        """Ask with `ask_model`, which has the instructions."""
        self._ask_model = ask_model

    async def check(
        self, question: str, claims: Sequence[str], hits: Sequence[Hit]
    ) -> dict[int, Check]:
        """Return the verdicts by the index of the claim; nothing if the model fails.

        A claim is supported only if the model names sentences that exist.
        """
        sentences = _number_sentences(hits)
        try:
            reply = await self._ask_model(_prompt(question, claims, hits, sentences))
        except ModelError:
            return {}
        return dict(_parse(reply, len(claims), sentences))


Sentences = dict[tuple[int, int], tuple[int, int]]
"""Start and end of a sentence, by the numbers of its passage and its own."""


def _number_sentences(hits: Sequence[Hit]) -> Sentences:
    return {
        (number, place): (span.start, span.end)
        for number, hit in enumerate(hits, start=1)
        for place, span in enumerate(split_spans(hit.chunk.text), start=1)
        if span.kind != "heading"
    }


def _prompt(question: str, claims: Sequence[str], hits: Sequence[Hit], sentences: Sentences) -> str:
    lines = []
    for number, hit in enumerate(hits, start=1):
        lines.append(f"[{number}] {' › '.join(hit.chunk.path)}")
        lines += [
            f"{number}.{place} {hit.chunk.text[start:end]}"
            for (own, place), (start, end) in sentences.items()
            if own == number
        ]
    passages = "\n".join(lines)
    fence = f"passages-{sha256(passages.encode()).hexdigest()[:8]}"
    listed = "\n".join(
        f"{number}. {strip_inline_markup(claim)}" for number, claim in enumerate(claims, start=1)
    )
    return f"<{fence}>\n{passages}\n</{fence}>\n\nQuestion: {question}\n\nClaims:\n{listed}"


def _parse(reply: str, count: int, sentences: Sentences) -> Iterator[tuple[int, Check]]:
    for number, word, named, correction in _LINE.findall(reply):
        index = int(number) - 1
        if not 0 <= index < count:
            continue
        keys = [(int(passage), int(place)) for passage, place in _SENTENCE.findall(named)]
        spans = tuple((key[0], *sentences[key]) for key in dict.fromkeys(keys) if key in sentences)
        verdict = _VERDICTS[word.lower()]
        if verdict == "supported" and not spans:
            verdict = "unsupported"
        yield index, Check(verdict, spans, correction.strip())
