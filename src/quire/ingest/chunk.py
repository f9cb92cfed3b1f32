"""Sections to chunks: never across a heading, through a table or code only at its own seams."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from quire.domain import Block, BlockKind, Chunk, Page, Section
from quire.ingest.options import IngestOptions
from quire.ingest.roles import captions_of, role_of
from quire.ingest.seams import CountTokens, split_block
from quire.prose.plain import plain
from quire.prose.sentences import split_spans

NAMESPACE = UUID("6f1c7c9e-6d1b-5a5e-9a5c-0b8f1f4b7a11")
_WORDS = re.compile(r"\s*\S+\s*")
_PROSE = ("prose", "quote", "caption")


@dataclass(frozen=True, slots=True)
class _Piece:
    block: Block
    tokens: int
    label: str = ""
    """Which piece of a split block it is, as `2/3`."""
    leads: bool = False
    """Whether the text announces what follows and must stay with it."""


def chunk_page(
    page: Page, *, book: str, count: CountTokens, options: IngestOptions, now: datetime
) -> tuple[Chunk, ...]:
    """Cut one page into chunks whose ids stay the same while their place does."""
    count = _remembering(count)
    count([block.text for section in page.sections for block in section.blocks])
    gathered = [
        (section, group)
        for section in page.sections
        for group in _gather(list(_pieces(section, count, options)), options)
    ]
    texts = ["\n\n".join(piece.block.text for piece in group) for _, group in gathered]
    tokens = count(texts)
    return tuple(
        Chunk(
            id=str(uuid5(NAMESPACE, f"{book}\n{page.source}\n{position}")),
            book=book,
            source_file=page.source,
            part=page.part,
            chapter=page.title,
            section=section.path[-1] if section.path else page.title,
            path=section.path or (page.title,),
            url=f"{page.url}#{section.anchor}" if section.anchor else page.url,
            text=text,
            content_hash=hashlib.sha256(text.encode()).hexdigest(),
            sequence=position,
            total=len(gathered),
            token_count=tokens[position - 1],
            processed_at=now,
            role=role_of(section.path or (page.title,), [piece.block for piece in group]),
            piece=next((piece.label for piece in group if piece.label), ""),
            captions=tuple(captions_of([piece.block for piece in group])),
        )
        for position, ((section, group), text) in enumerate(
            zip(gathered, texts, strict=True), start=1
        )
    )


def _remembering(count: CountTokens) -> CountTokens:
    """Count each text once: all blocks of a page together are counted on all cores."""
    known: dict[str, int] = {}

    def counted(texts: Sequence[str]) -> list[int]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, count(new), strict=True))
        return [known[text] for text in texts]

    return counted


def embedding_text(chunk: Chunk) -> str:
    """Give what the embedder and the keyword index see: where the passage stands, and its words."""
    where = " › ".join(p for p in (chunk.part, *chunk.path) if p)
    return f"{where}\n{plain(chunk.text)}"


def _pieces(section: Section, count: CountTokens, options: IngestOptions) -> Iterator[_Piece]:
    blocks = section.blocks
    sizes = count([b.text for b in blocks])
    following = [*(block.kind for block in blocks[1:]), None][: len(blocks)]
    lead = ""
    for block, tokens, after in zip(blocks, sizes, following, strict=True):
        leads = block.kind in _PROSE and _leads(block.text, after)
        if block.kind in _PROSE:
            whole = tokens <= options.max_tokens
            texts = [block.text] if whole else list(_prose(block.text, count, options))
            labels = [""] * len(texts)
        else:
            whole = tokens <= options.max_block_tokens
            texts = [block.text] if whole else split_block(block, count, options.max_block_tokens)
            labels = [
                f"{n}/{len(texts)}" if len(texts) > 1 else "" for n in range(1, len(texts) + 1)
            ]
            if block.kind == "list" and lead:
                texts[1:] = [f"{lead}\n\n{text}" for text in texts[1:]]
        for text, label in zip(texts, labels, strict=True):
            size = tokens if whole else count([text])[0]
            last = leads and text is texts[-1]
            yield _Piece(Block(kind=block.kind, text=text), size, label, last)
        lead = _sentences(block.text)[-1].strip() if leads else ""


def _leads(text: str, after: BlockKind | None) -> bool:
    """Whether prose announces what follows: by a colon, or as the one sentence before a list."""
    ends = text.rstrip().endswith(":")
    return ends or (after == "list" and len(split_spans(text)) == 1)


def _prose(text: str, count: CountTokens, options: IngestOptions) -> Iterator[str]:
    held, size = "", 0
    for unit, length in _units(text, count, options.max_block_tokens):
        if held and size + length > options.max_tokens:
            yield held.strip("\n").rstrip()
            held, size = "", 0
        held, size = held + unit, size + length
    yield held.strip("\n").rstrip()


def _units(text: str, count: CountTokens, limit: int) -> Iterator[tuple[str, int]]:
    """Give the sentences with their sizes, and the words of what is too long to be a sentence.

    A page of names has no full stop, and of a passage that long only the beginning is embedded.
    """
    sentences = _sentences(text)
    for sentence, length in zip(sentences, count(sentences), strict=True):
        units = [sentence] if length <= limit else _WORDS.findall(sentence)
        sizes = [length] if length <= limit else count(units)
        yield from zip(units, sizes, strict=True)


def _sentences(text: str) -> list[str]:
    """Cut between sentences; joined again, the pieces are the text."""
    starts = [span.start for span in split_spans(text)] or [0]
    starts[0] = 0
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def _gather(pieces: list[_Piece], options: IngestOptions) -> Iterator[list[_Piece]]:
    """Group neighbours up to the target; an announcement moves on with what it announces."""
    group: list[_Piece] = []
    size = 0
    for piece in pieces:
        full = size + piece.tokens > options.max_tokens or size >= options.target_tokens
        # A piece of something split stands by itself, so that what it says of itself is true.
        full = full or bool(piece.label or (group and group[-1].label))
        if group and full and not (group[-1].leads and len(group) == 1):
            moved = [group.pop()] if group[-1].leads else []
            yield group
            group, size = moved, sum(p.tokens for p in moved)
        group.append(piece)
        size += piece.tokens
    if group:
        yield group
