"""Each piece of an answer against the passages: verdict, proof, and the text that may be shown."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from citewell.citations.quotes import code_lines, lines_within, render_quote, with_fence
from citewell.domain import PROVEN_VERDICTS, Chunk, Citation, Claim, Heading, Hit, Verdict
from citewell.ports import Judge
from citewell.text.sanitize import mask_hidden_text
from citewell.text.sentences import Kind
from citewell.verify.claims import Piece, is_not_a_claim, statement_of
from citewell.verify.context import has_same_referent, is_anaphoric, is_under_denial
from citewell.verify.literal import judge_literal, listing_info

LinkBuilder = Callable[[Chunk, int, int], str]
"""Returns the address of the words that stand in a chunk from one place to another."""
_PLACES = 4
"""In how many places the words of a claim are looked for, where what stands there is denied."""


def check_piece(
    piece: Piece,
    hits: Sequence[Hit],
    judge: Judge,
    link: LinkBuilder,
    before: Claim | None = None,
    shown: Sequence[Claim] = (),
) -> tuple[Claim, str]:
    """Judge one piece; give its claim, and its text with the marks that are proven.

    A wrong mark is replaced, a missing one added, one that points nowhere is struck. `before` is
    the claim shown last, which a piece that leans back refers to; `shown` are all of them.
    """
    titles = {title for hit in hits for title in (hit.chunk.chapter, *hit.chunk.path)}
    if piece.ours or is_not_a_claim(piece, titles):
        verdict = Verdict(kind="not_a_claim", probability=1.0)
        return _claim(piece, verdict, ()), piece.lead + piece.text
    claim = _by_offset(piece, hits, link)
    if claim is None:
        claim = _judge_without_denied(piece, hits, judge, link, shown)
        if claim.verdict in PROVEN_VERDICTS and before and is_anaphoric(piece.text):
            claim = _require_same_referent(claim, before, piece, hits, judge, link)
        claim = _restore_fence(claim, piece, hits)
    return claim, with_citation_marks(piece, claim)


def with_citation_marks(piece: Piece, claim: Claim) -> str:
    """Return the text of a piece as it is shown, with the marks of what proves it."""
    return piece.lead + claim.text + _marks(piece, claim)


def _by_offset(piece: Piece, hits: Sequence[Hit], link: LinkBuilder) -> Claim | None:
    """Return the claim of a piece that was copied from the places it names; `None` if it was not.

    What stands there is written once more as an answer shows it, and has to be the piece.
    """
    if not piece.quoted or any(not 0 < one.number <= len(hits) for one in piece.quoted):
        return None
    citations: list[Citation] = []
    for one in piece.quoted:
        hit = hits[one.number - 1]
        if one.of == "text":
            place = one.start, one.end
            if piece.kind == "code":
                place = lines_within(hit.chunk.text, *place)
            citations.append(_cite(hit, one.number, place, link))
            continue
        found = find_title(hit.chunk, piece.text.removeprefix("**").removesuffix("**"))
        if found is None:
            return None
        title = _cite(hit, one.number, found, lambda chunk, *_: chunk.url)
        quote = hit.chunk.heading[slice(*found)]
        citations.append(replace(title, quote=quote, of="heading"))
    if not any(_shows_the_same(piece, citations, hits, kind) for kind in (piece.kind, "heading")):
        return None
    verdict = Verdict(kind="supported", probability=1.0)
    return _claim(piece, verdict, tuple(citations))


def _shows_the_same(
    piece: Piece, citations: Sequence[Citation], hits: Sequence[Hit], kind: Kind
) -> bool:
    written = "\n".join(
        f"**{one.quote}**"
        if one.of == "heading"
        else render_quote(hits[one.number - 1].chunk.text, one.start, one.end, kind)
        for one in citations
    )
    if kind == "code":
        # Of a listing the lines are compared; its fence says what language they are in.
        return code_lines(written).split() == code_lines(piece.text).split()
    return written.split() == piece.text.split()


def _judge_without_denied(
    piece: Piece, hits: Sequence[Hit], judge: Judge, link: LinkBuilder, shown: Sequence[Claim]
) -> Claim:
    """Judge a piece by what the passages state themselves, and not under a line that denies it.

    The same words may stand in several places: one that is denied is left out, and the next looked
    for.
    """
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    denied: list[tuple[str, int, int]] = []
    for _ in range(_PLACES):
        claim = _judged(piece, hits, judge, link, denied)
        if claim.verdict not in PROVEN_VERDICTS:
            break
        found = [
            (one.chunk_id, one.start, one.end)
            for one in claim.citations
            if is_under_denial(chunks[one.chunk_id], one.start, one.end, shown)
        ]
        if not found:
            return claim
        denied += found
    if not denied:
        return claim
    return replace(claim, verdict="unsupported", probability=0.0, citations=())


def _restore_fence(claim: Claim, piece: Piece, hits: Sequence[Hit]) -> Claim:
    """Put the language and title of the book's listing on a copy of its lines.

    Whatever else a model writes behind its fence would be shown unproven.
    """
    if piece.kind != "code" or claim.verdict not in PROVEN_VERDICTS:
        return claim
    texts = {hit.chunk.id: hit.chunk.text for hit in hits}
    infos = (listing_info(texts[one.chunk_id], one.start) for one in claim.citations)
    return replace(claim, text=with_fence(claim.text, next(filter(None, infos), "")))


def _require_same_referent(
    claim: Claim, before: Claim, piece: Piece, hits: Sequence[Hit], judge: Judge, link: LinkBuilder
) -> Claim:
    """Keep a leaning claim only on evidence that is about what the claim before it is about."""
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    numbers = {hit.chunk.id: number for number, hit in enumerate(hits, start=1)}
    # The same words may stand in several passages: where the last ones stood is looked at next.
    near = tuple(numbers[one.chunk_id] for one in before.citations if one.chunk_id in numbers)
    again = replace(piece, marks=near + piece.marks)
    for found in (claim, _judged(again, hits, judge, link)):
        if found.verdict in PROVEN_VERDICTS and has_same_referent(found, before, chunks):
            return found
    return replace(claim, verdict="unsupported", probability=0.0, citations=())


def _judged(
    piece: Piece,
    hits: Sequence[Hit],
    judge: Judge,
    link: LinkBuilder,
    without: Sequence[tuple[str, int, int]] = (),
) -> Claim:
    """Judge the words as they are and, if they do not stand so, without what frames them."""
    # What can only be copied is compared as it stands; words have to be there for all to see.
    shown = str if piece.is_block else mask_hidden_text
    passages = [_mask_spans(shown(hit.chunk.text), hit.chunk.id, without) for hit in hits]
    cited = [number - 1 for number in piece.marks]
    stated = statement_of(piece)
    # What can only be copied is compared, whoever judges the rest.
    decide = judge_literal if piece.is_block else judge.judge
    verdict = decide(piece.text, passages, cited)
    if stated != piece.text and verdict.kind != "supported" and stated.strip():
        verdict = decide(stated, passages, cited)
    citations = tuple(
        _cite(hits[number - 1], number, (start, end), link)
        for number, start, end in verdict.evidence
    )
    return _claim(piece, verdict, citations)


def _mask_spans(text: str, chunk_id: str, without: Sequence[tuple[str, int, int]]) -> str:
    for chunk, start, end in without:
        if chunk == chunk_id:
            text = text[:start] + " " * (end - start) + text[end:]
    return text


def _marks(piece: Piece, claim: Claim) -> str:
    """Write the marks of what proves a claim; what speaks against it is no proof."""
    if claim.verdict not in PROVEN_VERDICTS or not claim.citations:
        return ""
    if piece.quoted and piece.kind == "heading":
        return ""  # what stands below it has the same mark
    numbers = dict.fromkeys(citation.number for citation in claim.citations)
    return piece.glue + "".join(f"[{number}]" for number in numbers)


def _cite(hit: Hit, number: int, place: tuple[int, int], link: LinkBuilder) -> Citation:
    chunk = hit.chunk
    start, end = place
    return Citation(
        number=number,
        chunk_id=chunk.id,
        chapter=chunk.chapter,
        section=chunk.section,
        quote=chunk.text[start:end],
        start=start,
        end=end,
        url=link(chunk, start, end),
    )


def _claim(piece: Piece, verdict: Verdict, citations: tuple[Citation, ...]) -> Claim:
    return Claim(
        text=piece.text,
        start=0,
        end=0,
        verdict=verdict.kind,
        probability=verdict.probability,
        citations=citations,
    )


_BETWEEN = " › "


def check_titles(text: str, quoted: Sequence[tuple[Heading, Hit]]) -> Claim:
    """Check a sentence that quotes headings; give its claim with a citation for each of them.

    It is supported if each title stands in the sentence, and, byte for byte, among the headings of
    a passage of the book.
    """
    citations: list[Citation] = []
    for heading, hit in quoted:
        place = find_title(hit.chunk, heading.title)
        if place is None or heading.title not in text:
            return _heading_claim(text, ())
        citations.append(
            Citation(
                number=hit.rank,
                chunk_id=hit.chunk.id,
                chapter=hit.chunk.chapter,
                section=hit.chunk.section,
                quote=heading.title,
                start=place[0],
                end=place[1],
                url=heading.url,
                of="heading",
            )
        )
    return _heading_claim(text, tuple(citations))


def find_title(chunk: Chunk, title: str) -> tuple[int, int] | None:
    """Return where a title stands among the headings of a passage, whole."""
    start = f"{_BETWEEN}{chunk.heading}{_BETWEEN}".find(f"{_BETWEEN}{title}{_BETWEEN}")
    return (start, start + len(title)) if start >= 0 else None


def _heading_claim(text: str, citations: tuple[Citation, ...]) -> Claim:
    return Claim(
        text=text,
        start=0,
        end=0,
        verdict="supported" if citations else "unsupported",
        probability=1.0 if citations else 0.0,
        citations=citations,
    )
