"""Remove active content from Markdown, and detect hidden elements."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from html import unescape

from citewell.text.memo import memoize_text

BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
# Possessive, so that an unclosed tag does not take quadratic time.
TAG = rf"</?[A-Za-z][\w.:-]*+(?:\s(?:[^<>\"'{{}}]|\"[^\"]*+\"|'[^']*+'|{BRACES})*+)?/?>|</?>"
_HIDDEN_TAGS = frozenset(
    re.findall(
        r"\S+",
        "script style template noscript noembed noframes del s strike title datalist"
        # Fallback content, and parts of pictures that are not drawn.
        " audio canvas iframe object video rp defs symbol metadata",
    )
)
"""Elements whose content is hidden or struck out."""
RAW_TEXT_TAGS = ("script", "style", "template", "noscript")
"""Elements whose content is not parsed as markup."""
_VOID_TAGS = frozenset(
    re.findall(r"\S+", "area base br col embed hr img input link meta param source track wbr")
)
"""Elements without content."""
_BLANK_LINE = re.compile(r"\n[ \t]*\n|\Z")
_HIDDEN_CLASSES = frozenset(
    re.findall(
        r"\S+",
        "sr-only visually-hidden visuallyhidden screen-reader-text screenreader-only hidden d-none"
        " invisible is-hidden is-invisible line-through",
    )
)
_SHOWN_WHEN_WIDE = re.compile(r"(?:^|\s)(?:\w+:|d-\w\w+-)(?!hidden|none|invisible)\w")
"""Classes that show an element on wide screens only."""
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)
_CSS_AT_RULE = re.compile(r"@[^{};]*+(?:;|\{(?:[^{}]*+\{[^{}]*+\})*+[^{}]*+\})")
_CSS_RULE = re.compile(r"([^{};]++)\{([^{}]*+)\}")
_ATTRIBUTE = re.compile(
    r"([\w:@.-]+)(?:\s*=\s*(?:\"([^\"]*+)\"|'([^']*+)'|\{((?:[^{}]|\{[^{}]*+\})*+)\}|([^\s\"'=<>`]+)))?"
)
_TAG_NAME = re.compile(r"</?([A-Za-z][\w.:-]*)")
_DECLARATION = re.compile(
    r"([a-zA-Z-]+)\s*:\s*(?:\"([^\"]*)\"|'([^']*)'|([^;,\"'(){}]*(?:\([^()]*\)[^;,\"'(){}]*)*))"
)
_NUMBER = re.compile(r"(-?\d*\.?\d+)([a-z%]*)")
_NEAR_255 = r"2(?:4\d|5[0-5])"
_WHITE = re.compile(
    r"white|snow|whitesmoke|ghostwhite|(?:floral|antique)white|ivory|transparent"
    r"|#f{3,4}|#(?:f[\da-f]){3}(?:[\da-f]{2})?|#(?:...0|......00)"
    rf"|rgba?\(\s*{_NEAR_255}[\s,]+{_NEAR_255}[\s,]+{_NEAR_255}(?:[\s,/]+[\d.]+%?)?\s*\)"
    r"|(?:rgb|hsl)a?\([^()]*[,/]\s*0?\.?0+%?\s*\)"
)
_OFFSCREEN_TRANSLATE = re.compile(r"translate\w*\([^()]*-\d{4}")
_OFFSCREEN_PX = 900
"""An element moved this many pixels to the left or up is hidden."""
_MAX_HIDDEN_OPACITY = 0.05


def hidden_element_ends(
    text: str, tags: Sequence[re.Match[str]], *, jsx: bool = False
) -> dict[int, int]:
    """Return the start and end offset of each hidden element.

    `tags` are all tags of the text, in order. An unclosed element ends with its paragraph. Tag
    names are case-sensitive in JSX.
    """
    rules = hidden_selectors("".join(re.findall(r"<style[^>]*+>([^<]*+)", text, re.I)))
    ends: dict[int, int] = {}
    open_tags: dict[str, list[int | None]] = {}
    for tag in tags:
        name_match = _TAG_NAME.match(tag[0])
        name = (name_match[1] if jsx else name_match[1].lower()) if name_match else ""
        if tag[0].startswith("</"):
            opening = open_tags[name].pop() if open_tags.get(name) else None
            if opening is not None:
                ends[opening] = tag.end()
        elif name and name not in _VOID_TAGS and not tag[0].endswith("/>"):
            hidden = is_hidden_element(name, _attributes(tag[0]), rules=rules)
            open_tags.setdefault(name, []).append(tag.start() if hidden else None)
    end = 0
    for opening in sorted(n for starts in open_tags.values() for n in starts if n is not None):
        if opening >= end:
            blank = _BLANK_LINE.search(text, opening)
            end = blank.start() if blank else len(text)
        ends[opening] = end
    return ends


def _attributes(tag: str) -> dict[str, str]:
    """Return the attributes of a tag with lower-case names; values may be empty."""
    name_match = _TAG_NAME.match(tag)
    inner = tag[name_match.end() : -1] if name_match else ""
    return {
        name.lower(): double or single or braced or unquoted
        for name, double, single, braced, unquoted in _ATTRIBUTE.findall(inner)
    }


def hidden_selectors(css: str) -> frozenset[str]:
    """Return the simple selectors that a style sheet hides, and never shows again."""
    rules = _CSS_RULE.findall(_CSS_AT_RULE.sub("", _CSS_COMMENT.sub(" ", css)))
    hidden = {
        selector.strip()
        for selectors, style in rules
        if _is_hiding(style, on_colour=False)
        for selector in selectors.split(",")
    }
    visible_selectors = " ".join(
        selectors for selectors, style in rules if not _is_hiding(style, on_colour=False)
    )
    return frozenset(s for s in hidden if s[:1] not in ".#" or f"{s}." not in visible_selectors)


def is_hidden_element(
    name: str,
    attributes: Mapping[str, str],
    *,
    on_colour: bool = False,
    rules: frozenset[str] = frozenset(),
) -> bool:
    """Return whether the text of an element is struck out or visually hidden.

    White text is visible `on_colour`. `rules` are the selectors that the page's own style sheet
    hides. `aria-hidden` does not count: it hides only from screen readers.
    """
    if attributes.get("role") == "tabpanel":
        return False  # visible when the tab is selected
    hidden_attribute = attributes.get("hidden", "false").strip().lower()
    classes = attributes.get("class") or attributes.get("classname") or ""
    class_names = set(re.split(r"[\s\"'`]+", classes))
    selectors = {name, f"#{attributes.get('id')}", *map(".{}".format, class_names)}
    colour = attributes.get("color", "").strip().lower() if name == "font" else ""
    return (
        name in _HIDDEN_TAGS
        or (name == "dialog" and "open" not in attributes)
        or hidden_attribute not in ("until-found", "false")
        or (bool(_HIDDEN_CLASSES & class_names) and not _SHOWN_WHEN_WIDE.search(classes))
        or not rules.isdisjoint(selectors)
        or (bool(_WHITE.fullmatch(colour)) and not on_colour)
        or _is_hiding(attributes.get("style", ""), on_colour=on_colour)
    )


def _is_hiding(style: str, *, on_colour: bool) -> bool:
    style = _CSS_COMMENT.sub("", unescape(style))
    if ":" not in style:
        return False
    style_values = {
        re.sub(r"(?<=[a-z])([A-Z])", r"-\1", name).lower(): (double or single or unquoted)
        .strip()
        .lower()
        .removesuffix("!important")
        .strip()
        for name, double, single, unquoted in _DECLARATION.findall(style)
    }
    return (
        style_values.get("display") == "none"
        or "line-through" in style_values.get("text-decoration", "")
        or style_values.get("text-decoration-line") == "line-through"
        or style_values.get("visibility") in ("hidden", "collapse")
        or style_values.get("content-visibility") == "hidden"
        or _is_at_most(style_values.get("font-size", ""), max_pixels=1)
        or _is_transparent(style_values.get("opacity", ""))
        or any(_is_at_most(style_values.get(name, "")) for name in ("height", "max-height"))
        or (style_values.get("overflow") in ("hidden", "clip") and _is_tiny_box(style_values))
        or _is_clipped(style_values)
        or _is_offscreen(style_values)
        or (not on_colour and _is_white_on_white(style_values))
    )


def _number(value: str) -> tuple[float, str] | None:
    match = _NUMBER.match(value)
    return (float(match[1]), match[2]) if match else None


def _is_at_most(value: str, max_pixels: float = 0) -> bool:
    """Return whether a size is zero, or at most `max_pixels`."""
    number = _number(value)
    return number is not None and (
        number[0] == 0 or (number[0] <= max_pixels and number[1] in ("px", "pt"))
    )


def _is_tiny_box(style_values: Mapping[str, str]) -> bool:
    names = ("width", "max-width", "height", "max-height")
    return any(_is_at_most(style_values.get(name, ""), max_pixels=1) for name in names)


def _is_transparent(value: str) -> bool:
    number = _number(value)
    return (
        number is not None and number[0] / (100 if number[1] == "%" else 1) <= _MAX_HIDDEN_OPACITY
    )


def _is_clipped(style_values: Mapping[str, str]) -> bool:
    clip, path = style_values.get("clip", ""), style_values.get("clip-path", "")
    rect = re.match(r"rect\(\s*([\d.]+)", clip)
    inset = re.match(r"inset\(\s*(?:100|[5-9]\d)%", path)
    return bool(rect and float(rect[1]) <= 1) or bool(inset) or path.startswith("circle(0")


def _is_offscreen(style_values: Mapping[str, str]) -> bool:
    names = ("left", "right", "top", "bottom", "text-indent", "margin-left", "margin-top", "margin")
    sizes = [_number(style_values.get(name, "")) for name in names]
    transform = style_values.get("transform", "")
    if re.search(r"scale[xy]?\(\s*0(?:\.0+)?\s*[,)]", transform):
        return True
    units = {"px": 1, "": 1, "em": 16, "rem": 16, "ch": 8, "vw": 10, "vh": 10, "%": 10, "pt": 1}
    pixels = [n * units.get(unit, 1) for n, unit in filter(None, sizes)]
    return any(n <= -_OFFSCREEN_PX for n in pixels) or bool(_OFFSCREEN_TRANSLATE.search(transform))


def _is_white_on_white(style_values: Mapping[str, str]) -> bool:
    """Return whether the text is white or transparent, without a background."""
    colour = style_values.get("color", "") or style_values.get("-webkit-text-fill-color", "")
    has_background = any(name.startswith("background") for name in style_values)
    return bool(_WHITE.fullmatch(colour)) and not has_background


_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_RAW_ELEMENT = re.compile(
    r"<(script|style|template|noscript)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.S | re.I
)
_RESOURCE_TAG = re.compile(
    r"</?(?:a|area|audio|base|button|embed|form|frame|iframe|image|img|input|link|meta|object"
    r"|picture|source|svg|track|use|video)\b[^>]*>?",
    re.I,
)
# All possessive or bounded, so that unclosed markup does not take quadratic time.
_OPENING_TAG = re.compile(r"<\w+\s[^>]*+>?")
_ACTIVE_ATTRIBUTE = re.compile(r"\b(?:style|on\w+|src|href|background)\s*=", re.I)
_LABEL = r"((?:[^\[\]\\]++|\\.|\[[^\[\]]*+\]){0,500}+)"
_TARGET = r"(?:<[^<>\n]*+>|[^\s()<>]*+(?:\([^()\s]*+\)[^\s()<>]*+)*+)"
_TITLE = r"(?:\s++(?:\"[^\"]*+\"|'[^']*+'|\([^()]*+\)))?"
_LINK = re.compile(rf"!?\[{_LABEL}\]\(\s*+{_TARGET}{_TITLE}\s*+\)")
_IMAGE = re.compile(rf"!\[{_LABEL}\](?:\[[^\[\]\n]*\])?")
"""An image whose URL is defined elsewhere."""
_DEFINITION = re.compile(r"^[ \t>]*\[[^\]\n]+\]:[ \t]*\S.*$", re.M)
_AUTOLINK = re.compile(r"<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>", re.I)
_BARE_URL = re.compile(
    r"\b(?:[a-z][a-z0-9+.-]{1,31}://|www\.)[^\s<>\"”“`|]*[^\s<>\"”“`|.,;:!?)\]]", re.I
)
_CODE_SPAN_OR_BLOCK = re.compile(
    r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)",
    re.S | re.M,
)
_INVISIBLE_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|(?<!\\)~~(?!~)[^~]++~~"
    # GitHub and Docusaurus strike out what is between single tildes; others make it an index.
    r"|(?<![\\~\w])~(?=[^\s~])[^~\n]*+(?<=[^\s~])~(?![~\w])|^[ \t>]*+\[[^\]\n]*+\]:[ \t]*\S[^\n]*$",
    re.S | re.M,
)
_TAG = re.compile(TAG)
_LINK_TARGET = re.compile(r"(?<=\]\()[^()\n]*(?:\([^()\n]*\)[^()\n]*)*(?=\))")
_MAX_NESTED_LINKS = 3
"""Limit on links nested in link labels."""


def sanitize_markdown(text: str) -> str:
    """Remove links, images and active HTML from Markdown; URLs become code.

    Code is not changed.
    """
    protected: list[str] = []

    def protect(text: str) -> str:
        protected.append(text)
        return f"\x00{len(protected) - 1}\x00"

    text = _CODE.sub(lambda match: protect(match[0]), text.replace("\x00", " "))
    for pattern in (_COMMENT, _RAW_ELEMENT, _DEFINITION):
        text = pattern.sub("", text)
    for _ in range(_MAX_NESTED_LINKS):
        text = _LINK.sub(r"\1", text)
    text = _IMAGE.sub(r"\1", text)
    text = _AUTOLINK.sub(lambda match: protect(f"`{match[1]}`"), text)
    text = _OPENING_TAG.sub(_deactivate_tag, _RESOURCE_TAG.sub("", text))
    # Malformed links must not be links for other parsers.
    text = text.replace("](", "] (")
    text = _BARE_URL.sub(lambda match: protect(f"`{match[0]}`"), text)
    while "\x00" in text:
        text = re.sub(r"\x00(\d+)\x00", lambda match: protected[int(match[1])], text)
    return text


@memoize_text(1024)
def mask_hidden_text(text: str) -> str:
    """Blank out text that readers do not see, so that it cannot serve as evidence.

    That includes comments, hidden elements, struck-out text and link targets. Offsets do not
    change.
    """
    if not any(sign in text for sign in ("](", "<", "]:", "~")):
        return text
    code = [match.span() for match in _CODE_SPAN_OR_BLOCK.finditer(text)]

    def is_code(match: re.Match[str]) -> bool:
        index = bisect_right(code, (match.start(), len(text)))
        return bool(index) and match.start() < code[index - 1][1]

    def mask(match: re.Match[str], fill: str) -> str:
        return match[0] if is_code(match) else re.sub(r"[^\n]", fill, match[0])

    text = _INVISIBLE_MARKUP.sub(lambda match: mask(match, " "), text)
    tags = [tag for tag in _TAG.finditer(text) if not is_code(tag)]
    parts, end_of_last = list[str](), 0
    for start, end in sorted(hidden_element_ends(text, tags).items()):
        if start >= end_of_last:
            parts += (text[end_of_last:start], re.sub(r"[^\n]", " ", text[start:end]))
            end_of_last = end
    text = "".join((*parts, text[end_of_last:]))
    return _LINK_TARGET.sub(lambda match: mask(match, "-"), text)


def _deactivate_tag(tag: re.Match[str]) -> str:
    is_complete = tag[0].endswith(">")
    return "" if is_complete and _ACTIVE_ATTRIBUTE.search(tag[0]) else tag[0]


_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.I)
# Browsers remove these from URLs.
_IGNORED_URL_CHARS = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028\u2029\u2060\ufeff]")
_UNSAFE_SCHEMES = frozenset(("javascript", "vbscript", "data", "file", "blob"))


def url_scheme(url: str) -> str:
    """Return the scheme of a URL as browsers parse it; empty for a path."""
    match = _SCHEME.match(_IGNORED_URL_CHARS.sub("", url[:4000]))
    return match[1].lower() if match else ""


def is_web_address(url: str) -> bool:
    """Return whether a URL is http, https or a path."""
    return url_scheme(url) in ("", "http", "https")


def is_unsafe(url: str) -> bool:
    """Return whether a URL would run a script, or open inline content or a local file."""
    return url_scheme(url) in _UNSAFE_SCHEMES
