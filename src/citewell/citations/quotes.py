"""What an answer shows of a place in a passage: the author's words, without what leads anywhere.

Whoever quotes by offset writes these words, and whoever checks the quote writes them again.
"""

import re
import textwrap

from citewell.text.memo import memoize_text
from citewell.text.plain_text import INVISIBLE, detach_from_page, strip_inline_markup
from citewell.text.sanitize import mask_hidden_text, sanitize_markdown
from citewell.text.sentences import Kind

_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*)")
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_FURTHER_QUOTE = re.compile(r"\n[ \t]*(?:>[ \t]?)+")
_DIRECTIVE = re.compile(r"\{[\w:-]*(?:code|cell|block|literal|sourcecode|highlight)[\w:-]*\}", re.I)
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9+#_-]{0,19}")
_TITLE = re.compile(r"\b(?:title|filename|caption)\s*=\s*(?:\"([^\"`\n]+)\"|'([^'`\n]+)')")
_BRACES = re.compile(r"\{[\d,\s-]*\}")


def render_quote(text: str, start: int, end: int, kind: Kind, *, indent: int = 0) -> str:
    """Return what an answer shows of `text[start:end]`.

    Code and formulas lose the indent of the list they stood in, and get `indent` in its place on
    every line but the first, whose indent is written before it.
    """
    if kind in ("code", "math"):
        lines = INVISIBLE.sub("", _dedent(text, start, end))
        shown = _listing(lines) if kind == "code" else lines
        return shown.replace("\n", "\n" + " " * indent)
    said = INVISIBLE.sub("", mask_hidden_text(text)[start:end])
    if kind == "row":
        rows = (_QUOTE.sub("", line).strip() for line in said.split("\n"))
        return "\n".join(detach_from_page(sanitize_markdown(row)) for row in rows if row)
    words = detach_from_page(sanitize_markdown(_QUOTE.sub("", _FURTHER_QUOTE.sub("\n", said))))
    flat = " ".join(words.split())
    return f"**{strip_inline_markup(flat)}**" if kind == "heading" and flat else flat


def fence_info(info: str) -> str:
    """Return the info string of a fence as every renderer reads it: language, then title.

    Site generators write more there: lines to light up, flags, classes in braces.
    """
    title = _TITLE.search(info)
    rest = _BRACES.sub(" ", _TITLE.sub(" ", _DIRECTIVE.sub(" ", info)))
    language = _LANGUAGE.match(rest.lstrip(" \t{."))
    if not title:
        return language[0] if language else ""
    # Without a language, a renderer would take the title for one.
    return f'{language[0] if language else "text"} title="{title[1] or title[2]}"'


def code_lines(block: str) -> str:
    """Return the lines of a fenced listing; all of it, if it has no fence."""
    opening = _FENCE.match(block)
    if not opening:
        return block
    lines = block[opening.end() :].removeprefix("\n").split("\n")
    # A block that was cut off has no closing fence: its last line is code, too.
    closed = set(lines[-1].strip()) == {opening["fence"][0]}
    return "\n".join(lines[:-1] if closed else lines)


def lines_within(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the lines of a fenced listing stand, without its fences."""
    opening = _FENCE.match(text, start, end)
    if not opening or opening.end() >= end:
        return start, end
    first, last = opening.end() + 1, text.rfind("\n", start, end)
    closed = set(text[last:end].strip(" \t\n>")) == {opening["fence"][0]}
    last = last if closed else end
    return (first, last) if text[first:last].strip() else (start, end)


def with_fence(block: str, info: str) -> str:
    """Return a fenced listing under another info string."""
    opening = _FENCE.match(block)
    return f"{opening['fence']}{info}{block[opening.end() :]}" if opening else block


def _listing(lines: str) -> str:
    opening = _FENCE.match(lines)
    if not opening:
        return f"```\n{lines}\n```"
    closed = set(lines.rsplit("\n", 1)[-1].strip()) == {opening["fence"][0]} and "\n" in lines
    return with_fence(lines, fence_info(opening["info"])) + (
        "" if closed else f"\n{opening['fence']}"
    )


def _dedent(text: str, start: int, end: int) -> str:
    line = text.rfind("\n", 0, start) + 1
    lead = text[line:start]
    # What stands before it on its line is the bullet of its item, or the sign of a quote.
    lines = re.sub(r"[^>\t]", " ", lead) + text[start:end]
    quoted = lines.lstrip(" \t").startswith(">")
    return textwrap.dedent(_QUOTE.sub("", lines) if quoted else lines).strip("\n")


_RUN = re.compile(rf"(\s+)|[^\s{INVISIBLE.pattern[1:]}+")
"""White space, or signs with ink."""
_BEGIN = re.compile(r"(?<!\w)(?<!\d[.,])(?!\s)")
_END = re.compile(r"(?!\w|[.,]\d)")


@memoize_text(2048)
def _fold_whitespace(text: str) -> tuple[str, tuple[int, ...]]:
    """Fold white space, drop what has no ink; give the text left and where each character was."""
    folded: list[str] = []
    places: list[int] = []
    for run in _RUN.finditer(text):
        folded.append(" " if run[1] else run[0])
        places += range(*run.span())[: len(folded[-1])]
    return "".join(folded), tuple(places)


def find_quote(passage: str, words: str) -> tuple[int, int] | None:
    """Return the offsets in `passage` at which `words` stand, white space aside.

    Whole words and numbers only: “10 Hz” does not stand in “110 Hz” nor “5 m” in “2.5 m”.
    """
    needle = " ".join(INVISIBLE.sub("", words).split())
    if not needle:
        return None
    folded, places = _fold_whitespace(passage)
    start = folded.find(needle)
    while start >= 0:
        end = start + len(needle)
        if _BEGIN.match(folded, start) and _END.match(folded, end):
            return places[start], places[end - 1] + 1
        start = folded.find(needle, start + 1)
    return None
