"""The domain model: books and their passages, questions, answers, claims and citations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal

BlockKind = Literal["prose", "list", "code", "table", "math", "admonition", "quote", "caption"]
ChunkRole = Literal["text", "exercises", "solutions", "glossary", "figure"]
HeadingKind = Literal["part", "chapter", "page", "section"]
QuoteSource = Literal["text", "heading", "selection", "own_text"]
ConfidenceLevel = Literal["high", "medium", "low", "insufficient"]
VerdictKind = Literal["supported", "partly", "unsupported", "contradicted", "not_a_claim"]
PROVEN_VERDICTS: tuple[VerdictKind, ...] = ("supported", "partly")
"""Verdicts whose citations prove the claim; the citations of `contradicted` refute it."""
AnswerState = Literal["processing", "validated", "delivered", "flagged", "unfinished"]
"""The state of an answer; `unfinished` means that its process died while producing it."""
AnswerStatus = Literal[
    "answered",
    "not_in_book",
    "no_direct_answer",
    "not_in_selection",
    "unsupported_request",
    "small_talk",
    "no_context",
]
"""The outcome of a question. `not_in_book`: off the book's subject. `no_direct_answer`: relevant
sections, but no proven sentence. `unsupported_request`: something that quotes cannot provide."""
DecidedBy = Literal["", "quote", "literal", "judge", "guard", "llm", "repair"]
"""What decided on a claim: an exact quote, a literal copy of code or a table, the local judge, a
guard, the language model; or it was repaired."""
ContextMode = Literal["retrieval_pipeline", "user_provided"]
Notice = Literal["not_kept", "embedded_answer", "fallback_model", "incomplete", "shortened"]
"""A problem that occurred while an answer was produced."""
TOC_MODEL_NAME, NO_MODEL_NAME = "contents", "no model"
"""Stand in for the model name in answers from the table of contents, and where models are down."""
SELECTION_LENGTH = (1, 64_000)
"""Minimum and maximum length of a selection in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A paragraph, list, table or other unit of a section, byte for byte as in the source."""

    kind: BlockKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The text under one heading, up to the next."""

    path: tuple[str, ...]
    """The headings from the page's title down to this one."""
    anchor: str
    """The heading's id on the published page; empty for the text before the first heading."""
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of the book, as on the published site."""

    source: str
    """Path of the source file, relative to the book's folder."""
    title: str
    part: str
    """The part or category of the page; empty if there is none."""
    url: str
    sections: tuple[Section, ...]
    ids: frozenset[str] | None = None
    """All fragment ids of the page, if the format defines them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A file that was not ingested, and why."""

    source: str
    reason: str
    failed: bool = True
    """Whether this is an error; drafts, for example, are skipped on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLink:
    """A reference to something that the book does not contain."""

    source: str
    target: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A whole book in reading order, as parsed from its source."""

    title: str
    kind: str
    """The name of its format, such as `docusaurus`."""
    pages: tuple[Page, ...]
    skipped: tuple[SkippedFile, ...] = ()
    broken_links: tuple[BrokenLink, ...] = ()
    """Unresolved references by name; broken URLs are detected later."""
    notes: tuple[str, ...] = ()
    """Other warnings for the author, such as an invalid site URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage of one section: the unit of embedding, retrieval and citation."""

    id: str
    book: str
    source_file: str
    part: str
    chapter: str
    section: str
    path: tuple[str, ...]
    url: str
    """The URL of the published page, with the heading's anchor."""
    text: str
    content_hash: str
    sequence: int
    """Position among the chunks of its page, from 1."""
    total: int
    token_count: int
    processed_at: datetime
    role: ChunkRole = "text"
    """The kind of content, as far as the book's markup or headings show it."""
    piece: str = ""
    """The piece of a split block, such as `2/3`; empty if no block was split."""
    captions: tuple[str, ...] = ()
    """The figure captions in the text, byte for byte."""

    @property
    def heading(self) -> str:
        """The passage's part, chapter and section headings, joined."""
        prefix = (self.part, self.chapter) if self.chapter != self.path[0] else (self.part,)
        return " › ".join(title for title in (*prefix, *self.path) if title)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """An entry of the table of contents, with its children."""

    id: str
    """The page's source file and the heading's anchor, which identify the section."""
    kind: HeadingKind
    title: str
    number: int | None = None
    """A chapter's number, taken from its title or file name, or else counted."""
    url: str
    source_file: str
    chunks: tuple[str, ...] = ()
    """The ids of the passages between this heading and the next."""
    position: int
    """The position of its first passage in the book, from 1."""
    children: tuple["Heading", ...] = ()

    def walk(self) -> Iterator["Heading"]:
        """Yield this heading and its descendants, in reading order."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A figure's caption or a defined term, located in a passage."""

    text: str
    """The passage's text from `start` to `end`, byte for byte."""
    chunk_id: str
    start: int
    end: int
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """A book's headings, figures and definitions, in reading order."""

    headings: tuple[Heading, ...] = ()
    figures: tuple[Excerpt, ...] = ()
    definitions: tuple[Excerpt, ...] = ()

    def walk(self) -> Iterator[Heading]:
        """Yield every heading, in reading order."""
        for heading in self.headings:
            yield from heading.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A retrieved chunk."""

    chunk: Chunk
    rank: int
    """The position in the ranking, from 1."""
    similarity: float
    """The calibrated relevance of the passage to the question, 0 to 1."""
    cosine: float
    """The cosine of the question's and the passage's embeddings."""
    vector: tuple[float, ...] = field(default=(), repr=False)
    in_current_chapter: bool = False
    """Whether the reader has the passage's chapter open."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A filter value that matches every string that starts with it."""

    text: str


