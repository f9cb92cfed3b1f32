"""Split sections into chunks: never across headings; tables and code only at natural boundaries."""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from citewell.domain import Block, BlockKind, Chunk, ChunkRole, Excerpt, Page, Section
from citewell.options import IngestOptions
from citewell.text.plain_text import plain
from citewell.text.sentences import split_spans

CountTokens = Callable[[Sequence[str]], list[int]]

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+[-:| \t]*$")
_TOP_LEVEL_STATEMENT = re.compile(r"\n(?=\n+[^\s)\]}])")
_BLANK_LINE = re.compile(r"\n(?=\n)")
_LIST_ITEM_START = re.compile(r"\n(?=(?:[-*+]|\d+[.)])[ \t])")
_LINE_BREAK = re.compile(r"\n")
_TABLE_HEAD_ROWS = 2


def split_block(block: Block, count: CountTokens, limit: int) -> list[str]:
    """Split a table, list, code block, formula or admonition into pieces of about `limit` tokens.

    Each piece stands alone: it repeats the head of a table and the fences around code, a formula
    or an admonition. Every other line of the block is in exactly one piece.
    """
    head, body, tail = _split_frame(block)
    frame = sum(count([head, tail]))
    room = max(limit - frame, limit // 2)
    units = list(_block_units(body, _split_patterns(block), count, room))
    sizes = count(units)
    # Balance the pieces, so that the last is not just a closing brace.
    pieces = -(-sum(sizes) // room)
    target = min(room, -(-sum(sizes) // pieces) + max(sizes, default=0) // 2)
    packed = _join_units(units, sizes, target)
    return ["\n".join(part for part in (head, text, tail) if part) for text in packed]


def _split_frame(block: Block) -> tuple[str, str, str]:
    """Return the head, body and tail of a block; each piece repeats the head and tail."""
    lines = block.text.split("\n")
    if block.kind == "table" and len(lines) > _TABLE_HEAD_ROWS and _TABLE_RULE.match(lines[1]):
        return "\n".join(lines[:_TABLE_HEAD_ROWS]), "\n".join(lines[_TABLE_HEAD_ROWS:]), ""
    fence = _closing_fence(block, lines[0])
    if fence and len(lines) > _TABLE_HEAD_ROWS and lines[-1].strip() == fence:
        return lines[0], "\n".join(lines[1:-1]).strip("\n"), lines[-1]
    return "", block.text, ""


def _closing_fence(block: Block, line: str) -> str:
    """Return the closing fence for an opening line; empty if the line is not a fence."""
    if block.kind == "code" and (fence := _FENCE.match(line)):
        return fence[1]
    if block.kind == "math" and line.strip() == "$$":
        return "$$"
    if block.kind == "admonition" and (fence := re.match(r"[ \t]*(:{3,})", line)):
        return fence[1]
    return ""


def _split_patterns(block: Block) -> tuple[re.Pattern[str], ...]:
    """Return patterns for split points, best first."""
    match block.kind:
        case "code":
            return (_TOP_LEVEL_STATEMENT, _BLANK_LINE, _LINE_BREAK)
        case "list":
            return (_LIST_ITEM_START, _LINE_BREAK)
        case "admonition":
            return (_BLANK_LINE, _LINE_BREAK)
        case _:
            return (_LINE_BREAK,)


def _block_units(
    text: str, patterns: Sequence[re.Pattern[str]], count: CountTokens, room: int
) -> Iterator[str]:
    """Split by the first pattern, and parts that are still too long by the next."""
    if not patterns or count([text])[0] <= room:
        yield text
        return
    for part in _rejoin_fences(patterns[0].split(text)):
        yield from _block_units(part, patterns[1:], count, room)


def _rejoin_fences(parts: Sequence[str]) -> Iterator[str]:
    """Rejoin parts that were split inside a code block of a list or an admonition."""
    open_parts: list[str] = []
    fences = 0
    for part in parts:
        open_parts.append(part)
        fences += sum(1 for line in part.split("\n") if _FENCE.match(line))
        if fences % 2 == 0:
            yield "\n".join(open_parts)
            open_parts = []
    if open_parts:
        yield "\n".join(open_parts)


def _join_units(units: Sequence[str], sizes: Sequence[int], target: int) -> Iterator[str]:
    packed: list[str] = []
    size = 0
    for unit, length in zip(units, sizes, strict=True):
        if packed and size + length > target:
            if text := "\n".join(packed).strip("\n").rstrip():
                yield text
            packed, size = [], 0
        packed.append(unit)
        size += length
    if text := "\n".join(packed).strip("\n").rstrip():
        yield text


NAMESPACE = UUID("6f1c7c9e-6d1b-5a5e-9a5c-0b8f1f4b7a11")
_WORD = re.compile(r"\s*\S+\s*")
_PROSE_KINDS = ("prose", "quote", "caption")


@dataclass(frozen=True, slots=True)
class _Piece:
    block: Block
    tokens: int
    label: str = ""
    """The number of the piece in a split block, such as `2/3`."""
    introduces_next: bool = False
    """Whether the text introduces the next piece and must stay with it."""


def chunk_page(
    page: Page, *, book: str, count: CountTokens, options: IngestOptions, now: datetime
) -> tuple[Chunk, ...]:
    """Split a page into chunks; a chunk's id depends only on its position in the page."""
    count = _cached_counter(count)
    # Fills the cache: one batch of all blocks is counted on all cores.
    count([block.text for section in page.sections for block in section.blocks])
    groups = [
        (section, group)
        for section in page.sections
        for group in _group_pieces(list(_section_pieces(section, count, options)), options)
    ]
    texts = ["\n\n".join(piece.block.text for piece in group) for _, group in groups]
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
            total=len(groups),
            token_count=tokens[position - 1],
            processed_at=now,
            role=role_of(section.path or (page.title,), [piece.block for piece in group]),
            piece=next((piece.label for piece in group if piece.label), ""),
            captions=tuple(captions_of([piece.block for piece in group])),
        )
        for position, ((section, group), text) in enumerate(
            zip(groups, texts, strict=True), start=1
        )
    )


def _cached_counter(count: CountTokens) -> CountTokens:
    """Return a counter that counts each text once."""
    sizes: dict[str, int] = {}

    def count_once(texts: Sequence[str]) -> list[int]:
        uncounted = [text for text in dict.fromkeys(texts) if text not in sizes]
        sizes.update(zip(uncounted, count(uncounted), strict=True))
        return [sizes[text] for text in texts]

    return count_once


def embedding_text(chunk: Chunk) -> str:
    """Return the text for the embedder and the keyword index: heading path and plain text."""
    heading_path = " › ".join(p for p in (chunk.part, *chunk.path) if p)
    return f"{heading_path}\n{plain(chunk.text)}"


def _section_pieces(
    section: Section, count: CountTokens, options: IngestOptions
) -> Iterator[_Piece]:
    blocks = section.blocks
    sizes = count([b.text for b in blocks])
    next_kinds = [*(block.kind for block in blocks[1:]), None][: len(blocks)]
    introduction = ""
    for block, tokens, next_kind in zip(blocks, sizes, next_kinds, strict=True):
        introduces_next = block.kind in _PROSE_KINDS and _introduces_next(block.text, next_kind)
        if block.kind in _PROSE_KINDS:
            fits = tokens <= options.max_tokens
            texts = [block.text] if fits else list(_split_prose(block.text, count, options))
            labels = [""] * len(texts)
        else:
            fits = tokens <= options.max_block_tokens
            texts = [block.text] if fits else split_block(block, count, options.max_block_tokens)
            labels = [
                f"{n}/{len(texts)}" if len(texts) > 1 else "" for n in range(1, len(texts) + 1)
            ]
            if block.kind == "list" and introduction:
                texts[1:] = [f"{introduction}\n\n{text}" for text in texts[1:]]
        for text, label in zip(texts, labels, strict=True):
            size = tokens if fits else count([text])[0]
            is_introduction = introduces_next and text is texts[-1]
            yield _Piece(Block(kind=block.kind, text=text), size, label, is_introduction)
        introduction = _sentences(block.text)[-1].strip() if introduces_next else ""


def _introduces_next(text: str, next_kind: BlockKind | None) -> bool:
    """Return whether prose ends with a colon or is a single sentence before a list."""
    ends_in_colon = text.rstrip().endswith(":")
    return ends_in_colon or (next_kind == "list" and len(split_spans(text)) == 1)


def _split_prose(text: str, count: CountTokens, options: IngestOptions) -> Iterator[str]:
    prose, size = "", 0
    for sentence, length in _sentence_units(text, count, options.max_block_tokens):
        if prose and size + length > options.max_tokens:
            yield prose.strip("\n").rstrip()
            prose, size = "", 0
        prose, size = prose + sentence, size + length
    yield prose.strip("\n").rstrip()


def _sentence_units(text: str, count: CountTokens, limit: int) -> Iterator[tuple[str, int]]:
    """Yield sentences with their sizes; split overlong ones into words.

    A page of names has no full stop, and the embedder truncates such a long passage.
    """
    sentences = _sentences(text)
    for sentence, length in zip(sentences, count(sentences), strict=True):
        units = [sentence] if length <= limit else _WORD.findall(sentence)
        sizes = [length] if length <= limit else count(units)
        yield from zip(units, sizes, strict=True)


def _sentences(text: str) -> list[str]:
    """Split text between sentences without losing characters."""
    starts = [span.start for span in split_spans(text)] or [0]
    starts[0] = 0
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def _group_pieces(pieces: list[_Piece], options: IngestOptions) -> Iterator[list[_Piece]]:
    """Group neighbours up to the target size; an introduction stays with what it introduces."""
    group: list[_Piece] = []
    size = 0
    for piece in pieces:
        is_full = size + piece.tokens > options.max_tokens or size >= options.target_tokens
        # A piece of a split block is not grouped, so that its label is true of the whole chunk.
        is_full = is_full or bool(piece.label or (group and group[-1].label))
        if group and is_full and not (group[-1].introduces_next and len(group) == 1):
            introduction = [group.pop()] if group[-1].introduces_next else []
            yield group
            group, size = introduction, sum(p.tokens for p in introduction)
        group.append(piece)
        size += piece.tokens
    if group:
        yield group


_NUMBERING = r"(?:\W|\d)*"
_EXERCISES = re.compile(
    _NUMBERING
    + r"(?:(?:review|discussion|practice|self-check|study|end-of-chapter|chapter|part \d+) )?"
    r"(?:exercises?|problems?|questions?|quiz(?:zes)?|check your (?:knowledge|understanding))\W*$",
    re.I,
)
_EXERCISE_SET = re.compile(
    _NUMBERING + r"(?:(?:review|practice|chapter) )?(?:exercises|quiz|review questions)\W*$", re.I
)
"""A heading whose subsections are exercises too. “Problems” may be a chapter on errors."""
_SOLUTIONS = re.compile(
    _NUMBERING + r"(?:(?:selected|model|suggested|exercise|quiz|worked) )?"
    r"(?:solutions?|answers?|answer keys?)"
    r"(?: (?:to|for|of) (?:the |selected |all )*(?:\w+ )?"
    r"(?:exercises?|problems?|questions?|quiz(?:zes)?))?\W*$",
    re.I,
)
_GLOSSARY = re.compile(
    _NUMBERING
    + r"(?:(?:a|the|short|appendix \w+:?) )*(?:glossary(?: of .+)?|key terms|list of terms"
    r"|terms and definitions|vocabulary)\W*$",
    re.I,
)
_DIRECTIVE = re.compile(r":{3,}\s*(exercise|solution|answer)\b", re.I)
_CAPTION = re.compile(
    r"[ \t>]*[*_]{0,2}(?:Figure|Fig\.?)[ \t]*"
    r"(?:[A-Z]?\d(?:[\d.–-]*\d)?[*_]{0,2}[ \t]*[:.—–][*_]{0,2}(?=\s)|:)[ \t]*\S.*",
    re.S,
)
_IMAGE = re.compile(r"!\[([^\]\n]*?\w[^\]\n]*+)\]\([^)\n]{0,2000}\)[ \t]*$", re.M)
_TERM = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)(?P<term>\S[^\n]*?)"
    r"(?::(?:\*\*|__)|(?:\*\*|__)[ \t]*[:—–-])[ \t]*\S",
    re.M,
)


