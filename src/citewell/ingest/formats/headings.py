"""Heading ids, by the rules of each site generator."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Protocol

from markdown_it import MarkdownIt
from markdown_it.token import Token

_EXPLICIT_ID = re.compile(r"\s*(?:\{\#([^\s{}]+)\}|\{/\*\s*\#([^\s{}*]+)\s*\*/\})\s*$")
_ATTRIBUTES = re.compile(
    r"[ \t]*\{:?[ \t]*((?:[#.][^\s{}#.]+|[\w:-]+=(?:\"[^\"{}]*\"|'[^'{}]*'|[^\s{}\"']+)|[ \t])+)\}"
    r"[ \t]*$"
)
_BRACKETED_ID = re.compile(r"[ \t]*\[\[([^\[\]]*)\]\][ \t]*$")

# Symbols that Unicode counts as alphabetic.
_CIRCLED = re.compile("[Ⓐ-ⓩ\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]")


def split_explicit_id(heading: str) -> tuple[str, str | None]:
    """Split `{#id}` off a heading, as Docusaurus does."""
    match = _EXPLICIT_ID.search(heading)
    return (heading[: match.start()], match[1] or match[2]) if match else (heading, None)


def split_attributes(heading: str) -> tuple[str, str | None]:
    """Split `{#id .class}` or `{: #id key=value }` off a heading, as mdBook and MkDocs do."""
    match = _ATTRIBUTES.search(heading)
    if not match:
        return heading, None
    ids = [word[1:] for word in match[1].split() if word.startswith("#")]
    return heading[: match.start()], ids[-1] if ids else None


def split_bracketed_id(heading: str) -> tuple[str, str | None]:
    """Split `[[id]]` off a heading, as Hugging Face's doc-builder does."""
    match = _BRACKETED_ID.search(heading)
    return (heading[: match.start()], match[1] or None) if match else (heading, None)


def _is_slug_char(char: str) -> bool:
    category = unicodedata.category(char)
    return (
        char in " -"
        or category[0] in "LM"
        or category in ("Nd", "Nl", "Pc")
        or (category == "So" and bool(_CIRCLED.match(char)))
    )


class Slugger(Protocol):
    """Generates the ids of one page's headings, in order."""

    def slug(self, text: str) -> str:
        """Return the id of the next heading."""
        ...


class GithubSlugger:
    """Ids by the rules of GitHub and Docusaurus."""

    def __init__(self, *, keep_case: bool = False) -> None:
        self._seen: dict[str, int] = {}
        self._keep_case = keep_case

    def slug(self, text: str) -> str:
        """Return the id of the next heading; repeated ids get a number."""
        text_to_slug = text if self._keep_case else text.lower()
        base = "".join(c for c in text_to_slug if _is_slug_char(c)).replace(" ", "-")
        result = base
        while result in self._seen:
            self._seen[base] += 1
            result = f"{base}-{self._seen[base]}"
        self._seen[result] = 0
        return result


class MdBookSlugger:
    """Ids by the rules of mdBook."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._last: dict[str, int] = {}

    def slug(self, text: str) -> str:
        """Return the id of the next heading; repeated ids get a number."""
        base = "".join(
            "-" if c.isspace() else c.lower()
            for c in text.strip()
            if c.isalnum() or c in "_-" or c.isspace()
        )
        result, count = base, self._last.get(base, 0)
        while result in self._used:
            count += 1
            result = f"{base}-{count}"
        self._used.add(result)
        self._last[base] = count
        return result


class TocSlugger:
    """Ids by the rules of Python-Markdown's `toc` extension, which MkDocs uses."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)
        self._last: dict[str, int] = {}

    def slug(self, text: str) -> str:
        """Return the id of the next heading; repeated ids get a number."""
        ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
        base = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_text).strip().lower())
        if base and base not in self._used:
            self._used.add(base)
            return base
        number_match = re.fullmatch(r"(.*)_([0-9]{1,9})", base)
        stem, count = (number_match[1], int(number_match[2])) if number_match else (base, 0)
        # Start from the last number: counting from 1 is quadratic for many equal headings.
        count = max(count, self._last.get(stem, 0)) + 1
        while f"{stem}_{count}" in self._used:
            count += 1
        self._last[stem] = count
        self._used.add(f"{stem}_{count}")
        return f"{stem}_{count}"


class AsciiSlugger:
    """Ids by the rules of Hugging Face's doc-builder, which does not number repeated ids."""

    def slug(self, text: str) -> str:
        """Return the ASCII letters and digits of a heading, joined by hyphens."""
        words = re.sub(r"[^a-z0-9\s]+", "", text.lower())
        return re.sub(r"\s+", "-", words.strip())


_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("strikethrough")


def text_of_inline(source: str, token_text: Callable[[Token], str]) -> str:
    """Return the concatenated `token_text` of the inline tokens of a paragraph."""
    tokens = _MARKDOWN.parseInline(source)
    return "".join(token_text(token) for token in tokens[0].children or ()) if tokens else ""
