"""Grounding: judge each piece of an answer against the passages, and attach its citations."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from citewell.citations.quotes import code_lines, lines_within, render_quote, with_fence
from citewell.domain import PROVEN_VERDICTS, Chunk, Citation, Claim, Heading, Hit, Verdict
from citewell.ports import Judge
from citewell.text.sanitize import mask_hidden_text
from citewell.text.sentences import Kind
from citewell.verify.claims import Piece, is_not_a_claim, statement_of
from citewell.verify.context import has_same_referent, is_anaphoric, is_under_denial
from citewell.verify.literal import code_block_info, judge_literal

LinkBuilder = Callable[[Chunk, int, int], str]
"""Returns the deep link to a span of a chunk."""
_MAX_ATTEMPTS = 4
"""Occurrences of a claim to try if the book denies them."""


def check_piece(
    piece: Piece,
    hits: Sequence[Hit],
    judge: Judge,
    link: LinkBuilder,
    previous: Claim | None = None,
    released: Sequence[Claim] = (),
) -> Claim:
    """Judge one piece, and return its claim with the citations that prove it.

    The citations of the model are only hints: wrong ones are replaced and missing ones added.
    `previous` is the last claim of the answer, the antecedent of an anaphoric piece. `released`
    are all claims so far.
    """
    titles = {title for hit in hits for title in (hit.chunk.chapter, *hit.chunk.path)}
    if piece.is_own_text or is_not_a_claim(piece, titles):
        return _claim(piece, Verdict(kind="not_a_claim", probability=1.0), ())
    claim = _claim_from_quotes(piece, hits, link)
    if claim is None:
        claim = _judge_without_denied(piece, hits, judge, link, released)
        if claim.verdict in PROVEN_VERDICTS and previous and is_anaphoric(piece.text):
            claim = _require_same_referent(claim, previous, piece, hits, judge, link)
        claim = _restore_fence(claim, piece, hits)
    return claim


def with_citation_marks(piece: Piece, claim: Claim) -> str:
    """Return the text of a piece with the citation marks of its claim."""
    return piece.lead + claim.text + _citation_marks(piece, claim)


def _claim_from_quotes(piece: Piece, hits: Sequence[Hit], link: LinkBuilder) -> Claim | None:
    """Return the claim of a verbatim quote; `None` if it quotes nothing, or not verbatim.

    The quoted spans are rendered again, and must equal the piece.
    """
    spans = piece.quoted_spans
    if not spans or any(not 0 < span.number <= len(hits) for span in spans):
        return None
    citations: list[Citation] = []
    for span in spans:
        hit = hits[span.number - 1]
        if span.of == "text":
            offsets = span.start, span.end
            if piece.kind == "code":
                offsets = lines_within(hit.chunk.text, *offsets)
            citations.append(_cite(hit, span.number, offsets, link))
            continue
        title = find_title(hit.chunk, piece.text.removeprefix("**").removesuffix("**"))
        if title is None:
            return None
        citation = _cite(hit, span.number, title, lambda chunk, *_: chunk.url)
        quote = hit.chunk.heading[slice(*title)]
        citations.append(replace(citation, quote=quote, of="heading"))
    if not any(_renders_equal(piece, citations, hits, kind) for kind in (piece.kind, "heading")):
        return None
    verdict = Verdict(kind="supported", probability=1.0)
    return _claim(piece, verdict, tuple(citations))


def _renders_equal(
    piece: Piece, citations: Sequence[Citation], hits: Sequence[Hit], kind: Kind
) -> bool:
    rendered = "\n".join(
        f"**{c.quote}**"
        if c.of == "heading"
        else render_quote(hits[c.number - 1].chunk.text, c.start, c.end, kind)
        for c in citations
    )
    if kind == "code":
        # Without the fence, which the rendering may change.
        return code_lines(rendered).split() == code_lines(piece.text).split()
    return rendered.split() == piece.text.split()


def _judge_without_denied(
    piece: Piece, hits: Sequence[Hit], judge: Judge, link: LinkBuilder, released: Sequence[Claim]
) -> Claim:
    """Judge a piece, without evidence that the book itself denies.

    Denied evidence is masked, and the piece judged again, since the same words may occur elsewhere.
    """
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    denied: list[tuple[str, int, int]] = []
    for _ in range(_MAX_ATTEMPTS):
        claim = _judge(piece, hits, judge, link, denied)
        if claim.verdict not in PROVEN_VERDICTS:
            break
        newly_denied = [
            (c.chunk_id, c.start, c.end)
            for c in claim.citations
            if is_under_denial(chunks[c.chunk_id], c.start, c.end, released)
        ]
        if not newly_denied:
            return claim
        denied += newly_denied
    if not denied:
        return claim
    return replace(claim, verdict="unsupported", probability=0.0, citations=())


def _restore_fence(claim: Claim, piece: Piece, hits: Sequence[Hit]) -> Claim:
    """Replace the info string of a code block by the book's; the model's is unproven."""
    if piece.kind != "code" or claim.verdict not in PROVEN_VERDICTS:
        return claim
    texts = {hit.chunk.id: hit.chunk.text for hit in hits}
    infos = (code_block_info(texts[c.chunk_id], c.start) for c in claim.citations)
    return replace(claim, text=with_fence(claim.text, next(filter(None, infos), "")))


def _require_same_referent(
    claim: Claim,
    previous: Claim,
    piece: Piece,
    hits: Sequence[Hit],
    judge: Judge,
    link: LinkBuilder,
) -> Claim:
    """Reject an anaphoric claim unless its evidence has the same referent as the answer."""
    chunks = {hit.chunk.id: hit.chunk for hit in hits}
    numbers = {hit.chunk.id: number for number, hit in enumerate(hits, start=1)}
    # The same words may occur in several passages: prefer those of the previous claim.
    preferred = tuple(numbers[c.chunk_id] for c in previous.citations if c.chunk_id in numbers)
    retry = replace(piece, cited=preferred + piece.cited)
    for candidate in (claim, _judge(retry, hits, judge, link)):
        proven = candidate.verdict in PROVEN_VERDICTS
        if proven and has_same_referent(candidate, previous, chunks):
            return candidate
    return replace(claim, verdict="unsupported", probability=0.0, citations=())


def _judge(
    piece: Piece,
    hits: Sequence[Hit],
    judge: Judge,
    link: LinkBuilder,
    masked: Sequence[tuple[str, int, int]] = (),
) -> Claim:
    """Judge the text and, unless it is supported, its statement without hedges."""
    # Text that is hidden on the page is no evidence.
    visible = str if piece.is_block else mask_hidden_text
    passages = [_mask_spans(visible(hit.chunk.text), hit.chunk.id, masked) for hit in hits]
    cited = [number - 1 for number in piece.cited]
    statement = statement_of(piece)
    decide = judge_literal if piece.is_block else judge.judge
    verdict = decide(piece.text, passages, cited)
    if statement != piece.text and verdict.kind != "supported" and statement.strip():
        verdict = decide(statement, passages, cited)
    citations = tuple(
        _cite(hits[number - 1], number, (start, end), link)
        for number, start, end in verdict.evidence
    )
    return _claim(piece, verdict, citations)


def _mask_spans(text: str, chunk_id: str, masked: Sequence[tuple[str, int, int]]) -> str:
    for masked_id, start, end in masked:
        if masked_id == chunk_id:
            text = text[:start] + " " * (end - start) + text[end:]
    return text


def _citation_marks(piece: Piece, claim: Claim) -> str:
    if claim.verdict not in PROVEN_VERDICTS or not claim.citations:
        return ""
    if piece.quoted_spans and piece.kind == "heading":
        return ""  # the text below has the same mark
    numbers = dict.fromkeys(citation.number for citation in claim.citations)
    return piece.separator + "".join(f"[{number}]" for number in numbers)


def _cite(hit: Hit, number: int, offsets: tuple[int, int], link: LinkBuilder) -> Citation:
    chunk = hit.chunk
    start, end = offsets
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


_SEPARATOR = " › "


def check_titles(text: str, quoted: Sequence[tuple[Heading, Hit]]) -> Claim:
    """Return the claim of a sentence that quotes headings, with a citation for each.

    It is supported if each title occurs in the sentence, and verbatim in the headings of its hit.
    """
    citations: list[Citation] = []
    for heading, hit in quoted:
        offsets = find_title(hit.chunk, heading.title)
        if offsets is None or heading.title not in text:
            return _heading_claim(text, ())
        citations.append(
            Citation(
                number=hit.rank,
                chunk_id=hit.chunk.id,
                chapter=hit.chunk.chapter,
                section=hit.chunk.section,
                quote=heading.title,
                start=offsets[0],
                end=offsets[1],
                url=heading.url,
                of="heading",
            )
        )
    return _heading_claim(text, tuple(citations))


def find_title(chunk: Chunk, title: str) -> tuple[int, int] | None:
    """Return the offsets of a title in the headings of a chunk."""
    start = f"{_SEPARATOR}{chunk.heading}{_SEPARATOR}".find(f"{_SEPARATOR}{title}{_SEPARATOR}")
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
