"""Markdown in which nothing leads anywhere and nothing is fetched: its words stay as they are."""

import re
from bisect import bisect_right
from collections.abc import Callable

from quire.prose.remembered import remembered
from quire.prose.unseen import TAG, unseen_ends

_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_UNSEEN = re.compile(r"<(script|style|template|noscript)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.S | re.I)
_FETCHING = re.compile(
    r"</?(?:a|area|audio|base|button|embed|form|frame|iframe|image|img|input|link|meta|object"
    r"|picture|source|svg|track|use|video)\b[^>]*>?",
    re.I,
)
# All possessive or bounded: signs that open and never close are given up soon.
_OPENING = re.compile(r"<\w+\s[^>]*+>?")
_ACTING = re.compile(r"\b(?:style|on\w+|src|href|background)\s*=", re.I)
_LABEL = r"((?:[^\[\]\\]++|\\.|\[[^\[\]]*+\]){0,500}+)"
_TARGET = r"(?:<[^<>\n]*+>|[^\s()<>]*+(?:\([^()\s]*+\)[^\s()<>]*+)*+)"
_TITLE = r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'|\([^()]*+\)))?"
_LINK = re.compile(rf"!?\[{_LABEL}\]\(\s*+{_TARGET}{_TITLE}\s*+\)")
_IMAGE = re.compile(rf"!\[{_LABEL}\](?:\[[^\[\]\n]*\])?")
"""What is left of a picture whose address is defined elsewhere."""
_DEFINITION = re.compile(r"^[ \t>]*\[[^\]\n]+\]:[ \t]*\S.*$", re.M)
_AUTOLINK = re.compile(r"<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>", re.I)
_ADDRESS = re.compile(
    r"\b(?:[a-z][a-z0-9+.-]{1,31}://|www\.)[^\s<>\"”“`|]*[^\s<>\"”“`|.,;:!?)\]]", re.I
)
_LISTING = re.compile(
    r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)",
    re.S | re.M,
)
_UNREAD = re.compile(
    r"<!--.*?(?:-->|\Z)|(?<!\\)~~(?!~)[^~]++~~|^[ \t>]*+\[[^\]\n]*+\]:[ \t]*\S[^\n]*$",
    re.S | re.M,
)
_TAG = re.compile(TAG)
_BEHIND = re.compile(r"(?<=\]\()[^()\n]*(?:\([^()\n]*\)[^()\n]*)*(?=\))")
_NESTED = 3
"""How deep labels may hold links of their own."""


def inert(text: str) -> str:
    """Give text without links, pictures and what else could call out; addresses become code.

    Code is left as it is: nothing in it is followed.
    """
    held: list[str] = []

    def hold(said: str) -> str:
        held.append(said)
        return f"\x00{len(held) - 1}\x00"

    text = _CODE.sub(lambda found: hold(found[0]), text.replace("\x00", " "))
    for pattern in (_COMMENT, _UNSEEN, _DEFINITION):
        text = pattern.sub("", text)
    for _ in range(_NESTED):
        text = _LINK.sub(r"\1", text)
    text = _IMAGE.sub(r"\1", text)
    text = _AUTOLINK.sub(lambda found: hold(f"`{found[1]}`"), text)
    text = _OPENING.sub(_inactive, _FETCHING.sub("", text))
    # What is left of links too strange to be read must not be one for somebody else.
    text = text.replace("](", "] (")
    text = _ADDRESS.sub(lambda found: hold(f"`{found[0]}`"), text)
    return _put_back(text, held.__getitem__)


@remembered(1024)
def masked(text: str) -> str:
    """Give text of the same length without what its readers do not see: it can prove nothing.

    That is what stands in comments and hidden elements, what is struck out, and what stands behind
    the words of a link.
    """
    if not any(sign in text for sign in ("](", "<", "]:", "~~")):
        return text
    listings = [found.span() for found in _LISTING.finditer(text)]

    def is_listed(found: re.Match[str]) -> bool:
        place = bisect_right(listings, (found.start(), len(text)))
        return bool(place) and found.start() < listings[place - 1][1]

    def blank(found: re.Match[str], ink: str) -> str:
        return found[0] if is_listed(found) else re.sub(r"[^\n]", ink, found[0])

    text = _UNREAD.sub(lambda found: blank(found, " "), text)
    tags = [tag for tag in _TAG.finditer(text) if not is_listed(tag)]
    pieces, done = list[str](), 0
    for start, end in sorted(unseen_ends(text, tags).items()):
        if start >= done:
            pieces += (text[done:start], re.sub(r"[^\n]", " ", text[start:end]))
            done = end
    text = "".join((*pieces, text[done:]))
    return _BEHIND.sub(lambda found: blank(found, "-"), text)


def _inactive(tag: re.Match[str]) -> str:
    closed = tag[0].endswith(">")
    return "" if closed and _ACTING.search(tag[0]) else tag[0]


def _put_back(text: str, held: Callable[[int], str]) -> str:
    while "\x00" in text:
        text = re.sub(r"\x00(\d+)\x00", lambda found: held(int(found[1])), text)
    return text
