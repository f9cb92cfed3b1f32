"""The words of a book's source files, markup aside, found without the readers' own parsers."""

import json
import re
from collections import Counter
from html.parser import HTMLParser

_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"\b(?:https?|mailto):[^\s<>)\]]+")

_FENCE = re.compile(r"[ \t>]*(?:[-*+]|\d+\.)?[ \t]*(`{3,}|~{3,})")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_INLINE = re.compile(r"</?(?:a|b|code|del|em|i|kbd|s|small|span|strong|su[bp])\b[^<>{}]*>")
_MARKUP = re.compile(
    rf"<!--.*?-->|\{{/\*.*?\*/\}}|</?[A-Za-z](?:[^<>{{}}]|{_BRACES})*>"
    r"|^[ \t]*\[(?!\^)[^\]\n]+\]:[ \t].*$",
    re.S | re.M,
)
_DIRECTIVE = re.compile(r"\{\{#.*?\}\}|\[\[(?:autodoc|open-in-colab)\]\].*(?:\n[ \t]+- .*)*")
_MODULE = re.compile(r"^(?:import|export) .*?(?=\n\s*\n|\Z)", re.S | re.M)
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t].*$", re.M)
_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)

_UNSEEN_RST = re.compile(
    r"( *)(?:[-*] |#\. |\d+\. )*\.\. (?:(?:raw|contents|redirect-from|toctree|index|meta|image"
    r"|include|literalinclude|highlight|auto\w+|currentmodule|module|todo|tabularcolumns"
    r"|testsetup|testcleanup|plot|inheritance-diagram)::|(?![\w:+.-]+::|_|\[|\|))",
    re.I,
)
_SHORTENED = re.compile(r"`~[\w.]*?\.?(\w+(?:\(\))?)`")
"""`~module.name`, which shows the name alone."""
_UNSEEN_MYST = re.compile(
    r"^([ \t]*`{3,})\{(?:eval-rst|toctree|include|literalinclude|image|contents"
    r"|currentmodule|module|index|auto\w+)\}.*?^\1[ \t]*$",
    re.S | re.M,
)
_MYST_OPENING = re.compile(
    r"^([ \t]*)(:{3,}|`{3,}|~{3,})\{[\w:.-]+\}[^\n]*((?:\n[ \t]*:[\w-]+:[^\n]*)*)", re.M
)
_MYST_TARGET = re.compile(
    r"\{(?:ref|doc|numref|term|any)\}`[^`<]*`|\(https?:[^)]*\)|^\([\w-]+\)=$|^%.*$", re.M
)
_UNSEEN_HTML = (
    *("svg", "script", "style", "head"),
    *("nav", "header", "footer", "aside", "form", "button"),
)
_UNSEEN_CLASSES = {
    *("toc", "toctree-wrapper", "navheader", "navfooter", "headerlink", "related", "boring"),
}
_UNSEEN_ROLES = ("navigation", "search", "banner", "contentinfo")
_WITHIN_WORDS = (
    *("a", "abbr", "b", "code", "em", "i", "kbd", "s", "span", "strong", "tt", "u", "var", "wbr"),
)
_VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr")


def words(text: str) -> Counter[str]:
    """Count words, whatever their case."""
    return Counter(word.lower() for word in _WORD.findall(text))


def words_of_source(name: str, text: str, *, mdx: bool = False, myst: bool = False) -> Counter[str]:
    """Count the words that a reader of the page should find, by what the file's name ends in."""
    match name.rpartition(".")[2].lower():
        case "ipynb":
            return words_of_notebook(text)
        case "md" | "mdx" | "markdown":
            return words_of_markdown(_without_myst(text) if myst else text, mdx=mdx)
        case "html" | "htm" | "xhtml":
            return words_of_html(text)
        case _:
            return words_of_rst(text)


def _without_myst(text: str) -> str:
    """Take out the names, options and arguments of MyST's directives and roles."""
    # What stands in `eval-rst` is another language, and mostly generated.
    text = _UNSEEN_MYST.sub("", text)
    text = _MYST_OPENING.sub(r"\1\2", text)
    text = _MYST_TARGET.sub(" ", text)
    text = re.sub(r"\{[\w:.+-]+\}`([^`<]*)<[^`>]*>`", r"\1", text)
    return re.sub(r"\{[\w:.+-]+\}(?=`)", " ", _SHORTENED.sub(r"`\1`", text))


