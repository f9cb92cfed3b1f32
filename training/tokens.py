"""Texts as word pieces, and the two inputs that the models read."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tokenizers import Tokenizer

CLS, SEP, PAD, MARK = 101, 102, 0, 1
"""`MARK` is the vocabulary's first unused entry: it stands before every sentence of a passage."""
LENGTH = 256
QUESTION, HEADING, SENTENCE = 64, 40, 96
CLAIM, EVIDENCE = 88, 200
TOKENIZER = Path(__file__).parent.parent / "src/citewell/models/weights/tokenizer.json"


@dataclass(frozen=True, slots=True)
class Input:
    """What a model reads: word pieces, which text each is of, and where the markers stand."""

    ids: list[int]
    types: list[int]
    marks: list[int] = field(default_factory=list)
    sentences: range = range(0)
    """The sentences of the passage that are in it."""


@lru_cache(maxsize=1)
def tokenizer() -> Tokenizer:
    """Return the tokenizer, which the product ships."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    loaded = Tokenizer.from_file(str(TOKENIZER))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


@lru_cache(maxsize=200_000)
def pieces(text: str) -> tuple[int, ...]:
    """Return the word pieces of a text."""
    # A page of code is cut: no more than a few hundred pieces of any text are read.
    return tuple(tokenizer().encode(text[:4000], add_special_tokens=False).ids)


def count_tokens(text: str) -> int:
    """Return how many word pieces a text has."""
    return len(pieces(text))


def windows(lengths: Sequence[int], room: int) -> list[range]:
    """Return runs of sentences that fit; each next one begins with the last sentence of the one before."""
    found: list[range] = []
    start = 0
    while start < len(lengths):
        end, used = start, 0
        while end < len(lengths) and (end == start or used + lengths[end] <= room):
            used += lengths[end]
            end += 1
        found.append(range(start, end))
        if end == len(lengths):
            break
        start = end - 1 if end - 1 > start else end
    return found


def reader_inputs(question: str, heading: str, sentences: Sequence[str]) -> list[Input]:
    """Return `[CLS] question [SEP] heading [SEP] ¶ s1 ¶ s2 … [SEP]`, once for each window."""
    asked = list(pieces(question)[:QUESTION])
    # The end of a heading path says most.
    under = list(pieces(heading)[-HEADING:])
    said = [[MARK, *pieces(sentence)[:SENTENCE]] for sentence in sentences]
    head = [CLS, *asked, SEP, *under, SEP]
    types = [0] * (len(asked) + 2) + [1] * (len(under) + 1)
    room = LENGTH - len(head) - 1
    made = []
    for window in windows([len(one) for one in said], room) or [range(0)]:
        ids, marks = list(head), []
        for place in window:
            marks.append(len(ids))
            ids += said[place]
        ids = [*ids[: LENGTH - 1], SEP]
        made.append(Input(ids, types + [1] * (len(ids) - len(types)), marks, window))
    return made


def judge_input(claim: str, heading: str, evidence: Sequence[str]) -> Input:
    """Return `[CLS] claim [SEP] heading: sentences [SEP]`."""
    said = list(pieces(claim)[:CLAIM])
    under = list(pieces(f"{heading}:")[-HEADING:]) if heading else []
    shown: list[int] = []
    for sentence in evidence:
        shown += pieces(sentence)
    ids = [CLS, *said, SEP, *under, *shown[:EVIDENCE], SEP]
    first = len(said) + 2
    return Input(ids, [0] * first + [1] * (len(ids) - first))
