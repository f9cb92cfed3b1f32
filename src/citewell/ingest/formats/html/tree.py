"""Parse HTML, and reduce a page to its main content."""

import codecs
import html.entities
import re

from lxml import etree

from citewell.errors import UnreadableFile
from citewell.text.sanitize import hidden_selectors, is_hidden_element

Element = etree._Element
_MAX_DEPTH = 100
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
_EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"

_MAIN_CONTENT_PATHS = (
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
_INNER_CONTENT_PATHS = (
    ".//*[contains(concat(' ', @class, ' '), ' markdown ')]",
    ".//*[@itemprop='articleBody']",
    ".//article",
)
_DROPPED_TAGS = frozenset(
    re.findall(
        r"\S+",
        "script style template noscript nav footer form button select textarea iframe object embed"
        " canvas svg video audio dialog link meta rp rt map head title",
    )
)
_FURNITURE_CLASS = re.compile(
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
_CONTENT_ASIDE = re.compile(r"\b(?:admonition|callout|alert|note|tip|warning|footnotes?|topic)\b")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))


def collapse_space(text: str) -> str:
    """Return the text without invisible characters, on one line."""
    return _SPACE.sub(" ", _INVISIBLE.sub("", text)).strip()


def strip_invisible(text: str) -> str:
    """Return the text without zero-width characters."""
    return _INVISIBLE.sub("", text)


def tag_name(element: Element) -> str:
    """Return the tag of an element; empty for comments and processing instructions."""
    return element.tag if isinstance(element.tag, str) else ""


def text_of(element: Element) -> str:
    """Return all text of an element on one line."""
    return collapse_space("".join(element.itertext()))


def class_attribute(element: Element) -> str:
    """Return the `class` attribute; empty if there is none."""
    return element.get("class") or ""


def ids_of(tree: Element) -> frozenset[str]:
    """Return all ids in a page."""
    return frozenset(
        value for e in tree.iter() for n in ("id", "name", _XML_ID) if (value := e.get(n))
    )


def epub_type(element: Element) -> str:
    """Return the `epub:type` of an element, such as `noteref`."""
    return element.get(_EPUB_TYPE) or element.get("epub:type") or ""


def parse_html(data: bytes) -> Element:
    """Parse an HTML page, even if it is malformed.

    Raises:
        UnreadableFile: it is not HTML, or nested too deeply.
    """
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_pis=True)
    try:
        tree = etree.fromstring(_decode(data).encode("utf-8", "replace"), parser)
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableFile("is not HTML") from error
    # Without any element the parser returns None, contrary to its type.
    if not isinstance(getattr(tree, "tag", None), str):
        raise UnreadableFile("is not HTML")
    if any("Excessive depth" in entry.message for entry in parser.error_log):
        raise UnreadableFile("has elements nested more than 2,000 deep")
    return _normalize(tree)


def parse_xhtml(data: bytes) -> Element:
    """Parse a chapter as XML, where `<a id="x"/>` is empty; fall back to HTML.

    Raises:
        UnreadableFile: it is neither.
    """
    try:
        return parse_xml(data)
    except UnreadableFile:
        return parse_html(data)


def parse_xml(data: bytes) -> Element:
    """Parse XML without external entities; namespaces are removed.

    Raises:
        UnreadableFile: it is not well-formed.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_pis=True, encoding="utf-8"
    )
    text = re.sub(r"^\s*<\?xml.*?\?>", "", _decode(data), count=1, flags=re.S)
    try:
        tree = etree.fromstring(
            _ENTITY.sub(_replace_entity, text).encode("utf-8", "replace"), parser
        )
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableFile("is not well-formed XML") from error
    return _normalize(tree)


def _replace_entity(entity: re.Match[str]) -> str:
    name = entity[1]
    return entity[0] if name in _XML_ENTITIES else html.entities.html5.get(f"{name};", entity[0])


def _decode(data: bytes) -> str:
    """Decode a page; remove control characters, which XML forbids, and references to them."""
    return _CONTROL.sub("", _decode_bytes(data))


def _decode_bytes(data: bytes) -> str:
    for mark, encoding in ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le")):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if data.startswith(codecs.BOM_UTF16_BE):
        return data[2:].decode("utf-16-be", "replace")
    if b"\0" in data:
        raise UnreadableFile("is a binary file, not text")
    declared = _CHARSET.search(data[:2048])
    for encoding in (declared[1].decode("ascii") if declared else "utf-8", "utf-8"):
        # Browsers decode Latin-1 as its superset.
        codec = "cp1252" if re.fullmatch(r"(?i)(?:iso-8859-1|latin-?1)", encoding) else encoding
        try:
            return data.decode(codec)
        except (LookupError, UnicodeError):
            continue
    return data.decode("cp1252", "replace")


def _normalize(tree: Element) -> Element:
    """Remove namespaces, and the tags of elements nested too deeply."""
    depth = {tree: 0}
    for element in list(tree.iter()):
        parent = element.getparent()
        depth[element] = depth.get(parent, 0) + 1 if parent is not None else 0
        if not isinstance(element.tag, str):
            continue
        _rename(element)
        if depth[element] == _MAX_DEPTH:
            etree.strip_tags(element, "*")
            element.tag = "div"
    return tree


def _rename(element: Element) -> None:
    name = tag_name(element).rpartition("}")[2].lower()
    if name != element.tag:
        # The parser accepts names that cannot be assigned.
        element.tag = name if re.fullmatch(r"[a-z][\w.-]*", name) else "span"


def remove_keeping_tail(element: Element) -> None:
    """Remove an element, but not the text after it."""
    parent, tail = element.getparent(), element.tail
    if parent is None:
        return
    if tail:
        previous = element.getprevious()
        if previous is not None:
            previous.tail = (previous.tail or "") + tail
        else:
            parent.text = (parent.text or "") + tail
    parent.remove(element)


def main_content(tree: Element) -> Element:
    """Return the element with the page's main content, without navigation and decoration."""
    matches = (_select(tree, path) for path in _MAIN_CONTENT_PATHS)
    content = next((m[0] for m in matches if len(m) == 1 and text_of(m[0])), tree)
    _include_header(content)
    remove_unwanted(content, site=True)
    _remove_banner(content)
    length = len(text_of(content))
    for path in _INNER_CONTENT_PATHS:
        matching = _select(content, path)
        # Outside the inner element are dates, authors and buttons.
        if len(matching) == 1 and len(text_of(matching[0])) > length // 2:
            return matching[0]
    return content