def role_of(path: Sequence[str], blocks: Sequence[Block]) -> ChunkRole:
    """Return the role of a passage from its heading path and blocks."""
    innermost = path[-1]
    if any(_SOLUTIONS.match(heading) for heading in path[-2:]):
        return "solutions"
    if _EXERCISES.match(innermost) or any(_EXERCISE_SET.match(heading) for heading in path):
        return "exercises"
    if any(_GLOSSARY.match(heading) for heading in path):
        return "glossary"
    directives = {_directive(block) for block in blocks}
    if directives == {"exercise"}:
        return "exercises"
    if directives <= {"solution", "answer"}:
        return "solutions"
    return "figure" if all(_is_figure(block) for block in blocks) else "text"


def captions_of(blocks: Sequence[Block]) -> list[str]:
    """Return the captions of the figures in a passage; for an image without one, its alt text."""
    captions: list[str] = []
    for block, next_block in zip(blocks, [*blocks[1:], None], strict=True):
        if _is_caption(block):
            captions.append(block.text)
        elif block.kind == "prose" and not (next_block and _is_caption(next_block)):
            captions += [image[1] for image in _IMAGE.finditer(block.text)]
    return captions


def _is_caption(block: Block) -> bool:
    return block.kind == "caption" or (
        block.kind == "prose" and bool(_CAPTION.fullmatch(block.text))
    )


def _is_figure(block: Block) -> bool:
    return _is_caption(block) or bool(_IMAGE.fullmatch(block.text.strip()))


def figures_of(chunk: Chunk) -> Iterator[Excerpt]:
    """Yield the captions in a passage, with their offsets."""
    end = 0
    for caption in chunk.captions:
        start = chunk.text.find(caption, end)
        if start >= 0:
            end = start + len(caption)
            yield _excerpt(chunk, start, end)


def definitions_of(chunk: Chunk) -> Iterator[Excerpt]:
    """Yield the terms that a glossary passage defines, with their offsets."""
    if chunk.role == "glossary":
        for match in _TERM.finditer(chunk.text):
            yield _excerpt(chunk, *match.span("term"))


def _directive(block: Block) -> str:
    match = _DIRECTIVE.match(block.text) if block.kind == "admonition" else None
    return match[1].lower() if match else ""


def _excerpt(chunk: Chunk, start: int, end: int) -> Excerpt:
    return Excerpt(
        text=chunk.text[start:end], chunk_id=chunk.id, start=start, end=end, url=chunk.url
    )
