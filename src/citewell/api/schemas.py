"""Base models, field types and validators of the HTTP API.

The validators are also expressed in the OpenAPI document, as far as JSON Schema allows.
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
    TOC_MODEL_NAME,
    AllowedValues,
    Answer,
    Chunk,
    Claim,
    ContextMode,
    Filters,
    Prefix,
)
from citewell.text.plain_text import replace_lone_surrogates

NUL = "\0"
NO_NUL_PATTERN = r"^[^\x00]*$"
NOT_BLANK_PATTERN = r"^[^\x00]*[^\s\x00][^\x00]*$"
HAS_LETTER_PATTERN = r"^[^\x00]*[\p{L}\p{N}][^\x00]*$"
MAX_OBJECT_BYTES, MAX_DEPTH = 10_000, 20
PLAIN_JSON = "PlainJson"


def _strings_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from _strings_in([*value, *value.values()])
        case list():
            for item in value:
                yield from _strings_in(item)


class RequestModel(BaseModel):
    """The base of request models.

    Unknown fields are ignored, and `null` stands for the default of an optional field. Strings with
    NUL or lone surrogates are rejected: PostgreSQL cannot store NUL, and UTF-8 cannot encode lone
    surrogates, which JSON escapes can contain.
    """

    model_config = ConfigDict(use_attribute_docstrings=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        required = {name for name, field in cls.model_fields.items() if field.is_required()}
        return {
            name: value for name, value in data.items() if value is not None or name in required
        }

    @field_validator("*")
    @classmethod
    def _check_storable(cls, value: Any) -> Any:
        for text in _strings_in(value):
            if NUL in text:
                raise ValueError("must not contain the character NUL")
            if text != replace_lone_surrogates(text):
                raise ValueError("must not contain lone surrogates")
        return value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Add a pattern without NUL to strings, and allow null for optional fields."""
        schema = handler(core)
        model = handler.resolve_ref_schema(schema)
        properties = model.get("properties", {})
        _add_nul_patterns(properties)
        for name in set(properties) - set(model.get("required", ())):
            properties[name] = _nullable(properties[name])
        return schema


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that also allows null, with its annotations at the top level."""
    if {"type": "null"} in schema.get("anyOf", ()):
        return schema
    annotations: dict[str, Any] = {}
    for name in ("title", "description", "default"):
        if name in schema:
            annotations[name] = schema[name]
    inner = {name: value for name, value in schema.items() if name not in annotations}
    return {"anyOf": [inner, {"type": "null"}], **annotations}


def _add_nul_patterns(node: Any) -> None:
    if isinstance(node, list):
        for item in node:
            _add_nul_patterns(item)
    elif isinstance(node, dict):
        if node.get("type") == "string" and not {"enum", "const", "format"} & set(node):
            node.setdefault("pattern", NO_NUL_PATTERN)
        for value in node.values():
            _add_nul_patterns(value)


NOT_BLANK = Field(json_schema_extra={"pattern": NOT_BLANK_PATTERN})
"""The schema of a string that must not be blank."""
HAS_LETTER = Field(json_schema_extra={"pattern": HAS_LETTER_PATTERN})
"""The schema of a string that must contain a letter or a digit."""


def _require_number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic reports a ValueError
    return value


def _require_iso_8601(value: Any) -> Any:
    # Unix timestamps are ambiguous: they may be in seconds or milliseconds.
    if not isinstance(value, str) or not re.match(r"\d{4}-\d\d-\d\d", value):
        raise ValueError("must be a date and time in ISO 8601 format")
    return value


def _to_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


StrictInt = Annotated[int, BeforeValidator(_require_number)]
"""An integer, also in the form `5.0`, but not a string or boolean."""
StrictFloat = Annotated[float, BeforeValidator(_require_number)]
IsoDatetime = Annotated[AwareDatetime, BeforeValidator(_require_iso_8601)]
IsoDatetimeUtc = Annotated[datetime, BeforeValidator(_require_iso_8601), AfterValidator(_to_utc)]
"""A date and time; UTC if it has no offset."""

_HEX = "[0-9a-fA-F]"
_UUID_PATTERN = rf"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$"
_UUID4_PATTERN = rf"^{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-[89abAB]{_HEX}{{3}}-{_HEX}{{12}}$"


def _parse_uuid(value: str) -> str:
    if not re.fullmatch(_UUID_PATTERN, value):
        raise ValueError("must be a UUID")
    return value.lower()


def _parse_uuid4(value: str) -> str:
    if not re.fullmatch(_UUID4_PATTERN, _parse_uuid(value)):
        raise ValueError("must be a UUID of version 4")
    return value.lower()


def _uuid_schema(pattern: str) -> Any:
    return Field(json_schema_extra={"format": "uuid", "pattern": pattern})


Uuid4 = Annotated[str, AfterValidator(_parse_uuid4), _uuid_schema(_UUID4_PATTERN)]
AnyUuid = Annotated[str, AfterValidator(_parse_uuid), _uuid_schema(_UUID_PATTERN)]
MAX_ID_LENGTH = 200
_NO_CONTROLS = r"[^\x00-\x1f\x7f-\x9f]"
_ID_PATTERN = rf"^{_NO_CONTROLS}*[^\s\x00-\x1f\x7f-\x9f]{_NO_CONTROLS}*$"


def _require_id(value: str) -> str:
    if not value.strip() or re.search(r"[\x00-\x1f\x7f-\x9f]", value):
        raise ValueError("must not be blank or contain control characters")
    return value


def _lowercase_uuid(value: str) -> str:
    return value.lower() if re.fullmatch(_UUID_PATTERN, value) else value


AnyId = Annotated[
    str,
    Field(min_length=1, max_length=MAX_ID_LENGTH, json_schema_extra={"pattern": _ID_PATTERN}),
    AfterValidator(_require_id),
]
"""An id that the client chooses."""
UserId = AnyId
"""The client's id of its user."""
NativeId = Annotated[AnyId, AfterValidator(_lowercase_uuid)]
"""An id in which UUIDs are converted to lower case, as the native contract stores them."""


