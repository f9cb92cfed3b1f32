"""Pairs of made claims about one text: some say what it says, some surely do not."""

import random
import re
from collections.abc import Iterator, Sequence

from citewell.text.terms import terms
from training.evidence import Passage, select, shown
from training.lies import Context, lies
from training.rows import Entailment, Label
from training.search import Words
from training.tokens import count_tokens
from training.truths import led_in, lowered, truths

NEAR = 6
"""Sentences on each side among which evidence is chosen."""
_IMPERATIVE = re.compile(
    r"^(?:Use|Run|Set|Add|Create|Install|Open|Make|Check|Call|Put|Move|Copy|Start|Stop|Turn|Remove|"
    r"Connect|Place|Write|Read|Change|Pass|Specify|Enter|Click|Select|Choose|Build|Launch|Clone|"
    r"Configure|Define|Declare|Import|Include|Keep|Leave|Wait|Ask|Save|Edit|Replace|Update|Enable|"
    r"Disable|Export|Source|Share|Store|Apply|Attach|Mount|Plug|Press|Wash|Clean|Heat|Mix) [a-z`]"
)
_FORBIDS = (
    "Never do the following:", "Do not do any of this:", "Avoid the following:", "Common mistakes:",
    "What not to do:", "Don't:", "Bad practice:", "The following steps are wrong:", "Things to avoid:",
    "You must not:", "Wrong procedure:", "Incorrect:",
)  # fmt: skip
_BIDS = (
    "Do the following:", "Follow these steps:", "Recommended steps:", "What to do:", "Do:",
    "Good practice:", "The following steps are right:", "Proceed as follows:", "Right procedure:",
    "You should:", "Correct:", "Best practices:",
)  # fmt: skip
_DENIES = (
    "It is not true that:", "Common misconceptions:", "Myths:", "The following statements are false:",
    "Contrary to popular belief, it is wrong that:", "None of the following is true:",
    "What people wrongly believe:", "Popular errors:",
)  # fmt: skip
_AFFIRMS = (
    "It is true that:", "Key facts:", "Facts:", "The following statements are true:", "Summary:",
    "All of the following is true:", "What is known:", "Key points:",
)  # fmt: skip


def usable(sentence: str) -> bool:
    """Return whether a sentence can stand as a claim by itself."""
    return (
        40 < len(sentence) < 260
        and sentence[0].isupper()
        and sentence[-1] == "."
        and len(set(terms(sentence))) >= 4
        and not re.match(
            r"(?:It|They|This|These|That|Those|He|She|Its|Their|Such|Figure|Table)\b", sentence
        )
        and sentence.count("(") == sentence.count(")")
    )


class Source:
    """A book's passages, from which twins are made."""

    def __init__(self, name: str, passages: Sequence[Passage], names: Sequence[str]) -> None:
        """Count its words, by which evidence is chosen."""
        self.name = name
        self.passages = passages
        self.names = names
        self._words = Words([" ".join(p.sentences) for p in passages])

    def evidence(
        self, claim: str, passage: Passage, keep: Sequence[int]
    ) -> tuple[str, tuple[str, ...]]:
        """Return the heading and the sentences for a claim, those of `keep` among them."""
        first = max(min(keep, default=0) - NEAR, 0)
        part = Passage(passage.heading, passage.sentences[first : max(keep, default=0) + NEAR + 1])
        kept = [(0, place - first) for place in keep]
        return shown([part], select(claim, [part], self._words.idf, count_tokens, kept))

    def row(
        self, claim: str, passage: Passage, keep: Sequence[int], label: Label, kind: str
    ) -> Entailment:
        """Return a claim with its evidence."""
        heading, texts = self.evidence(claim, passage, keep)
        return Entailment(claim, heading, texts, label, f"{self.name}/{kind}")

    def twins(self, rng: random.Random) -> Iterator[Entailment]:
        """Yield lies and as many truths about sentences of the book."""
        for passage in self.passages:
            own = [place for place, s in enumerate(passage.sentences) if usable(s)]
            for place in own:
                yield from self._about(rng, passage, place)
            yield from self._joined(rng, passage, own)
            yield from self._framed(rng, passage, own)

    def _around(self, passage: Passage, place: int) -> Context:
        others = [
            s for i, s in enumerate(passage.sentences) if i != place and abs(i - place) <= NEAR
        ]
        return Context(" ".join(passage.sentences), others, self.names)

    def _about(self, rng: random.Random, passage: Passage, place: int) -> Iterator[Entailment]:
        text = passage.sentences[place]
        made = lies(rng, text, self._around(passage, place))
        for kind, said, label in made:
            yield self.row(led_in(rng, said), passage, [place], label, f"lie-{kind}")
        for kind, said in truths(rng, text, most=max(len(made), 1)):
            if kind == "same" and rng.random() < 0.5:
                continue  # the words themselves are easy
            yield self.row(led_in(rng, said), passage, [place], "supported", f"true-{kind}")

    def _joined(
        self, rng: random.Random, passage: Passage, own: Sequence[int]
    ) -> Iterator[Entailment]:
        """Yield two sentences as one claim, and the same with a lie in one of them."""
        if len(own) < 2:
            return
        one, two = sorted(rng.sample(list(own), 2))
        first, second = passage.sentences[one].rstrip("."), passage.sentences[two]
        yield self.row(
            f"{first}; {lowered(second)}", passage, [one, two], "supported", "true-joined"
        )
        made = lies(rng, second, self._around(passage, two), most=1)
        for _, said, label in made:
            keep = [one, two]
            yield self.row(f"{first}; {lowered(said)}", passage, keep, label, "lie-joined")

    def _framed(
        self, rng: random.Random, passage: Passage, own: Sequence[int]
    ) -> Iterator[Entailment]:
        """Yield sentences under a line that forbids or denies them, or that says they are right."""
        for orders in (True, False):
            fit = [p for p in own if bool(_IMPERATIVE.match(passage.sentences[p])) == orders]
            if not fit:
                continue
            items = [
                passage.sentences[p] for p in rng.sample(fit, min(len(fit), rng.randint(1, 3)))
            ]
            claim = rng.choice(items)
            against, for_ = (_FORBIDS, _BIDS) if orders else (_DENIES, _AFFIRMS)
            yield from self._frame(rng, rng.choice(against), items, passage, claim, "contradicted")
            yield from self._frame(rng, rng.choice(for_), items, passage, claim, "supported")
            if orders:
                never = f"{rng.choice(('Never', 'Do not'))} {claim[:1].lower()}{claim[1:]}"
                yield from self._frame(
                    rng, rng.choice(_FORBIDS), items, passage, never, "supported"
                )
                yield from self._frame(
                    rng, rng.choice(_BIDS), items, passage, never, "contradicted"
                )

    def _frame(
        self, rng: random.Random, line: str, items: Sequence[str], passage: Passage,
        claim: str, label: Label,
    ) -> Iterator[Entailment]:  # fmt: skip
        """Yield one claim; the line leads in, is the heading, or stands before each item."""
        kind = f"{'true' if label == 'supported' else 'lie'}-framed"
        title = line.rstrip(":")
        way = rng.randrange(3)
        heading = f"{passage.heading} › {title}" if way == 1 else passage.heading
        lead = (line,) if way == 0 else ()
        texts = tuple(f"{line} {item}" for item in items) if way == 2 else (*lead, *items)
        yield Entailment(claim, heading, texts, label, f"{self.name}/{kind}")
