"""Lines that govern what stands below them: under “Never do the following:” a step is no advice.

Which line governs is decided by the form of the page: what announces a list or a block, the title
of an admonition, the heading of a table's column, the nearest heading. Whether such a line turns
what it governs into its opposite is decided by its words.
"""

import re
from collections.abc import Iterator, Sequence

from citewell.domain import Chunk, Claim
from citewell.text.blocks import Block, Leaf, block_at, blocks_of, is_denial
from citewell.text.plain_text import TABLE_RULE, plain, strip_inline_markup
from citewell.text.sentences import Span, split_spans
from citewell.text.terms import terms, words

_SUBORDINATE = re.compile(
    r"\b(?:if|when|whenever|where|wherever|unless|until|while|because|since|although|though|in case"
    r"|instead of|rather than)\b[^,:;.!?]*|\bnot only\b",
    re.I,
)
"""“If the robot does not move, run:” forbids nothing."""
_LABELS = (
    r"myths?|mistakes?|mistaken|misconceptions?|misunderstandings?|fallac(?:y|ies)|anti-?patterns?"
    r"|rumou?rs?|hearsay|superstitions?|errata|errors in|(?:common|typical|frequent) errors"
    r"|wrong(?:ly)?(?! by)|false(?:hoods?)?|untrue|incorrect(?:ly)?|don['’]?ts|what not to"
    r"|bad (?:practices?|ideas?|examples?|habits?)|forbidden|prohibited|counter-?examples?"
    r"|discredited|debunked|disproved"
)
_FORBIDDING = r"never|avoid|do not|don['’]?t|must not|should not|may not"
_LABEL = re.compile(rf"\b(?:{_LABELS})\b|^\W*(?:{_FORBIDDING})\b", re.I)
_NEGATION = re.compile(
    rf"\b(?:{_LABELS}|{_FORBIDDING}|not|no|nobody|nothing|none|cannot|neither|nor|refrain|pitfalls?"
    r"|(?:without|lack of) (?:any |the )?(?:proof|evidence|reason|basis|grounds?)|unproven"
    r"|unfounded|alleged(?:ly)?|supposed(?:ly)?|dangerous|fatal|illegal|unsafe)\b|n['’]t\b",
    re.I,
)
_CELL = re.compile(r"(?<!\\)\|")


def denies_what_follows(line: str) -> bool:
    """Whether an announcement or a title says that what it governs is not so, or not to be done."""
    return bool(_NEGATION.search(_SUBORDINATE.sub(" ", strip_inline_markup(line))))


def denies_its_section(heading: str) -> bool:
    """Whether a line labels what stands below it as false or forbidden.

    Less than a negation will do that of an announcement: a heading, or a sentence that is complete
    in itself, may say “not” about anything.
    """
    return bool(_LABEL.search(_SUBORDINATE.sub(" ", strip_inline_markup(heading))))


def is_under_denial(chunk: Chunk, start: int, end: int, shown: Sequence[Claim] = ()) -> bool:
    """Whether a place stands under a line that denies it, and that the answer has not shown.

    A line counts as shown if nothing came between it and the place but what it governs, too.
    """
    lines = list(_denying_lines(chunk, start, end))
    return any(not _is_shown(line, chunk, shown) for line in lines)


def _denying_lines(chunk: Chunk, start: int, end: int) -> Iterator[str]:
    """Yield the lines that govern a place, and deny it."""
    text = chunk.text
    blocks = blocks_of(text)
    place = block_at(blocks, start)
    if place is not None:
        yield from _announcing(text, blocks[place], start, end)
        yield from _answers(text, blocks, place, end)
    if chunk.source_file and denies_its_section(chunk.path[-1]):
        yield chunk.path[-1]


def _announcing(text: str, block: Block, start: int, end: int) -> Iterator[str]:
    """Yield the titles, announcements, items above and headings of cells that deny a place."""
    # What announces words is a part of them; of a listing it tells what the lines are about.
    of_words = block.announced and block.kind in ("paragraph", "list")
    quoted = bool(block.inside) and not block.titles
    denies_it = denies_what_follows if of_words or quoted else denies_its_section
    lines = [span for span in block.lead if not (start < span.end and span.start < end)]
    yield from (line for span in lines if denies_it(line := span.of(text)))
    yield from (line for span in block.titles if denies_what_follows(line := span.of(text)))
    leaf = next((one for one in block.leaves if one.start <= start < one.end), None)
    if leaf is None:
        return
    for other in block.leaves:
        above = other.start < leaf.start and other.items and other.items[-1] in leaf.items
        if above and (other.marker or other.kind == "title") and other.end <= start:
            line = other.sentences[-1].of(text)
            if denies_what_follows(line) if line.endswith(":") else denies_its_section(line):
                yield line
    if leaf.kind == "table":
        yield from filter(denies_what_follows, _cell_headings(text, leaf, start, end))