AllowedValues = tuple[str | Prefix, ...]
"""Alternatives: a string matches the whole value, a `Prefix` the start of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Restricts a search to passages that match in every non-empty field."""

    chapter: AllowedValues = ()
    section: AllowedValues = ()
    url: AllowedValues = ()
    """URLs with the heading's anchor, as in `Chunk.url`."""
    source_file: AllowedValues = ()

    def __bool__(self) -> bool:
        return any(self.by_field.values())

    @property
    def by_field(self) -> dict[str, AllowedValues]:
        """The allowed values of every field, by its name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def matches(self, chunk: Chunk) -> bool:
        """Return whether a chunk satisfies every filter."""
        return all(
            any(_matches(getattr(chunk, name), value) for value in values)
            for name, values in self.by_field.items()
            if values
        )


def _matches(text: str, value: str | Prefix) -> bool:
    return text.startswith(value.text) if isinstance(value, Prefix) else text == value


DEFAULT_MIN_ANSWERABILITY = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question about one book, independent of the API contract."""

    text: str
    book: str | None = None
    """The book's name; `None` means the default or only book."""
    thread_id: str | None = None
    top_k: int = 5
    threshold: float = 0.7
    """The minimum similarity of a passage that may be used."""
    min_answerability: float = DEFAULT_MIN_ANSWERABILITY
    """The minimum probability that the passages contain the answer, below which it is refused."""
    filters: Filters = Filters()
    current_chapter: str = ""
    """The chapter that the reader has open, which decides between similarly relevant passages."""
    selected_text: str | None = None
    """Text that the reader selected; if given, the only source of the answer."""
    history: tuple[tuple[str, str], ...] = ()
    """Earlier questions and answers, if the client rather than Citewell stores the conversation."""
    owner: str | None = None
    """The caller; other owners cannot see the conversation."""
    key: str = ""
    """The part of `owner` shared by all readers of a key, if several readers share it."""
    contract: str = "chat"
    """The API contract of the request."""
    contract_data: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)
    """Data that the contract stores with the answer; it does not influence the answer."""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)
    """Data that the client stores with the conversation."""
    received_at: datetime | None = None
    """When it arrived."""
    sent_at: datetime | None = None
    """When the client sent it, if the contract has such a field."""
    opens_by_id: bool = False
    """Whether a new conversation can be opened by its id alone, if that is a random UUID."""
    reader_context: str = ""
    """The client's data about the reader, as JSON, for the model's prompt; never evidence."""

    @property
    def mode(self) -> ContextMode:
        """Whether the answer comes from the book or from the reader's selection alone."""
        return "retrieval_pipeline" if self.selected_text is None else "user_provided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Text that a reader selected, and its location in the book."""

    text: str
    found_in: tuple[str, ...] = ()
    """The ids of the passages that contain it; empty if it is not the book's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A quote that proves a claim."""

    number: int
    """The number of the `[n]` marker."""
    chunk_id: str
    chapter: str
    section: str
    quote: str
    """The text from `start` to `end` of the chunk, or of its heading, byte for byte."""
    start: int
    end: int
    url: str
    """A link to the quote on the page; empty for text that is not the book's."""
    of: QuoteSource = "text"
    """The source of the quote: the passage, its headings, the reader's selection from the book, or
    text of the reader's own."""
    found_in: str = ""
    """For a quote of a selection: the id of the passage that contains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judge's decision on one claim."""

    kind: VerdictKind
    probability: float
    """The probability that the evidence supports the claim."""
    evidence: tuple[tuple[int, int, int], ...] = ()
    """The supporting or contradicting sentences as (passage number, start, end)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement of an answer, with its offsets in the text, its verdict and its citations."""

    text: str
    start: int
    end: int
    verdict: VerdictKind
    probability: float
    citations: tuple[Citation, ...] = ()
    decided_by: DecidedBy = ""
    reason: str = ""
    """The guard that objected, or the text that a repaired claim replaces."""