def words_of_markdown(text: str, *, mdx: bool = False) -> Counter[str]:
    """Count the words of a page of Markdown, headings left aside."""
    text = _FRONT_MATTER.sub("", text.replace("\r\n", "\n"))
    found: Counter[str] = Counter()
    prose: list[str] = []
    fence = ""
    for line in text.split("\n"):
        opening = _FENCE.match(line)
        if fence:
            if opening and opening[1].startswith(fence) and line.strip(" \t>`~") == "":
                fence = ""
            else:
                found += words(re.sub(r"\{\{#.*?\}\}", " ", line))
        elif opening and "`" not in line[opening.end() :]:
            fence = opening[1]
            found += _prose_words("\n".join(prose), mdx=mdx)
            prose = []
        else:
            prose.append(line)
    return found + _prose_words("\n".join(prose), mdx=mdx)


def _prose_words(text: str, *, mdx: bool) -> Counter[str]:
    kept: list[str] = []

    def hold(found: re.Match[str]) -> str:
        kept.append(found[2])
        return " "

    text = _HEADING.sub(" ", re.sub(r"<!--.*?-->|<img\b[^<>]*>", " ", text, flags=re.S))
    text = _DIRECTIVE.sub(" ", _CODE_SPAN.sub(hold, text))
    text = _MODULE.sub(" ", text) if mdx else text
    text = _MARKUP.sub(" ", _INLINE.sub("", text))
    if mdx:
        text = re.sub(r"\{(?!#)[^{}]*\}", " ", text)
    return words(" ".join([*kept, text]))


def words_of_rst(text: str) -> Counter[str]:
    """Count the words of a page of reStructuredText; what is generated or hidden is left aside."""
    lines, kept, place = text.expandtabs().split("\n"), [], 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if unseen := _UNSEEN_RST.match(line):
            depth = len(unseen[1])
            while place < len(lines) and (
                not lines[place].strip() or len(lines[place]) - len(lines[place].lstrip()) > depth
            ):
                place += 1
        elif not re.match(r"\s*\.\. (?:_[^:]*:|\|)|\s{2,}:[\w-]+:(?= |$)", line):
            line = re.sub(r"\.\. figure::.*", "", line)
            kept.append(re.sub(r"\.\. [\w:+.-]+::", " ", line))
    text = "\n".join(kept)
    text = re.sub(r":[\w:+.-]+:`([^`<]*)<[^`>]*>`", r"\1", text)
    # A reference by name alone shows a title, not the name.
    text = re.sub(r":(?:doc|ref|numref|term|any):`[^`]*`", " ", text)
    text = _SHORTENED.sub(r"`\1`", text)
    text = re.sub(r":[\w:+.-]+:`", " `", text)
    text = re.sub(r"`([^`<]*)<[^`>]+>`_{1,2}", r"\1", text)
    return words(_ADDRESS.sub("", text))


def words_of_notebook(text: str) -> Counter[str]:
    """Count the words of a notebook's cells; outputs and what is hidden are left aside."""
    kept = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        tags = cell["metadata"].get("tags", [])
        if cell["cell_type"] == "raw" or {"remove-cell", "hide-cell"} & set(tags):
            continue
        if cell["cell_type"] == "markdown":
            source = re.sub(r"```\{index\}.*?```|<!--.*?-->", "", source, flags=re.S)
            source = re.sub(r"</?\w[^>]*>", " ", source, flags=re.S)
            source = re.sub(r"^:\w+:.*$|```\{[\w:-]+\}|\{[\w:]+\}(?=`)", "", source, flags=re.M)
            source = _ADDRESS.sub("", source)
        kept.append(source)
    return words("\n".join(kept))


class _Text(HTMLParser):
    """Gathers the text of a page's main part, or of its body where it names none."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[tuple[str, bool, bool]] = []
        self.main: list[str] = []
        self.body: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._break(tag)
        if tag in _VOID:
            return
        given = dict(attrs)
        hidden = tag in _UNSEEN_HTML or given.get("role") in _UNSEEN_ROLES or "hidden" in given
        hidden = hidden or bool(_UNSEEN_CLASSES & set((given.get("class") or "").split()))
        hidden = hidden or "display:none" in (given.get("style") or "").replace(" ", "")
        main = tag in ("main", "article") or given.get("role") == "main"
        self._open.append((tag, hidden, main))

    def _break(self, tag: str) -> None:
        if tag not in _WITHIN_WORDS:
            self.main += " " if self.main else ""
            self.body.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._break(tag)
        for place in range(len(self._open) - 1, -1, -1):
            if self._open[place][0] == tag:
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        if not any(hidden for _, hidden, _ in self._open):
            self.body.append(data)
            if any(main for _, _, main in self._open):
                self.main.append(data)


def words_of_html(text: str) -> Counter[str]:
    """Count the words of a page's main part."""
    page = _Text()
    page.feed(text)
    page.close()
    return words("".join(page.main or page.body))
