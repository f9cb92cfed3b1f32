"""What people say to be polite, or to find out whom they talk to; none of it is for the book.

A message is small talk only if every word of it is: “thanks!” is, “thanks to what does the robot
balance?” is a question. The phrases are in `smalltalk.txt`.
"""

import re
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

Talk = Literal[
    "abilities",
    "identity",
    "insult",
    "parting",
    "thanks",
    "praise",
    "greeting",
    "assent",
    "nothing",
]

_BREAK = re.compile(r"[^\w\s']+|\s+(?:and|but)\s+|\n")
_CONTRACTIONS = (("’", "'"), ("'s", " is"), ("'re", " are"), ("'m", " am"), ("'", ""))
_MOST_WORDS = 12
"""No small talk is longer than so many words between two breaks."""


def small_talk(text: str) -> Talk | None:
    """Tell what kind of small talk a message is; nothing if any of it may be a question."""
    said = text.lower()
    for short, long in _CONTRACTIONS:
        said = said.replace(short, long)
    parts = [words for part in _BREAK.split(said) if (words := part.split())]
    if not parts:
        return "nothing"
    kinds: set[Talk] = set()
    for words in parts:
        found = _kinds(words)
        if not found:
            return None
        kinds |= found
    return next(kind for kind in _phrases() if kind in kinds)


def _kinds(words: list[str]) -> set[Talk]:
    """Give the kinds of the phrases that the words are made of; none if they are not, all of them.

    Phrases may follow each other without a comma: “ok thanks bye”.
    """
    if len(words) > _MOST_WORDS:
        return set()
    reached: list[set[Talk] | None] = [set(), *([None] * len(words))]
    for end in range(1, len(words) + 1):
        for start in range(end):
            before = reached[start]
            kind = _kind(" ".join(words[start:end])) if before is not None else None
            if before is not None and kind:
                reached[end] = before | {kind}
                break  # the longest phrase that ends here
    return reached[-1] or set()


def _kind(phrase: str) -> Talk | None:
    return next((kind for kind, known in _phrases().items() if known.fullmatch(phrase)), None)


@cache
def _phrases() -> dict[Talk, re.Pattern[str]]:
    """Read the phrases, kinds in the order of the file."""
    lines: dict[str, list[str]] = {}
    heading = ""
    for line in files("quire.retrieve").joinpath("smalltalk.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            heading = line.strip("[]")
        elif line and not line.startswith("#"):
            lines.setdefault(heading, []).append(line)
    words: dict[str, str] = {}
    for line in lines.pop("words"):
        name, _, pattern = line.partition(" = ")
        words[name] = f"{words[name]}|{pattern}" if name in words else pattern
    words = {name: f"(?:{pattern})" for name, pattern in words.items()}
    words["very"] = f"(?:{words['very']} )*"
    return {
        kind: re.compile("|".join(_filled(line, words) for line in lines[kind]))
        for kind in sorted(set(get_args(Talk)) & lines.keys(), key=list(lines).index)
    }


def _filled(line: str, words: dict[str, str]) -> str:
    return re.sub(r"\{([a-z]+)\}", lambda found: words[found[1]], line)
