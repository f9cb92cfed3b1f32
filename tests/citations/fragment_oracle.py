"""What a browser does with a text fragment, step by step as the specification says.

https://wicg.github.io/scroll-to-text-fragment/#find-a-range-from-a-text-directive
A page is one string here: blocks are divided by line breaks, and its white space is folded.
"""

from dataclasses import dataclass
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class Directive:
    start: str
    end: str | None
    prefix: str | None
    suffix: str | None


def parse(fragment: str) -> Directive:
    """Reads `prefix-,start,end,-suffix`."""
    terms = fragment.split(",")
    prefix = unquote(terms.pop(0)[:-1]) if terms[0].endswith("-") else None
    suffix = unquote(terms.pop()[1:]) if terms[-1].startswith("-") else None
    assert 1 <= len(terms) <= 2, fragment
    return Directive(unquote(terms[0]), unquote(terms[1]) if terms[1:] else None, prefix, suffix)


class Browser:
    """Finds ranges; `strict` about where words end, or taking any place for such a one.

    Browsers ask a dictionary where the words of some scripts end. A range that is found both ways
    is found whatever the dictionary says.
    """

    def __init__(self, page: str, *, strict: bool) -> None:
        self.page = page
        self._folded = page.lower()
        self._strict = strict

    def find(self, fragment: str) -> tuple[int, int] | None:
        wanted = parse(fragment)
        place = 0
        while place < len(self.page):
            found = self._start(wanted, place)
            if found is None:
                return None
            begin, end, place = found
            if begin < 0:
                continue
            match = self._end(wanted, begin, end)
            if match or wanted.end:
                return match
        return None

    def _start(self, wanted: Directive, place: int) -> tuple[int, int, int] | None:
        """Returns where the words begin and end, and where to go on; -1 if the prefix misleads."""
        must_end = bool(wanted.end) or not wanted.suffix
        if not wanted.prefix:
            found = self._term(wanted.start, place, begins=True, ends=must_end)
            return (*found, found[0] + 1) if found else None
        before = self._term(wanted.prefix, place, begins=True, ends=False)
        if not before:
            return None
        behind = self._skip(before[1])
        found = self._term(wanted.start, behind, begins=False, ends=must_end)
        if not found:
            return None
        return (*found, before[0] + 1) if found[0] == behind else (-1, -1, before[0] + 1)

    def _end(self, wanted: Directive, begin: int, end: int) -> tuple[int, int] | None:
        while True:
            if wanted.end:
                last = self._term(wanted.end, end, begins=True, ends=not wanted.suffix)
                if not last:
                    return None
                end = last[1]
            if not wanted.suffix:
                return begin, end
            behind = self._skip(end)
            after = self._term(wanted.suffix, behind, begins=False, ends=True)
            if after and after[0] == behind:
                return begin, end
            if not after or not wanted.end:
                return None

    def _term(self, term: str, place: int, *, begins: bool, ends: bool) -> tuple[int, int] | None:
        found = self._folded.find(term.lower(), place)
        while found >= 0:
            stop = found + len(term)
            if not (begins and self._cuts(found)) and not (ends and self._cuts(stop)):
                return found, stop
            found = self._folded.find(term.lower(), found + 1)
        return None

    def _cuts(self, place: int) -> bool:
        """Whether a word goes on here."""
        before, after = self.page[place - 1 : place], self.page[place : place + 1]
        return self._strict and before.isalnum() and after.isalnum()

    def _skip(self, place: int) -> int:
        while place < len(self.page) and self.page[place].isspace():
            place += 1
        return place
