"""The answer without a language model: the sentences of the passages that answer, and no others."""

import re
import textwrap
from collections.abc import Callable, Sequence

from quire.answer.instructions import NOT_IN_BOOK
from quire.prose.plain import inline_plain, unreferenced
from quire.prose.sentences import split_spans
from quire.prose.terms import terms
from quire.retrieve.evidence import UNREAD, Evidence, table_start
from quire.verify.orders import is_order

MAX_SENTENCES = 4
MAX_ITEMS = 12
_ALSO = 3.0
"""A further sentence may be this much less fitting than the best one."""
_NEAR = 4.0
"""The same, for a sentence next to the best one."""
_SAME = 0.6
"""Sentences that share more of their terms than this say the same."""


_ASKS_HOW = re.compile(
    r"\bhow (?:do|does|can|could|would|should|must) (?:i|you|we|one)\b|\bhow to\b|\bshow me\b"
    r"|\b(?:commands?|shell|terminal|syntax|code|snippet|listing|script|examples?)\b",
    re.I,
)
_LISTED = 0.5
"""Code that has this share of the question's words shows what was asked for."""
_BEGINNING = 600
"""Characters of a passage that are quoted where it is asked about as a whole."""
_LONGEST_CODE = 40
"""Lines of code beyond which an answer would be nothing else."""


def compose_answer(question: str, ranked: Sequence[Evidence]) -> list[str]:
    """Give the parts of an answer, in reading order, each with the mark of its passage."""
    chosen = _choose(ranked)
    if not chosen:
        return [NOT_IN_BOOK]
    chosen += _shown(question, chosen, ranked)
    first: dict[int, int] = {}
    for place, evidence in enumerate(chosen):
        first.setdefault(evidence.passage.number, place)
    wanted: dict[tuple[int, int], Evidence] = {}
    for evidence in chosen:
        for piece in _with_surroundings(evidence, ranked):
            wanted[(piece.passage.number, piece.place)] = piece
    return _render(sorted(wanted.values(), key=lambda e: (first[e.passage.number], e.place)))


def quote_beginning(ranked: Sequence[Evidence]) -> list[str]:
    """Return how a passage begins; a short one as a whole."""
    said = sorted((one for one in ranked if not is_order(one.text)), key=lambda one: one.place)
    parts: list[Evidence] = []
    for one in said:
        if parts and sum(len(part.text) for part in parts) + len(one.text) > _BEGINNING:
            break
        parts.append(one)
    return _render(parts) if parts else [NOT_IN_BOOK]


def _choose(ranked: Sequence[Evidence]) -> list[Evidence]:
    # Looked at one by one: most sentences are never wanted, and need not be told from orders.
    fitting = (one for one in ranked if one.score > UNREAD and not is_order(one.text))
    best = next(fitting, None)
    if best is None:
        return []
    chosen = [best]
    untold = [one for one in ranked if one is not best and not one.told]
    if best.told and untold and untold[0].score > UNREAD:
        # The best is known to who asks: what comes next to it may be what they want to know.
        return [best, *_choose(untold)][:MAX_SENTENCES]
    for evidence in fitting:
        near = evidence.passage is best.passage and abs(evidence.place - best.place) == 1
        if len(chosen) == MAX_SENTENCES or evidence.score < max(best.score - _NEAR, UNREAD + 1):
            break
        if evidence.score < best.score - _ALSO and not near:
            continue
        own = _terms(evidence)
        if not any(_alike(own, _terms(other)) for other in chosen):
            chosen.append(evidence)
    return chosen


def _shown(question: str, chosen: Sequence[Evidence], ranked: Sequence[Evidence]) -> list[Evidence]:
    """Give the code that shows how, if that is asked: the reader of sentences passes it over."""
    if not _ASKS_HOW.search(question) or any(e.span.kind == "code" for e in chosen):
        return []
    listings = [
        e
        for e in ranked
        if e.span.kind == "code"
        and e.coverage >= _LISTED
        and e.text.count("\n") <= _LONGEST_CODE
        and not is_order(e.text)
    ]
    return sorted(listings, key=lambda e: (-e.coverage, e.passage.number, e.place))[:1]