def _include_header(content: Element) -> None:
    """Move the name and purpose from the header of AsciiDoc's manual pages to the content."""
    header = content.getprevious()
    if header is None or header.get("id") != "header":
        return
    elements = [e for e in header if tag_name(e) == "h2" or class_attribute(e) == "sectionbody"]
    for index, element in enumerate(elements):
        if tag_name(element) == "h2" and not element.get("id"):
            element.set("id", "header")
        content.insert(index, element)


def _remove_banner(content: Element) -> None:
    """Remove headings before the page's own that only link to the home page."""
    for heading in list(content.iter("h1"))[:-1]:
        link = next(heading.iter("a"), None)
        if link is None or (link.get("href") or "#").startswith("#"):
            return
        if text_of(link) == text_of(heading):
            remove_keeping_tail(heading)


def _select(tree: Element, path: str) -> list[Element]:
    result = tree.xpath(path)
    return [e for e in result if isinstance(e, Element)] if isinstance(result, list) else []


def remove_unwanted(tree: Element, *, site: bool) -> None:
    """Remove hidden elements and, on a `site`, navigation and decoration."""
    sheets = [style.text or "" for style in tree.getroottree().iter("style")]
    rules = hidden_selectors("\n".join(sheets))
    for element in list(tree.iterdescendants()):
        if not isinstance(element.tag, str) or _is_unwanted(element, rules, site=site):
            remove_keeping_tail(element)


def _is_unwanted(element: Element, rules: frozenset[str], *, site: bool) -> bool:
    tag = tag_name(element)
    if tag in _DROPPED_TAGS or _is_hidden(element, rules):
        in_quote = any(tag_name(e) == "blockquote" for e in element.iterancestors())
        return not (tag == "footer" and in_quote)
    if tag == "input":
        return element.get("type") != "checkbox"
    return site and _is_not_content(element, tag)


def _is_not_content(element: Element, tag: str) -> bool:
    if tag == "header":
        return not any(tag_name(e) in _HEADINGS for e in element.iterdescendants())
    if tag == "aside":
        return not _CONTENT_ASIDE.search(f"{class_attribute(element)} {element.get('role') or ''}")
    return _is_furniture(element)


def _is_furniture(element: Element) -> bool:
    if element.get("role") in ("navigation", "banner", "contentinfo", "search", "tablist"):
        return True
    by_class = bool(_FURNITURE_CLASS.search(class_attribute(element)))
    # A theme may give such a class to the main column, which contains the title.
    return by_class and not any(tag_name(e) == "h1" for e in element.iterdescendants())


def _is_hidden(element: Element, rules: frozenset[str]) -> bool:
    # Visual duplicates of formulas and icons.
    aria_hidden = element.get("aria-hidden") == "true" and element.get("role") != "tabpanel"
    attributes = {str(name).lower(): str(value) for name, value in element.attrib.items()}
    ancestors = element.iterancestors() if "color" in attributes.get("style", "") else ()
    coloured = any("background" in (e.get("style") or "") for e in ancestors)
    name = tag_name(element)
    return aria_hidden or is_hidden_element(name, attributes, on_colour=coloured, rules=rules)