def _cell_headings(text: str, table: Leaf, start: int, end: int) -> Iterator[str]:
    """Yield the heading of the column that a place stands in, and the first cell of its row."""
    line = text.rfind("\n", 0, start) + 1
    if line <= table.start or "\n" in text[start:end]:
        return  # the header itself, or rows that bring it
    header = text[table.start : table.end].split("\n", 1)[0]
    column = len(_CELL.findall(text[line:start])) - text[line:start].lstrip(" >").startswith("|")
    cells = _CELL.split(header.strip().removeprefix("|"))
    row = _CELL.split(text[line : text.find("\n", start) if "\n" in text[start:] else len(text)])
    if _CELL.search(text[start:end].strip().strip("|")) or TABLE_RULE.search(header):
        return
    if 0 <= column < len(cells):
        yield cells[column]
    first = next((cell for cell in row if cell.strip(" >")), "")
    if column > 0 and denies_its_section(first):
        yield first


def _answers(text: str, blocks: Sequence[Block], place: int, end: int) -> Iterator[str]:
    """Yield the “No.” that a book says right behind what it quotes or asks."""
    after = [
        sentence.of(text)
        for block in blocks[place : place + 2]
        for leaf in block.leaves
        for sentence in leaf.sentences
        if sentence.start >= end
    ][:1]
    yield from (one for one in after if is_denial(one))


def _is_shown(line: str, chunk: Chunk, shown: Sequence[Claim]) -> bool:
    wanted = _strip_markup(line)
    for claim in reversed(shown):
        if wanted and wanted in _strip_markup(claim.text):
            return True
        places = [one for one in claim.citations if one.chunk_id == chunk.id]
        if not any(line in _denying_lines(chunk, one.start, one.end) for one in places):
            return False
    return False


def _strip_markup(text: str) -> str:
    return " ".join(word.casefold() for word in words(plain(text)))


_LEANING = re.compile(
    r"(?:it|its|they|them|their|this|these|that|those|he|she|his|her|such|then|there|the (?:former"
    r"|latter|same)|both|either|neither|one|another|afterwards|instead|otherwise)\b(?!['’])",
    re.I,
)
_EXPLETIVE = re.compile(
    r"(?:it(?: is|'s|’s) (?:\w+ly )?(?:also )?(?:important|possible|necessary|worth|best|common"
    r"|easy|hard|useful|wise|good|better)\b|there (?:is|are|was|were)\b"
    r"|this (?:book|chapter|section)\b)",
    re.I,
)
MIN_SHARED_TERMS = 0.5
"""How much of the sentence before must be spoken of where the book's own sentence leans."""


def is_anaphoric(text: str) -> bool:
    """Whether a sentence needs the one before it to be understood."""
    plain = strip_inline_markup(text)
    return bool(_LEANING.match(plain)) and not _EXPLETIVE.match(plain)


def has_same_referent(claim: Claim, before: Claim, chunks: dict[str, Chunk]) -> bool:
    """Whether a leaning claim refers, in the answer, to what its evidence refers to in the book.

    The book's sentence leans, too: on the nearest one before it that does not. The claim before
    must rest on one of these, or speak of the same things.
    """
    return any(
        _depends_on(before, citation.chunk_id, chain, chunks[citation.chunk_id].text)
        for citation in claim.citations
        for chain in [_antecedents(chunks[citation.chunk_id].text, citation.start, citation.end)]
    )


def _depends_on(before: Claim, chunk_id: str, chain: list[Span], text: str) -> bool:
    for citation in before.citations:
        if citation.chunk_id == chunk_id and any(
            span.start < citation.end and citation.start < span.end for span in chain
        ):
            return True
    mine = set(terms(strip_inline_markup(before.text)))
    theirs = {term for span in chain for term in terms(strip_inline_markup(span.of(text)))}
    return bool(mine) and len(mine & theirs) >= MIN_SHARED_TERMS * len(mine)


def _antecedents(text: str, start: int, end: int) -> list[Span]:
    """Return the sentences from the one that the quote leans on to the quote."""
    spans = split_spans(text)
    quoted = [place for place, span in enumerate(spans) if span.start < end and start < span.end]
    first = quoted[0] if quoted else 0
    while first > 0 and is_anaphoric(spans[first].of(text)):
        first -= 1
    return list(spans[first : quoted[-1] + 1]) if quoted else []