def _terms(evidence: Evidence) -> set[str]:
    return set(terms(inline_plain(evidence.text)))


def _alike(ours: set[str], theirs: set[str]) -> bool:
    return len(ours & theirs) > _SAME * min(len(ours), len(theirs)) if ours and theirs else False


def _with_surroundings(evidence: Evidence, ranked: Sequence[Evidence]) -> list[Evidence]:
    """Add what a sentence cannot be read without: what it refers back to, what it announces."""
    siblings = {e.place: e for e in ranked if e.passage is evidence.passage}

    def at(place: int) -> Evidence | None:
        one = siblings.get(place)
        return None if one is None or is_order(one.text) else one

    wanted = [evidence]
    before = at(evidence.place - 1)
    announces = before is not None and before.text.endswith(":") and evidence.span.kind == "code"
    if before and before.span.kind == "sentence" and (evidence.leans_back or announces):
        wanted.insert(0, before)
    if evidence.span.kind == "row":
        place = table_start(split_spans(evidence.passage.text), evidence.place)
        head = at(place) if place < evidence.place else None
        wanted = wanted if head is None else [head, *wanted]
    if evidence.text.endswith(":"):
        wanted += _announced(evidence.place + 1, at)
    return wanted


def _announced(place: int, at: Callable[[int], Evidence | None]) -> list[Evidence]:
    """Give the list, table, code or formula that begins at `place`; a list with the code in it."""
    one = at(place)
    if one is None or one.span.kind in ("code", "math"):
        return [] if one is None else [one]
    allowed = {"item": ("item", "code"), "row": ("row",)}.get(one.span.kind, ())
    found: list[Evidence] = []
    while one is not None and one.span.kind in allowed and len(found) < MAX_ITEMS:
        found.append(one)
        one = at(place + len(found))
    return found


def _render(evidence: Sequence[Evidence]) -> list[str]:
    parts: list[str] = []
    before: Evidence | None = None
    for place, one in enumerate(evidence):
        mark = f"[{one.passage.number}]"
        glue = _glue(before, one)
        last_row = place + 1 == len(evidence) or evidence[place + 1].span.kind != "row"
        match one.span.kind:
            case "code":
                parts.append(f"{glue}{_dedented(one)}\n\n{mark}")
            case "math":
                parts.append(f"{glue}{one.text}\n\n{mark}")
            case "row":
                rule = _rule(one) if before is None or before.span.kind != "row" else ""
                parts.append(
                    f"{glue}{unreferenced(one.text)}{rule}" + (f"\n\n{mark}" if last_row else "")
                )
            case "item":
                parts.append(f"{glue}{_flat(one.text)} {mark}")
            case "sentence" | "heading":
                parts.append(f"{glue}{_flat(one.text)} {mark}")
        before = one
    return parts


def _glue(before: Evidence | None, one: Evidence) -> str:
    kind = one.span.kind
    starts_item = kind == "item" and _starts_item(one)
    if before is None:
        return "- " if starts_item else ""
    if kind == "row" and before.span.kind == "row":
        return "\n"
    if starts_item:
        return "\n- " if before.span.kind == "item" else "\n\n- "
    if kind in ("code", "math", "row") or before.span.kind in ("code", "math", "row"):
        return "\n\n"
    return "\n\n" if (kind == "item") != (before.span.kind == "item") else " "


def _starts_item(one: Evidence) -> bool:
    """Whether the sentence is the first of its list item, where the bullet stands."""
    line = one.passage.text.rfind("\n", 0, one.span.start) + 1
    return bool(
        re.fullmatch(r"[ \t>]*(?:[-*+]|\d+[.)])[ \t]+", one.passage.text[line : one.span.start])
    )


def _rule(header: Evidence) -> str:
    columns = len(re.findall(r"(?<!\\)\|", header.text)) - 1
    return "\n|" + " --- |" * max(columns, 1)


def _dedented(one: Evidence) -> str:
    start = one.passage.text.rfind("\n", 0, one.span.start) + 1
    return textwrap.dedent(one.passage.text[start : one.span.end])


def _flat(text: str) -> str:
    return " ".join(unreferenced(re.sub(r"\n[ \t]*>[ \t]?", " ", text)).split())
