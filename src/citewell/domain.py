"""The nouns of Citewell: what a book is made of, what is found in it, and what is said about it."""

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
"""Verdicts whose citations prove the claim; those of `contradicted` speak against it."""
AnswerState = Literal["processing", "validated", "delivered", "flagged", "unfinished"]
"""How far an answer has come; `unfinished` is one whose process died while it was made."""
AnswerStatus = Literal[
    "answered",
    "not_in_book",
    "no_direct_answer",
    "not_in_selection",
    "unsupported_request",
    "small_talk",
    "no_context",
]
"""How a question ended: `not_in_book` is off the book's subject, `no_direct_answer` found a section
but no proven sentence, `unsupported_request` asks for something other than an answer."""
ContextMode = Literal["retrieval_pipeline", "user_provided"]
Notice = Literal["not_kept", "embedded_answer", "fallback_model", "incomplete"]
"""What was down, or went wrong, while an answer was made that is given all the same."""
SELECTION_LENGTH = (1, 16_000)
"""Characters that a selection may have: any text, and about 4,000 tokens at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One piece of a section that belongs together, in the author's own bytes."""

    kind: BlockKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What stands under one heading, up to the next."""

    path: tuple[str, ...]
    """Headings from the page's title down to this one."""
    anchor: str
    """The heading's id on the built page; empty for the text before the first heading."""
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of the book, as the built site has it."""

    source: str
    """Path of the source file below the book's folder."""
    title: str
    part: str
    """The part or category that the page stands in; empty where there is none."""
    url: str
    sections: tuple[Section, ...]
    ids: frozenset[str] | None = None
    """Every id that a link to the page may end in, where the format tells them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A file that was not read, and why."""

    source: str
    reason: str
    failed: bool = True
    """Whether it should have been read; a draft, say, is left out on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLink:
    """A reference from one page to something in the book that is not there."""

    source: str
    target: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A whole book as a reader found it, in reading order."""

    title: str
    kind: str
    """The format it is written in."""
    pages: tuple[Page, ...]
    skipped: tuple[SkippedFile, ...] = ()
    broken_links: tuple[BrokenLink, ...] = ()
    """References by name that lead nowhere, in formats that have such; others are looked for."""
    notes: tuple[str, ...] = ()
    """What the author should know besides: an address that cannot be right, say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage of one section, small enough to embed; what searches return and citations quote."""

    id: str
    book: str
    source_file: str
    part: str
    chapter: str
    section: str
    path: tuple[str, ...]
    url: str
    """The page's address on the built site, with the heading's anchor."""
    text: str
    content_hash: str
    sequence: int
    """Position among the chunks of its page, from 1."""
    total: int
    token_count: int
    processed_at: datetime
    role: ChunkRole = "text"
    """What the author uses it for, where the book shows that."""
    piece: str = ""
    """Which piece of a block too long for one chunk, as `2/3`; empty where nothing was split."""
    captions: tuple[str, ...] = ()
    """Captions of the figures in it, each byte for byte as the text has it."""

    @property
    def heading(self) -> str:
        """Where the passage stands: its part, its chapter, and the headings below."""
        above = (self.part, self.chapter) if self.chapter != self.path[0] else (self.part,)
        return " › ".join(title for title in (*above, *self.path) if title)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """One line of the table of contents, and those below it."""

    id: str
    """The page's source file and the heading's anchor; what a section is asked for by."""
    kind: HeadingKind
    title: str
    number: int | None = None
    """A chapter's number, by its title or file name, or else by counting."""
    url: str
    source_file: str
    chunks: tuple[str, ...] = ()
    """Ids of the passages between this heading and the next."""
    position: int
    """Of its first passage among all of the book, from 1."""
    children: tuple["Heading", ...] = ()

    def walk(self) -> Iterator["Heading"]:
        """Yield this heading and all below it, in reading order."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A figure's caption or a defined term, where it stands in a passage."""

    text: str
    """Byte for byte what the passage says from `start` to `end`."""
    chunk_id: str
    start: int
    end: int
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """How a book is built: its headings, figures and definitions, in reading order."""

    headings: tuple[Heading, ...] = ()
    figures: tuple[Excerpt, ...] = ()
    definitions: tuple[Excerpt, ...] = ()

    def walk(self) -> Iterator[Heading]:
        """Yield every heading, in reading order."""
        for heading in self.headings:
            yield from heading.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk that a search found, or that was opened by name."""

    chunk: Chunk
    rank: int
    """Position in the result, from 1."""
    similarity: float
    """Calibrated relevance of this passage to the question, 0 to 1."""
    cosine: float
    """The raw cosine of the embeddings, kept beside it."""
    vector: tuple[float, ...] = field(default=(), repr=False)
    here: bool = False
    """Whether it stands in the chapter that the reader has open, where that is known."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A filter's value that matches whatever begins with it."""

    text: str


