"""Links that open a page at the very sentence."""

import re
from urllib.parse import quote

from quire.prose.plain import inline_plain

_QUOTE_LEAD = re.compile(r"\n[ \t]*>[ \t>]*")
_WHOLE = 80
_EDGE_WORDS = 5


def sentence_link(url: str, sentence: str) -> str:
    """Give `url` with a text fragment that highlights `sentence` on the rendered page."""
    words = inline_plain(_QUOTE_LEAD.sub(" ", sentence)).split()
    # Math and code blocks are rendered with other characters than their source.
    if not words or "$" in sentence or sentence.lstrip().startswith(("```", "~~~", "|")):
        return url
    whole = " ".join(words)
    if len(whole) <= _WHOLE or len(words) <= 2 * _EDGE_WORDS:
        fragment = _encoded(whole)
    else:
        start, end = " ".join(words[:_EDGE_WORDS]), " ".join(words[-_EDGE_WORDS:])
        fragment = f"{_encoded(start)},{_encoded(end)}"
    return f"{url}{'' if '#' in url else '#'}:~:text={fragment}"


def _encoded(text: str) -> str:
    # A hyphen would be read as the edge of a prefix or suffix.
    return quote(text, safe="").replace("-", "%2D")
