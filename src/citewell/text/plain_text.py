"""Convert Markdown to plain text."""

import re

from citewell.text.memo import memoize_text

# Patterns are possessive and stop at the next opening, so that unclosed markup does not take
# quadratic time.
_TARGET = (
    r"\(\s*+(?:<[^<>\n]*+>|[^()\[\]\s]*+(?:\([^()\[\]\s]*+\)[^()\[\]\s]*+)*+)"
    r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'))?\s*+\)"
)
_NOT_AFTER_WORD = r"(?<![A-Za-z0-9_\])!])"
IMAGE = re.compile(rf"!\[([^\[\]]*+)\](?:{_TARGET}|\[[^\[\]\n]*+\])")
LINK = re.compile(rf"\[([^\[\]]++)\]{_TARGET}")
REFERENCE = re.compile(rf"{_NOT_AFTER_WORD}\[([^\[\]]++)\]\[[^\[\]\n]*+\]")
SHORTCUT = re.compile(
    rf"{_NOT_AFTER_WORD}\[(?=[^\[\]]*?(?:[^\W\d_]{{3}}|\x00))"
    r"([^\s\[\]!^@|=\\{}$;][^\[\]|=\\{}$;^]*+)(?<!\s)\](?![\[(])"
)
"""A shortcut reference link, `[like this]`. Its definition is not known here, so other words in
brackets match, too; numbers and single letters, as in `[0, 1]` and `[1]`, do not."""
FOOTNOTE = re.compile(r"\[\^[^\[\]\n]++\]:?")
_FOOTNOTE_DEFINITION = re.compile(r"^[ \t]*+(\[\^[^\[\]\n]++\]):", re.MULTILINE)
ATTRIBUTES = re.compile(r"[ \t]?\{:?[ \t]*+[.#][A-Za-z][^{}\n]*+\}")
"""An attribute list after a heading, link or block: `{#id .class}`."""
CALLOUT = re.compile(r"(?:^|(?<=\n))[ \t]*\[!\w++\][-+]?[ \t]*+", re.MULTILINE)
"""The first line of an admonition of GitHub and Obsidian: `> [!NOTE]`."""
AUTOLINK = re.compile(r"<((?:https?|mailto):[^<>\s]++)>")
CODE = re.compile(r"(?<![\\`])(`++)(.{1,5000}?)(?<!`)\1(?!`)", re.DOTALL)
STRONG = re.compile(r"(\*\*|__)(?=\S)((?:(?!\1).)++)(?<=\S)\1", re.DOTALL)
EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]++)(?<=\S)\*(?![\w*])")
UNDERSCORE = re.compile(r"(?<![\w_])_(?=[^\s_])((?:[^_]|(?<=\w)_(?=\w))++)(?<=\S)_(?![\w_])")
STRIKE = re.compile(r"~~(.+?)~~", re.DOTALL)
_QUOTE_PREFIX = re.compile(r"^[ \t]*+(?:>[ \t]?)+", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*+(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
DEFINITION = re.compile(r"((?<=[^\s:])\n)?^[ \t]*+:[ \t]++(?=\S)", re.MULTILINE)
"""The marker of a definition in a definition list, with the line break before it."""
_LINK_DEFINITION = re.compile(r"^[ \t]*+\[(?!\^)[^\[\]\n]++\]:[ \t]*+\S[^\n]*+$", re.MULTILINE)
ADMONITION = re.compile(
    r"^[ \t]*+:{3,}+[ \t]*+([\w-]*+)[ \t]*+(?:\[([^\[\]\n]*+)\]|([^\n]*+))$", re.MULTILINE
)
_MKDOCS_ADMONITION = re.compile(
    r"^[ \t]*+(?:!!!|\?\?\?)\+?[ \t]++[\w -]++(?:[ \t]*\"([^\"\n]*+)\")?[ \t]*+$", re.MULTILINE
)
"""The first line of an admonition of MkDocs: `!!! note "Title"`."""
_HEADING = re.compile(r"^[ \t]*+#{1,6}[ \t]++", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*+(?:`{3,}|~{3,}).*$", re.MULTILINE)
TABLE_RULE = re.compile(r"^[ \t]*+\|?[ \t]*+:?-{2,}+[-:| \t]*+$", re.MULTILINE)
ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~$])")
INVISIBLE = re.compile(
    "[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
"""Invisible characters: soft hyphens, zero-width and bidirectional controls, and the tag characters
in which whole sentences can be hidden."""
_MARKUP = re.compile(rf"[\x00`\\\[<*_~{{]|{INVISIBLE.pattern}")
"""Characters of which all inline markup has at least one."""
_MATH = re.compile(r"(?<!\\)\$\$?")
_DISPLAY_MATH = re.compile(r"(?<!\\)\$\$[^$]*+(?:\$\$|\Z)")
_INLINE_MATH = re.compile(r"(?<![\\$])\$([^$\n]{1,200}+)\$")
_VERBATIM = re.compile(
    r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^\n]*+(?:\n.*?(?:^[ \t>]*+(?P=fence)[`~]*+[ \t]*+$|\Z)|\Z)"
    r"|(?<![\\`])(?P<tick>`++).{1,5000}?(?<!`)(?P=tick)(?!`)"
    r"|(?<!\\)\$\$[^$]++\$\$|(?<![$\w])\$(?=\S)[^$\n]++(?<=\S)\$(?!\d)"
    r"|\\[^\w\s]",
    re.DOTALL | re.MULTILINE,
)
"""Code, formulas and escaped characters, which are not changed."""
_PAGE_DEPENDENT = re.compile(r"[\[{]|^[ \t]*+:[ \t]", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\x00(\d+)\x00")
_SPACE = re.compile(r"\s+")


def replace_lone_surrogates(text: str) -> str:
    """Replace lone surrogates, which file names and JSON may contain but UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


@memoize_text(16384)
def strip_inline_markup(text: str) -> str:
    """Strip inline markup, and collapse white space."""
    if not _MARKUP.search(text):
        return _SPACE.sub(" ", text).strip()
    protected: list[str] = []

    def protect(text: str) -> str:
        protected.append(text)
        return f"\x00{len(protected) - 1}\x00"

    # Code and escapes first: `a[i][j]` is not a link, and \_x\_ is not emphasis.
    text = INVISIBLE.sub("", text.replace("\x00", " "))
    text = CODE.sub(lambda m: protect(m[2].strip()), text)
    text = ESCAPE.sub(lambda m: protect(m[1]), text)
    text = _strip_page_dependent(text)
    text = LINK.sub(r"\1", text)
    text = AUTOLINK.sub(r"\1", text)
    text = STRONG.sub(r"\2", text)
    for pattern in (EMPHASIS, UNDERSCORE, STRIKE):
        text = pattern.sub(r"\1", text)
    text = _PLACEHOLDER.sub(lambda m: protected[int(m[1])], text)
    return _SPACE.sub(" ", text).strip()


def detach_from_page(text: str, *, footnotes: bool = False) -> str:
    """Return Markdown that can be rendered without the rest of its page.

    Reference links become plain text; footnote references, attribute lists and definition markers
    are removed. Inline links, emphasis, code and formulas stay; with `footnotes`, so do references
    to footnotes in the text.
    """
    if not _PAGE_DEPENDENT.search(text):
        return text
    protected: list[str] = []

    def protect(match: re.Match[str]) -> str:
        protected.append(match[0])
        return f"\x00{len(protected) - 1}\x00"

    text = _VERBATIM.sub(protect, text.replace("\x00", " "))
    text = LINK.sub(protect, text)
    if footnotes:
        defined = set(_FOOTNOTE_DEFINITION.findall(text))
        text = FOOTNOTE.sub(lambda m: protect(m) if m[0].rstrip(":") in defined else "", text)
    text = _strip_page_dependent(DEFINITION.sub(_definition_separator, text))
    while "\x00" in text:
        text = _PLACEHOLDER.sub(lambda m: protected[int(m[1])], text)
    return text


def _strip_page_dependent(text: str) -> str:
    """Strip images, and markup that depends on the rest of the page."""
    for pattern in (CALLOUT, FOOTNOTE, ATTRIBUTES):
        text = pattern.sub("", text)
    for pattern in (IMAGE, REFERENCE, SHORTCUT):
        text = pattern.sub(r"\1", text)
    return text


def _definition_separator(match: re.Match[str]) -> str:
    return ": " if match[1] else ""


def preview(text: str, limit: int) -> str:
    """Return the beginning of a passage as plain text, truncated between words."""
    full = plain(_INLINE_MATH.sub(_readable_formula, _DISPLAY_MATH.sub(" … ", text)))
    if len(full) <= limit:
        return full
    words, _, partial_word = full[:limit].rpartition(" ")
    return f"{(words or partial_word)[: limit - 1].rstrip()}…"


def _readable_formula(formula: re.Match[str]) -> str:
    """Return a simple formula as text, and an ellipsis for others."""
    return "…" if "{" in formula[1] else formula[1].replace("\\", "").replace("^", "")


def plain(text: str) -> str:
    """Strip block and inline markup; return one line of text."""
    text = _HEADING.sub("", _FENCE.sub("", text))
    text = ADMONITION.sub(lambda m: m[2] or m[3] or "", text)
    text = _MKDOCS_ADMONITION.sub(lambda m: m[1] or "", text)
    text = TABLE_RULE.sub("", text)
    text = _QUOTE_PREFIX.sub("", text)
    text = _BULLET.sub("", text)
    text = _LINK_DEFINITION.sub("", DEFINITION.sub(_definition_separator, text))
    text = _MATH.sub(" ", text)
    text = re.sub(r"(?<!\\)\|", " ", text)
    return strip_inline_markup(text)
