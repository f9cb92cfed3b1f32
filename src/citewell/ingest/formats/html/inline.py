"""The words of a paragraph of HTML as one piece of Markdown."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from urllib.parse import urljoin

from lxml import etree

from citewell.ingest.formats.html.tree import (
    Element,
    class_attribute,
    epub_type,
    fold,
    tag_name,
    visible,
)
from citewell.ingest.formats.markdown_writer import escape_block, escape_words
from citewell.text.sanitize import is_harmful

_SPACE = re.compile(r"[ \t\r\n\f\u00a0]+")
# Never past the next opening, so that openings without an end are given up at once.
_TEX = re.compile(r"\\\(((?:(?!\\\().)+?)\\\)|\\\[((?:(?!\\\[).)+?)\\\]")
_SUPER = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_BREAK = "\x0b"
# Marks are set at the end, when it is known what stands beside them.
_STRONG, _EM = ("\x01", "\x02"), ("\x03", "\x04")
_PAIRS = (
    (re.compile("(?<!\\w)\x03(\\s*)([^\x03\x04]*?)(\\s*)\x04(?!\\w)"), "*"),
    (re.compile("\x01(\\s*)([^\x01\x02]*?)(\\s*)\x02"), "**"),
)
_NOTE = re.compile(r"\b(?:noteref|footnote-ref(?:erence)?|doc-noteref|fnref|footnote-link)\b")
_NOTE_LINK = re.compile(r"\[(?:\\\[)?([\w*†‡]{1,4})(?:\\\])?\]\(\S*#\S*\)")
_BACKLINK = re.compile(r"^[\s↩↑^⏎\ufe0e\ufe0f]*$")
_PERMALINK = re.compile(r"^[\s¶#§🔗]*$")


class Inline:
    """Writes the words of elements, their links made absolute where the page's address is."""

    def __init__(self, base: str) -> None:
        self._base = base if base.startswith(("http://", "https://")) else ""
        code = ("code", "kbd", "samp", "tt")
        self._writers: dict[str, Callable[[Element], str]] = {
            **dict.fromkeys(code, self._code),
            **dict.fromkeys(("strong", "b"), lambda e: self._between(e, _STRONG)),
            **dict.fromkeys(("em", "i", "cite", "var", "dfn"), lambda e: self._between(e, _EM)),
            "a": self._link,
            "img": self._image,
            "br": lambda _: _BREAK,
            "sup": self._raised,
            "q": lambda e: f"“{self.inside(e)}”",
            "input": lambda e: "[x] " if e.get("checked") is not None else "[ ] ",
            MATH: lambda e: f"${e.text}$" if e.text else "",
        }

    def line(self, raw: str) -> str:
        """Finish what `element` and `inside` wrote: one paragraph, lines only where it had them."""
        raw = _SPACE.sub(" ", raw)
        for pattern, mark in _PAIRS:
            raw = pattern.sub(partial(_marked, mark), raw)
        raw = re.sub("[\x01-\x04]", "", raw)
        lines = (_SPACE.sub(" ", part).strip() for part in raw.split(_BREAK))
        return "\n".join(line for line in lines if line)

    def paragraph(self, raw: str) -> str:
        """Finish a paragraph of its own, that no later reader may take for a list or a heading."""
        return escape_block(self.line(raw))

    def inside(self, element: Element) -> str:
        """Write everything in an element."""
        parts = [self.text(element.text)]
        for child in element:
            parts += (self.element(child), self.text(child.tail))
        return "".join(parts)

    def element(self, element: Element) -> str:
        """Write one element."""
        tag = tag_name(element)
        if not tag:
            return ""
        writer = self._writers.get(tag)
        return writer(element) if writer else self.inside(element)

    def text(self, text: str | None) -> str:
        """Write words so that they stay words when they are read as Markdown."""
        if not text:
            return ""
        text = re.sub("[\x00-\x08\x0b\x0c]", "", visible(text))
        pieces: list[str] = []
        end = 0
        for found in _TEX.finditer(text):
            pieces += (
                escape_words(text[end : found.start()]),
                f"${(found[1] or found[2]).strip()}$",
            )
            end = found.end()
        return "".join((*pieces, escape_words(text[end:])))

    def address(self, href: str) -> str:
        """Return a link's target, absolute where that can be known."""
        try:
            whole = urljoin(self._base, href.strip()) if self._base else href.strip()
        except ValueError:
            return ""
        if is_harmful(whole):
            return ""
        for char, code in ((" ", "%20"), ("(", "%28"), (")", "%29"), ("<", "%3C"), ("\n", "")):
            whole = whole.replace(char, code)
        return re.sub(r"[\s\x00-\x1f]", "", whole)

    def _between(self, element: Element, marks: tuple[str, str]) -> str:
        inner = self.inside(element)
        if not inner.strip() or marks[0] in inner:
            return inner
        return f"{marks[0]}{inner}{marks[1]}"

    def _code(self, element: Element) -> str:
        words = _SPACE.sub(" ", visible("".join(element.itertext()))).strip()
        words = re.sub("[\x00-\x08\x0b\x0c]", "", words)
        if not words:
            return ""
        longest = max((len(run) for run in re.findall("`+", words)), default=0)
        fence = "`" * (longest + 1)
        return f"{fence} {words} {fence}" if longest else f"`{words}`"

    def _link(self, element: Element) -> str:
        inner, href = self.inside(element), element.get("href") or ""
        shown = self.line(inner)
        said = f"{class_attribute(element)} {element.get('role') or ''} {epub_type(element)}"
        if "doc-backlink" in said or (shown and _BACKLINK.match(shown)):
            return ""
        if href.startswith("#") and _PERMALINK.match(shown):
            return ""
        if _NOTE.search(said) and shown:
            return f"[^{re.sub(r'[^0-9A-Za-z*†‡-]', '', shown) or '*'}]"
        target = self.address(href) if href else ""
        if not shown or not target or "](" in shown:
            return inner
        lead = inner[: len(inner) - len(inner.lstrip())]
        label = re.sub(r"(?<!\\)([\[\]])", r"\\\1", shown.replace("\n", " "))
        return f"{lead}[{label}]({target}){inner[len(inner.rstrip()) :]}"

    def _raised(self, element: Element) -> str:
        inner = self.line(self.inside(element))
        if link := _NOTE_LINK.fullmatch(inner):
            return f"[^{link[1]}]"
        return inner.translate(_SUPER) if re.fullmatch(r"[-+−]?\d{1,4}", inner) else inner

    def _image(self, element: Element) -> str:
        words = self.line(self.text(element.get("alt") or "")).replace("\n", " ")
        label = re.sub(r"(?<!\\)([\[\]])", r"\\\1", words)
        return f"![{label}]({self.address(element.get('src') or '')})" if label else ""


