"""HTML as a tree of what the reader of the page came for: no navigation, no decoration."""

import codecs
import html.entities
import re

from lxml import etree

from citewell.errors import UnreadableFile
from citewell.text.sanitize import is_unseen

Element = etree._Element
_DEEPEST = 100
_SPACE = re.compile(r"\s+")
_INVISIBLE = re.compile("[\u200b\u2060\ufeff\u00ad\u200e\u200f]")
_CHARSET = re.compile(rb"<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]+)", re.I)
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
    "|&#(?:0*(?:[0-8]|1[124-9]|2[0-9]|3[01])|[xX]0*(?:1?[0-8bBcCeEfF]|1[9aAdD]));"
)
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]*);")
_XML_ENTITIES = frozenset(("amp", "lt", "gt", "quot", "apos"))
_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
_TYPE = "{http://www.idpf.org/2007/ops}type"

_MAIN = (
    "//main",
    "//*[@role='main']",
    "//article",
    "//*[@id='content' or @id='main-content' or @id='main']",
    "//*[contains(concat(' ', @class, ' '), ' markdown ')]",
    "//*[contains(concat(' ', @class, ' '), ' markdown-body ')]",
    "//*[contains(concat(' ', @class, ' '), ' document ')]",
    "//*[contains(concat(' ', @class, ' '), ' content ')]",
    "//body",
)
_INNER = (
    ".//*[contains(concat(' ', @class, ' '), ' markdown ')]",
    ".//*[@itemprop='articleBody']",
    ".//article",
)
_DROPPED = frozenset(
    re.findall(
        r"\S+",
        "script style template noscript nav footer form button select textarea iframe object embed"
        " canvas svg video audio dialog link meta rp rt map head title",
    )
)
_FURNITURE = re.compile(
    r"(?:^|\s)(?:[\w-]*breadcrumbs?(?:[-_][\w-]*)?|toc|table-of-contents|tocCollapsible\w*|[\w-]*-toc"
    r"|theme-doc-toc-\w+|tableOfContents\w*|toctree-wrapper|pagination(?:[-_][\w-]*)?|pager|prev-next"
    r"|prev-next-\w+|rst-footer-buttons|nav|nav-(?:chapters|wrapper)|navigation|navbar|related"
    r"|sphinxsidebar\w*|sidebar-\w+|menu-bar|[\w-]*edit-this-page|edit-page-link|edit-link"
    r"|md-content__button|theme-last-updated|last-updated|skip-?(?:link|to-content)\w*|sr-only"
    r"|visually-hidden|screen-reader-text|visuallyhidden|headerlink|hash-link|header-anchor"
    r"|anchorjs-link|copybtn|copy-button|buttonGroup\w*|linenos|linenodiv|lineno|line-numbers-rows"
    r"|MathJax(?:_Preview|_SVG|_Display)?|footnote-back\w*|fn-backref|theme-doc-version-\w+"
    r"|theme-doc-footer|boring)(?=\s|$)"
)
_KEPT_ASIDE = re.compile(r"\b(?:admonition|callout|alert|note|tip|warning|footnotes?|topic)\b")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))


def fold(text: str) -> str:
    """Return the text without invisible characters, on one line."""
    return _SPACE.sub(" ", _INVISIBLE.sub("", text)).strip()


def visible(text: str) -> str:
    """Return the text without the characters that take no room."""
    return _INVISIBLE.sub("", text)


def tag_name(element: Element) -> str:
    """Return the element's name; empty for comments and the like."""
    return element.tag if isinstance(element.tag, str) else ""


def text_of(element: Element) -> str:
    """Return every word below the element, on one line."""
    return fold("".join(element.itertext()))


def class_attribute(element: Element) -> str:
    """Return the element's classes as they are written."""
    return element.get("class") or ""


def ids_of(tree: Element) -> frozenset[str]:
    """Return every id in a page, on whatever element; a link may lead to any of them."""
    return frozenset(
        value for e in tree.iter() for n in ("id", "name", _XML_ID) if (value := e.get(n))
    )


def epub_type(element: Element) -> str:
    """Return what an EPUB says the element is, `noteref` say."""
    return element.get(_TYPE) or element.get("epub:type") or ""


def parse_html(data: bytes) -> Element:
    """Parse a page however badly it is written.

    Raises:
        UnreadableFile: it is no HTML, or nested beyond all measure.
    """
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_pis=True)
    try:
        tree = etree.fromstring(_decode(data).encode("utf-8", "replace"), parser)
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableFile("is not HTML") from error
    # Without any element the parser gives nothing, whatever its type says.
    if not isinstance(getattr(tree, "tag", None), str):
        raise UnreadableFile("is not HTML")
    if any("Excessive depth" in entry.message for entry in parser.error_log):
        raise UnreadableFile("has elements nested more than 2,000 deep")
    return _normal(tree)


def parse_xhtml(data: bytes) -> Element:
    """Parse a chapter as XML, where `<a id="x"/>` is empty, or as HTML if it is no XML.

    Raises:
        UnreadableFile: it is neither.
    """
    try:
        return parse_xml(data)
    except UnreadableFile:
        return parse_html(data)


