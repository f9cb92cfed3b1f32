"""What a question takes from the conversation that it stands in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quire.prose.plain import inline_plain

_MARK = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True, slots=True)
class Leaning:
    """What a follow-up leans on; nothing for a question that stands alone."""

    cited: tuple[str, ...] = ()
    """Ids of passages cited before: they are read beside those that are found."""
    told: str = ""
    """What the last answers said. Who asks on knows it, and most likely wants to know more."""
    asked: str = ""
    """The question in its own words, to tell them from those taken from the conversation."""


ALONE = Leaning()


def plainly(answers: Sequence[str]) -> str:
    """Give what answers say, one after the other, without marks and markup."""
    return " ".join(" ".join(inline_plain(_MARK.sub("", one)).split()) for one in answers)