def _marked(mark: str, found: re.Match[str]) -> str:
    return f"{found[1]}{mark}{found[2]}{mark}{found[3]}" if found[2] else found[1] + found[3]


MATH = "citewell-math"
"""Every way to write a formula becomes an element of this name with the TeX as its text."""


def replace_math(tree: Element) -> None:
    """Replace every formula by one element that holds its TeX."""
    for element in list(tree.iter()):
        found = _formula(element) if isinstance(element.tag, str) else None
        above = element.getparent()
        if not found or above is None:
            continue
        tex, display = found
        made = etree.Element(MATH)
        made.text = fold(tex) if not display else tex.strip()
        if display:
            made.set("display", "block")
        made.tail = element.tail
        above.replace(element, made)


def _formula(element: Element) -> tuple[str, bool] | None:
    tag, name = tag_name(element), class_attribute(element)
    if tag == "script":
        kind = element.get("type") or ""
        return (element.text or "", "display" in kind) if kind.startswith("math/tex") else None
    if tag == "math" or "katex" in name.split() or "katex-display" in name.split():
        tex = _annotation(element.iter("annotation"))
        alternative = element.get("alttext") if tag == "math" else None
        display = element.get("display") == "block" or "katex-display" in name
        return (tex or alternative or "", display) if tex or alternative else None
    if re.search(r"(?:^|\s)(?:math|arithmatex)(?=\s|$)", name):
        found = re.fullmatch(r"\s*\\([(\[])(.*)\\[)\]]\s*", "".join(element.itertext()), re.S)
        return (found[2], found[1] == "[") if found else None
    return None


def _annotation(found: Iterable[Element]) -> str:
    return next((e.text or "" for e in found if "tex" in (e.get("encoding") or "")), "")
