"""Context of evidence: denials above it, and the antecedents of anaphoric sentences.

Under “Never do the following:”, a list item is no advice. The layout of the page determines which
lines apply to a span: the introduction of a list or block, the title of an admonition, the heading
of a table column, the nearest heading. Their words determine whether they deny it.
"""

import re
from collections.abc import Iterator, Sequence

from citewell.domain import Chunk, Claim
from citewell.text.blocks import Block, Leaf, block_at, blocks_of, is_denial
from citewell.text.plain_text import TABLE_RULE, plain, strip_inline_markup
from citewell.text.sentences import Span, split_spans
from citewell.text.terms import terms, words

_SUBORDINATE_CLAUSE = re.compile(
    r"\b(?:if|when|whenever|where|wherever|unless|until|while|because|since|although|though|in case"
    r"|instead of|rather than)\b[^,:;.!?]*|\bnot only\b",
    re.I,
)
"""Clauses that are ignored, since “If the robot does not move, run:” denies nothing."""
_FALSEHOOD_LABELS = (
    r"myths?|mistakes?|mistaken|misconceptions?|misunderstandings?|fallac(?:y|ies)|anti-?patterns?"
    r"|rumou?rs?|hearsay|superstitions?|errata|errors in|(?:common|typical|frequent) errors"
    r"|wrong(?:ly)?(?! by)|false(?:hoods?)?|untrue|incorrect(?:ly)?|don['’]?ts|what not to"
    r"|bad (?:practices?|ideas?|examples?|habits?)|forbidden|prohibited|counter-?examples?"
    r"|discredited|debunked|disproved"
)
_FORBIDDING = r"never|avoid|do not|don['’]?t|must not|should not|may not"
_DENYING_HEADING = re.compile(rf"\b(?:{_FALSEHOOD_LABELS})\b|^\W*(?:{_FORBIDDING})\b", re.I)
_NEGATION = re.compile(
    rf"\b(?:{_FALSEHOOD_LABELS}|{_FORBIDDING}|not|no|nobody|nothing|none|cannot|neither|nor|refrain|pitfalls?"
    r"|(?:without|lack of) (?:any |the )?(?:proof|evidence|reason|basis|grounds?)|unproven"
    r"|unfounded|alleged(?:ly)?|supposed(?:ly)?|dangerous|fatal|illegal|unsafe)\b|n['’]t\b",
    re.I,
)
_FALSEHOOD_LABEL = re.compile(rf"\b(?:{_FALSEHOOD_LABELS})\b", re.I)
_POINTS_AHEAD = re.compile(
    r"\b(?:here (?:is|are|come)|the following|below|what (?:you|we|one|people|not)\b)", re.I
)
_MAX_TITLE_WORDS = 6
_CELL_BORDER = re.compile(r"(?<!\\)\|")


def denies_what_follows(line: str) -> bool:
    """Return whether an introduction or title denies or forbids what follows."""
    return bool(_NEGATION.search(_SUBORDINATE_CLAUSE.sub(" ", strip_inline_markup(line))))


def denies_its_section(heading: str) -> bool:
    """Return whether a heading labels its section as false or forbidden.

    A mere negation is not enough, since a heading can contain “not” for other reasons.
    """
    return bool(_DENYING_HEADING.search(_SUBORDINATE_CLAUSE.sub(" ", strip_inline_markup(heading))))


def denying_line(text: str, blocks: Sequence[Block], index: int) -> Span | None:
    """Return the paragraph above a block if it denies the block, as a title or a sentence.

    It has a single line: “Answers that are wrong”, “Here is what you should never do.”
    """
    above = blocks[index - 1] if index else None
    if above is None or above.kind != "paragraph" or len(above.leaves[0].sentences) > 1:
        return None
    if above.containers != blocks[index].containers[: len(above.containers)]:
        return None
    line = strip_inline_markup(above.leaves[0].sentences[0].of(text))
    is_title = len(words(line)) <= _MAX_TITLE_WORDS or not line.rstrip().endswith((".", "!", "?"))
    denies = (is_title and _FALSEHOOD_LABEL.search(line)) or (
        _POINTS_AHEAD.search(line) and denies_what_follows(line)
    )
    return above.leaves[0].sentences[0] if denies and not is_denial(line) else None


def is_under_denial(chunk: Chunk, start: int, end: int, released: Sequence[Claim] = ()) -> bool:
    """Return whether a line denies a span, and the answer does not show that line before it."""
    lines = list(_denying_lines(chunk, start, end))
    return any(not _is_shown(line, chunk, released) for line in lines)


def _denying_lines(chunk: Chunk, start: int, end: int) -> Iterator[str]:
    text = chunk.text
    blocks = blocks_of(text)
    index = block_at(blocks, start)
    if index is not None:
        if line := denying_line(text, blocks, index):
            yield line.of(text)
        yield from _denying_introductions(text, blocks[index], start, end)
        yield from _denying_replies(text, blocks, index, end)
    if chunk.source_file and denies_its_section(chunk.path[-1]):
        yield chunk.path[-1]


