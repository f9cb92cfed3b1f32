"""The events of the pipeline.

`Started` is the first event, once the book and the conversation are known, and `Done` the last. A
`Sentence` is emitted only after verification.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from citewell.domain import Answer, Claim, Confidence, Hit, Notice
from citewell.errors import CitewellError

NOTICES: dict[Notice, str] = {
    "not_kept": "This answer could not be saved and will be missing from the conversation.",
    "embedded_answer": "No language model gave a proven answer, so the book is quoted instead.",
    "fallback_model": "The first model gave no proven answer, so another one wrote this.",
    "shortened": "Less than half of the language model's answer could be proven, so the book is"
    " quoted as well.",
    "incomplete": "The language model stopped early; the text up to that point is proven.",
}
"""The texts of notices for readers."""


@dataclass(frozen=True, slots=True)
class Started:
    """The book and the conversation exist; the answer is in progress."""

    thread_id: str
    answer_id: str


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The result of the search and its confidence.

    Repeated, with all passages so far, when the model searches by itself.
    """

    standalone_question: str
    hits: tuple[Hit, ...]
    confidence: Confidence
    at: datetime = field(default_factory=partial(datetime.now, UTC))
    question: str = ""
    """The question in the reader's own words."""
    will_answer: bool = False
    """Whether the hits are used for an answer; in a refusal they are the nearest passages."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """The next verified piece of the answer, with its citations."""

    text: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class Withheld:
    """An unsupported claim of the model, which the answer omits."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Done:
    """The complete, verified answer."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed:
    """An error after `Started`. Emitted by the API layer; the pipeline itself raises."""

    error: CitewellError


Event = Started | Retrieved | Sentence | Withheld | Done | Failed
