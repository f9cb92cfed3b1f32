"""Markdown source to the words a reader sees."""

import re

_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]+)\](?:\([^)\s]*(?:\s+\"[^\"]*\")?\)|\[[^\]]*\])")
_FOOTNOTE = re.compile(r"\[\^[^\]]+\]:?")
_AUTOLINK = re.compile(r"<((?:https?|mailto):[^>\s]+)>")
_CODE = re.compile(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", re.DOTALL)
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?![\w*])", re.DOTALL)
_UNDERSCORE = re.compile(r"(?<![\w_])_(?=[^\s_])(.+?)(?<=[^\s_])_(?![\w_])", re.DOTALL)
_STRIKE = re.compile(r"~~(.+?)~~", re.DOTALL)
_LINE_LEAD = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_ADMONITION = re.compile(r"^[ \t]*:{3,}[ \t]*([\w-]*)[ \t]*(?:\[([^\]]*)\]|(.*))$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}).*$", re.MULTILINE)
_TABLE_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*$", re.MULTILINE)
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~$])")
_MATH = re.compile(r"(?<!\\)\$\$?")
_SPACE = re.compile(r"\s+")


def well_formed(text: str) -> str:
    """Replace halves of characters, which names of files and JSON can hold and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def inline_plain(text: str) -> str:
    """Strip inline markup, keep the words, fold white space: one rendered sentence."""
    held: list[str] = []

    def hold(kept: str) -> str:
        held.append(kept)
        return f"\x00{len(held) - 1}\x00"

    # Code and escapes first: `a[i][j]` is not a link, and \_x\_ is not emphasis.
    text = _CODE.sub(lambda m: hold(m[2].strip()), text.replace("\x00", " "))
    text = _ESCAPE.sub(lambda m: hold(m[1]), text)
    text = _FOOTNOTE.sub("", text)
    text = _IMAGE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = _AUTOLINK.sub(r"\1", text)
    for pattern, keep in (
        (_STRONG, r"\2"),
        (_EMPHASIS, r"\1"),
        (_UNDERSCORE, r"\1"),
        (_STRIKE, r"\1"),
    ):
        text = pattern.sub(keep, text)
    text = re.sub(r"\x00(\d+)\x00", lambda m: held[int(m[1])], text)
    return _SPACE.sub(" ", text).strip()


def plain(text: str) -> str:
    """Strip block and inline markup: the words of a whole chunk on one line."""
    text = _FENCE.sub("", text)
    text = _ADMONITION.sub(lambda m: m[2] or m[3] or "", text)
    text = _TABLE_RULE.sub("", text)
    text = _LINE_LEAD.sub("", text)
    text = _BULLET.sub("", text)
    text = _MATH.sub(" ", text)
    text = re.sub(r"(?<!\\)\|", " ", text)
    return inline_plain(text)
