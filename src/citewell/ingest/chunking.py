"""Sections to chunks: never across a heading, through a table or code only at its own seams."""

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
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+[-:| \t]*$")
_STATEMENT = re.compile(r"\n(?=\n+[^\s)\]}])")
_PARAGRAPH = re.compile(r"\n(?=\n)")
_ITEM = re.compile(r"\n(?=(?:[-*+]|\d+[.)])[ \t])")
_LINE = re.compile(r"\n")
_HEAD_ROWS = 2


def split_block(block: Block, count: CountTokens, limit: int) -> list[str]:
    """Cut a table, list, code block, formula or admonition into pieces of about `limit` tokens.

    Every piece can be read by itself: the head of a table and the fences around code, a formula or
    an admonition are repeated. Between them, the pieces hold every line of the block once.
    """
    head, body, tail = _framed(block)
    frame = sum(count([head, tail]))
    room = max(limit - frame, limit // 2)
    units = list(_block_units(body, _split_patterns(block), count, room))
    sizes = count(units)
    # Even pieces: none is only the closing brace of the one before.
    pieces = -(-sum(sizes) // room)
    goal = min(room, -(-sum(sizes) // pieces) + max(sizes, default=0) // 2)
    packed = _pack(units, sizes, goal)
    return ["\n".join(part for part in (head, text, tail) if part) for text in packed]


def _framed(block: Block) -> tuple[str, str, str]:
    """Take off what each piece needs at its head and at its end."""
    lines = block.text.split("\n")
    if block.kind == "table" and len(lines) > _HEAD_ROWS and _RULE.match(lines[1]):
        return "\n".join(lines[:_HEAD_ROWS]), "\n".join(lines[_HEAD_ROWS:]), ""
    fence = _closing_fence(block, lines[0])
    if fence and len(lines) > _HEAD_ROWS and lines[-1].strip() == fence:
        return lines[0], "\n".join(lines[1:-1]).strip("\n"), lines[-1]
    return "", block.text, ""


def _closing_fence(block: Block, line: str) -> str:
    """Return what closes a block that begins with this line; nothing if it is no fence."""
    if block.kind == "code" and (found := _FENCE.match(line)):
        return found[1]
    if block.kind == "math" and line.strip() == "$$":
        return "$$"
    if block.kind == "admonition" and (found := re.match(r"[ \t]*(:{3,})", line)):
        return found[1]
    return ""


def _split_patterns(block: Block) -> tuple[re.Pattern[str], ...]:
    """Return the places to cut at, the best first."""
    match block.kind:
        case "code":
            return (_STATEMENT, _PARAGRAPH, _LINE)
        case "list":
            return (_ITEM, _LINE)
        case "admonition":
            return (_PARAGRAPH, _LINE)
        case _:
            return (_LINE,)


def _block_units(
    text: str, seams: Sequence[re.Pattern[str]], count: CountTokens, room: int
) -> Iterator[str]:
    """Cut at the best seams, and what is still too long at the next best."""
    if not seams or count([text])[0] <= room:
        yield text
        return
    for part in _rejoin_fences(seams[0].split(text)):
        yield from _block_units(part, seams[1:], count, room)


def _rejoin_fences(parts: Sequence[str]) -> Iterator[str]:
    """Join parts again where the seam runs through code inside a list or an admonition."""
    held: list[str] = []
    fences = 0
    for part in parts:
        held.append(part)
        fences += sum(1 for line in part.split("\n") if _FENCE.match(line))
        if fences % 2 == 0:
            yield "\n".join(held)
            held = []
    if held:
        yield "\n".join(held)


def _pack(units: Sequence[str], sizes: Sequence[int], goal: int) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for unit, length in zip(units, sizes, strict=True):
        if held and size + length > goal:
            if text := "\n".join(held).strip("\n").rstrip():
                yield text
            held, size = [], 0
        held.append(unit)
        size += length
    if text := "\n".join(held).strip("\n").rstrip():
        yield text


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
    count = _cached_counter(count)
    count([block.text for section in page.sections for block in section.blocks])
    gathered = [
        (section, group)
        for section in page.sections
        for group in _group_pieces(list(_pieces(section, count, options)), options)
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


def _cached_counter(count: CountTokens) -> CountTokens:
    """Count each text once: all blocks of a page together are counted on all cores."""
    known: dict[str, int] = {}

    def counted(texts: Sequence[str]) -> list[int]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, count(new), strict=True))
        return [known[text] for text in texts]

    return counted


def embedding_text(chunk: Chunk) -> str:
    """Return what the embedder and the keyword index see: the heading path and the words."""
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
    for unit, length in _sentence_units(text, count, options.max_block_tokens):
        if held and size + length > options.max_tokens:
            yield held.strip("\n").rstrip()
            held, size = "", 0
        held, size = held + unit, size + length
    yield held.strip("\n").rstrip()


def _sentence_units(text: str, count: CountTokens, limit: int) -> Iterator[tuple[str, int]]:
    """Yield the sentences with their sizes, and the words of what is too long to be a sentence.

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


def _group_pieces(pieces: list[_Piece], options: IngestOptions) -> Iterator[list[_Piece]]:
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


_NUMBERED = r"(?:\W|\d)*"
_EXERCISES = re.compile(
    _NUMBERED
    + r"(?:(?:review|discussion|practice|self-check|study|end-of-chapter|chapter|part \d+) )?"
    r"(?:exercises?|problems?|questions?|quiz(?:zes)?|check your (?:knowledge|understanding))\W*$",
    re.I,
)
_SET = re.compile(
    _NUMBERED + r"(?:(?:review|practice|chapter) )?(?:exercises|quiz|review questions)\W*$", re.I
)
"""A heading whose subsections are exercises too; “Problems” may be a chapter on what goes wrong."""
_SOLUTIONS = re.compile(
    _NUMBERED + r"(?:(?:selected|model|suggested|exercise|quiz|worked) )?"
    r"(?:solutions?|answers?|answer keys?)"
    r"(?: (?:to|for|of) (?:the |selected |all )*(?:\w+ )?"
    r"(?:exercises?|problems?|questions?|quiz(?:zes)?))?\W*$",
    re.I,
)
_GLOSSARY = re.compile(
    _NUMBERED
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
_PICTURE = re.compile(r"!\[([^\]\n]*?\w[^\]\n]*+)\]\([^)\n]{0,2000}\)[ \t]*$", re.M)
_TERM = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)(?P<term>\S[^\n]*?)"
    r"(?::(?:\*\*|__)|(?:\*\*|__)[ \t]*[:—–-])[ \t]*\S",
    re.M,
)


def role_of(path: Sequence[str], blocks: Sequence[Block]) -> ChunkRole:
    """Return what a passage is, by the headings above it and the blocks in it."""
    last = path[-1]
    if any(_SOLUTIONS.match(heading) for heading in path[-2:]):
        return "solutions"
    if _EXERCISES.match(last) or any(_SET.match(heading) for heading in path):
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
    """Return the captions of the figures in a passage; of a picture without one, its own words."""
    found: list[str] = []
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if _is_caption(block):
            found.append(block.text)
        elif block.kind == "prose" and not (after and _is_caption(after)):
            found += [picture[1] for picture in _PICTURE.finditer(block.text)]
    return found


def _is_caption(block: Block) -> bool:
    return block.kind == "caption" or (
        block.kind == "prose" and bool(_CAPTION.fullmatch(block.text))
    )


def _is_figure(block: Block) -> bool:
    return _is_caption(block) or bool(_PICTURE.fullmatch(block.text.strip()))


def figures_of(chunk: Chunk) -> Iterator[Excerpt]:
    """Yield the captions in a passage, with their places."""
    end = 0
    for caption in chunk.captions:
        start = chunk.text.find(caption, end)
        if start >= 0:
            end = start + len(caption)
            yield _excerpt(chunk, start, end)


def definitions_of(chunk: Chunk) -> Iterator[Excerpt]:
    """Yield the terms that a passage of a glossary defines, with their places."""
    if chunk.role == "glossary":
        for found in _TERM.finditer(chunk.text):
            yield _excerpt(chunk, *found.span("term"))


def _directive(block: Block) -> str:
    found = _DIRECTIVE.match(block.text) if block.kind == "admonition" else None
    return found[1].lower() if found else ""


def _excerpt(chunk: Chunk, start: int, end: int) -> Excerpt:
    return Excerpt(
        text=chunk.text[start:end], chunk_id=chunk.id, start=start, end=end, url=chunk.url
    )
