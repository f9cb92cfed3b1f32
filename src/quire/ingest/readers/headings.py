"""Heading ids, as the site generators make them."""

import re
import unicodedata

_EXPLICIT = re.compile(r"\s*(?:\{\#([^\s{}]+)\}|\{/\*\s*\#([^\s{}*]+)\s*\*/\})\s*$")


def split_explicit_id(heading: str) -> tuple[str, str | None]:
    """Give the heading's text and the id its author wrote behind it, if any."""
    found = _EXPLICIT.search(heading)
    return (heading[: found.start()], found[1] or found[2]) if found else (heading, None)


def _kept(char: str) -> bool:
    category = unicodedata.category(char)
    return char in " -" or category[0] in "LM" or category in ("Nd", "Nl", "Pc")


class GithubSlugger:
    """Ids for the headings of one page, by the rules Docusaurus and GitHub share."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def slug(self, text: str) -> str:
        """Give the id of the next heading; a repeated text gets a number."""
        base = "".join(c for c in text.lower() if _kept(c)).replace(" ", "-")
        result = base
        while result in self._seen:
            self._seen[base] += 1
            result = f"{base}-{self._seen[base]}"
        self._seen[result] = 0
        return result
