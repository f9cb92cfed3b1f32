"""Stand-ins for the roles of Sphinx: each gives the words its author put there."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from docutils import nodes

RoleResult = tuple[Sequence[nodes.Node], Sequence[nodes.system_message]]
RoleFunction = Callable[..., RoleResult]

_EXPLICIT = re.compile(r"^(.+?)\s*(?<!\x00)<([^<]*?)>$", re.S)
_CODE = frozenset(
    re.findall(
        r"\S+",
        """
        func meth class attr data exc obj mod const type macro member any envvar option
        token keyword program regexp makevar confval cmdoption setting var struct enum
        enumerator union concept expr texpr namespace identifier download
        """,
    )
)
_CALLED = frozenset(("func", "meth"))
_LITERAL = frozenset(("file", "samp", "kbd", "code", "mailheader", "mimetype", "newsgroup", "cmd"))
_STRONG = frozenset(("command", "guilabel", "program", "dfn", "menuselection"))
_OWN = frozenset(
    re.findall(
        r"\S+",
        """
        ref numref doc term eq abbr manpage pep rfc cve cwe index cite cite:p cite:t
        footcite
        """,
    )
)


def _unescape(text: str) -> str:
    return nodes.unescape(text).replace("\x00", "")


def split_target(text: str) -> tuple[str, str, bool]:
    """Split `words <target>`; give whether the words were the author's own."""
    found = _EXPLICIT.match(text)
    if found:
        return _unescape(found[1]), _unescape(found[2]), True
    return _unescape(text), _unescape(text), False


def _code_words(words: str, kind: str) -> str:
    """Say `~pkg.mod.name` as Sphinx does: `name`, with `()` behind what is called."""
    if words.startswith("!"):
        return words[1:]
    if words.startswith("~"):
        words = words[1:].rsplit(".", 1)[-1]
    words = words.lstrip(".")
    return f"{words}()" if kind in _CALLED and not words.endswith(")") else words


def _reference(kind: str, raw: str, text: str) -> nodes.Node:
    words, target, explicit = split_target(text)
    code = kind in _CODE
    if words.startswith("!"):
        words, explicit = words[1:], True
    elif code and not explicit:
        words = _code_words(words, kind)
    # A node of docutils' own: a contents list visits headings, and refuses others.
    node = nodes.inline(raw, words, kind=kind, target=target)
    node["explicit"], node["code"] = explicit, code
    return node


def _words(kind: str, raw: str, text: str) -> nodes.Node:
    words = _unescape(text)
    if kind in ("file", "samp"):
        words = re.sub(
            r"\\([{}\\])|\{([^{}]+)\}", lambda m: m[1] or m[2], text.replace("\x00", "\\")
        )
    if kind == "guilabel":
        words = re.sub(r"&(&?)", r"\1", words)
    if kind == "menuselection":
        words = re.sub(r"&(&?)", r"\1", words.replace("-->", "‣"))
    if kind in _LITERAL:
        return nodes.literal(raw, words)
    if kind in _STRONG:
        return nodes.strong(raw, words)
    if kind in ("pep", "rfc", "cve", "cwe"):
        words, target, explicit = split_target(text)
        number = words if explicit else f"{kind.upper()} {target}"
        return nodes.inline(raw, number)
    if kind == "abbr":
        found = re.match(r"(.*)\s+\(([^()]*)\)$", words, re.S)
        node = nodes.abbreviation(raw, found[1] if found else words)
        if found:
            node["explanation"] = found[2]
        return node
    return nodes.inline(raw, words)


def find_role(name: str, look_up: Callable[[str], RoleFunction | None]) -> RoleFunction:
    """Choose the role of that name: a stand-in, docutils' own, or one that keeps the words."""
    lower = name.lower()
    kind = lower.rsplit(":", 1)[-1]
    if lower in _LITERAL or lower in _STRONG or lower in ("abbr", "pep", "rfc", "cve", "cwe"):
        return _role(lower, _words)
    if lower in _OWN or lower in _CODE or ":" in lower:
        return _role(kind if lower not in _OWN else lower, _reference)
    return look_up(lower) or _role(lower, _reference)


def _role(kind: str, make: Callable[[str, str, str], nodes.Node]) -> RoleFunction:
    # docutils passes name, raw text, text, line, inliner, options and content.
    def run(_name: str, rawtext: str, text: str, *_rest: Any) -> RoleResult:
        return [make(kind, rawtext, text)], []

    return run
