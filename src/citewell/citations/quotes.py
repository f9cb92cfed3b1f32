"""Render and find verbatim quotes.

Quotes by offset are rendered twice: when an answer is composed, and when it is verified.
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
    """Return `text[start:end]` as an answer shows it: sanitized, and without links.

    Code and formulas are dedented, and all lines but the first are indented by `indent`.
    """
    if kind in ("code", "math"):
        lines = INVISIBLE.sub("", _dedent(text, start, end))
        block = _with_normalized_fence(lines) if kind == "code" else lines
        return block.replace("\n", "\n" + " " * indent)
    visible = INVISIBLE.sub("", mask_hidden_text(text)[start:end])
    if kind == "row":
        rows = (_QUOTE.sub("", line).strip() for line in visible.split("\n"))
        return "\n".join(detach_from_page(sanitize_markdown(row)) for row in rows if row)
    unquoted = _QUOTE.sub("", _FURTHER_QUOTE.sub("\n", visible))
    flat = " ".join(detach_from_page(sanitize_markdown(unquoted)).split())
    return f"**{strip_inline_markup(flat)}**" if kind == "heading" and flat else flat


def fence_info(info: str) -> str:
    """Normalize the info string of a fence to a language and a title.

    Site generators add highlighted lines, flags, and classes in braces.
    """
    title = _TITLE.search(info)
    rest = _BRACES.sub(" ", _TITLE.sub(" ", _DIRECTIVE.sub(" ", info)))
    language = _LANGUAGE.match(rest.lstrip(" \t{."))
    if not title:
        return language[0] if language else ""
    # Without a language, renderers would take the title for one.
    return f'{language[0] if language else "text"} title="{title[1] or title[2]}"'


def code_lines(block: str) -> str:
    """Return the lines of a code block without its fence, if any."""
    opening = _FENCE.match(block)
    if not opening:
        return block
    lines = block[opening.end() :].removeprefix("\n").split("\n")
    # A truncated block has no closing fence.
    closed = set(lines[-1].strip()) == {opening["fence"][0]}
    return "\n".join(lines[:-1] if closed else lines)


def lines_within(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of the lines of a fenced code block, without the fence."""
    opening = _FENCE.match(text, start, end)
    if not opening or opening.end() >= end:
        return start, end
    first, last = opening.end() + 1, text.rfind("\n", start, end)
    closed = set(text[last:end].strip(" \t\n>")) == {opening["fence"][0]}
    last = last if closed else end
    return (first, last) if text[first:last].strip() else (start, end)


def with_fence(block: str, info: str) -> str:
    """Return a fenced code block with another info string."""
    opening = _FENCE.match(block)
    return f"{opening['fence']}{info}{block[opening.end() :]}" if opening else block


def _with_normalized_fence(lines: str) -> str:
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
    # Replace the list marker before it on its line by spaces; keep quote markers.
    lines = re.sub(r"[^>\t]", " ", lead) + text[start:end]
    quoted = lines.lstrip(" \t").startswith(">")
    return textwrap.dedent(_QUOTE.sub("", lines) if quoted else lines).strip("\n")


_RUN = re.compile(rf"(\s+)|[^\s{INVISIBLE.pattern[1:]}+")
"""White space, or visible characters."""
_BEGIN = re.compile(r"(?<!\w)(?<!\d[.,])(?!\s)")
_END = re.compile(r"(?!\w|[.,]\d)")


@memoize_text(2048)
def _fold_whitespace(text: str) -> tuple[str, tuple[int, ...]]:
    """Fold white space and drop invisible characters; also return the original offsets."""
    folded: list[str] = []
    offsets: list[int] = []
    for run in _RUN.finditer(text):
        folded.append(" " if run[1] else run[0])
        offsets += range(*run.span())[: len(folded[-1])]
    return "".join(folded), tuple(offsets)


def find_quote(passage: str, words: str) -> tuple[int, int] | None:
    """Return the offsets of `words` in `passage`, ignoring white space.

    Only whole words and numbers match: “10 Hz” is not in “110 Hz”, nor “5 m” in “2.5 m”.
    """
    needle = " ".join(INVISIBLE.sub("", words).split())
    if not needle:
        return None
    folded, offsets = _fold_whitespace(passage)
    start = folded.find(needle)
    while start >= 0:
        end = start + len(needle)
        if _BEGIN.match(folded, start) and _END.match(folded, end):
            return offsets[start], offsets[end - 1] + 1
        start = folded.find(needle, start + 1)
    return None
