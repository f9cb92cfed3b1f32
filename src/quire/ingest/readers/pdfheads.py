"""Where the headings of a PDF are: by its bookmarks, else by the size of the letters."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from quire.ingest.readers.pdflayout import Line

_LARGER = 1.15
_LONGEST = 150
_LONGEST_BOLD = 80
_MOST_LEVELS = 4
_MOST_LINES = 3
_FEWEST_LETTERS = 3
_LABEL = re.compile(r"(?:chapter|part|appendix|section|kapitel|teil)?\s*(?:\d+|[ivxlc]+)\.?", re.I)
_NUMBERING = re.compile(r"(?:chapter|part|appendix|section)?[\divxlc]*")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A line of the outline, and the place that it leads to."""

    level: int
    title: str
    page: int
    y: float | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A heading in the stream of lines."""

    level: int
    title: str
    page: int


Item = Line | Mark


def with_headings(pages: Sequence[list[Line]], outline: Sequence[Bookmark]) -> list[Item]:
    """Give the lines of all pages in one stream, headings in the place of the lines they were."""
    if len(outline) > 1:
        by_page: dict[int, list[Bookmark]] = {}
        for bookmark in outline:
            by_page.setdefault(bookmark.page, []).append(bookmark)
        return [
            item
            for number, lines in enumerate(pages, start=1)
            for item in _by_outline(lines, by_page.get(number, []))
        ]
    return _by_size([line for lines in pages for line in lines])


def _by_outline(lines: list[Line], bookmarks: list[Bookmark]) -> list[Item]:
    items: list[Item] = list(lines)
    start = 0
    for bookmark in bookmarks:
        first, last = _place(items, start, bookmark)
        items[first:last] = [Mark(bookmark.level, bookmark.title, bookmark.page)]
        start = first + 1
        before = items[first - 1] if first else None
        if last > first and isinstance(before, Line) and _LABEL.fullmatch(before.text):
            # "Chapter 3" above the chapter's name.
            del items[first - 1]
            start -= 1
    return items


def _place(items: list[Item], start: int, bookmark: Bookmark) -> tuple[int, int]:
    """Find the lines that show a bookmark's title, or the place where it leads."""
    wanted = _bare(bookmark.title)
    for first in range(start, len(items)):
        shown = ""
        for last in range(first, min(first + _MOST_LINES, len(items))):
            item = items[last]
            if not isinstance(item, Line):
                break
            shown += _bare(item.text)
            if _same(shown, wanted):
                return first, last + 1
    for place in range(start, len(items)):
        item = items[place]
        if bookmark.y is not None and isinstance(item, Line) and item.y <= bookmark.y:
            return place, place
    return (start, start) if bookmark.y is None else (len(items), len(items))


def _bare(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


def _same(shown: str, wanted: str) -> bool:
    if shown == wanted:
        return bool(wanted)
    for whole, part in ((shown, wanted), (wanted, shown)):
        if len(part) >= _FEWEST_LETTERS and whole.endswith(part):
            return bool(_NUMBERING.fullmatch(whole[: -len(part)]))
    return False


def body_size(lines: Sequence[Line]) -> float:
    """Give the size of most letters of running text."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _by_size(lines: list[Line]) -> list[Item]:
    body = body_size(lines)
    sizes = sorted({_rank(line) for line in lines if _is_large(line, body)}, reverse=True)
    levels = {size: min(place, _MOST_LEVELS) for place, size in enumerate(sizes, start=1)}
    bold_share = sum(line.bold for line in lines) / max(len(lines), 1)
    lowest = min(len(sizes), _MOST_LEVELS) + 1
    items: list[Item] = []
    held: Line | None = None
    for place, line in enumerate(lines):
        level = levels.get(_rank(line)) if _is_large(line, body) else None
        following = lines[place + 1] if place + 1 < len(lines) else None
        if level is None and bold_share < 0.3 and _is_bold_heading(held, line, following):  # noqa: PLR2004
            level = lowest
        last = items[-1] if items else None
        if level and isinstance(last, Mark) and held and _goes_on(held, line, level == last.level):
            items[-1] = Mark(level, f"{last.title} {line.text}", last.page)
        else:
            items.append(Mark(level, line.text, line.page) if level else line)
        held = line
    return items


def _rank(line: Line) -> float:
    return round(line.size * 2) / 2


def _is_large(line: Line, body: float) -> bool:
    words = any(char.isalpha() for char in line.text)
    return line.size >= _LARGER * body and words and len(line.text) <= _LONGEST and not line.mono


def _is_bold_heading(before: Line | None, line: Line, after: Line | None) -> bool:
    """Whether a bold line stands alone: no part of a paragraph, and followed by one."""
    if not line.bold or line.mono or after is None or after.bold or len(line.cells) > 2:  # noqa: PLR2004
        return False
    if len(line.text) > _LONGEST_BOLD or line.text.endswith((".", ",", ";", ":")):
        return False
    near = before is not None and before.page == line.page and before.column == line.column
    return not near or before is None or before.y - line.y > 1.3 * line.size


def _goes_on(before: Line, line: Line, alike: bool) -> bool:
    same = before.page == line.page and before.column == line.column
    return alike and same and before.y - line.y < 1.8 * line.size
