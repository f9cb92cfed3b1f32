"""Formulas in HTML, however they were drawn, as the TeX they were written in."""

import re
from collections.abc import Iterable

from lxml import etree

from quire.ingest.readers.htmltree import Element, class_of, fold, name_of

MATH = "quire-math"
"""Every way to write a formula becomes an element of this name with the TeX as its text."""


def settle_math(tree: Element) -> None:
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
    tag, name = name_of(element), class_of(element)
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