SUFFICIENT_SIMILARITY, SUFFICIENT_CHUNKS = 0.75, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """The quality of the passages, by the chat contract's measures; zeros without passages."""

    average_similarity: float
    min_similarity: float
    max_similarity: float
    num_chunks: int
    chunk_diversity: float
    level: ConfidenceLevel
    should_answer: bool
    answerability: float
    """The probability that the passages contain the answer."""
    correctness: float | None = None
    """The probability that the complete answer is correct and supported."""

    @property
    def has_sufficient_context(self) -> bool:
        """Whether there are at least 3 passages with an average similarity of at least 0.75."""
        return (
            self.average_similarity >= SUFFICIENT_SIMILARITY
            and self.num_chunks >= SUFFICIENT_CHUNKS
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """The milliseconds spent in each stage of an answer."""

    retrieve_ms: float = 0.0
    answer_ms: float = 0.0
    verify_ms: float = 0.0
    total_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A finished answer, with every claim verified against the book."""

    id: str
    thread_id: str
    book: str
    revision: str
    question: str
    standalone_question: str
    status: AnswerStatus
    text: str
    claims: tuple[Claim, ...]
    withheld: tuple[Claim, ...]
    """Unsupported claims that `text` omits, with the offset at which they would appear."""
    hits: tuple[Hit, ...]
    """The retrieved passages that could support the answer; for a refusal, the nearest ones."""
    confidence: Confidence
    model: str
    created_at: datetime
    timings: Timings = Timings()
    selection: Selection | None = None
    """The reader's selection, if it was the only source."""
    missing_terms: tuple[str, ...] = ()
    """Words of the question that do not occur in a selection without the answer."""
    tokens_used: int | None = None
    """The number of tokens, if the model reports it."""
    tokens_written: int = 0
    """The number of output tokens among them."""
    dollars: float | None = None
    """Their cost, if the price is known."""
    notices: tuple[Notice, ...] = ()
    """Problems that occurred while it was produced."""
    cache_age: float | None = None
    """The age in seconds of an answer from the cache."""
    passages_given: int = 0
    """How many passages the model received, whatever verification made of its answer."""

    @property
    def context_given(self) -> bool:
        """Whether the model received passages."""
        return self.passages_given > 0

    @property
    def mode(self) -> ContextMode:
        """Whether the answer comes from the book or from the reader's selection alone."""
        return "user_provided" if self.selection else "retrieval_pipeline"

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The distinct citations of the answer, in order of appearance."""
        proven = (claim for claim in self.claims if claim.verdict in PROVEN_VERDICTS)
        return tuple(dict.fromkeys(one for claim in proven for one in claim.citations))

    @property
    def sources(self) -> tuple[Hit, ...]:
        """The cited passages, in the order of their citation numbers."""
        numbers: dict[str, int] = {}
        for one in self.citations:
            numbers[one.chunk_id] = min(one.number, numbers.get(one.chunk_id, one.number))
        cited = (hit for hit in self.hits if hit.chunk.id in numbers)
        return tuple(sorted(cited, key=lambda hit: numbers[hit.chunk.id]))

    @property
    def unsupported(self) -> tuple[Claim, ...]:
        """Claims of the model that the book does not support, shown or withheld."""
        shown = (c for c in self.claims if c.verdict in ("unsupported", "contradicted"))
        return (*shown, *self.withheld)

    @property
    def state(self) -> AnswerState:
        """`flagged` if the model made claims that the book does not support."""
        return "flagged" if self.unsupported else "validated"
