"""Every block of every book at hand, quoted by the embedded answerer, is shown whole."""

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from citewell.answer.extractive import EmbeddedModel, QuoteSplitter
from citewell.answer.prompts import passages_from_json, passages_to_json
from citewell.answer.quoting import MAX_ROWS, quote_blocks, render_piece
from citewell.answer.run import AnswerRun
from citewell.answer.verification import Verifiers
from citewell.citations.text_fragments import DeepLinker
from citewell.domain import Chunk, Hit, Question
from citewell.events import Withheld
from citewell.options import AnswerOptions
from citewell.retrieve.rerank import SentenceReranker
from citewell.text.blocks import Block, blocks_of, ends_in_colon, is_picture
from citewell.text.plain_text import plain
from citewell.text.terms import TermStatistics, words
from citewell.verify.judge import LexicalJudge
from evals.reading import read_book
from tests.conftest import SAMPLE
from tests.servers import WordReranker
from tests.verify.samples import Shelf, chunk_of

# At import: the tests' environment is emptied of CITEWELL_ settings.
BOOKS = Path(os.environ.get("CITEWELL_SHARED", SAMPLE.parents[2] / "shared")) / "books"
OTHERS = (
    "rust-book",
    "lerobot-docs/docs/source",
    "physical-ai-docusaurus",
    "docusaurus-docs",
    "gtbook-robotics",
    "ros2-docs",
)


MARKUP = re.compile(r"[<{&]|\]\(|\]\[|\]:|!\[|\[\^|https?:|www\.|[^\x00-\uffff]")
"""What is shown in other words: links, pictures, notes and HTML."""


def count(texts: Sequence[str]) -> list[int]:
    return [len(text) // 4 for text in texts]


class Quoted:
    """Quotes blocks as the embedded model does, and has them checked as its answers are."""

    def __init__(self) -> None:
        self.model = EmbeddedModel(SentenceReranker(WordReranker()), TermStatistics())
        self.verifiers = Verifiers(LexicalJudge(), AnswerOptions(), None, DeepLinker())

    async def show(self, chunk: Chunk, block: Block) -> AnswerRun:
        """Quote one block of a passage."""
        # The address of a PDF's page is left as it is: links to sentences are tested elsewhere.
        shown = replace(chunk, url="#page=1")
        hits = [Hit(chunk=shown, rank=1, similarity=1.0, cosine=1.0)]
        (passage,) = passages_from_json(passages_to_json(hits))
        wanted = [span for leaf in block.leaves for span in leaf.sentences]
        self.model.pieces = quote_blocks(passage, wanted)
        work = AnswerRun(Question(text="?"), Shelf(chunk), "thread", "answer", "embedded")
        work.evidence = hits
        reader = QuoteSplitter(self.model, hits)
        verifier = self.verifiers.open(work, by_llm=False)
        for piece in self.model.pieces:
            async for event in verifier.add(reader.feed(render_piece(piece))):
                assert not isinstance(event, Withheld), event.claim
        async for event in verifier.add(reader.finish()):
            raise AssertionError(event)
        return work


def is_cut(chunk: Chunk, block: Block) -> bool:
    rows = [leaf for leaf in block.leaves if leaf.kind == "table"]
    long = any(chunk.text[one.start : one.end].count("\n") > MAX_ROWS + 1 for one in rows)
    return long or len({leaf.items[0] for leaf in block.leaves if leaf.items}) > MAX_ROWS


def said(text: str) -> Counter[str]:
    return Counter(word.casefold() for word in words(plain(text)))


async def quoted_blocks(chunks: Sequence[Chunk]) -> Counter[str]:
    """Quote every block of the chunks; return how many were shown whole, cut, or left out."""
    quoted, seen = Quoted(), Counter[str]()
    for chunk in chunks:
        for block in blocks_of(chunk.text):
            source = chunk.text[block.start : block.end]
            work = await quoted.show(chunk, block)
            assert work.withheld == []
            if is_picture(source) or not work.text:
                seen["not shown"] += 1
                continue
            seen[block.kind] += 1
            if is_cut(chunk, block):
                assert "Showing " in work.text
                seen["cut"] += 1
                continue
            if block.kind in ("code", "math"):
                shown = [line.lstrip(" >\t").rstrip() for line in work.text.split("\n")]
                lines = [line.lstrip(" >\t").rstrip() for line in source.split("\n")]
                assert not [line for line in lines[1:-1] if line not in shown], (source, work.text)
            elif not MARKUP.search(source) and not ends_in_colon(chunk.text, block):
                assert not said(source) - said(work.text), (source, work.text)
    return seen


async def test_every_block_of_the_sample_book_is_shown_whole(say: Callable[[str], None]) -> None:
    seen = await quoted_blocks(read_book(SAMPLE, count).chunks)

    say(f"blocks quoted of the sample book: {dict(seen)}; 0 withheld")
    assert min(seen[kind] for kind in ("paragraph", "list", "table", "code", "math")) > 10
    assert seen["orders"] == 0


async def test_signs_without_ink_do_not_move_a_quote() -> None:
    chunk = chunk_of("The lamp\u200b is lit.\n\nA le\u00adns turns. Fog is wet.\ufeff Rain falls.")

    work = await Quoted().show(chunk, blocks_of(chunk.text)[1])

    assert work.text == "A lens turns. [1] Fog is wet. [1] Rain falls. [1]"
    quotes = [one for claim in work.claims for one in claim.citations]
    assert [one.quote for one in quotes] == ["A le\u00adns turns.", "Fog is wet.", "Rain falls."]
    assert all(chunk.text[one.start : one.end] == one.quote for one in quotes)


@pytest.mark.parametrize("folder", OTHERS)
async def test_every_block_of_a_book_of_others_is_shown_whole(
    folder: str, say: Callable[[str], None]
) -> None:
    root = BOOKS / folder
    if not root.is_dir():
        pytest.skip(f"{root} is not here; CITEWELL_SHARED names the folder that holds `books`")

    seen = await quoted_blocks(read_book(root, count).chunks)

    say(f"blocks quoted of {folder}: {dict(seen)}; 0 withheld")
    assert seen["paragraph"] > 100
