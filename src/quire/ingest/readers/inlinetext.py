"""The text of a heading as site generators see it, which decides its id."""

from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it.token import Token

_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("strikethrough")


def inline_text(source: str, shown: Callable[[Token], str]) -> str:
    """Give the text of one paragraph; `shown` says what each piece of it contributes."""
    tokens = _MARKDOWN.parseInline(source)
    return "".join(shown(token) for token in tokens[0].children or ()) if tokens else ""
