"""What an author uses a passage for: told by its headings, its directives and its form."""

import re
from collections.abc import Iterator, Sequence

from quire.domain import Block, Chunk, ChunkRole, Excerpt

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
    """Tell what a passage is, by the headings above it and the blocks in it."""
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
    """Give the captions of the figures in a passage; of a picture without one, its own words."""
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
    """Give the captions in a passage, with their places."""
    end = 0
    for caption in chunk.captions:
        start = chunk.text.find(caption, end)
        if start >= 0:
            end = start + len(caption)
            yield _excerpt(chunk, start, end)


def definitions_of(chunk: Chunk) -> Iterator[Excerpt]:
    """Give the terms that a passage of a glossary defines, with their places."""
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