def check_metadata(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object unchanged if it can be stored.

    Raises:
        ValueError: It is too large or too deeply nested, or not valid JSON.
    """
    if not _within_depth(value, MAX_DEPTH):
        raise ValueError(f"must not be nested more than {MAX_DEPTH} levels deep")
    try:
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except ValueError as error:
        raise ValueError("must not contain NaN, infinity or lone surrogates") from error
    if size > MAX_OBJECT_BYTES:
        raise ValueError(f"must not exceed {MAX_OBJECT_BYTES} bytes")
    return value


def _within_depth(value: Any, depth: int) -> bool:
    items = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return True
    return depth > 0 and all(_within_depth(item, depth - 1) for item in items)


# A placeholder, since a model's schema cannot refer to others; `add_json_schema_refs` replaces it.
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


def add_json_schema_refs(schemas: dict[str, Any], ref: str) -> dict[str, Any]:
    """Add the schema of any JSON value, and replace its placeholders by references."""

    def replace(node: Any) -> Any:
        if node == _ANY_JSON:
            return {"$ref": ref.format(model=PLAIN_JSON)}
        if isinstance(node, dict):
            return {name: replace(value) for name, value in node.items()}
        return [replace(item) for item in node] if isinstance(node, list) else node

    result: dict[str, Any] = replace({**schemas, PLAIN_JSON: _PLAIN_JSON})
    return result


_SELECTION = {"type": "string", "pattern": NO_NUL_PATTERN}
Context = (
    Annotated[str, WithJsonSchema(_SELECTION)] | Annotated[dict[str, Any], WithJsonSchema(_OBJECT)]
)
"""A selected text, or an object with client data."""
Metadata = Annotated[dict[str, Any], AfterValidator(check_metadata), WithJsonSchema(_OBJECT)]
"""An object with client data, limited in size because it is stored with every message."""


def check_selection(value: str | None, mode: ContextMode | None) -> str | None:
    """Return a selected text unchanged if it is valid for the mode.

    Raises:
        ValueError: It is required but blank or missing, or too long.
    """
    if mode != "user_provided":
        return value  # it is ignored
    min_length, max_length = SELECTION_LENGTH
    if len((value or "").strip()) < min_length:
        raise ValueError("is required in mode user_provided, and must not be blank")
    if len(value or "") > max_length:
        raise ValueError(f"must not exceed {max_length:,} characters in mode user_provided")
    return value


def check_context(value: Context | None, mode: ContextMode | None) -> Context | None:
    """Return a context unchanged if it is valid for the mode.

    Raises:
        ValueError: It is not a valid selection or object.
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
"""`check_selection` as a JSON schema."""


PREVIEW_LENGTH = 500
UnitFloat = Annotated[float, Field(ge=0, le=1)]


class WireModel(BaseModel):
    """The base of response models; field docstrings appear in the OpenAPI document."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class BeginsWith(RequestModel):
    """Matches values that begin with `prefix`."""

    model_config = ConfigDict(extra="forbid")

    prefix: str = Field(max_length=1000)
    """The prefix."""


def _validate_filter(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Report one error instead of one for each member of the union."""
    try:
        return validate(value)
    except ValidationError as error:
        raise ValueError(
            'must be a string of up to 1,000 characters, {"prefix": "…"}, or a list of up to 20 of '
            "these"
        ) from error


FilterValue = Annotated[str, StringConstraints(max_length=1000)] | BeginsWith
FilterValues = Annotated[
    FilterValue | Annotated[list[FilterValue], Field(max_length=20)] | None,
    WrapValidator(_validate_filter),
]


class BookFilters(RequestModel):
    """Restricts the search to parts of the book.

    Each field takes a string for an exact match, `{"prefix": "…"}`, or a list of these, of which
    any may match. If several fields are given, all must match.
    """

    model_config = ConfigDict(extra="forbid")

    chapter: FilterValues = None
    """Chapter title."""
    section: FilterValues = None
    """Section title."""
    url: FilterValues = None
    """URL of the section on the published site, with its anchor."""
    source_file: FilterValues = None
    """Path of the page's source file in the book's folder."""

    @model_validator(mode="before")
    @classmethod
    def _reject_unknown_fields(cls, data: Any) -> Any:
        names = data if isinstance(data, dict) else {}
        unknown = [name for name in names if name not in cls.model_fields]
        if unknown:
            known = ", ".join(cls.model_fields)
            raise ValueError(f"there is no filter {', '.join(map(repr, unknown))}; known: {known}")
        return data

    def _wanted(self, name: str) -> AllowedValues:
        value: FilterValues = getattr(self, name)
        values = value if isinstance(value, list) else [value]
        return tuple(
            Prefix(item.prefix) if isinstance(item, BeginsWith) else item
            for item in values
            if item is not None
        )

    def to_filters(self) -> Filters:
        """Convert to the filters of the pipeline."""
        return Filters(**{name: self._wanted(name) for name in type(self).model_fields})


def dump(model: BaseModel) -> Any:
    """Return a model as JSON data."""
    return model.model_dump(mode="json")


def truncate(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, ending in an ellipsis if it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def not_fully_supported(answer: Answer) -> tuple[str, ...]:
    """Return the claims, shown or withheld, that the source does not fully support."""
    shown = (claim for claim in answer.claims if not _is_grounded(claim, answer))
    return tuple(dict.fromkeys(claim.text for claim in (*shown, *answer.unsupported)))


def is_fully_grounded(answer: Answer) -> bool:
    """Return whether every statement shown is fully supported."""
    return all(_is_grounded(claim, answer) for claim in answer.claims)


def _is_grounded(claim: Claim, answer: Answer) -> bool:
    # In a table of contents, every line names something of the book.
    own_text = claim.verdict == "not_a_claim" and answer.model != TOC_MODEL_NAME
    return own_text or claim.verdict == "supported"


def page_path_of(chunk: Chunk) -> str:
    """Return the URL path of a passage's page on the published site."""
    return urlsplit(chunk.url).path or "/"