def parse_xml(data: bytes) -> Element:
    """Parse XML without looking anything up outside of it; names lose their namespace.

    Raises:
        UnreadableFile: it is not well-formed.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_pis=True, encoding="utf-8"
    )
    text = re.sub(r"^\s*<\?xml.*?\?>", "", _decode(data), count=1, flags=re.S)
    try:
        tree = etree.fromstring(_ENTITY.sub(_character, text).encode("utf-8", "replace"), parser)
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableFile("is not well-formed XML") from error
    return _normal(tree)


def _character(entity: re.Match[str]) -> str:
    name = entity[1]
    return entity[0] if name in _XML_ENTITIES else html.entities.html5.get(f"{name};", entity[0])


def _decode(data: bytes) -> str:
    """Return the text without characters that no tree may hold, written out or as a number."""
    return _CONTROL.sub("", _text(data))


def _text(data: bytes) -> str:
    for mark, encoding in ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le")):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if data.startswith(codecs.BOM_UTF16_BE):
        return data[2:].decode("utf-16-be", "replace")
    if b"\0" in data:
        raise UnreadableFile("is a binary file, not text")
    declared = _CHARSET.search(data[:2048])
    for encoding in (declared[1].decode("ascii") if declared else "utf-8", "utf-8"):
        # Browsers read Latin-1 as its larger sibling.
        known = "cp1252" if re.fullmatch(r"(?i)(?:iso-8859-1|latin-?1)", encoding) else encoding
        try:
            return data.decode(known)
        except (LookupError, UnicodeError):
            continue
    return data.decode("cp1252", "replace")


def _normal(tree: Element) -> Element:
    """Drop namespaces, and the tags but not the words of what is nested absurdly deep."""
    depth = {tree: 0}
    for element in list(tree.iter()):
        above = element.getparent()
        depth[element] = depth.get(above, 0) + 1 if above is not None else 0
        if not isinstance(element.tag, str):
            continue
        _rename(element)
        if depth[element] == _DEEPEST:
            etree.strip_tags(element, "*")
            element.tag = "div"
    return tree


def _rename(element: Element) -> None:
    name = tag_name(element).rpartition("}")[2].lower()
    if name != element.tag:
        # The parser takes names that it would not let anybody give.
        element.tag = name if re.fullmatch(r"[a-z][\w.-]*", name) else "span"


def remove(element: Element) -> None:
    """Take an element out of the tree, but not the words that follow it."""
    above, tail = element.getparent(), element.tail
    if above is None:
        return
    if tail:
        before = element.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + tail
        else:
            above.text = (above.text or "") + tail
    above.remove(element)


def main_content(tree: Element) -> Element:
    """Choose the element that holds the page's own words, and clear it of everything else."""
    chosen = next(
        (found[0] for path in _MAIN if len(found := _found(tree, path)) == 1 and text_of(found[0])),
        tree,
    )
    _take_in_name(chosen)
    clear(chosen, site=True)
    _remove_banner(chosen)
    words = len(text_of(chosen))
    for path in _INNER:
        found = _found(chosen, path)
        # What lies outside the innermost column is a date, an author, a row of buttons.
        if len(found) == 1 and len(text_of(found[0])) > words // 2:
            return found[0]
    return chosen


def _take_in_name(chosen: Element) -> None:
    """Put what AsciiDoc's manual pages say in their header before the text: name and purpose."""
    header = chosen.getprevious()
    if header is None or header.get("id") != "header":
        return
    said = [e for e in header if tag_name(e) == "h2" or class_attribute(e) == "sectionbody"]
    for place, element in enumerate(said):
        if tag_name(element) == "h2" and not element.get("id"):
            element.set("id", "header")
        chosen.insert(place, element)


def _remove_banner(chosen: Element) -> None:
    """Take out headings before the page's own that only lead to the site's first page."""
    for heading in list(chosen.iter("h1"))[:-1]:
        link = next(heading.iter("a"), None)
        if link is None or (link.get("href") or "#").startswith("#"):
            return
        if text_of(link) == text_of(heading):
            remove(heading)


def _found(tree: Element, path: str) -> list[Element]:
    found = tree.xpath(path)
    return [e for e in found if isinstance(e, Element)] if isinstance(found, list) else []


def clear(tree: Element, *, site: bool) -> None:
    """Remove what is not shown or, on a `site`, what is no part of the text."""
    for element in list(tree.iterdescendants()):
        if not isinstance(element.tag, str) or _unwanted(element, site=site):
            remove(element)


def _unwanted(element: Element, *, site: bool) -> bool:
    tag = tag_name(element)
    if tag in _DROPPED or _hidden(element):
        return not (tag == "footer" and _inside_quote(element))
    if tag == "input":
        return element.get("type") != "checkbox"
    return site and _beside_the_text(element, tag)


def _beside_the_text(element: Element, tag: str) -> bool:
    if tag == "header":
        return not any(tag_name(e) in _HEADINGS for e in element.iterdescendants())
    if tag == "aside":
        said = f"{class_attribute(element)} {element.get('role') or ''}"
        return not _KEPT_ASIDE.search(said)
    return _furniture(element)


def _furniture(element: Element) -> bool:
    if element.get("role") in ("navigation", "banner", "contentinfo", "search", "tablist"):
        return True
    named = bool(_FURNITURE.search(class_attribute(element)))
    # A theme may name the column after its place: what holds the title is never furniture.
    return named and not any(tag_name(e) == "h1" for e in element.iterdescendants())


def _inside_quote(element: Element) -> bool:
    return any(tag_name(above) == "blockquote" for above in element.iterancestors())


def _hidden(element: Element) -> bool:
    # Formulas and icons stand a second time for those who see them.
    twice = element.get("aria-hidden") == "true" and element.get("role") != "tabpanel"
    said = {str(name).lower(): str(value) for name, value in element.attrib.items()}
    above = element.iterancestors() if "color" in said.get("style", "") else ()
    coloured = any("background" in (e.get("style") or "") for e in above)
    return twice or is_unseen(tag_name(element), said, on_colour=coloured)
