"""Fields that the contracts have in common: ids, filters, previews, grounding."""

import json
from typing import Annotated, Any
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from quire.domain import (
    SELECTION_LENGTH,
    Answer,
    Chunk,
    ContextMode,
    Filters,
    Hit,
    Prefix,
    Wanted,
)

PREVIEW = 500
UUID_VERSION = 4


class Wire(BaseModel):
    """A model on the wire; the words under each field appear in the API's documentation."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


def _uuid(value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError as error:
        raise ValueError("must be a UUID") from error


def _uuid4(value: str) -> str:
    if _uuid(value).version != UUID_VERSION:
        raise ValueError("must be a UUID of version 4")
    return str(UUID(value))


_UUID_FORMAT = Field(json_schema_extra={"format": "uuid"})
Uuid4 = Annotated[str, AfterValidator(_uuid4), _UUID_FORMAT]
AnyUuid = Annotated[str, AfterValidator(lambda value: str(_uuid(value))), _UUID_FORMAT]
AnyId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,36}$")]
"""An id of the caller's choice; as long as the ids that Quire gives."""
Share = Annotated[float, Field(ge=0, le=1)]
MAX_OBJECT, MAX_DEPTH = 10_000, 20


def keepable(value: dict[str, Any]) -> dict[str, Any]:
    """Give an object back if it can be kept.

    Raises:
        ValueError: it is too large, or JSON readers take it but nobody can write it again.
    """
    if not _is_shallow(value, MAX_DEPTH):
        raise ValueError(f"may be nested {MAX_DEPTH} deep at most")
    try:
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except ValueError as error:
        raise ValueError("must be plain JSON: no NaN, no infinity, whole characters") from error
    if size > MAX_OBJECT:
        raise ValueError(f"may have {MAX_OBJECT} bytes at most")
    return value


def _is_shallow(value: Any, depth: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return True
    return depth > 0 and all(_is_shallow(one, depth - 1) for one in inner)


Kept = Annotated[dict[str, Any], AfterValidator(keepable)]
"""An object of the caller's own, small enough to be kept with every message."""


def selectable(value: str | None, mode: ContextMode | None) -> str | None:
    """Give a selected text back if it can be the source that the mode asks for.

    Raises:
        ValueError: it is missing, or has another length than a selection may have.
    """
    least, most = SELECTION_LENGTH
    if len(value or "") > most:
        raise ValueError(f"may have {most} characters at most")
    if mode == "user_provided" and len((value or "").strip()) < least:
        raise ValueError(f"is required in mode user_provided, with at least {least} characters")
    return value


class BeginsWith(Wire):
    """Matches whatever begins with `prefix`."""

    prefix: str = Field(max_length=1000)
    """The beginning."""


Value = Annotated[str, StringConstraints(max_length=1000)] | BeginsWith
Values = Value | Annotated[list[Value], Field(max_length=20)] | None


class BookFilters(Wire):
    """Restricts the search to parts of the book.

    Each field takes a text that must be equal, `{"prefix": "…"}`, or a list of these of which any
    may match; where several fields are given, all must match.
    """

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


def rests_on(answer: Answer) -> tuple[Hit, ...]:
    """Give the passages behind an answer, in the order of its `[n]`; none for a refusal."""
    return answer.hits if answer.citations else ()


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
