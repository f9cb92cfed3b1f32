"""Markdown source to the words a reader sees."""

import re
from functools import lru_cache

IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]+)\](?:\([^)\s]*(?:\s+\"[^\"]*\")?\)|\[[^\]]*\])")
FOOTNOTE = re.compile(r"\[\^[^\]]+\]:?")
AUTOLINK = re.compile(r"<((?:https?|mailto):[^>\s]+)>")
CODE = re.compile(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", re.DOTALL)
EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?![\w*])", re.DOTALL)
UNDERSCORE = re.compile(r"(?<![\w_])_(?=[^\s_])(.+?)(?<=[^\s_])_(?![\w_])", re.DOTALL)
STRIKE = re.compile(r"~~(.+?)~~", re.DOTALL)
_LINE_LEAD = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
ADMONITION = re.compile(r"^[ \t]*:{3,}[ \t]*([\w-]*)[ \t]*(?:\[([^\]]*)\]|(.*))$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}).*$", re.MULTILINE)
TABLE_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*$", re.MULTILINE)
ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~$])")
INVISIBLE = re.compile(
    "[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
"""Signs without ink: soft hyphens, joints of no width, those that turn the writing round, and the
tags in which whole sentences can be hidden."""
_MARKUP = re.compile(rf"[\x00`\\\[<*_~]|{INVISIBLE.pattern}")
"""What all inline markup has some sign of."""
_MATH = re.compile(r"(?<!\\)\$\$?")
_SPACE = re.compile(r"\s+")


def well_formed(text: str) -> str:
    """Replace halves of characters, which names of files and JSON can hold and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


@lru_cache(maxsize=16384)
def inline_plain(text: str) -> str:
    """Strip inline markup, keep the words, fold white space: one rendered sentence."""
    if not _MARKUP.search(text):
        return _SPACE.sub(" ", text).strip()
    held: list[str] = []

    def hold(kept: str) -> str:
        held.append(kept)
        return f"\x00{len(held) - 1}\x00"

    # Code and escapes first: `a[i][j]` is not a link, and \_x\_ is not emphasis.
    text = INVISIBLE.sub("", text.replace("\x00", " "))
    text = CODE.sub(lambda m: hold(m[2].strip()), text)
    text = ESCAPE.sub(lambda m: hold(m[1]), text)
    text = FOOTNOTE.sub("", text)
    text = IMAGE.sub(r"\1", text)
    text = LINK.sub(r"\1", text)
    text = AUTOLINK.sub(r"\1", text)
    for pattern, keep in (
        (STRONG, r"\2"),
        (EMPHASIS, r"\1"),
        (UNDERSCORE, r"\1"),
        (STRIKE, r"\1"),
    ):
        text = pattern.sub(keep, text)
    text = re.sub(r"\x00(\d+)\x00", lambda m: held[int(m[1])], text)
    return _SPACE.sub(" ", text).strip()


def plain(text: str) -> str:
    """Strip block and inline markup: the words of a whole chunk on one line."""
    text = _FENCE.sub("", text)
    text = ADMONITION.sub(lambda m: m[2] or m[3] or "", text)
    text = TABLE_RULE.sub("", text)
    text = _LINE_LEAD.sub("", text)
    text = _BULLET.sub("", text)
    text = _MATH.sub(" ", text)
    text = re.sub(r"(?<!\\)\|", " ", text)
    return inline_plain(text)
