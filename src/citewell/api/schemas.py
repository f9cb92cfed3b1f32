"""What callers send: texts, ids and objects that every store can keep and everyone can write again.

What is refused is also what the API's documentation says, as far as JSON Schema can say it.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    Strict,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema

from citewell.domain import (
    SELECTION_LENGTH,
    AllowedValues,
    Answer,
    Chunk,
    ContextMode,
    Filters,
    Prefix,
)
from citewell.text.plain_text import replace_lone_surrogates

NUL = "\0"
NO_NUL_PATTERN = r"^[^\x00]*$"
NOT_BLANK_PATTERN = r"^[^\x00]*[^\s\x00][^\x00]*$"
HAS_LETTER_PATTERN = r"^[^\x00]*[\p{L}\p{N}][^\x00]*$"
MAX_OBJECT, MAX_DEPTH = 10_000, 20
PLAIN_JSON = "PlainJson"


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from _texts([*value, *value.values()])
        case list():
            for one in value:
                yield from _texts(one)


class RequestModel(BaseModel):
    """A model of what a caller sends; every text in it can be kept and sent again.

    Fields that are not known are ignored, and `null` is the default of a field that has one, so
    that clients may send more than is asked for. PostgreSQL cannot keep a NUL, and nobody half of
    a character, as which JSON can write one.
    """

    model_config = ConfigDict(use_attribute_docstrings=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        required = {name for name, one in cls.model_fields.items() if one.is_required()}
        return {name: one for name, one in data.items() if one is not None or name in required}

    @field_validator("*")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        for text in _texts(value):
            if NUL in text:
                raise ValueError("may not hold the character NUL")
            if text != replace_lone_surrogates(text):
                raise ValueError("may not hold half of a character")
        return value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe texts as such without NUL, and what may be left out as what may be null."""
        schema = handler(core)
        model = handler.resolve_ref_schema(schema)
        properties = model.get("properties", {})
        _describe(properties)
        for name in set(properties) - set(model.get("required", ())):
            properties[name] = _or_null(properties[name])
        return schema


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Describe what may also be null; what is said about the whole stays outside."""
    if {"type": "null"} in schema.get("anyOf", ()):
        return schema
    about: dict[str, Any] = {}
    for name in ("title", "description", "default"):
        if name in schema:
            about[name] = schema[name]
    inner = {name: one for name, one in schema.items() if name not in about}
    return {"anyOf": [inner, {"type": "null"}], **about}


def _describe(node: Any) -> None:
    if isinstance(node, list):
        for one in node:
            _describe(one)
    elif isinstance(node, dict):
        if node.get("type") == "string" and not {"enum", "const", "format"} & set(node):
            node.setdefault("pattern", NO_NUL_PATTERN)
        for one in node.values():
            _describe(one)


NOT_BLANK = Field(json_schema_extra={"pattern": NOT_BLANK_PATTERN})
"""Describes a text that is stripped and may not be empty then."""
HAS_LETTER = Field(json_schema_extra={"pattern": HAS_LETTER_PATTERN})
"""Describes one that has a letter or a digit."""


def _number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic takes this for a finding
    return value


def _iso(value: Any) -> Any:
    # Numbers since 1970, also as texts, leave open whether they are seconds or milliseconds.
    if not isinstance(value, str) or not re.match(r"\d{4}-\d\d-\d\d", value):
        raise ValueError("must be a date and time as ISO 8601 writes it")
    return value


def _in_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# What JSON has a type for is taken in that type alone, as it is described.
JsonInt = Annotated[int, BeforeValidator(_number)]
JsonFloat = Annotated[float, BeforeValidator(_number)]
JsonBool = Annotated[bool, Strict()]
IsoDatetime = Annotated[AwareDatetime, BeforeValidator(_iso)]
IsoDatetimeUtc = Annotated[datetime, BeforeValidator(_iso), AfterValidator(_in_utc)]
"""A date and time that is in UTC where it names no zone."""

_HEX = "[0-9a-fA-F]"
_UUID = rf"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$"
_UUID_4 = rf"^{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-[89abAB]{_HEX}{{3}}-{_HEX}{{12}}$"


def _uuid(value: str) -> str:
    if not re.fullmatch(_UUID, value):
        raise ValueError("must be a UUID")
    return value.lower()


def _uuid4(value: str) -> str:
    if not re.fullmatch(_UUID_4, _uuid(value)):
        raise ValueError("must be a UUID of version 4")
    return value.lower()


def _described_uuid(pattern: str) -> Any:
    return Field(json_schema_extra={"format": "uuid", "pattern": pattern})


Uuid4 = Annotated[str, AfterValidator(_uuid4), _described_uuid(_UUID_4)]
AnyUuid = Annotated[str, AfterValidator(_uuid), _described_uuid(_UUID)]
MAX_ID_LENGTH = 200
_NO_CONTROLS = r"[^\x00-\x1f\x7f-\x9f]"
_ID = rf"^{_NO_CONTROLS}*[^\s\x00-\x1f\x7f-\x9f]{_NO_CONTROLS}*$"


def _any_id(value: str) -> str:
    if not value.strip() or re.search(r"[\x00-\x1f\x7f-\x9f]", value):
        raise ValueError("must be a text without control characters that is not blank")
    return value


def _folded(value: str) -> str:
    return value.lower() if re.fullmatch(_UUID, value) else value


AnyId = Annotated[
    str,
    Field(min_length=1, max_length=MAX_ID_LENGTH, json_schema_extra={"pattern": _ID}),
    AfterValidator(_any_id),
]
"""An id of the caller's choice."""
UserId = AnyId
"""Whom a client names as the one who asks."""
NativeId = Annotated[AnyId, AfterValidator(_folded)]
"""The same where UUIDs are kept in lower case, as the native contract reads them."""


