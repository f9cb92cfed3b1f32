"""Write Markdown: escaped text, tables and code blocks."""

import re

from citewell.domain import Block
from citewell.text.plain_text import strip_inline_markup

_SPECIAL_CHARS = re.compile(r"([\\`*_\[\]$~|])")
_LOOKS_LIKE_MATH = re.compile(r"\$(?=\S)[^$\n]+?(?<=\S)\$(?!\d)")
_MAX_CHECKED_CHARS = 20_000
"""Longer texts are escaped without checking whether that is necessary."""
_BLOCK_START = re.compile(r"^(\s*)(?:([#>|+-])|(\d+)([.)])(?=\s))", re.M)


def escape_inline(text: str) -> str:
    """Escape a text if it would be parsed as markup."""
    if not _SPECIAL_CHARS.search(text):
        return text
    if len(text) > _MAX_CHECKED_CHARS:
        return _SPECIAL_CHARS.sub(r"\\\1", text)
    if strip_inline_markup(text) == " ".join(text.split()) and not _LOOKS_LIKE_MATH.search(text):
        return text
    return _SPECIAL_CHARS.sub(r"\\\1", text)


def escape_block(text: str) -> str:
    """Escape what would turn a paragraph into a list, heading, quote or table."""
    return _BLOCK_START.sub(_escape_block_start, text)


def _escape_block_start(match: re.Match[str]) -> str:
    indent, mark, number, delimiter = match.groups()
    if not mark:
        return f"{indent}{number}\\{delimiter}"
    # A minus before a number is not a bullet.
    not_a_bullet = mark in "+-" and not match.string[match.end() : match.end() + 1].isspace()
    return match[0] if not_a_bullet else f"{indent}\\{mark}"


def write_table(rows: list[list[str]]) -> str:
    """Write rows as a Markdown table; the first row is the header."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    padded = [row + [""] * (width - len(row)) for row in rows]
    head, *body = (f"| {' | '.join(row)} |" for row in padded)
    return "\n".join((head, f"|{' --- |' * width}", *body))


def join_blocks(blocks: list[Block], *, tight: bool = False) -> str:
    """Join blocks; `tight` puts no blank line before a nested list."""
    text = ""
    for block in blocks:
        separator = "\n" if tight and block.kind == "list" else "\n\n"
        text += (separator if text else "") + block.text
    return text


def fenced(text: str, language: str = "") -> str:
    """Write a fenced code block whose fence is longer than any inside."""
    longest = max((len(run) for run in re.findall(r"^[ \t]*(`{3,})", text, re.M)), default=2)
    fence = "`" * (longest + 1)
    word = re.sub(r"[`\s]+", "-", language.strip())
    return f"{fence}{word}\n{text}\n{fence}"
