"""Evaluation of ingest: words that chunks lose, and blocks that they split."""

import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from citewell.domain import Book, Chunk
from citewell.ingest.chunking import CountTokens, chunk_page
from citewell.ingest.detect import detect_format, restrict_reads_to_book
from citewell.options import IngestOptions

_MDX_KINDS = ("docusaurus",)
"""Formats in which braces and capitalized tags are code."""
_MYST_KINDS = ("sphinx", "notebooks")
_FENCE = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d+[.)][ \t])*(`{3,}|~{3,})([^\n]*)$")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]\S")
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+[-:| \t]*$")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One parsed and chunked book, and its losses."""

    book: Book
    chunks: tuple[Chunk, ...]
    seconds: float
    words: int
    """Words in the sources, counted without the parser."""
    lost: Counter[str]
    over_headings: tuple[str, ...]
    """URLs of chunks that contain a heading."""
    torn: tuple[str, ...]
    """URLs of chunks that contain an unmarked part of a code block or table."""

    @property
    def loss(self) -> float:
        """Return the share of words that are missing from their page's chunks."""
        return self.lost.total() / max(self.words, 1)


def read_book(
    root: Path, count: CountTokens, *, kind: str | None = None, options: IngestOptions | None = None
) -> Reading:
    """Parse and chunk a book without embedding it, and compare the chunks with its source.

    Raises:
        UnsupportedSource: there is no book at the path.
    """
    options = options or IngestOptions()
    begun = perf_counter()
    reader = detect_format(root, kind)
    with restrict_reads_to_book(reader, root, options):
        book = reader.read(root, options)
        sources = reader.files(root)
    now = datetime.now(UTC)
    cut = {
        page.source: chunk_page(page, book="", count=count, options=options, now=now)
        for page in book.pages
    }
    seconds = perf_counter() - begun
    files = {file.name: file.path for file in sources}
    total, lost = _compare(book, cut, files)
    chunks = tuple(chunk for page in book.pages for chunk in cut[page.source])
    return Reading(
        book=book,
        chunks=chunks,
        seconds=seconds,
        words=total,
        lost=lost,
        over_headings=tuple(chunk.url for chunk in chunks if holds_heading(chunk.text)),
        torn=tuple(torn_blocks(chunks)),
    )


def _compare(
    book: Book, cut: Mapping[str, Sequence[Chunk]], files: Mapping[str, Path]
) -> tuple[int, Counter[str]]:
    total, lost = 0, Counter[str]()
    for page in book.pages:
        text = _source(page.source, files)
        if text is None:
            continue
        mdx = book.kind in _MDX_KINDS
        myst = book.kind in _MYST_KINDS
        wanted = words_of_source(page.source, text, mdx=mdx, myst=myst)
        # A heading without text of its own stands only in the paths of those below it.
        paths = {
            c.path[:n]: c.path[n - 1] for c in cut[page.source] for n in range(len(c.path) + 1) if n
        }
        got = words("\n".join([page.title, *paths.values(), *(c.text for c in cut[page.source])]))
        total += wanted.total()
        lost += wanted - got
    return total, lost


def _source(name: str, files: Mapping[str, Path]) -> str | None:
    """Return a page's source text; empty if only the parser can extract it."""
    if name in files:
        return files[name].read_text("utf-8", "replace") if files[name].suffix != ".pdf" else None
    for file, path in files.items():
        if name.startswith(f"{file}/") and path.suffix == ".epub":
            with zipfile.ZipFile(path) as archive:
                return archive.read(name.removeprefix(f"{file}/")).decode("utf-8", "replace")
    return None


def holds_heading(text: str) -> bool:
    """Return whether a chunk contains a heading outside code."""
    return any(_HEADING.match(line) for line, fenced in _lines(text) if not fenced)


def torn_blocks(chunks: Sequence[Chunk]) -> Iterator[str]:
    """Yield the URLs of chunks that continue the code or table of the previous one."""
    for before, chunk in pairwise(chunks):
        if before.source_file != chunk.source_file or chunk.piece:
            continue
        # A fence that its author never closed is followed by text that is whole by itself.
        if (_open_fence(before.text) and _open_fence(chunk.text)) or _continues(before, chunk):
            yield chunk.url


def _continues(before: Chunk, chunk: Chunk) -> bool:
    last, first = before.text.split("\n")[-1], chunk.text.split("\n")[:2]
    rows = _ROW.match(last) and _ROW.match(first[0])
    return bool(rows) and not _RULE.match(first[-1])


def _open_fence(text: str) -> bool:
    return any(fenced == "open" for _, fenced in list(_lines(text))[-1:])


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line, and whether it is in a fenced block (`closed` by the line itself)."""
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            closes = found and found[1].startswith(fence) and not found[2].strip()
            yield line, "closed" if closes else "open"
            fence = "" if closes else fence
        elif found and "`" not in found[2]:
            fence = found[1]
            yield line, "open"
        else:
            yield line, ""


_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"\b(?:https?|mailto):[^\s<>)\]]+")

