"""A problem in the shape that clients of OpenAI know."""

from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict

PREFIX = "/v1/"
STATUSES = (400, 401, 403, 404, 405, 408, 413, 415, 429, 500, 502, 503, 504)
TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
CODES = {
    "UnknownBook": "model_not_found",
    "KeyNeeded": "invalid_api_key",
    "WrongKey": "invalid_api_key",
    "RateLimited": "rate_limit_exceeded",
}
"""What their programs look for; what they have no word for keeps ours."""


class ErrorDetail(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    message: str
    """For a person to read, with what can be done about it."""
    type: str
    """The kind of error."""
    param: str | None
    """The field that is wrong, if one is."""
    code: str
    """For a program to read."""


class OpenAIError(BaseModel):
    """What went wrong, as OpenAI says it."""

    error: ErrorDetail


def _documented(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/OpenAIError"}
    content = {"application/json": {"schema": schema}}
    return {"description": HTTPStatus(status).phrase, "content": content}


OPENAI_ERRORS: dict[int | str, dict[str, Any]] = {one: _documented(one) for one in STATUSES}
"""What any route below `/v1` may answer instead of what it is for."""


def is_openai(path: str) -> bool:
    """Tell whether clients of OpenAI call this address."""
    return path.startswith(PREFIX)


def openai_status(status: int) -> int:
    """Give the status that their clients expect: to them, what cannot be done is a bad request."""
    return HTTPStatus.BAD_REQUEST if status == HTTPStatus.UNPROCESSABLE_ENTITY else status


def openai_error(problem: dict[str, Any]) -> dict[str, Any]:
    """Say the same as a problem of RFC 9457."""
    status, code = problem["status"], problem["code"]
    server = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    wrong = problem.get("errors") or [{"field": "model" if code == "UnknownBook" else None}]
    return {
        "error": {
            "message": f"{problem['detail'].rstrip('.')}. {problem['suggested_action']}".strip(),
            "type": TYPES.get(status, "server_error" if server else "invalid_request_error"),
            "param": wrong[0]["field"],
            "code": CODES.get(code, code),
        }
    }
