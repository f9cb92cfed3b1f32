"""What the pipeline says while it works.

`Started` comes first, once the book and the thread are known; `Done` comes last. A `Sentence` is
sent only after its claims have been checked.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from citewell.domain import Answer, Claim, Confidence, Hit, Notice
from citewell.errors import CitewellError

NOTICES: dict[Notice, str] = {
    "not_kept": "This answer could not be saved: it will be missing from the conversation.",
    "embedded_answer": "No language model gave anything proven, so the book is quoted instead.",
    "fallback_model": "The first model gave nothing proven, so another one wrote this answer.",
    "incomplete": "The language model broke off; what it had said by then is proven.",
}
"""What a reader is told of an answer that was given though something was down."""


@dataclass(frozen=True, slots=True)
class Started:
    """The book and the thread exist; work has begun."""

    thread_id: str
    answer_id: str


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The search is done: what was looked for, what was found, how good it is.

    It comes again, with all passages so far, where a model has found more by itself.
    """

    standalone_question: str
    hits: tuple[Hit, ...]
    confidence: Confidence
    at: datetime = field(default_factory=partial(datetime.now, UTC))
    question: str = ""
    """The question in the reader's own words."""
    answering: bool = False
    """Whether an answer is made from the hits; they are the nearest otherwise."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A checked piece of the answer, in order, with its proof."""

    text: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class Withheld:
    """A claim of the model that the book does not support; it is not part of the answer."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Done:
    """The whole checked answer."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Failed:
    """Work stopped after `Started`. Made by the API layer; the pipeline itself raises."""

    error: CitewellError


Event = Started | Retrieved | Sentence | Withheld | Done | Failed