def _denying_introductions(text: str, block: Block, start: int, end: int) -> Iterator[str]:
    """Yield the introductions, titles, parent items and table headings that deny a span."""
    # The introduction of a paragraph or list is part of the statement, that of code is not.
    introduces_prose = block.announced and block.kind in ("paragraph", "list")
    is_quotation = bool(block.containers) and not block.titles
    denies = denies_what_follows if introduces_prose or is_quotation else denies_its_section
    lines = [span for span in block.lead if not (start < span.end and span.start < end)]
    yield from (line for span in lines if denies(line := span.of(text)))
    yield from (line for span in block.titles if denies_what_follows(line := span.of(text)))
    leaf = next((leaf for leaf in block.leaves if leaf.start <= start < leaf.end), None)
    if leaf is None:
        return
    for other in block.leaves:
        is_earlier = other.start < leaf.start and other.end <= start
        in_parent_item = is_earlier and other.items and other.items[-1] in leaf.items
        if in_parent_item and (other.marker or other.kind == "title"):
            line = other.sentences[-1].of(text)
            if denies_what_follows(line) if line.endswith(":") else denies_its_section(line):
                yield line
    if leaf.kind == "table":
        yield from filter(denies_what_follows, _cell_headings(text, leaf, start, end))


def _cell_headings(text: str, table: Leaf, start: int, end: int) -> Iterator[str]:
    """Yield the heading of the column of a span, and the first cell of its row."""
    line_start = text.rfind("\n", 0, start) + 1
    if line_start <= table.start or "\n" in text[start:end]:
        return  # the header itself, or several rows
    header = text[table.start : table.end].split("\n", 1)[0]
    before = text[line_start:start]
    column = len(_CELL_BORDER.findall(before)) - before.lstrip(" >").startswith("|")
    cells = _CELL_BORDER.split(header.strip().removeprefix("|"))
    row = _CELL_BORDER.split(text[line_start:].split("\n", 1)[0])
    if _CELL_BORDER.search(text[start:end].strip().strip("|")) or TABLE_RULE.search(header):
        return
    if 0 <= column < len(cells):
        yield cells[column]
    first_cell = next((cell for cell in row if cell.strip(" >")), "")
    if column > 0 and denies_its_section(first_cell):
        yield first_cell


def _denying_replies(text: str, blocks: Sequence[Block], index: int, end: int) -> Iterator[str]:
    """Yield the “No.” right after a span that the book quotes or asks."""
    following = [
        sentence.of(text)
        for block in blocks[index : index + 2]
        for leaf in block.leaves
        for sentence in leaf.sentences
        if sentence.start >= end
    ][:1]
    yield from (sentence for sentence in following if is_denial(sentence))


def _is_shown(line: str, chunk: Chunk, released: Sequence[Claim]) -> bool:
    """Return whether only claims under the same line were released after the line itself."""
    line_words = _strip_markup(line)
    for claim in reversed(released):
        if line_words and line_words in _strip_markup(claim.text):
            return True
        citations = [c for c in claim.citations if c.chunk_id == chunk.id]
        if not any(line in _denying_lines(chunk, c.start, c.end) for c in citations):
            return False
    return False


def _strip_markup(text: str) -> str:
    return " ".join(word.casefold() for word in words(plain(text)))


_ANAPHOR = re.compile(
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
"""Share of the previous claim's terms that the antecedents in the book must contain."""


def is_anaphoric(text: str) -> bool:
    """Return whether a sentence refers to the previous one."""
    plain = strip_inline_markup(text)
    return bool(_ANAPHOR.match(plain)) and not _EXPLETIVE.match(plain)


def has_same_referent(claim: Claim, previous: Claim, chunks: dict[str, Chunk]) -> bool:
    """Return whether an anaphoric claim has the same referent in the answer and in the book.

    The previous claim must cite one of the antecedents in the book, or share its terms.
    """
    return any(
        _matches_antecedents(previous, chunks[c.chunk_id], c.start, c.end) for c in claim.citations
    )


def _matches_antecedents(previous: Claim, chunk: Chunk, start: int, end: int) -> bool:
    antecedents = _antecedents(chunk.text, start, end)
    for citation in previous.citations:
        if citation.chunk_id == chunk.id and any(
            span.start < citation.end and citation.start < span.end for span in antecedents
        ):
            return True
    claim_terms = set(terms(strip_inline_markup(previous.text)))
    book_terms = {
        t for span in antecedents for t in terms(strip_inline_markup(span.of(chunk.text)))
    }
    return bool(claim_terms) and (
        len(claim_terms & book_terms) >= MIN_SHARED_TERMS * len(claim_terms)
    )


def _antecedents(text: str, start: int, end: int) -> list[Span]:
    """Return the sentences from the antecedent of a quote to the quote itself."""
    spans = split_spans(text)
    cited = [n for n, span in enumerate(spans) if span.start < end and start < span.end]
    index = cited[0] if cited else 0
    while index > 0 and is_anaphoric(spans[index].of(text)):
        index -= 1
    return list(spans[index : cited[-1] + 1]) if cited else []
