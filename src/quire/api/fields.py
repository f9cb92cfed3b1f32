"""Fields that the contracts have in common: filters, previews, grounding."""

from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from quire.api.sent import Sent
from quire.domain import Answer, Chunk, Filters, Prefix, Wanted

PREVIEW = 500
Share = Annotated[float, Field(ge=0, le=1)]


class Wire(BaseModel):
    """A model on the wire; the words under each field appear in the API's documentation."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class BeginsWith(Sent):
    """Matches whatever begins with `prefix`."""

    model_config = ConfigDict(extra="forbid")

    prefix: str = Field(max_length=1000)
    """The beginning."""


VALUES = 'must be a text of up to 1,000 characters, {"prefix": "…"}, or a list of up to 20 of these'


def _plainly(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Read a filter's value; what is wrong with it is said once, not for each of its shapes."""
    try:
        return read(value)
    except ValidationError as error:
        raise ValueError(VALUES) from error


Value = Annotated[str, StringConstraints(max_length=1000)] | BeginsWith
Values = Annotated[
    Value | Annotated[list[Value], Field(max_length=20)] | None, WrapValidator(_plainly)
]


class BookFilters(Sent):
    """Restricts the search to parts of the book.

    Each field takes a text that must be equal, `{"prefix": "…"}`, or a list of these of which any
    may match; where several fields are given, all must match.
    """

    model_config = ConfigDict(extra="forbid")

    chapter: Values = None
    """Chapter title."""
    section: Values = None
    """Section title."""
    url: Values = None
    """Address of the section on the published site, with its anchor."""
    source_file: Values = None
    """Path of the page's source file below the book's folder."""

    @model_validator(mode="before")
    @classmethod
    def _known(cls, data: Any) -> Any:
        said = data if isinstance(data, dict) else {}
        unknown = [name for name in said if name not in cls.model_fields]
        if unknown:
            known = ", ".join(cls.model_fields)
            raise ValueError(f"there is no filter {', '.join(map(repr, unknown))}; known: {known}")
        return data

    def _wanted(self, name: str) -> Wanted:
        value: Values = getattr(self, name)
        values = value if isinstance(value, list) else [value]
        return tuple(
            Prefix(one.prefix) if isinstance(one, BeginsWith) else one
            for one in values
            if one is not None
        )

    def read(self) -> Filters:
        """Give the filters as the pipeline has them."""
        return Filters(**{name: self._wanted(name) for name in type(self).model_fields})


def dump(model: BaseModel) -> Any:
    """Give a model ready for JSON."""
    return model.model_dump(mode="json")


def clipped(text: str, limit: int) -> str:
    """Give a text that is no longer than `limit`, with a sign where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def not_fully_supported(answer: Answer) -> tuple[str, ...]:
    """Give what the model said beyond its source, shown or withheld."""
    partly = (claim for claim in answer.claims if claim.verdict == "partly")
    return tuple(dict.fromkeys(claim.text for claim in (*partly, *answer.unsupported)))


def is_fully_grounded(answer: Answer) -> bool:
    """Tell whether every statement shown is supported as a whole."""
    return all(claim.verdict in ("supported", "not_a_claim") for claim in answer.claims)


def slug_of(chunk: Chunk) -> str:
    """Give the path of a passage's page on the published site."""
    return urlsplit(chunk.url).path or "/"
