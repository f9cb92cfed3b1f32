"""Markdown source to the words a reader sees."""

import re

from citewell.text.memo import memoize_text

# Nothing here crosses what could begin the same markup again, and what is passed once is not tried
# again: signs that open and never close are given up at once.
_TARGET = (
    r"\(\s*+(?:<[^<>\n]*+>|[^()\[\]\s]*+(?:\([^()\[\]\s]*+\)[^()\[\]\s]*+)*+)"
    r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'))?\s*+\)"
)
_BEFORE = r"(?<![A-Za-z0-9_\])!])"
IMAGE = re.compile(rf"!\[([^\[\]]*+)\](?:{_TARGET}|\[[^\[\]\n]*+\])")
LINK = re.compile(rf"\[([^\[\]]++)\]{_TARGET}")
REFERENCE = re.compile(rf"{_BEFORE}\[([^\[\]]++)\]\[[^\[\]\n]*+\]")
SHORTCUT = re.compile(
    rf"{_BEFORE}\[(?=[^\[\]]*?(?:[^\W\d_]{{3}}|\x00))"
    r"([^\s\[\]!^@|=\\{}$;][^\[\]|=\\{}$;^]*+)(?<!\s)\](?![\[(])"
)
"""A link by its words alone, `[like this]`. Whether the page says where it leads is not known here,
so that words in brackets lose them too; numbers and letters, as in `[0, 1]` and `[1]`, do not."""
FOOTNOTE = re.compile(r"\[\^[^\[\]\n]++\]:?")
_NOTES = re.compile(r"^[ \t]*+(\[\^[^\[\]\n]++\]):", re.MULTILINE)
ATTRIBUTES = re.compile(r"[ \t]?\{:?[ \t]*+[.#][A-Za-z][^{}\n]*+\}")
"""What some dialects write behind a heading, link or block: `{#id .class}`."""
CALLOUT = re.compile(r"(?:^|(?<=\n))[ \t]*\[!\w++\][-+]?[ \t]*+", re.MULTILINE)
"""The first line of a note as GitHub and Obsidian write it: `> [!NOTE]`."""
AUTOLINK = re.compile(r"<((?:https?|mailto):[^<>\s]++)>")
CODE = re.compile(r"(?<![\\`])(`++)(.{1,5000}?)(?<!`)\1(?!`)", re.DOTALL)
STRONG = re.compile(r"(\*\*|__)(?=\S)((?:(?!\1).)++)(?<=\S)\1", re.DOTALL)
EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]++)(?<=\S)\*(?![\w*])")
UNDERSCORE = re.compile(r"(?<![\w_])_(?=[^\s_])((?:[^_]|(?<=\w)_(?=\w))++)(?<=\S)_(?![\w_])")
STRIKE = re.compile(r"~~(.+?)~~", re.DOTALL)
_LINE_LEAD = re.compile(r"^[ \t]*+(?:>[ \t]?)+", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*+(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
DEFINITION = re.compile(r"((?<=[^\s:])\n)?^[ \t]*+:[ \t]++(?=\S)", re.MULTILINE)
"""What a definition list writes before a definition, with the end of the line before it."""
_TARGETS = re.compile(r"^[ \t]*+\[(?!\^)[^\[\]\n]++\]:[ \t]*+\S[^\n]*+$", re.MULTILINE)
ADMONITION = re.compile(
    r"^[ \t]*+:{3,}+[ \t]*+([\w-]*+)[ \t]*+(?:\[([^\[\]\n]*+)\]|([^\n]*+))$", re.MULTILINE
)
_MARKER = re.compile(
    r"^[ \t]*+(?:!!!|\?\?\?)\+?[ \t]++[\w -]++(?:[ \t]*\"([^\"\n]*+)\")?[ \t]*+$", re.MULTILINE
)
"""The first line of a note as MkDocs writes it: `!!! note "Title"`."""
_HEADING = re.compile(r"^[ \t]*+#{1,6}[ \t]++", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*+(?:`{3,}|~{3,}).*$", re.MULTILINE)
TABLE_RULE = re.compile(r"^[ \t]*+\|?[ \t]*+:?-{2,}+[-:| \t]*+$", re.MULTILINE)
ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~$])")
INVISIBLE = re.compile(
    "[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
"""Signs without ink: soft hyphens, joints of no width, those that turn the writing round, and the
tags in which whole sentences can be hidden."""
_MARKUP = re.compile(rf"[\x00`\\\[<*_~{{]|{INVISIBLE.pattern}")
"""What all inline markup has some sign of."""
_MATH = re.compile(r"(?<!\\)\$\$?")
_DISPLAYED = re.compile(r"(?<!\\)\$\$[^$]*+(?:\$\$|\Z)")
_IN_LINE = re.compile(r"(?<![\\$])\$([^$\n]{1,200}+)\$")
_VERBATIM = re.compile(
    r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^\n]*+(?:\n.*?(?:^[ \t>]*+(?P=fence)[`~]*+[ \t]*+$|\Z)|\Z)"
    r"|(?<![\\`])(?P<tick>`++).{1,5000}?(?<!`)(?P=tick)(?!`)"
    r"|(?<!\\)\$\$[^$]++\$\$|(?<![$\w])\$(?=\S)[^$\n]++(?<=\S)\$(?!\d)"
    r"|\\[^\w\s]",
    re.DOTALL | re.MULTILINE,
)
"""What is kept to the letter: code, formulas, and signs that are to be read as themselves."""
_ELSEWHERE = re.compile(r"[\[{]|^[ \t]*+:[ \t]", re.MULTILINE)
_HELD = re.compile(r"\x00(\d+)\x00")
_SPACE = re.compile(r"\s+")


def replace_lone_surrogates(text: str) -> str:
    """Replace halves of characters, which names of files and JSON can hold and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


@memoize_text(16384)
def strip_inline_markup(text: str) -> str:
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
    text = _unlinked(text)
    text = LINK.sub(r"\1", text)
    text = AUTOLINK.sub(r"\1", text)
    for pattern, keep in (
        (STRONG, r"\2"),
        (EMPHASIS, r"\1"),
        (UNDERSCORE, r"\1"),
        (STRIKE, r"\1"),
    ):
        text = pattern.sub(keep, text)
    text = _HELD.sub(lambda m: held[int(m[1])], text)
    return _SPACE.sub(" ", text).strip()


def detach_from_page(text: str, *, footnotes: bool = False) -> str:
    """Return Markdown that can be shown apart from its page.

    A link whose target is defined elsewhere on the page becomes its words; marks of footnotes,
    attribute lists and the signs of definition lists are left out. Links that say where they lead,
    emphasis, code and formulas stay; with `footnotes`, so do those that stand in the text.
    """
    if not _ELSEWHERE.search(text):
        return text
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        held.append(found[0])
        return f"\x00{len(held) - 1}\x00"

    text = _VERBATIM.sub(hold, text.replace("\x00", " "))
    text = LINK.sub(hold, text)
    if footnotes:
        own = set(_NOTES.findall(text))
        text = FOOTNOTE.sub(lambda m: hold(m) if m[0].rstrip(":") in own else "", text)
    text = _unlinked(DEFINITION.sub(_colon, text))
    while "\x00" in text:
        text = _HELD.sub(lambda m: held[int(m[1])], text)
    return text


def _unlinked(text: str) -> str:
    """Strip what only the rest of the page gives a meaning to, and pictures."""
    text = CALLOUT.sub("", text)
    text = FOOTNOTE.sub("", text)
    text = ATTRIBUTES.sub("", text)
    for pattern in (IMAGE, REFERENCE, SHORTCUT):
        text = pattern.sub(r"\1", text)
    return text


def _colon(found: re.Match[str]) -> str:
    """Put a term and its definition on one line."""
    return ": " if found[1] else ""


def preview(text: str, limit: int) -> str:
    """Return how a passage begins, as plain text; a cut is made between words and shown."""
    words = plain(_IN_LINE.sub(_spoken, _DISPLAYED.sub(" … ", text)))
    if len(words) <= limit:
        return words
    whole, _, cut = words[:limit].rpartition(" ")
    return f"{(whole or cut)[: limit - 1].rstrip()}…"


def _spoken(formula: re.Match[str]) -> str:
    """Return a simple formula as it is read, and a sign in place of others."""
    return "…" if "{" in formula[1] else formula[1].replace("\\", "").replace("^", "")


def plain(text: str) -> str:
    """Strip block and inline markup: the words of a whole chunk on one line."""
    text = _HEADING.sub("", _FENCE.sub("", text))
    text = ADMONITION.sub(lambda m: m[2] or m[3] or "", text)
    text = _MARKER.sub(lambda m: m[1] or "", text)
    text = TABLE_RULE.sub("", text)
    text = _LINE_LEAD.sub("", text)
    text = _BULLET.sub("", text)
    text = _TARGETS.sub("", DEFINITION.sub(_colon, text))
    text = _MATH.sub(" ", text)
    text = re.sub(r"(?<!\\)\|", " ", text)
    return strip_inline_markup(text)