def check_metadata(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object back if it can be kept.

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


# Within a model only the model's own parts can be pointed to; `linked` makes it a reference.
_ANY_JSON: dict[str, Any] = {"title": PLAIN_JSON}
_OBJECT = {
    "type": "object",
    "propertyNames": {"pattern": NO_NUL_PATTERN},
    "additionalProperties": _ANY_JSON,
}
_PLAIN_JSON = {
    "description": "Any JSON without the character NUL.",
    "anyOf": [
        {"type": ["null", "boolean", "number"]},
        {"type": "string", "pattern": NO_NUL_PATTERN},
        {"type": "array", "items": _ANY_JSON},
        _OBJECT,
    ],
}


def linked(schemas: dict[str, Any], ref: str) -> dict[str, Any]:
    """Return the models' descriptions with what they point to beside them."""

    def link(node: Any) -> Any:
        if node == _ANY_JSON:
            return {"$ref": ref.format(model=PLAIN_JSON)}
        if isinstance(node, dict):
            return {name: link(one) for name, one in node.items()}
        return [link(one) for one in node] if isinstance(node, list) else node

    found: dict[str, Any] = link({**schemas, PLAIN_JSON: _PLAIN_JSON})
    return found


_SELECTION = {"type": "string", "pattern": NO_NUL_PATTERN}
Context = (
    Annotated[str, WithJsonSchema(_SELECTION)] | Annotated[dict[str, Any], WithJsonSchema(_OBJECT)]
)
"""A selected text, or an object of the caller's own."""
Metadata = Annotated[dict[str, Any], AfterValidator(check_metadata), WithJsonSchema(_OBJECT)]
"""An object of the caller's own, small enough to be kept with every message."""


def check_selection(value: str | None, mode: ContextMode | None) -> str | None:
    """Return a selected text back if it can be the source that the mode asks for.

    Raises:
        ValueError: it is missing, or has another length than a selection may have.
    """
    if mode != "user_provided":
        return value  # it is not used, and need not be one
    least, most = SELECTION_LENGTH
    if len((value or "").strip()) < least:
        raise ValueError("is required in mode user_provided, and may not be blank")
    if len(value or "") > most:
        raise ValueError(f"may have {most:,} characters at most in mode user_provided")
    return value


def check_context(value: Context | None, mode: ContextMode | None) -> Context | None:
    """Return a context back if it can be what the mode asks for, or be kept.

    Raises:
        ValueError: it can be neither.
    """
    if not isinstance(value, dict):
        return check_selection(value, mode)
    check_selection(None, mode)
    return check_metadata(value)


SELECTION_RULE: dict[str, Any] = {
    "if": {
        "properties": {"context_mode": {"const": "user_provided"}},
        "required": ["context_mode"],
    },
    "then": {
        "properties": {
            "user_context": {
                "type": "string",
                "maxLength": SELECTION_LENGTH[1],
                "pattern": NOT_BLANK_PATTERN,
            }
        },
        "required": ["user_context"],
    },
}
"""`check_selection`, in the API's documentation."""


PREVIEW_LENGTH = 500
UnitFloat = Annotated[float, Field(ge=0, le=1)]


class WireModel(BaseModel):
    """A model on the wire; the words under each field appear in the API's documentation."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class BeginsWith(RequestModel):
    """Matches whatever begins with `prefix`."""

    model_config = ConfigDict(extra="forbid")

    prefix: str = Field(max_length=1000)
    """The beginning."""


FILTER_VALUE_ERROR = (
    'must be a text of up to 1,000 characters, {"prefix": "…"}, or a list of up to 20 of these'
)


def _plainly(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Read a filter's value; what is wrong with it is said once, not for each of its shapes."""
    try:
        return read(value)
    except ValidationError as error:
        raise ValueError(FILTER_VALUE_ERROR) from error


FilterValue = Annotated[str, StringConstraints(max_length=1000)] | BeginsWith
FilterValues = Annotated[
    FilterValue | Annotated[list[FilterValue], Field(max_length=20)] | None, WrapValidator(_plainly)
]


class BookFilters(RequestModel):
    """Restricts the search to parts of the book.

    Each field takes a text that must be equal, `{"prefix": "…"}`, or a list of these of which any
    may match; where several fields are given, all must match.
    """

    model_config = ConfigDict(extra="forbid")

    chapter: FilterValues = None
    """Chapter title."""
    section: FilterValues = None
    """Section title."""
    url: FilterValues = None
    """Address of the section on the published site, with its anchor."""
    source_file: FilterValues = None
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

    def _wanted(self, name: str) -> AllowedValues:
        value: FilterValues = getattr(self, name)
        values = value if isinstance(value, list) else [value]
        return tuple(
            Prefix(one.prefix) if isinstance(one, BeginsWith) else one
            for one in values
            if one is not None
        )

    def read(self) -> Filters:
        """Return the filters as the pipeline has them."""
        return Filters(**{name: self._wanted(name) for name in type(self).model_fields})


def dump(model: BaseModel) -> Any:
    """Return a model ready for JSON."""
    return model.model_dump(mode="json")


def truncate(text: str, limit: int) -> str:
    """Return a text that is no longer than `limit`, with a sign where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def not_fully_supported(answer: Answer) -> tuple[str, ...]:
    """Return what the model said beyond its source, shown or withheld."""
    partly = (claim for claim in answer.claims if claim.verdict == "partly")
    return tuple(dict.fromkeys(claim.text for claim in (*partly, *answer.unsupported)))


def is_fully_grounded(answer: Answer) -> bool:
    """Return whether every statement shown is supported as a whole."""
    return all(claim.verdict in ("supported", "not_a_claim") for claim in answer.claims)


def page_path_of(chunk: Chunk) -> str:
    """Return the path of a passage's page on the published site."""
    return urlsplit(chunk.url).path or "/"
