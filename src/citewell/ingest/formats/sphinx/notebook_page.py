"""Convert a Jupyter notebook to a Markdown page."""

import json
import re
from typing import Any

from citewell.errors import UnreadableFile
from citewell.ingest.formats.markdown_writer import fenced

MAX_OUTPUT_LINES = 24
MAX_OUTPUT_CHARS = 2000
_HIDDEN = frozenset(("hide-cell", "hide_cell", "remove-cell", "remove_cell"))
_NO_INPUT = frozenset(("hide-input", "hide_input", "remove-input", "remove_input"))
_NO_OUTPUT = frozenset(("hide-output", "hide_output", "remove-output", "remove_output"))
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*\s*\Z", re.S | re.M)
_ANSI_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_MAGIC = re.compile(r"%%(bash|sh|html|javascript|js|latex|markdown|R|ruby|perl|sql)\b")


def notebook_to_markdown(text: str) -> str:
    """Return the text, code and output of a notebook as Markdown.

    Raises:
        UnreadableFile: it is not a notebook.
    """
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        raise UnreadableFile(f"is not a notebook: invalid JSON (line {line})") from error
    cells = _cells(notebook)
    language = _language(notebook)
    parts: list[str] = []
    for cell in cells:
        tags = _tags(cell)
        if tags & _HIDDEN:
            continue
        source = _source_text(cell.get("source", cell.get("input", "")))
        if cell.get("cell_type") == "markdown":
            parts.append(_close_open_fence(source))
        elif cell.get("cell_type") == "heading":
            parts.append(f"{'#' * _level(cell)} {source}")
        elif cell.get("cell_type") == "code":
            parts += _code(cell, source, language, tags)
    page = "\n\n".join(part for part in parts if part.strip()) + "\n"
    has_front_matter = bool(parts) and bool(_FRONT_MATTER.match(parts[0]))
    # A thematic break at the top of a cell must not be parsed as front matter.
    return page if has_front_matter or not page.startswith("---") else f"\n{page}"


def _cells(notebook: object) -> list[dict[str, Any]]:
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if cells is None and isinstance(notebook, dict):
        # In format 3, cells are in worksheets.
        sheets = notebook.get("worksheets")
        if isinstance(sheets, list) and all(isinstance(s, dict) for s in sheets):
            cells = [cell for sheet in sheets for cell in sheet.get("cells") or []]
    if not isinstance(cells, list):
        raise UnreadableFile("is not a notebook: it has no list of cells")
    return [cell for cell in cells if isinstance(cell, dict)]


def _metadata(data: dict[str, Any]) -> dict[str, Any]:
    metadata = data.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _language(notebook: dict[str, Any]) -> str:
    metadata = _metadata(notebook)
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        info = metadata.get(table)
        if isinstance(info, dict) and isinstance(info.get(key), str):
            return str(info[key]).lower()
    return "python"


def _tags(cell: dict[str, Any]) -> set[str]:
    tags = _metadata(cell).get("tags")
    return {tag for tag in tags if isinstance(tag, str)} if isinstance(tags, list) else set()


def _level(cell: dict[str, Any]) -> int:
    level = cell.get("level")
    return level if isinstance(level, int) and 1 <= level <= 6 else 1  # noqa: PLR2004 - h1 to h6


def _source_text(source: object) -> str:
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    text = source if isinstance(source, str) else ""
    return re.sub(r"\r\n?", "\n", text)


def _close_open_fence(text: str) -> str:
    """Close a fence or formula that the cell leaves open."""
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r"[ \t]*(`{3,}|~{3,}|:{3,}|\$\$[ \t]*$)", line)
        if not fence and mark and not (mark[1][0] == "`" and "`" in line[mark.end() :]):
            fence = "" if mark[1][0] == ":" else mark[1].rstrip()
        elif fence and len(line.strip()) >= len(fence) and set(line.strip()) == {fence[0]}:
            fence = ""
    return f"{text}\n{fence}" if fence else text


def _code(cell: dict[str, Any], source: str, language: str, tags: set[str]) -> list[str]:
    parts: list[str] = []
    if source.strip() and not tags & _NO_INPUT:
        magic = _MAGIC.match(source)
        parts.append(fenced(source.strip("\n"), magic[1].lower() if magic else language))
    outputs = cell.get("outputs")
    if isinstance(outputs, list) and not tags & _NO_OUTPUT:
        text = "\n".join(_output(item).rstrip() for item in outputs if isinstance(item, dict))
        if text := _truncate(_ANSI_ESCAPES.sub("", text)):
            parts.append(fenced(text, "text"))
    return parts


def _output(output: dict[str, Any]) -> str:
    """Return the text of an output; empty for images and HTML."""
    if output.get("output_type") == "stream":
        return _source_text(output.get("text")) if output.get("name") != "stderr" else ""
    if output.get("output_type") not in ("execute_result", "display_data", "pyout"):
        return ""
    data = output.get("data", output)
    if not isinstance(data, dict) or any(k.startswith(("image/", "text/html")) for k in data):
        # Their `text/plain` alternative is only the object's name.
        return ""
    return _source_text(data.get("text/plain", data.get("text", "")))


def _truncate(text: str) -> str:
    lines = [line.rstrip() for line in text.strip("\n").split("\n")][:MAX_OUTPUT_LINES]
    return "\n".join(lines)[:MAX_OUTPUT_CHARS].strip("\n").rstrip()
