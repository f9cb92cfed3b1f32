"""Render the inline content of HTML as Markdown."""

import re
from collections.abc import Callable
from functools import partial
from urllib.parse import urljoin

from lxml import etree

from citewell.ingest.formats.html.tree import (
    Element,
    class_attribute,
    collapse_space,
    epub_type,
    strip_invisible,
    tag_name,
)
from citewell.ingest.formats.markdown_writer import escape_block, escape_inline
from citewell.text.sanitize import is_unsafe

_SPACE = re.compile(r"[ \t\r\n\f\u00a0]+")
# Stops at the next opening, so that unclosed ones do not take quadratic time.
_TEX = re.compile(r"\\\(((?:(?!\\\().)+?)\\\)|\\\[((?:(?!\\\[).)+?)\\\]")
_SUPERSCRIPTS = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_BREAK = "\x0b"
# Placeholders; `line` replaces them by Markdown, which depends on the adjacent characters.
_STRONG, _EM = ("\x01", "\x02"), ("\x03", "\x04")
_EMPHASIS_PATTERNS = (
    (re.compile("(?<!\\w)\x03(\\s*)([^\x03\x04]*?)(\\s*)\x04(?!\\w)"), "*"),
    (re.compile("\x01(\\s*)([^\x01\x02]*?)(\\s*)\x02"), "**"),
)
_FOOTNOTE_REFERENCE = re.compile(
    r"\b(?:noteref|footnote-ref(?:erence)?|doc-noteref|fnref|footnote-link)\b"
)
_FOOTNOTE_LINK = re.compile(r"\[(?:\\\[)?([\w*†‡]{1,4})(?:\\\])?\]\(\S*#\S*\)")
_BACKLINK_SIGN = re.compile(r"^[\s↩↑^⏎\ufe0e\ufe0f]*$")
_PERMALINK_SIGN = re.compile(r"^[\s¶#§🔗]*$")


