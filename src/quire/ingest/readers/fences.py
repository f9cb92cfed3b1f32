"""Fenced code that holds whatever it is given."""

import re


def fenced(text: str, language: str = "") -> str:
    """Make a fenced code block, its fence longer than every one inside."""
    longest = max((len(run) for run in re.findall(r"^[ \t]*(`{3,})", text, re.M)), default=2)
    fence = "`" * (longest + 1)
    word = re.sub(r"[`\s]+", "-", language.strip())
    return f"{fence}{word}\n{text}\n{fence}"
