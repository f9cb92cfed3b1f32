"""Words that happen to look like Markdown, written so that they stay words."""

import re

from citewell.text.plain_text import strip_inline_markup

_MARKS = re.compile(r"([\\`*_\[\]$~|])")
_LOOKS_LIKE_MATH = re.compile(r"\$(?=\S)[^$\n]+?(?<=\S)\$(?!\d)")
_LONG = 20_000
"""Nobody writes such a paragraph, and to look at it closely takes time."""
_BLOCK_START = re.compile(r"^(\s*)(?:([#>|+-])|(\d+)([.)])(?=\s))", re.M)


def escape_words(text: str) -> str:
    """Escape only what would be taken for markup, so that quotes read as the book does."""
    if not _MARKS.search(text):
        return text
    if len(text) > _LONG:
        return _MARKS.sub(r"\\\1", text)
    if strip_inline_markup(text) == " ".join(text.split()) and not _LOOKS_LIKE_MATH.search(text):
        return text
    return _MARKS.sub(r"\\\1", text)


def escape_block(text: str) -> str:
    """Escape what would make a paragraph a list, a heading, a quote or a table."""
    return _BLOCK_START.sub(_as_text, text)


def _as_text(found: re.Match[str]) -> str:
    if found[2]:
        after = found.string[found.end() : found.end() + 1]
        # A minus before a number is no bullet; only what Markdown reads as a block is escaped.
        harmless = found[2] in "+-" and not after.isspace()
        return found[0] if harmless else f"{found[1]}\\{found[2]}"
    return f"{found[1]}{found[3]}\\{found[4]}"


def write_table(rows: list[list[str]]) -> str:
    """Write rows as a Markdown table whose first row is its head."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    full = [row + [""] * (width - len(row)) for row in rows]
    head, *body = (f"| {' | '.join(row)} |" for row in full)
    return "\n".join((head, f"|{' --- |' * width}", *body))


def fenced(text: str, language: str = "") -> str:
    """Make a fenced code block, its fence longer than every one inside."""
    longest = max((len(run) for run in re.findall(r"^[ \t]*(`{3,})", text, re.M)), default=2)
    fence = "`" * (longest + 1)
    word = re.sub(r"[`\s]+", "-", language.strip())
    return f"{fence}{word}\n{text}\n{fence}"