class InlineRenderer:
    """Renders inline elements; links are made absolute if the page's URL is."""

    def __init__(self, base: str) -> None:
        self._base = base if base.startswith(("http://", "https://")) else ""
        code = ("code", "kbd", "samp", "tt")
        self._writers: dict[str, Callable[[Element], str]] = {
            **dict.fromkeys(code, self._code),
            **dict.fromkeys(("strong", "b"), lambda e: self._emphasized(e, _STRONG)),
            **dict.fromkeys(("em", "i", "cite", "var", "dfn"), lambda e: self._emphasized(e, _EM)),
            "a": self._link,
            "img": self._image,
            "br": lambda _: _BREAK,
            "sup": self._superscript,
            "q": lambda e: f"“{self.inside(e)}”",
            "input": lambda e: "[x] " if e.get("checked") is not None else "[ ] ",
            MATH: lambda e: f"${e.text}$" if e.text else "",
        }

    def line(self, raw: str) -> str:
        """Finish the output of `element` and `inside`; only `<br>` gives line breaks."""
        raw = _SPACE.sub(" ", raw)
        for pattern, mark in _EMPHASIS_PATTERNS:
            raw = pattern.sub(partial(_place_marker, mark), raw)
        raw = re.sub("[\x01-\x04]", "", raw)
        lines = (_SPACE.sub(" ", part).strip() for part in raw.split(_BREAK))
        return "\n".join(line for line in lines if line)

    def paragraph(self, raw: str) -> str:
        """Finish a paragraph; escape what looks like a list, heading, quote or table."""
        return escape_block(self.line(raw))

    def inside(self, element: Element) -> str:
        """Render the content of an element."""
        parts = [self.text(element.text)]
        for child in element:
            parts += (self.element(child), self.text(child.tail))
        return "".join(parts)

    def element(self, element: Element) -> str:
        """Render an element."""
        tag = tag_name(element)
        if not tag:
            return ""
        writer = self._writers.get(tag)
        return writer(element) if writer else self.inside(element)

    def text(self, text: str | None) -> str:
        """Render text: escape markup, and convert TeX delimiters."""
        if not text:
            return ""
        text = re.sub("[\x00-\x08\x0b\x0c]", "", strip_invisible(text))
        parts: list[str] = []
        end = 0
        for math in _TEX.finditer(text):
            parts += (escape_inline(text[end : math.start()]), f"${(math[1] or math[2]).strip()}$")
            end = math.end()
        return "".join((*parts, escape_inline(text[end:])))

    def resolve_url(self, href: str) -> str:
        """Return the URL of a link, absolute if the base is known; empty if it is unsafe."""
        try:
            url = urljoin(self._base, href.strip()) if self._base else href.strip()
        except ValueError:
            return ""
        if is_unsafe(url):
            return ""
        for char, code in ((" ", "%20"), ("(", "%28"), (")", "%29"), ("<", "%3C"), ("\n", "")):
            url = url.replace(char, code)
        return re.sub(r"[\s\x00-\x1f]", "", url)

    def _emphasized(self, element: Element, marks: tuple[str, str]) -> str:
        inner = self.inside(element)
        if not inner.strip() or marks[0] in inner:
            return inner
        return f"{marks[0]}{inner}{marks[1]}"

    def _code(self, element: Element) -> str:
        code = _SPACE.sub(" ", strip_invisible("".join(element.itertext()))).strip()
        code = re.sub("[\x00-\x08\x0b\x0c]", "", code)
        if not code:
            return ""
        longest = max((len(run) for run in re.findall("`+", code)), default=0)
        fence = "`" * (longest + 1)
        return f"{fence} {code} {fence}" if longest else f"`{code}`"

    def _link(self, element: Element) -> str:
        content, href = self.inside(element), element.get("href") or ""
        text = self.line(content)
        roles = f"{class_attribute(element)} {element.get('role') or ''} {epub_type(element)}"
        if "doc-backlink" in roles or (text and _BACKLINK_SIGN.match(text)):
            return ""
        if href.startswith("#") and _PERMALINK_SIGN.match(text):
            return ""
        if _FOOTNOTE_REFERENCE.search(roles) and text:
            return f"[^{re.sub(r'[^0-9A-Za-z*†‡-]', '', text) or '*'}]"
        target = self.resolve_url(href) if href else ""
        if not text or not target or "](" in text:
            return content
        leading_space = content[: len(content) - len(content.lstrip())]
        label = re.sub(r"(?<!\\)([\[\]])", r"\\\1", text.replace("\n", " "))
        return f"{leading_space}[{label}]({target}){content[len(content.rstrip()) :]}"

    def _superscript(self, element: Element) -> str:
        inner = self.line(self.inside(element))
        if link := _FOOTNOTE_LINK.fullmatch(inner):
            return f"[^{link[1]}]"
        return inner.translate(_SUPERSCRIPTS) if re.fullmatch(r"[-+−]?\d{1,4}", inner) else inner

    def _image(self, element: Element) -> str:
        words = self.line(self.text(element.get("alt") or "")).replace("\n", " ")
        label = re.sub(r"(?<!\\)([\[\]])", r"\\\1", words)
        return f"![{label}]({self.resolve_url(element.get('src') or '')})" if label else ""


def _place_marker(mark: str, match: re.Match[str]) -> str:
    return f"{match[1]}{mark}{match[2]}{mark}{match[3]}" if match[2] else match[1] + match[3]


MATH = "citewell-math"
"""The tag of the elements that replace all formulas; their text is TeX."""


def replace_math(tree: Element) -> None:
    """Replace every formula by a `MATH` element."""
    for element in list(tree.iter()):
        formula = _formula(element) if isinstance(element.tag, str) else None
        parent = element.getparent()
        if not formula or parent is None:
            continue
        tex, display = formula
        math = etree.Element(MATH)
        math.text = collapse_space(tex) if not display else tex.strip()
        if display:
            math.set("display", "block")
        math.tail = element.tail
        parent.replace(element, math)


def _formula(element: Element) -> tuple[str, bool] | None:
    tag, classes = tag_name(element), class_attribute(element)
    if tag == "script":
        script_type = element.get("type") or ""
        return (
            (element.text or "", "display" in script_type)
            if script_type.startswith("math/tex")
            else None
        )
    if tag == "math" or "katex" in classes.split() or "katex-display" in classes.split():
        annotations = (
            e.text for e in element.iter("annotation") if "tex" in (e.get("encoding") or "")
        )
        source = next(annotations, "") or (element.get("alttext") if tag == "math" else None)
        display = element.get("display") == "block" or "katex-display" in classes
        return (source, display) if source else None
    if re.search(r"(?:^|\s)(?:math|arithmatex)(?=\s|$)", classes):
        tex = re.fullmatch(r"\s*\\([(\[])(.*)\\[)\]]\s*", "".join(element.itertext()), re.S)
        return (tex[2], tex[1] == "[") if tex else None
    return None
