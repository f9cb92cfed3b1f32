"""Markdown in which nothing leads anywhere and nothing is fetched: its words stay as they are."""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

from citewell.text.memo import memoize_text

BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
# Possessive, so that a tag that never ends is given up at once.
TAG = rf"</?[A-Za-z][\w.:-]*+(?:\s(?:[^<>\"'{{}}]|\"[^\"]*+\"|'[^']*+'|{BRACES})*+)?/?>|</?>"
_UNSEEN_NAMES = frozenset(
    re.findall(
        r"\S+",
        "script style template noscript noembed noframes del s strike"
        # Shown only by browsers that cannot show the thing itself.
        " audio canvas iframe object video",
    )
)
"""Elements that are unseen whatever they say of themselves."""
RAW = ("script", "style", "template", "noscript")
"""Elements whose inside is no text at all, so that nothing in it is a tag or a comment."""
_VOID = frozenset(
    re.findall(r"\S+", "area base br col embed hr img input link meta param source track wbr")
)
"""Elements that have no inside."""
_BLANK = re.compile(r"\n[ \t]*\n|\Z")
_CLASSES = frozenset(
    ("sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "screenreader-only")
)
_ATTRIBUTE = re.compile(
    r"([\w:@.-]+)(?:\s*=\s*(?:\"([^\"]*+)\"|'([^']*+)'|\{((?:[^{}]|\{[^{}]*+\})*+)\}|([^\s\"'=<>`]+)))?"
)
_NAME = re.compile(r"</?([A-Za-z][\w.:-]*)")
_DECLARATION = re.compile(
    r"([a-zA-Z-]+)\s*:\s*(?:\"([^\"]*)\"|'([^']*)'|([^;,\"'(){}]*(?:\([^()]*\)[^;,\"'(){}]*)*))"
)
_NUMBER = re.compile(r"(-?\d*\.?\d+)([a-z%]*)")
_WHITE = re.compile(
    r"white|snow|#fff(?:f|fff|fffff)?|transparent|#(?:...0|......00)"
    r"|rgba?\(\s*255[\s,]+255[\s,]+255(?:[\s,/]+[\d.]+%?)?\s*\)"
    r"|(?:rgb|hsl)a?\([^()]*[,/]\s*0?\.?0+%?\s*\)"
)
_FAR_MOVE = re.compile(r"translate\w*\([^()]*-\d{4}")
_FAR = 900
"""Pixels beyond which nothing is seen; smaller shifts are design."""
_FAINT = 0.05


def unseen_ends(text: str, tags: Sequence[re.Match[str]], *, jsx: bool = False) -> dict[int, int]:
    """Return where each element ends that readers do not see, by where it begins.

    `tags` are all of the text, in order. An element that is never closed ends with its paragraph.
    In JSX, names in capitals are other names.
    """
    ends: dict[int, int] = {}
    opened: dict[str, list[int | None]] = {}
    for tag in tags:
        start = _NAME.match(tag[0])
        name = (start[1] if jsx else start[1].lower()) if start else ""
        if tag[0].startswith("</"):
            begun = opened[name].pop() if opened.get(name) else None
            if begun is not None:
                ends[begun] = tag.end()
        elif name and name not in _VOID and not tag[0].endswith("/>"):
            unseen = is_unseen(name, _attributes(tag[0]))
            opened.setdefault(name, []).append(tag.start() if unseen else None)
    end = 0
    for begun in sorted(n for starts in opened.values() for n in starts if n is not None):
        if begun >= end:
            blank = _BLANK.search(text, begun)
            end = blank.start() if blank else len(text)
        ends[begun] = end
    return ends


def _attributes(tag: str) -> dict[str, str]:
    """Return the attributes of a tag, their names in small letters; one without value is empty."""
    start = _NAME.match(tag)
    inner = tag[start.end() : -1] if start else ""
    return {
        name.lower(): double or single or braced or bare
        for name, double, single, braced, bare in _ATTRIBUTE.findall(inner)
    }


def is_unseen(name: str, attributes: Mapping[str, str], *, on_colour: bool = False) -> bool:
    """Whether the words in an element are struck out, or hidden from who looks at the page.

    White letters are seen `on_colour`. `aria-hidden` hides from screen readers alone, and does not
    count.
    """
    if attributes.get("role") == "tabpanel":
        return False  # shown as soon as the reader picks the tab
    hidden = attributes.get("hidden", "false").strip().lower()
    classes = attributes.get("class") or attributes.get("classname") or ""
    colour = attributes.get("color", "").strip().lower() if name == "font" else ""
    return (
        name in _UNSEEN_NAMES
        or (name == "dialog" and "open" not in attributes)
        or hidden not in ("until-found", "false")
        or bool(_CLASSES & set(re.split(r"[\s\"'`]+", classes)))
        or (bool(_WHITE.fullmatch(colour)) and not on_colour)
        or _is_hiding(attributes.get("style", ""), on_colour=on_colour)
    )


def _is_hiding(style: str, *, on_colour: bool) -> bool:
    """Whether a style, as CSS or as a JSX object, leaves nothing to be seen."""
    if ":" not in style:
        return False
    said = {
        re.sub(r"(?<=[a-z])([A-Z])", r"-\1", name).lower(): (double or single or bare)
        .strip()
        .lower()
        .removesuffix("!important")
        .strip()
        for name, double, single, bare in _DECLARATION.findall(style)
    }
    return (
        said.get("display") == "none"
        or said.get("visibility") in ("hidden", "collapse")
        or said.get("content-visibility") == "hidden"
        or _is_nothing(said.get("font-size", ""), least=1)
        or _is_faint(said.get("opacity", ""))
        or any(_is_nothing(said.get(name, "")) for name in ("height", "max-height"))
        or (said.get("overflow") in ("hidden", "clip") and _is_tiny(said))
        or _is_cut_off(said)
        or _is_far(said)
        or (not on_colour and _has_no_ink(said))
    )


def _number(value: str) -> tuple[float, str] | None:
    found = _NUMBER.match(value)
    return (float(found[1]), found[2]) if found else None


def _is_nothing(value: str, least: float = 0) -> bool:
    """Whether a size is none, or not more than so many pixels."""
    found = _number(value)
    return found is not None and (found[0] == 0 or (found[0] <= least and found[1] in ("px", "pt")))


def _is_tiny(said: Mapping[str, str]) -> bool:
    names = ("width", "max-width", "height", "max-height")
    return any(_is_nothing(said.get(name, ""), least=1) for name in names)


def _is_faint(value: str) -> bool:
    found = _number(value)
    return found is not None and found[0] / (100 if found[1] == "%" else 1) <= _FAINT


def _is_cut_off(said: Mapping[str, str]) -> bool:
    clip, path = said.get("clip", ""), said.get("clip-path", "")
    rect = re.match(r"rect\(\s*([\d.]+)", clip)
    inset = re.match(r"inset\(\s*(?:100|[5-9]\d)%", path)
    return bool(rect and float(rect[1]) <= 1) or bool(inset) or path.startswith("circle(0")


def _is_far(said: Mapping[str, str]) -> bool:
    """Whether an element is put where no screen reaches."""
    names = ("left", "right", "top", "bottom", "text-indent", "margin-left", "margin-top", "margin")
    places = [_number(said.get(name, "")) for name in names]
    moved = said.get("transform", "")
    if re.search(r"scale[xy]?\(\s*0(?:\.0+)?\s*[,)]", moved):
        return True
    units = {"px": 1, "": 1, "em": 16, "rem": 16, "ch": 8, "vw": 10, "vh": 10, "%": 10, "pt": 1}
    far = [n * units.get(unit, 1) for n, unit in filter(None, places)]
    return any(n <= -_FAR for n in far) or bool(_FAR_MOVE.search(moved))


def _has_no_ink(said: Mapping[str, str]) -> bool:
    """Whether the letters have the colour of paper, and no background of their own."""
    colour = said.get("color", "") or said.get("-webkit-text-fill-color", "")
    coloured = any(name.startswith("background") for name in said)
    return bool(_WHITE.fullmatch(colour)) and not coloured


_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_UNSEEN_ELEMENT = re.compile(
    r"<(script|style|template|noscript)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.S | re.I
)
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


def sanitize_markdown(text: str) -> str:
    """Return text without links, pictures and what else could call out; addresses become code.

    Code is left as it is: nothing in it is followed.
    """
    held: list[str] = []

    def hold(said: str) -> str:
        held.append(said)
        return f"\x00{len(held) - 1}\x00"

    text = _CODE.sub(lambda found: hold(found[0]), text.replace("\x00", " "))
    for pattern in (_COMMENT, _UNSEEN_ELEMENT, _DEFINITION):
        text = pattern.sub("", text)
    for _ in range(_NESTED):
        text = _LINK.sub(r"\1", text)
    text = _IMAGE.sub(r"\1", text)
    text = _AUTOLINK.sub(lambda found: hold(f"`{found[1]}`"), text)
    text = _OPENING.sub(_deactivate_tag, _FETCHING.sub("", text))
    # What is left of links too strange to be read must not be one for somebody else.
    text = text.replace("](", "] (")
    text = _ADDRESS.sub(lambda found: hold(f"`{found[0]}`"), text)
    return _put_back(text, held.__getitem__)


@memoize_text(1024)
def mask_hidden_text(text: str) -> str:
    """Return text of the same length without what its readers do not see: it can prove nothing.

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


def _deactivate_tag(tag: re.Match[str]) -> str:
    closed = tag[0].endswith(">")
    return "" if closed and _ACTING.search(tag[0]) else tag[0]


def _put_back(text: str, held: Callable[[int], str]) -> str:
    while "\x00" in text:
        text = re.sub(r"\x00(\d+)\x00", lambda found: held(int(found[1])), text)
    return text


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
