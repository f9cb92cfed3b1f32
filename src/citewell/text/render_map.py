"""Render Markdown as a browser shows it, with the source offset of each character.

`UNKNOWN` stands for what the built page shows for math, images and footnote references, and `BREAK`
separates blocks.
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

UNKNOWN = "\ufffc"
BREAK = "\n"
GAP = f"{BREAK}{UNKNOWN}{BREAK}"
"""Separates blocks that may have other text between them on the built page."""

# Markup is replaced by these, one per character, so that offsets do not change.
_DROP, _KEEP, _BREAK, _GAP = "\x00", "\x01", "\x02", "\x03"
_CONTROLS = dict.fromkeys(map(ord, (_DROP, _KEEP, _BREAK, _GAP)), " ")
_RENDERED = {_BREAK: BREAK, _GAP: UNKNOWN}

Replace = Callable[[re.Match[str]], str]


@dataclass(frozen=True, slots=True)
class Rendered:
    """Rendered text, with the source offset of each character."""

    text: str
    offsets: "array[int]"


def render(source: str) -> Rendered:
    """Return the text that a page shows for `source`; white space is collapsed."""
    chars: list[str] = []
    offsets = array("l")
    space = ""
    for offset, (action, source_char) in enumerate(zip(_actions(source), source, strict=True)):
        if action == _DROP:
            continue
        char = _RENDERED.get(action) or (source_char if action == _KEEP else action)
        if action in (_BREAK, _GAP):
            space = BREAK
        if char.isspace():
            space = space or " "
            continue
        if space and chars:
            chars.append(space)
            offsets.append(offset)
        chars.append(char)
        offsets.append(offset)
        space = BREAK if action == _GAP else ""
    return Rendered("".join(chars), offsets)


def _actions(source: str) -> str:
    text = source.translate(_CONTROLS)
    for pattern, replace in _BLOCKS:
        text = pattern.sub(replace, text)
    parts = re.split(f"([{_BREAK}{_GAP}])", text)
    return "".join(_inline(part) if len(part) > 1 else part for part in parts)


def _inline(text: str) -> str:
    for pattern, replace in _INLINE:
        text = pattern.sub(replace, text)
    return text


def _replace_with(sign: str, match: re.Match[str]) -> str:
    return sign + _DROP * (len(match[0]) - 1) if match[0] else ""


def _keep_group(group: int, match: re.Match[str], *, keep: bool = False) -> str:
    """Keep only one group of the match; `keep` protects it from further rules."""
    inside = re.sub(f"[^{_DROP}]", _KEEP, match[group]) if keep else match[group]
    before, after = match.start(group) - match.start(), match.end() - match.end(group)
    return _DROP * before + inside + _DROP * after


def _code_block(match: re.Match[str]) -> str:
    """Keep code unchanged, in a block of its own.

    White space in code is not collapsed, so runs of it separate like line ends.
    """
    gaps = re.sub(r"\n|[ \t]{2,}", partial(_replace_with, _BREAK), match["body"])
    lines = re.sub(f"[^{_BREAK}{_DROP}]", _KEEP, gaps)
    opening, closing = match.start("body") - match.start(), match.end() - match.end("body")
    return _GAP + _DROP * (opening - 1) + lines + (_GAP + _DROP * (closing - 1) if closing else "")


def _admonition_title(match: re.Match[str]) -> str:
    """Show an explicit title of an admonition; the default depends on the theme."""
    group = 2 if match[2] else 3
    if not match[group]:
        return _replace_with(_GAP if match[1] else _BREAK, match)
    shown = _BREAK + _keep_group(group, match)[1:]
    return shown[:-1] + _BREAK if match[0].endswith("\n") else shown


def _table_row(match: re.Match[str]) -> str:
    return re.sub(r"(?<!\\)\|", _BREAK, match[0]).replace(r"\|", _DROP + _KEEP)


def _list_items(match: re.Match[str]) -> str:
    """Start a block at each list item; `1996. It` inside a paragraph is not one."""
    block = match[0]
    is_list = _ITEM.match(block)

    def begin(item: re.Match[str]) -> str:
        if is_list or not item["number"] or item["number"] == "1":
            return _replace_with(_GAP if item["task"] else _BREAK, item)
        return item[0]

    return _ITEM.sub(begin, block)


def _footnote(match: re.Match[str]) -> str:
    """Separate a footnote, which built pages move to their end."""
    lead = match.end(1) - match.start()
    return _GAP + _DROP * (lead - 1) + match[2] + _GAP * len(match[3])


_ITEM = re.compile(
    r"^[ \t]*(?:[-*+]|(?P<number>\d+)[.)])[ \t]+(?P<task>\[[ xX]\][ \t]+)?", re.MULTILINE
)
_BLOCKS: tuple[tuple[re.Pattern[str], Replace], ...] = (
    (
        re.compile(
            r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^\n]*+\n(?P<body>.*?)"
            r"(?:^[ \t>]*+(?P=fence)[`~]*+[ \t]*+$|\Z)",
            re.DOTALL | re.MULTILINE,
        ),
        _code_block,
    ),
    (re.compile(r"(?<!\\)\$\$.+?\$\$", re.DOTALL), partial(_replace_with, _GAP)),
    (re.compile(r"^[ \t]*+(?:>[ \t]?)+", re.MULTILINE), partial(_replace_with, _DROP)),
    (re.compile(rf"{ADMONITION.pattern}(?:\n|\Z)", re.MULTILINE), _admonition_title),
    (TABLE_RULE, partial(_replace_with, _BREAK)),
    (re.compile(r"^[ \t]*+:[ \t]++(?=\S)", re.MULTILINE), partial(_replace_with, _BREAK)),
    (re.compile(r"^[ \t]*\|.*$", re.MULTILINE), _table_row),
    (re.compile(r"^[ \t\x00]*#{1,6}[ \t]+", re.MULTILINE), partial(_replace_with, _GAP)),
    (
        re.compile(r"^[ \t]*+(?:[-=]{2,}+|(?:[-*_][ \t]*+){3,}+)$", re.MULTILINE),
        partial(_replace_with, _GAP),
    ),
    (
        re.compile(
            r"^([ \t\x00]*+\[\^[^\[\]\n]++\]:)(.*?)(\n|\Z)(?=[ \t]*(?:\n|\[\^|\Z))", re.S | re.M
        ),
        _footnote,
    ),
    (re.compile(r"[^\n\x02\x03](?:(?!\n[ \t\x00]*\n)[^\x02\x03])*"), _list_items),
    (
        re.compile(r"\n(?=[ \t\x00]*(?:\n|\Z))|(?:(?<! )[ ]{2,}+|\\)\n"),
        partial(_replace_with, _BREAK),
    ),
)
_INLINE: tuple[tuple[re.Pattern[str], Replace], ...] = (
    (CODE, partial(_keep_group, 2, keep=True)),
    (ESCAPE, partial(_keep_group, 1, keep=True)),
    (re.compile(r"(?<![$\w])\$(?=\S)[^$]+?(?<=\S)\$(?!\d)"), partial(_replace_with, UNKNOWN)),
    (re.compile(r"&(?:#\w+|\w+);|\{[^{}]*\}|[\u200b\u2060]"), partial(_replace_with, UNKNOWN)),
    (re.compile("\u00ad"), partial(_replace_with, _DROP)),  # browsers search past soft hyphens
    (FOOTNOTE, partial(_replace_with, UNKNOWN)),
    (IMAGE, partial(_replace_with, UNKNOWN)),
    (LINK, partial(_keep_group, 1)),
    (REFERENCE, partial(_keep_group, 1)),
    (AUTOLINK, partial(_keep_group, 1)),
    (STRONG, partial(_keep_group, 2)),
    (EMPHASIS, partial(_keep_group, 1)),
    (UNDERSCORE, partial(_keep_group, 1)),
    (STRIKE, partial(_keep_group, 1)),
    # Dashes, emoji names and keys, which sites render differently, and remaining markup characters;
    # the star of `A* search` is text.
    (
        re.compile(r"-{2,}|(?<![\w:]):[a-z][\w+-]*:(?![\w:])|==|\+\+\S+?\+\+"),
        partial(_replace_with, UNKNOWN),
    ),
    (
        re.compile(r"[`\[\]~^|$\\]|(?<!\w)\*(?=\S)|\*(?=\w)|(?<!\w)_|_(?!\w)"),
        partial(_replace_with, UNKNOWN),
    ),
)
