"""Sections to chunks: never across a heading, never through a table, code block or formula."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from quire.domain import Block, Chunk, Page, Section
from quire.ingest.options import IngestOptions
from quire.prose.plain import plain
from quire.prose.sentences import split_spans

NAMESPACE = UUID("6f1c7c9e-6d1b-5a5e-9a5c-0b8f1f4b7a11")
CountTokens = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class _Piece:
    block: Block
    tokens: int

    @property
    def leads(self) -> bool:
        """Whether the text announces what follows and must stay with it."""
        return self.block.text.rstrip().endswith(":")


def chunk_page(
    page: Page, *, book: str, count: CountTokens, options: IngestOptions, now: datetime
) -> tuple[Chunk, ...]:
    """Cut one page into chunks whose ids stay the same while their place does."""
    gathered = [
        (section, "\n\n".join(piece.block.text for piece in group))
        for section in page.sections
        for group in _gather(list(_pieces(section, count, options)), options)
    ]
    tokens = count([text for _, text in gathered])
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
        )
        for position, (section, text) in enumerate(gathered, start=1)
    )


def embedding_text(chunk: Chunk) -> str:
    """Give what the embedder and the keyword index see: where the passage stands, and its words."""
    where = " › ".join(p for p in (chunk.part, *chunk.path) if p)
    return f"{where}\n{plain(chunk.text)}"


def _pieces(section: Section, count: CountTokens, options: IngestOptions) -> Iterator[_Piece]:
    blocks = section.blocks
    for block, tokens in zip(blocks, count([b.text for b in blocks]), strict=True):
        prose = block.kind in ("prose", "quote")
        if tokens <= (options.max_tokens if prose else options.max_block_tokens):
            yield _Piece(block, tokens)
            continue
        parts = _sentences(block.text) if prose else block.text.split("\n")
        limit = options.max_tokens if prose else options.max_block_tokens
        for text in _packed(parts, count(parts), limit, "" if prose else "\n"):
            yield _Piece(Block(kind=block.kind, text=text), count([text])[0])


def _sentences(text: str) -> list[str]:
    """Cut between sentences; joined again, the pieces are the text."""
    starts = [span.start for span in split_spans(text)] or [0]
    starts[0] = 0
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def _packed(parts: list[str], tokens: list[int], limit: int, glue: str) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for part, length in zip(parts, tokens, strict=True):
        if held and size + length > limit:
            if text := glue.join(held).strip("\n").rstrip():
                yield text
            held, size = [], 0
        held.append(part)
        size += length
    if text := glue.join(held).strip("\n").rstrip():
        yield text


def _gather(pieces: list[_Piece], options: IngestOptions) -> Iterator[list[_Piece]]:
    """Group neighbours up to the target; an announcement moves on with what it announces."""
    group: list[_Piece] = []
    size = 0
    for piece in pieces:
        full = size + piece.tokens > options.max_tokens or size >= options.target_tokens
        if group and full and not (group[-1].leads and len(group) == 1):
            moved = [group.pop()] if group[-1].leads else []
            yield group
            group, size = moved, sum(p.tokens for p in moved)
        group.append(piece)
        size += piece.tokens
    if group:
        yield group
