"""Addresses that a book gives: which of them may stand in a link."""

import re

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.I)
# Browsers leave these out before they look at an address.
_IGNORED = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028\u2029\u2060\ufeff]")
_HARMFUL = frozenset(("javascript", "vbscript", "data", "file", "blob"))


def scheme_of(address: str) -> str:
    """Return what stands before the colon of an address, as browsers see it; empty for a path."""
    found = _SCHEME.match(_IGNORED.sub("", address[:4000]))
    return found[1].lower() if found else ""


def is_web_address(address: str) -> bool:
    """Whether an address leads to a web page: by http, by https, or as a path."""
    return scheme_of(address) in ("", "http", "https")


def is_harmful(address: str) -> bool:
    """Whether following an address would run a script, open made-up content or a local file."""
    return scheme_of(address) in _HARMFUL
