"""Which sentences of the passages answer the question."""

import re
from collections import OrderedDict
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from threading import Lock

from quire.ports import Reader
from quire.prose.plain import inline_plain
from quire.prose.sentences import Span, split_spans
from quire.prose.terms import TermStatistics, terms

HEADING_CREDIT = 0.6
"""A question word found in the heading above a sentence counts this much of one found in it."""
BACK_CREDIT = 0.8
"""The same, for one found in the sentence that it refers back to."""
QUOTAS = (4, 3, 2, 2, 1, 1, 1, 1)
"""How many sentences of the first, second, … passage are read closely."""
GLANCE = (2, 1, 1)
"""How many of them are read first."""
SURE = 6.0
"""A sentence of that score in the best passage answers: no more is read. Chosen on the questions of
two textbooks and SciFact's training claims, where one in six ends here and no page is lost."""
MAX_TEXT = 320
MEMORY = 4096
"""How many sentence scores are remembered."""
UNREAD = -12.0
"""The score of a sentence that was not read closely: lower than any reader gives."""
TOLD = 1.5
"""How much less a sentence counts for a follow-up if an earlier answer has said it."""

_ANAPHOR = re.compile(
    r"^(?:it|its|this|that|these|those|they|their|he|she|such|here|both|the (?:former|latter|same)"
    r"|otherwise|however|therefore|hence|thus|instead|consequently|accordingly|then|so|but|and|also"
    r"|for (?:this|that|these|those) reasons?|because of (?:this|that)|as a (?:result|consequence)"
    r"|in (?:this|that|such a|these|those) (?:case|way|manner|situation)s?)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as a model sees it."""

    number: int
    text: str
    heading: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """One sentence of a passage, and how well it answers the question."""

    passage: Passage
    place: int
    """Position among the sentences of its passage."""
    span: Span
    coverage: float
    """Share of the question's weight found in the sentence and its heading, 0 to 1."""
    score: float = UNREAD
    """The reader's opinion; around 0 undecided."""
    told: bool = False
    """Whether an earlier answer has said it."""

    @property
    def text(self) -> str:
        """The sentence, byte for byte."""
        return self.span.of(self.passage.text)

    @property
    def leans_back(self) -> bool:
        """Whether the sentence needs the one before it to be understood."""
        return bool(_ANAPHOR.match(inline_plain(self.text)))


class EvidenceReader:
    """Finds the sentences that answer: words choose which to read, the reader decides."""

    def __init__(self, reader: Reader) -> None:
        """Read with `reader`."""
        self._reader = reader
        # The search and the embedded answerer ask about the same sentences.
        self._known: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = Lock()

    def rank(
        self,
        question: str,
        passages: Sequence[Passage],
        statistics: TermStatistics,
        quotas: Sequence[int] = QUOTAS,
        glance: Sequence[int] = GLANCE,
        told: str = "",
    ) -> list[Evidence]:
        """Score the sentences of the passages, best first; without `glance` all are read.

        Sentences that stand in `told` are known to who asks, and count for less.
        """
        found: list[Evidence] = []
        first: list[tuple[Evidence, str]] = []
        later: list[tuple[Evidence, str]] = []
        for place, passage in enumerate(passages):
            own = _by_words(question, passage, statistics)
            found += own
            chosen = self._worth_reading(question, own, quotas[min(place, len(quotas) - 1)])
            at_once = (glance[place] if place < len(glance) else 0) if glance else len(chosen)
            first += chosen[:at_once]
            later += chosen[at_once:]
        groups = [[text for _, text in group] for group in (first, later)]
        best = {text for e, text in (*first, *later) if e.passage is passages[0]}
        scores = self._read(question, groups, best)
        read = [
            replace(e, score=scores[text] - TOLD * (known := _is_told(e, told)), told=known)
            for e, text in (*first, *later)
            if text in scores
        ]
        places = {(e.passage.number, e.place) for e in read}
        rest = [e for e in found if (e.passage.number, e.place) not in places]
        return sorted(
            [*read, *rest], key=lambda e: (-e.score, -e.coverage, e.passage.number, e.place)
        )

    def _worth_reading(
        self, question: str, own: Sequence[Evidence], quota: int
    ) -> list[tuple[Evidence, str]]:
        """Choose a passage's sentences by their words; one that was read before is not read on."""
        fitting = [(e, _read_as(e)) for e in own if _answers_in_form(e)]
        known = [(e, text) for e, text in fitting if (question, text) in self._known]
        return known or sorted(fitting, key=lambda pair: (-pair[0].coverage, pair[0].place))[:quota]

    def _read(
        self, question: str, groups: Sequence[Sequence[str]], best: Set[str]
    ) -> dict[str, float]:
        """Score the texts, group by group, until one of the best passage answers for sure."""
        texts = dict.fromkeys(text for group in groups for text in group)
        # Asked once for each: what others read at the same time may push it out.
        known = {text: self._known.get((question, text)) for text in texts}
        scores = {text: score for text, score in known.items() if score is not None}
        for group in groups:
            if any(score >= SURE for text, score in scores.items() if text in best):
                break
            new = [text for text in dict.fromkeys(group) if text not in scores]
            given = self._reader.score(question, new) if new else ()
            scores |= zip(new, given, strict=True)
        with self._lock:
            self._known |= {(question, text): score for text, score in scores.items()}
            while len(self._known) > MEMORY:
                self._known.popitem(last=False)
        return scores


def _is_told(evidence: Evidence, told: str) -> bool:
    return bool(told) and " ".join(inline_plain(evidence.text).split()) in told


def _read_as(evidence: Evidence) -> str:
    """Give a sentence with what it is read under: its heading, and what it refers back to."""
    text = evidence.text
    spans = split_spans(evidence.passage.text)
    if evidence.leans_back and evidence.place > 0:
        text = f"{spans[evidence.place - 1].of(evidence.passage.text)} {text}"
    if evidence.span.kind == "row":
        first = table_start(spans, evidence.place)
        text = (
            f"{spans[first].of(evidence.passage.text)} {text}" if first < evidence.place else text
        )
        text = text.replace("|", " ")
    return f"{evidence.passage.heading}: {inline_plain(text)[:MAX_TEXT]}"


def table_start(spans: Sequence[Span], place: int) -> int:
    """Give the place of the first row of the table that the row at `place` stands in."""
    while place > 0 and spans[place - 1].kind == "row":
        place -= 1
    return place


def _by_words(question: str, passage: Passage, statistics: TermStatistics) -> list[Evidence]:
    wanted = {term: statistics.weight(term) for term in terms(question)}
    total = sum(wanted.values()) or 1.0
    heading = set(terms(passage.heading))
    found: list[Evidence] = []
    before: set[str] = set()
    for place, span in enumerate(split_spans(passage.text)):
        said = set(terms(inline_plain(span.of(passage.text))))
        evidence = Evidence(passage, place, span, 0.0)
        # "They cost friction" is about what the sentence before names.
        meant = before if evidence.leans_back else set()
        covered = sum(
            weight
            * (1.0 if t in said else BACK_CREDIT if t in meant else HEADING_CREDIT * (t in heading))
            for t, weight in wanted.items()
        )
        found.append(replace(evidence, coverage=covered / total))
        before = said | meant
    return found


def _answers_in_form(evidence: Evidence) -> bool:
    """Leave out questions, such as exercises, headings and pictures: they answer nothing."""
    text = evidence.text.strip("*_ ")
    return evidence.span.kind != "heading" and not text.endswith("?") and text[:2] != "!["