_SOURCE_FENCE = re.compile(r"[ \t>]*(?:[-*+]|\d+\.)?[ \t]*(`{3,}|~{3,})")
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
_SOURCE_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t].*$", re.M)
_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)

_UNSEEN_RST = re.compile(
    r"( *)(?:[-*] |#\. |\d+\. )*\.\. (?:(?:raw|contents|redirect-from|toctree|index|meta|image"
    r"|include|literalinclude|highlight|auto\w+|currentmodule|module|todo|tabularcolumns"
    r"|testsetup|testcleanup|plot|inheritance-diagram)::|(?![\w:+.-]+::|_|\[|\|))",
    re.I,
)
_SHORTENED = re.compile(r"`~[\w.]*?\.?(\w+(?:\(\))?)`")
"""`~module.name`, which is rendered as the name alone."""
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
    """Count words, ignoring case."""
    return Counter(word.lower() for word in _WORD.findall(text))


def words_of_source(name: str, text: str, *, mdx: bool = False, myst: bool = False) -> Counter[str]:
    """Count the visible words of a page, depending on the file extension."""
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
    """Remove the names, options and arguments of MyST directives and roles."""
    # What stands in `eval-rst` is another language, and mostly generated.
    text = _UNSEEN_MYST.sub("", text)
    text = _MYST_OPENING.sub(r"\1\2", text)
    text = _MYST_TARGET.sub(" ", text)
    text = re.sub(r"\{[\w:.+-]+\}`([^`<]*)<[^`>]*>`", r"\1", text)
    return re.sub(r"\{[\w:.+-]+\}(?=`)", " ", _SHORTENED.sub(r"`\1`", text))


def words_of_markdown(text: str, *, mdx: bool = False) -> Counter[str]:
    """Count the words of a Markdown page, without headings."""
    text = _FRONT_MATTER.sub("", text.replace("\r\n", "\n"))
    found: Counter[str] = Counter()
    prose: list[str] = []
    fence = ""
    for line in text.split("\n"):
        opening = _SOURCE_FENCE.match(line)
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

    text = _SOURCE_HEADING.sub(" ", re.sub(r"<!--.*?-->|<img\b[^<>]*>", " ", text, flags=re.S))
    text = _DIRECTIVE.sub(" ", _CODE_SPAN.sub(hold, text))
    text = _MODULE.sub(" ", text) if mdx else text
    text = _MARKUP.sub(" ", _INLINE.sub("", text))
    if mdx:
        text = re.sub(r"\{(?!#)[^{}]*\}", " ", text)
    return words(" ".join([*kept, text]))


def words_of_rst(text: str) -> Counter[str]:
    """Count the words of a reStructuredText page, without generated and hidden text."""
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
    """Count the words of a notebook's visible cells, without outputs."""
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
    """Collects the text of a page's `main` element, or of its body if it has none."""

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
    """Count the words of a page's `main` element."""
    page = _Text()
    page.feed(text)
    page.close()
    return words("".join(page.main or page.body))
