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
_QUOTE_PREFIX = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_NEXT_LINE_PREFIX = re.compile(r"\n[ \t]*(?:>[ \t]?)+")
_DIRECTIVE = re.compile(r"\{[\w:-]*(?:code|cell|block|literal|sourcecode|highlight)[\w:-]*\}", re.I)
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9+#_-]{0,19}")
_TITLE = re.compile(r"\b(?:title|filename|caption)\s*=\s*(?:\"([^\"`\n]+)\"|'([^'`\n]+)')")
_BRACED_OPTIONS = re.compile(r"\{[\d,\s-]*\}")


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
        rows = (_QUOTE_PREFIX.sub("", line).strip() for line in visible.split("\n"))
        return "\n".join(detach_from_page(sanitize_markdown(row)) for row in rows if row)
    unquoted = _QUOTE_PREFIX.sub("", _NEXT_LINE_PREFIX.sub("\n", visible))
    one_line = " ".join(detach_from_page(sanitize_markdown(unquoted)).split())
    return f"**{strip_inline_markup(one_line)}**" if kind == "heading" and one_line else one_line


def fence_info(info: str) -> str:
    """Normalize the info string of a fence to a language and a title.

    Site generators add highlighted lines, flags, and classes in braces.
    """
    title = _TITLE.search(info)
    without_title = _BRACED_OPTIONS.sub(" ", _TITLE.sub(" ", _DIRECTIVE.sub(" ", info)))
    language = _LANGUAGE.match(without_title.lstrip(" \t{."))
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
    is_closed = set(lines[-1].strip()) == {opening["fence"][0]}
    return "\n".join(lines[:-1] if is_closed else lines)


def lines_within(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of the lines of a fenced code block, without the fence."""
    opening = _FENCE.match(text, start, end)
    if not opening or opening.end() >= end:
        return start, end
    body_start, body_end = opening.end() + 1, text.rfind("\n", start, end)
    is_closed = set(text[body_end:end].strip(" \t\n>")) == {opening["fence"][0]}
    body_end = body_end if is_closed else end
    return (body_start, body_end) if text[body_start:body_end].strip() else (start, end)


def with_fence(block: str, info: str) -> str:
    """Return a fenced code block with another info string."""
    opening = _FENCE.match(block)
    return f"{opening['fence']}{info}{block[opening.end() :]}" if opening else block


def _with_normalized_fence(lines: str) -> str:
    opening = _FENCE.match(lines)
    if not opening:
        return f"```\n{lines}\n```"
    is_closed = set(lines.rsplit("\n", 1)[-1].strip()) == {opening["fence"][0]} and "\n" in lines
    return with_fence(lines, fence_info(opening["info"])) + (
        "" if is_closed else f"\n{opening['fence']}"
    )


def _dedent(text: str, start: int, end: int) -> str:
    line = text.rfind("\n", 0, start) + 1
    line_prefix = text[line:start]
    # Replace the list marker before it on its line by spaces; keep quote markers.
    lines = re.sub(r"[^>\t]", " ", line_prefix) + text[start:end]
    is_quotation = lines.lstrip(" \t").startswith(">")
    return textwrap.dedent(_QUOTE_PREFIX.sub("", lines) if is_quotation else lines).strip("\n")


_SPACE_OR_WORD = re.compile(rf"(\s+)|[^\s{INVISIBLE.pattern[1:]}+")
"""White space, or visible characters."""
_QUOTE_START = re.compile(r"(?<!\w)(?<!\d[.,])(?!\s)")
_QUOTE_END = re.compile(r"(?!\w|[.,]\d)")


@memoize_text(2048)
def _fold_whitespace(text: str) -> tuple[str, tuple[int, ...]]:
    """Fold white space and drop invisible characters; also return the original offsets."""
    folded: list[str] = []
    offsets: list[int] = []
    for run in _SPACE_OR_WORD.finditer(text):
        folded.append(" " if run[1] else run[0])
        offsets += range(*run.span())[: len(folded[-1])]
    return "".join(folded), tuple(offsets)


def find_quote(passage: str, words: str) -> tuple[int, int] | None:
    """Return the offsets of `words` in `passage`, ignoring white space.

    Only whole words and numbers match: “10 Hz” is not in “110 Hz”, nor “5 m” in “2.5 m”.
    """
    wanted = " ".join(INVISIBLE.sub("", words).split())
    if not wanted:
        return None
    passage_text, offsets = _fold_whitespace(passage)
    start = passage_text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if _QUOTE_START.match(passage_text, start) and _QUOTE_END.match(passage_text, end):
            return offsets[start], offsets[end - 1] + 1
        start = passage_text.find(wanted, start + 1)
    return None
