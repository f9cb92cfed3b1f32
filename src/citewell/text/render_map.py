"""Markdown source to what a browser shows of it, each character with its place in the source.

A built page shows other characters than its source where there is math, an image or a footnote's
mark. Which ones, only the site knows; here `HIDDEN` stands for them. `BREAK` stands between blocks.
"""

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from citewell.text.plain_text import (
    ADMONITION,
    AUTOLINK,
    CODE,
    EMPHASIS,
    ESCAPE,
    FOOTNOTE,
    IMAGE,
    LINK,
    REFERENCE,
    STRIKE,
    STRONG,
    TABLE_RULE,
    UNDERSCORE,
)

HIDDEN = "\ufffc"
BREAK = "\n"
WALL = f"{BREAK}{HIDDEN}{BREAK}"
"""Between blocks whose neighbours on the built page are not known."""

# While markup is taken away, every character keeps its place, and these say what becomes of it.
_DROP, _KEEP, _BREAK, _WALL = "\x00", "\x01", "\x02", "\x03"
_CONTROLS = dict.fromkeys(map(ord, (_DROP, _KEEP, _BREAK, _WALL)), " ")
_SEEN = {_BREAK: BREAK, _WALL: HIDDEN}

Show = Callable[[re.Match[str]], str]


@dataclass(frozen=True, slots=True)
class Rendered:
    """Text as it is shown, and where in the source each of its characters stands."""

    text: str
    places: "array[int]"


def render(source: str) -> Rendered:
    """Return what a page shows of `source`; white space is folded."""
    shown: list[str] = []
    places = array("l")
    space = ""
    for place, (mark, char) in enumerate(zip(_marks(source), source, strict=True)):
        if mark == _DROP:
            continue
        seen = _SEEN.get(mark) or (char if mark == _KEEP else mark)
        if mark in (_BREAK, _WALL):
            space = BREAK
        if seen.isspace():
            space = space or " "
            continue
        if space and shown:
            shown.append(space)
            places.append(place)
        shown.append(seen)
        places.append(place)
        space = BREAK if mark == _WALL else ""
    return Rendered("".join(shown), places)


def _marks(source: str) -> str:
    text = source.translate(_CONTROLS)
    for pattern, show in _BLOCKS:
        text = pattern.sub(show, text)
    parts = re.split(f"([{_BREAK}{_WALL}])", text)
    return "".join(_inline(part) if len(part) > 1 else part for part in parts)


def _inline(text: str) -> str:
    for pattern, show in _INLINE:
        text = pattern.sub(show, text)
    return text


def _replace_with(sign: str, found: re.Match[str]) -> str:
    """Show one sign in place of the match."""
    return sign + _DROP * (len(found[0]) - 1) if found[0] else ""


def _keep_group(group: int, found: re.Match[str], *, keep: bool = False) -> str:
    """Show nothing of the match but one group; `keep` shields it from further rules."""
    inside = re.sub(f"[^{_DROP}]", _KEEP, found[group]) if keep else found[group]
    before, after = found.start(group) - found.start(), found.end() - found.end(group)
    return _DROP * before + inside + _DROP * after


def _listing(found: re.Match[str]) -> str:
    """Keep code to the letter, set apart from what stands around it.

    Its wide spaces, which are shown as they are, divide it like its lines.
    """
    gaps = re.sub(r"\n|[ \t]{2,}", partial(_replace_with, _BREAK), found["body"])
    lines = re.sub(f"[^{_BREAK}{_DROP}]", _KEEP, gaps)
    opening, closing = found.start("body") - found.start(), found.end() - found.end("body")
    return (
        _WALL + _DROP * (opening - 1) + lines + (_WALL + _DROP * (closing - 1) if closing else "")
    )


def _title(found: re.Match[str]) -> str:
    """Show an admonition's title; one that its author did not write is the theme's."""
    group = 2 if found[2] else 3
    if not found[group]:
        return _replace_with(_WALL if found[1] else _BREAK, found)
    shown = _BREAK + _keep_group(group, found)[1:]
    return shown[:-1] + _BREAK if found[0].endswith("\n") else shown


def _row(found: re.Match[str]) -> str:
    return re.sub(r"(?<!\\)\|", _BREAK, found[0]).replace(r"\|", _DROP + _KEEP)


