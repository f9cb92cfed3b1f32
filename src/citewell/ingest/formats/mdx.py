"""What is not text in Markdown and MDX: front matter, comments, imports, tags."""

import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import yaml

from citewell.errors import UnreadableFile
from citewell.ingest.formats.headings import split_explicit_id
from citewell.ingest.formats.yaml_data import TooManyValues, load_small_yaml
from citewell.text.sanitize import BRACES, RAW, TAG, unseen_ends

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_FENCED = r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*?^[ \t]*(?P=fence)[`~]*[ \t]*$|.*\Z)"
# Bounded: what opens a thousand times and never closes must not be searched for each time.
CODE = (
    rf"{_FENCED}"
    r"|(?<!`)(?P<tick>`+)(?!`)(?:(?!\n[ \t]*\n).){1,5000}?(?<!`)(?P=tick)(?!`)"
)
_MARKUP = (
    rf"(?P<code>{CODE})"
    r"|(?P<math>\$\$.+?\$\$|(?<![\\$\w])\$(?=\S)[^$\n]+?(?<=\S)\$(?!\d))"
    r"|(?P<comment><!--.*?-->|\{/\*.*?\*/\})"
    r"|(?P<open><!--|\{/\*)"
    r"|(?P<esm>^(?:import\s+(?:[\w{*](?:(?!\n[ \t]*\n)[^;'\"]){0,1000}?\sfrom\s+)?['\"][^\n]*"
    r"|export\s+(?:(?:const|let|var|function|class|default|async)\b|[{*])"
    r".*?(?=\n[ \t]*\n(?![ \t)\]}])|\Z)))"
    rf"|(?P<tag>{TAG})"
)
_ATTRIBUTES = rf"(?:\s(?:[^<>\"'{{}}]|\"[^\"]*+\"|'[^']*+'|{BRACES})*+)?(?<!/)>"
_RAW = rf"<(?P<rawname>{'|'.join(RAW)})\b{_ATTRIBUTES}.*?(?:</(?P=rawname)\s*>|\Z)"
# What a listing or a figure is called is text of the page, though it stands in a tag.
_CAPTION = re.compile(r"\scaption=([\"'])(.+?)\1", re.S)
_DIVIDING = re.compile(
    r"</?(?:br|hr|p|div|t[dhr]|li|[uo]l|d[ltd]|h[1-6]|pre|table|summary|details|figcaption"
    r"|option|section|TabItem)\b",
    re.I,
)
_MD = re.compile(rf"(?P<raw>(?i:{_RAW}))|{_MARKUP}", re.S | re.M)
_MDX = re.compile(
    rf"(?P<raw>{_RAW})|{_MARKUP}|(?P<expression>(?<!\\)(?!\{{\#){BRACES})", re.S | re.M
)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the front matter and the body, the body with its line numbers kept.

    Raises:
        UnreadableFile: the front matter is not a YAML mapping.
    """
    found = _FRONT_MATTER.match(text)
    if not found:
        return {}, text
    try:
        data = load_small_yaml(found[1])
    except TooManyValues as error:
        raise UnreadableFile(f"front matter cannot be read: {error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 2
        raise UnreadableFile(f"front matter is not valid YAML (line {line})") from error
    if data is not None and not isinstance(data, dict):
        raise UnreadableFile("front matter is not a list of `name: value` lines")
    return data or {}, "\n" * found[0].count("\n") + text[found.end() :]


def strip_markup(text: str, *, mdx: bool, code: Sequence[tuple[int, int]] = ()) -> str:
    """Remove comments, imports and tags but keep the text inside them, and every line number.

    What readers of the page do not see, or see struck out, goes with its tags. `code` names the
    characters, from and to, that are indented code and stay as they are.

    Raises:
        UnreadableFile: a comment is never closed, so what is text cannot be told.
    """

    def keep(match: re.Match[str]) -> str:
        if match["open"] is not None:
            line = text.count("\n", 0, match.start()) + 1
            raise UnreadableFile(f"the comment opened in line {line} is never closed")
        if match["esm"] is not None and _inside_paragraph(text, match.start()):
            return match[0]
        if match["comment"] is not None and _is_heading_id(text, match):
            return match[0]
        shown = _shown(text, match) if match["tag"] is not None else ""
        return shown + "\n" * (match[0].count("\n") - shown.count("\n"))

    found = [
        match
        for match in (_MDX if mdx else _MD).finditer(text)
        if match["code"] is None and match["math"] is None and not _in_code(match.start(), code)
    ]
    ends = unseen_ends(text, [match for match in found if match["tag"] is not None], jsx=mdx)
    pieces: list[str] = []
    done = 0
    for match in found:
        if match.start() < done:
            continue  # in what is not seen
        end = ends.get(match.start())
        pieces.append(text[done : match.start()])
        pieces.append(keep(match) if end is None else "\n" * text.count("\n", match.start(), end))
        done = max(match.end(), end or 0)
    return "".join((*pieces, text[done:]))


def _in_code(place: int, code: Sequence[tuple[int, int]]) -> bool:
    before = bisect_right(code, (place, sys.maxsize))
    return bool(before) and place < code[before - 1][1]


def _shown(text: str, tag: re.Match[str]) -> str:
    """Return what a tag itself shows: a caption, or a space between cells that share a line."""
    if caption := _CAPTION.search(tag[0]):
        return caption[2]
    before = text[tag.start() - 1 : tag.start()]
    divides = _DIVIDING.match(tag[0]) and not before.isspace() and before not in ("", ">")
    return " " if divides else ""


def _inside_paragraph(text: str, place: int) -> bool:
    """Whether `place` begins a line of running prose, where an `export` is only a word."""
    blank = text.rfind("\n\n", 0, place)
    before = text[blank + 2 if blank >= 0 else 0 : place].strip("\n")
    if before.startswith(("import ", "export ")):
        return False
    return bool(re.match(r"[\w*_\[(\"'“‘]", before[before.rfind("\n") + 1 :]))


def _is_heading_id(text: str, comment: re.Match[str]) -> bool:
    """Whether a comment is the id that its author gave to a heading: `## Title {/* #id */}`."""
    line = text[text.rfind("\n", 0, comment.start()) + 1 : comment.start()]
    return line.startswith("#") and split_explicit_id(comment[0])[1] is not None
