"""One small book, and how an author would write it in each format that Citewell reads."""

import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

from tests.ingest.paper import Paper

Kind = Literal["prose", "list", "code", "table", "admonition"]


@dataclass(frozen=True, slots=True)
class Part:
    """A paragraph (one line), or a list, table, listing or note of several."""

    kind: Kind
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A heading, how deep it stands (1 is the chapter's), and what is said under it."""

    level: int
    title: str
    parts: tuple[Part, ...]


def prose(text: str) -> Part:
    return Part("prose", (text,))


TITLE = "The Lighthouse"
FIRST = (
    Topic(1, "Keeping the light", (prose("A light that goes out once is trusted by nobody."),)),
    Topic(
        2,
        "The lamp",
        (
            prose("Before dusk the keeper does three things:"),
            Part("list", ("fill the tank", "trim the wick", "wipe the chimney")),
            prose("The lamp then burns for nine hours."),
        ),
    ),
    Topic(
        3,
        "Trimming the wick",
        (
            prose("Cut the wick straight, or the flame smokes."),
            Part("code", ("trim --width 4", "light --slow")),
        ),
    ),
    Topic(
        2,
        "The lens",
        (
            Part("table", ("Order|Focal length", "first|920 mm", "sixth|150 mm")),
            prose("A larger lens throws its beam farther."),
        ),
    ),
)
SECOND = (
    Topic(1, "When fog comes", (prose("Fog swallows the strongest beam."),)),
    Topic(
        2,
        "The horn",
        (
            Part("admonition", ("Never stand before the horn.",)),
            prose("The horn speaks when the light cannot."),
        ),
    ),
    Topic(3, "Its signal", (prose("One long blast means land, two mean rocks."),)),
)
CHAPTERS = (("keeping", FIRST), ("fog", SECOND))


# Markdown and its relatives


def markdown(topics: tuple[Topic, ...], note: Callable[[str], str]) -> str:
    return "".join(
        f"{'#' * topic.level} {topic.title}\n\n"
        + "".join(f"{markdown_part(part, note)}\n\n" for part in topic.parts)
        for topic in topics
    )


def markdown_part(part: Part, note: Callable[[str], str]) -> str:
    match part.kind:
        case "prose":
            return part.lines[0]
        case "list":
            return "\n".join(f"- {line}" for line in part.lines)
        case "code":
            return "\n".join(("```sh", *part.lines, "```"))
        case "table":
            head, *rows = (f"| {line.replace('|', ' | ')} |" for line in part.lines)
            return "\n".join((head, "| --- | --- |", *rows))
        case "admonition":
            return note(part.lines[0])


def colons(text: str) -> str:
    return f":::note\n{text}\n:::"


def quoted(text: str) -> str:
    return f"> [!NOTE]\n> {text}"


def exclaimed(text: str) -> str:
    return f"!!! note\n    {text}"


def directive(text: str) -> str:
    return f":::{{note}}\n{text}\n:::"


def tip(text: str) -> str:
    return f"<Tip>\n\n{text}\n\n</Tip>"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def pages(form: str, note: Callable[[str], str]) -> dict[str, str]:
    return {form.format(name): markdown(topics, note) for name, topics in CHAPTERS}


def docusaurus(folder: Path) -> Path:
    config = f"export default {{title: '{TITLE}', url: 'https://x.example', baseUrl: '/'}};"
    sorted_pages = {
        f"docs/{place}-{name}.md": markdown(topics, colons)
        for place, (name, topics) in enumerate(CHAPTERS, start=1)
    }
    return write(folder, {"docusaurus.config.js": config, **sorted_pages})


def mdbook(folder: Path) -> Path:
    contents = "".join(f"- [{topics[0].title}]({name}.md)\n" for name, topics in CHAPTERS)
    more = {
        "book.toml": f'[book]\ntitle = "{TITLE}"\n',
        "src/SUMMARY.md": f"# Summary\n\n{contents}",
    }
    return write(folder, more | pages("src/{}.md", quoted))


def mkdocs(folder: Path) -> Path:
    nav = "".join(f"  - {name}.md\n" for name, _ in CHAPTERS)
    config = f"site_name: {TITLE}\nmarkdown_extensions: [admonition]\nnav:\n{nav}"
    return write(folder, {"mkdocs.yml": config} | pages("docs/{}.md", exclaimed))


def plain_markdown(folder: Path) -> Path:
    return write(
        folder,
        {f"{n}-{name}.md": markdown(topics, quoted) for n, (name, topics) in enumerate(CHAPTERS)},
    )


def hfdocs(folder: Path) -> Path:
    contents = "".join(f"- local: {name}\n  title: {t[0].title}\n" for name, t in CHAPTERS)
    return write(folder, {"_toctree.yml": contents} | pages("{}.mdx", tip))


def myst(folder: Path) -> Path:
    listed = "\n".join(name for name, _ in CHAPTERS)
    index = f"```{{toctree}}\n{listed}\n```\n"
    conf = f"project = '{TITLE}'\nextensions = ['myst_parser']\n"
    return write(folder, {"conf.py": conf, "index.md": index} | pages("{}.md", directive))


def notebooks(folder: Path) -> Path:
    (first, _), *rest = CHAPTERS
    listed = "".join(f"- file: {name}\n" for name, _ in rest)
    toc = f"format: jb-book\nroot: {first}\nchapters:\n{listed}"
    files = {"_toc.yml": toc, "_config.yml": f"title: {TITLE}\n"}
    for name, topics in CHAPTERS:
        cells = [cell for topic in topics for cell in _cells(topic)]
        notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        files[f"{name}.ipynb"] = json.dumps(notebook)
    return write(folder, files)


def _cells(topic: Topic) -> Iterator[dict[str, object]]:
    yield _cell("markdown", f"{'#' * topic.level} {topic.title}")
    for part in topic.parts:
        if part.kind == "code":
            more = {"outputs": [], "execution_count": None}
            yield _cell("code", "\n".join(part.lines)) | more
        else:
            yield _cell("markdown", markdown_part(part, directive))


def _cell(kind: str, text: str) -> dict[str, object]:
    return {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}


def jsonl(folder: Path) -> Path:
    rows: list[dict[str, str]] = []
    for name, topics in CHAPTERS:
        trail: list[str] = []
        for topic in topics:
            trail = [*trail[: topic.level - 2], topic.title] if topic.level > 1 else []
            text = "\n\n".join(markdown_part(part, colons) for part in topic.parts)
            rows.append(
                {
                    "title": topics[0].title,
                    "url": f"/{name}",
                    "section": " > ".join(trail),
                    "text": text,
                }
            )
    return write(folder, {"book.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows)})


# reStructuredText


def rst(folder: Path) -> Path:
    listed = "".join(f"   {name}\n" for name, _ in CHAPTERS)
    files = {"conf.py": f"project = '{TITLE}'\n", "index.rst": f".. toctree::\n\n{listed}"}
    for name, topics in CHAPTERS:
        files[f"{name}.rst"] = "".join(
            f"{topic.title}\n{'=-~'[topic.level - 1] * len(topic.title)}\n\n"
            + "".join(f"{_rst_part(part)}\n\n" for part in topic.parts)
            for topic in topics
        )
    return write(folder, files)


def _rst_part(part: Part) -> str:
    match part.kind:
        case "prose":
            return part.lines[0]
        case "list":
            return "\n".join(f"* {line}" for line in part.lines)
        case "code":
            return "\n".join((".. code-block:: sh", "", *(f"   {line}" for line in part.lines)))
        case "table":
            rows = (line.split("|") for line in part.lines)
            cells = (f"   * - {first}\n     - {second}" for first, second in rows)
            return "\n".join((".. list-table::", "   :header-rows: 1", "", *cells))
        case "admonition":
            return f".. note::\n\n   {part.lines[0]}"


# HTML, EPUB, PDF


def html_body(topics: tuple[Topic, ...]) -> str:
    return "\n".join(
        f'<h{t.level} id="{t.title.lower().replace(" ", "-")}">{escape(t.title)}</h{t.level}>'
        + "\n".join(_html_part(part) for part in t.parts)
        for t in topics
    )


def _html_part(part: Part) -> str:
    match part.kind:
        case "prose":
            return f"<p>{escape(part.lines[0])}</p>"
        case "list":
            return "<ul>" + "".join(f"<li>{line}</li>" for line in part.lines) + "</ul>"
        case "code":
            return "<pre><code>" + "\n".join(part.lines) + "</code></pre>"
        case "table":
            head, *rows = (line.split("|") for line in part.lines)
            top = "".join(f"<th>{cell}</th>" for cell in head)
            rest = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
            return f"<table><thead><tr>{top}</tr></thead><tbody>{rest}</tbody></table>"
        case "admonition":
            return (
                '<div class="admonition note"><p class="admonition-title">Note</p>'
                f"<p>{part.lines[0]}</p></div>"
            )


def html(folder: Path) -> Path:
    site = "https://x.example"
    places = "".join(f"<url><loc>{site}/{name}.html</loc></url>" for name, _ in CHAPTERS)
    menu = "".join(f'<a href="{name}.html">{t[0].title}</a>' for name, t in CHAPTERS)
    files = {"sitemap.xml": f"<urlset>{places}</urlset>"}
    for name, topics in CHAPTERS:
        files[f"{name}.html"] = (
            f"<html><head><title>{topics[0].title} | {TITLE}</title>"
            f'<link rel="canonical" href="{site}/{name}.html"></head><body>'
            f"<nav>{menu}</nav><main>{html_body(topics)}</main><footer>Imprint</footer></body></html>"
        )
    return write(folder, files)


def epub(folder: Path) -> Path:
    xhtml = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{}</title></head>'
        "<body>{}</body></html>"
    )
    names = [name for name, _ in CHAPTERS]
    items = "".join(
        f'<item id="{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in names
    )
    spine = "".join(f'<itemref idref="{n}"/>' for n in names)
    lines = "".join(f'<li><a href="{n}.xhtml">{t[0].title}</a></li>' for n, t in CHAPTERS)
    nav = (
        '<nav epub:type="toc" xmlns:epub="http://www.idpf.org/2007/ops"><ol>'
        + lines
        + "</ol></nav>"
    )
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": "<container"
        ' xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/>'
        "</rootfiles></container>",
        "book.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f"<metadata "
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{TITLE}</dc:title></metadata>'
        '<manifest><item id="nav" href="nav.xhtml" properties="nav"'
        f' media-type="application/xhtml+xml"/>{items}</manifest><spine>{spine}</spine></package>',
        "nav.xhtml": xhtml.format("Contents", nav),
        **{f"{n}.xhtml": xhtml.format(t[0].title, html_body(t)) for n, t in CHAPTERS},
    }
    folder.mkdir()
    path = folder / "lighthouse.epub"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def pdf(folder: Path) -> Path:
    folder.mkdir()
    paper = Paper()
    paper.set_title(TITLE)
    for _, topics in CHAPTERS:
        paper.add_page()
        for topic in topics:
            size = 22 - 4 * topic.level
            paper.heading(topic.title, level=topic.level - 1, size=size, outline=True)
            for part in topic.parts:
                _draw(paper, part)
    return paper.save(folder / "lighthouse.pdf")


def _draw(paper: Paper, part: Part) -> None:
    match part.kind:
        case "prose" | "admonition":
            paper.paragraph(part.lines[0])
        case "list":
            paper.lines(*(f"- {line}" for line in part.lines))
        case "code":
            paper.lines(*part.lines, font="Courier")
        case "table":
            paper.rows(*((a, b) for a, b in (line.split("|") for line in part.lines)))