def _items(found: re.Match[str]) -> str:
    """Begin a block at each item; `1996. It` in the middle of a paragraph begins none."""
    block = found[0]
    listed = _ITEM.match(block)

    def begin(item: re.Match[str]) -> str:
        if listed or not item["number"] or item["number"] == "1":
            return _replace_with(_WALL if item["task"] else _BREAK, item)
        return item[0]

    return _ITEM.sub(begin, block)


def _note(found: re.Match[str]) -> str:
    """Set a footnote apart: built pages gather them at their end."""
    lead = found.end(1) - found.start()
    return _WALL + _DROP * (lead - 1) + found[2] + _WALL * len(found[3])


_ITEM = re.compile(
    r"^[ \t]*(?:[-*+]|(?P<number>\d+)[.)])[ \t]+(?P<task>\[[ xX]\][ \t]+)?", re.MULTILINE
)
_BLOCKS: tuple[tuple[re.Pattern[str], Show], ...] = (
    (
        re.compile(
            r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^\n]*+\n(?P<body>.*?)"
            r"(?:^[ \t>]*+(?P=fence)[`~]*+[ \t]*+$|\Z)",
            re.DOTALL | re.MULTILINE,
        ),
        _listing,
    ),
    (re.compile(r"(?<!\\)\$\$.+?\$\$", re.DOTALL), partial(_replace_with, _WALL)),
    (re.compile(r"^[ \t]*+(?:>[ \t]?)+", re.MULTILINE), partial(_replace_with, _DROP)),
    (re.compile(rf"{ADMONITION.pattern}(?:\n|\Z)", re.MULTILINE), _title),
    (TABLE_RULE, partial(_replace_with, _BREAK)),
    (re.compile(r"^[ \t]*+:[ \t]++(?=\S)", re.MULTILINE), partial(_replace_with, _BREAK)),
    (re.compile(r"^[ \t]*\|.*$", re.MULTILINE), _row),
    (re.compile(r"^[ \t\x00]*#{1,6}[ \t]+", re.MULTILINE), partial(_replace_with, _WALL)),
    (
        re.compile(r"^[ \t]*+(?:[-=]{2,}+|(?:[-*_][ \t]*+){3,}+)$", re.MULTILINE),
        partial(_replace_with, _WALL),
    ),
    (
        re.compile(
            r"^([ \t\x00]*+\[\^[^\[\]\n]++\]:)(.*?)(\n|\Z)(?=[ \t]*(?:\n|\[\^|\Z))", re.S | re.M
        ),
        _note,
    ),
    (re.compile(r"[^\n\x02\x03](?:(?!\n[ \t\x00]*\n)[^\x02\x03])*"), _items),
    (
        re.compile(r"\n(?=[ \t\x00]*(?:\n|\Z))|(?:(?<! )[ ]{2,}+|\\)\n"),
        partial(_replace_with, _BREAK),
    ),
)
_INLINE: tuple[tuple[re.Pattern[str], Show], ...] = (
    (CODE, partial(_keep_group, 2, keep=True)),
    (ESCAPE, partial(_keep_group, 1, keep=True)),
    (re.compile(r"(?<![$\w])\$(?=\S)[^$]+?(?<=\S)\$(?!\d)"), partial(_replace_with, HIDDEN)),
    (re.compile(r"&(?:#\w+|\w+);|\{[^{}]*\}|[\u200b\u2060]"), partial(_replace_with, HIDDEN)),
    (re.compile("\u00ad"), partial(_replace_with, _DROP)),  # browsers search past soft hyphens
    (FOOTNOTE, partial(_replace_with, HIDDEN)),
    (IMAGE, partial(_replace_with, HIDDEN)),
    (LINK, partial(_keep_group, 1)),
    (REFERENCE, partial(_keep_group, 1)),
    (AUTOLINK, partial(_keep_group, 1)),
    (STRONG, partial(_keep_group, 2)),
    (EMPHASIS, partial(_keep_group, 1)),
    (UNDERSCORE, partial(_keep_group, 1)),
    (STRIKE, partial(_keep_group, 1)),
    # Dashes that some sites set as one, emoji by name, keys, and signs that may be markup yet; the
    # star of `A* search` closes nothing, and is a star.
    (
        re.compile(r"-{2,}|(?<![\w:]):[a-z][\w+-]*:(?![\w:])|==|\+\+\S+?\+\+"),
        partial(_replace_with, HIDDEN),
    ),
    (
        re.compile(r"[`\[\]~^|$\\]|(?<!\w)\*(?=\S)|\*(?=\w)|(?<!\w)_|_(?!\w)"),
        partial(_replace_with, HIDDEN),
    ),
)