AllowedValues = tuple[str | Prefix, ...]
"""Alternatives: a string matches the whole value, a `Prefix` the start of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Where to search; a field left empty does not restrict, and all the others must match."""

    chapter: AllowedValues = ()
    section: AllowedValues = ()
    url: AllowedValues = ()
    """Addresses with the heading's anchor, as passages have them."""
    source_file: AllowedValues = ()

    def __bool__(self) -> bool:
        return any(self.by_field.values())

    @property
    def by_field(self) -> dict[str, AllowedValues]:
        """The fields by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def matches(self, chunk: Chunk) -> bool:
        """Return whether a chunk satisfies every filter."""
        return all(
            any(_matches(getattr(chunk, name), value) for value in values)
            for name, values in self.by_field.items()
            if values
        )


def _matches(text: str, value: str | Prefix) -> bool:
    return text.startswith(value.text) if isinstance(value, Prefix) else text == value


DEFAULT_LEAST_ANSWERABILITY = 0.7
"""The gate where no target risk is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question about one book, whichever contract it came in by."""

    text: str
    book: str | None = None
    """The book's name; `None` is the only book there is."""
    thread_id: str | None = None
    top_k: int = 5
    threshold: float = 0.7
    """Least similarity of a passage that may be used."""
    least_answerability: float = DEFAULT_LEAST_ANSWERABILITY
    """How likely the passages must hold the answer for the question to be answered."""
    filters: Filters = Filters()
    near: str = ""
    """The chapter that the reader has open: a hint that decides between passages that are close."""
    selected_text: str | None = None
    """What the reader selected; given, it is the only source of the answer."""
    earlier: tuple[tuple[str, str], ...] = ()
    """Questions and answers before it, where the caller keeps the conversation, not a thread."""
    owner: str | None = None
    """Who asks; conversations of one owner are hidden from all others."""
    key: str = ""
    """The part of `owner` that all readers of one key have in common, where several share it."""
    contract: str = "chat"
    """The contract it came in by."""
    noted: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)
    """What the contract wants kept with the answer; it changes nothing about it."""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)
    """What the client wants kept with the conversation."""
    received_at: datetime | None = None
    """When it arrived."""
    sent_at: datetime | None = None
    """When the client says that it was sent, where the contract asks for that."""
    opens_by_id: bool = False
    """Whether the conversation that it begins is opened by its id alone, if that is random."""
    reader_context: str = ""
    """What the client says about the reader, as JSON: data for the model, and never evidence."""

    @property
    def mode(self) -> ContextMode:
        """Where the answer comes from: the book, or the reader's selection alone."""
        return "retrieval_pipeline" if self.selected_text is None else "user_provided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Text that a reader selected, and where the book has it."""

    text: str
    found_in: tuple[str, ...] = ()
    """Ids of the passages of the book that it came from; none if it is the reader's own text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """The sentence of the book that proves a claim."""

    number: int
    """The `[n]` mark that points here."""
    chunk_id: str
    chapter: str
    section: str
    quote: str
    """Byte for byte what the chunk's text, or its heading, says from `start` to `end`."""
    start: int
    end: int
    url: str
    """Opens the page at that sentence; empty for text that is not the book's."""
    of: QuoteSource = "text"
    """What is quoted: the passage, the headings it stands under, the reader's selection from the
    book, or text of the reader's own."""
    found_in: str = ""
    """Where the quote is of a selection: the id of the book's passage that says the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a judge found about one claim."""

    kind: VerdictKind
    probability: float
    """How likely the evidence supports the claim, 0 to 1."""
    evidence: tuple[tuple[int, int, int], ...] = ()
    """(passage number, start, end) of the sentences that support it, or that contradict it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement of an answer, where it stands there, and whether the book says so."""

    text: str
    start: int
    end: int
    verdict: VerdictKind
    probability: float
    citations: tuple[Citation, ...] = ()


SUFFICIENT_SIMILARITY, SUFFICIENT_CHUNKS = 0.75, 3
"""What the chat contract calls sufficient context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How good the passages used are, by the measures of the chat contract; 0 where none is."""

    average_similarity: float
    min_similarity: float
    max_similarity: float
    num_chunks: int
    chunk_diversity: float
    level: ConfidenceLevel
    should_answer: bool
    answerability: float
    """How likely the passages hold the answer, 0 to 1."""
    correctness: float | None = None
    """How likely the answer is right and supported, 0 to 1; known once it is complete."""

    @property
    def has_sufficient_context(self) -> bool:
        """Whether at least three passages are used, with an average similarity of at least 0.75."""
        return (
            self.average_similarity >= SUFFICIENT_SIMILARITY
            and self.num_chunks >= SUFFICIENT_CHUNKS
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Milliseconds spent in each stage of one answer."""

    retrieve_ms: float = 0.0
    answer_ms: float = 0.0
    verify_ms: float = 0.0
    total_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A finished answer: every claim in it was checked against the book."""

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
    """Claims the book does not support: not part of `text`, each placed where it would stand."""
    hits: tuple[Hit, ...]
    """The passages retrieved: those the answer could rest on; for a refusal, the nearest."""
    confidence: Confidence
    model: str
    created_at: datetime
    timings: Timings = Timings()
    selection: Selection | None = None
    """What the reader selected, where that was to be the only source."""
    lacks: tuple[str, ...] = ()
    """Words of the question that a selection without the answer does not have."""
    tokens_used: int | None = None
    """Tokens that the model counted, where it does."""
    tokens_written: int = 0
    """How many of them it wrote."""
    dollars: float | None = None
    """What they cost, where the price is known."""
    notices: tuple[Notice, ...] = ()
    """What was down while it was made."""
    cache_age: float | None = None
    """Seconds since it was made, where it was made for the same question before."""
    context_given: bool = False
    """Whether passages were given to whoever wrote it, however the check of that ended."""

    @property
    def mode(self) -> ContextMode:
        """Where the answer comes from: the book, or the reader's selection alone."""
        return "user_provided" if self.selection else "retrieval_pipeline"

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The distinct citations of the answer, in order of appearance."""
        proven = (claim for claim in self.claims if claim.verdict in PROVEN_VERDICTS)
        return tuple(dict.fromkeys(one for claim in proven for one in claim.citations))

    @property
    def sources(self) -> tuple[Hit, ...]:
        """The retrieved passages that the answer cites, in the order of their numbers."""
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
        """What the check came to: flagged if the model said what the book does not support."""
        return "flagged" if self.unsupported else "validated"
