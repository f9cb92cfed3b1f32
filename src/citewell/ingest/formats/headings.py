"""Heading ids, as the site generators make them."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Protocol

from markdown_it import MarkdownIt
from markdown_it.token import Token

_EXPLICIT = re.compile(r"\s*(?:\{\#([^\s{}]+)\}|\{/\*\s*\#([^\s{}*]+)\s*\*/\})\s*$")
_ATTRIBUTES = re.compile(
    r"[ \t]*\{:?[ \t]*((?:[#.][^\s{}#.]+|[\w:-]+=(?:\"[^\"{}]*\"|'[^'{}]*'|[^\s{}\"']+)|[ \t])+)\}"
    r"[ \t]*$"
)
_BRACKETED = re.compile(r"[ \t]*\[\[([^\[\]]*)\]\][ \t]*$")

# Symbols that Unicode counts as alphabetic.
_CIRCLED = re.compile("[Ⓐ-ⓩ\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]")


def split_explicit_id(heading: str) -> tuple[str, str | None]:
    """Return the heading's text and the id its author wrote behind it, if any."""
    found = _EXPLICIT.search(heading)
    return (heading[: found.start()], found[1] or found[2]) if found else (heading, None)


def split_attributes(heading: str) -> tuple[str, str | None]:
    """Take `{#id .class}` or `{: #id key=value }` off a heading, as mdBook and MkDocs do."""
    found = _ATTRIBUTES.search(heading)
    if not found:
        return heading, None
    ids = [word[1:] for word in found[1].split() if word.startswith("#")]
    return heading[: found.start()], ids[-1] if ids else None


def split_bracketed_id(heading: str) -> tuple[str, str | None]:
    """Take `[[id]]` off a heading, as Hugging Face's doc-builder does."""
    found = _BRACKETED.search(heading)
    return (heading[: found.start()], found[1] or None) if found else (heading, None)


def _kept(char: str) -> bool:
    category = unicodedata.category(char)
    return (
        char in " -"
        or category[0] in "LM"
        or category in ("Nd", "Nl", "Pc")
        or (category == "So" and bool(_CIRCLED.match(char)))
    )


class Slugger(Protocol):
    """Makes the ids of the headings of one page, in their order."""

    def slug(self, text: str) -> str:
        """Return the id of the next heading."""
        ...


class GithubSlugger:
    """Ids for the headings of one page, by the rules Docusaurus and GitHub share."""

    def __init__(self, *, keep_case: bool = False) -> None:
        self._seen: dict[str, int] = {}
        self._keep_case = keep_case

    def slug(self, text: str) -> str:
        """Return the id of the next heading; a repeated text gets a number."""
        cased = text if self._keep_case else text.lower()
        base = "".join(c for c in cased if _kept(c)).replace(" ", "-")
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
        """Return the id of the next heading; one that is taken gets a number."""
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
    """Ids by the rules of Python-Markdown's table of contents, which MkDocs uses."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def slug(self, text: str) -> str:
        """Return the id of the next heading; one that is taken gets a number."""
        plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
        base = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
        if base and base not in self._taken:
            self._taken.add(base)
            return base
        numbered = re.fullmatch(r"(.*)_([0-9]{1,9})", base)
        stem, count = (numbered[1], int(numbered[2])) if numbered else (base, 0)
        # Remembered, or a page of equal headings would be counted through again for each.
        count = max(count, self._last.get(stem, 0)) + 1
        while f"{stem}_{count}" in self._taken:
            count += 1
        self._last[stem] = count
        self._taken.add(f"{stem}_{count}")
        return f"{stem}_{count}"


class AsciiSlugger:
    """Ids by the rules of Hugging Face's doc-builder, which numbers nothing."""

    def slug(self, text: str) -> str:
        """Return the id of a heading: its plain letters and digits, joined by hyphens."""
        words = re.sub(r"[^a-z0-9\s]+", "", text.lower())
        return re.sub(r"\s+", "-", words.strip())


_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("strikethrough")


def inline_text(source: str, shown: Callable[[Token], str]) -> str:
    """Return the text of one paragraph; `shown` says what each piece of it contributes."""
    tokens = _MARKDOWN.parseInline(source)
    return "".join(shown(token) for token in tokens[0].children or ()) if tokens else ""
