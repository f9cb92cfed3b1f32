"""Errors to HTTP: one table, and one JSON shape.

The shape is that of RFC 9457 plus `code`, `suggested_action` and `request_id`; where clients of
OpenAI call, the same is said in the shape that they know (`api/problems.py`).
"""

import logging
from collections.abc import Iterable
from html import escape
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from citewell import errors
from citewell.api.schemas import linked
from citewell.errors import CitewellError

LOG = logging.getLogger("citewell.api")
METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")

STATUS_BY_ERROR: dict[type[CitewellError], int] = {
    errors.CitewellError: 500,
    errors.BadRequest: 422,
    errors.UnknownBook: 404,
    errors.UnknownPage: 404,
    errors.UnknownThread: 404,
    errors.UnknownAnswer: 404,
    errors.UnknownWorkflow: 404,
    errors.UnknownKey: 404,
    errors.UnknownStream: 404,
    errors.BadSettings: 500,
    errors.ModelIncomplete: 500,
    errors.IngestError: 500,
    errors.UnsupportedSource: 422,
    errors.UnreadableFile: 422,
    errors.EmptyBook: 422,
    errors.BookBusy: 409,
    errors.DiskFull: 507,
    errors.UnreadableExport: 422,
    errors.SearchIndexError: 500,
    errors.IndexUnavailable: 503,
    errors.IndexUnreachable: 503,
    errors.RevisionGone: 503,
    errors.IndexMismatch: 503,
    errors.EmbedderUnavailable: 503,
    errors.EmbedderUnreachable: 503,
    errors.StoreUnavailable: 503,
    errors.DataFolderBusy: 503,
    errors.AnswerInterrupted: 503,
    errors.AnswerTimedOut: 504,
    errors.StoreMismatch: 503,
    errors.ModelError: 502,
    errors.ModelUnavailable: 503,
    errors.ModelTimedOut: 504,
    errors.ModelRefused: 502,
    errors.ModelMisbehaved: 502,
    errors.BudgetSpent: 503,
    errors.AccessDenied: 403,
    errors.KeyNeeded: 401,
    errors.WrongKey: 401,
    errors.NotAllowed: 403,
    errors.WrongHost: 403,
    errors.TooBusy: 503,
    errors.RateLimited: 429,
    errors.LimitsUnavailable: 503,
}

READER_MESSAGES: dict[type[CitewellError], str] = {
    errors.SearchIndexError: "The book cannot be searched right now.",
    errors.EmbedderUnavailable: "The book cannot be searched right now.",
    errors.StoreMismatch: "Conversations cannot be stored or read right now.",
    errors.DiskFull: "Nothing can be stored right now.",
    errors.BadSettings: "The service is not set up as it should be.",
    errors.ModelUnavailable: "The model cannot be used right now.",
    errors.ModelTimedOut: "The model took too long to answer.",
    errors.ModelRefused: "The model cannot be used: its operator has to look at it.",
    errors.ModelMisbehaved: "The model gave no answer that can be used.",
    errors.BudgetSpent: "The budget for today is spent.",
}
"""What is said instead of an error's own words, which are for the operator and go to the log: they
may name folders and addresses of the server."""


class FieldProblem(BaseModel):
    """What is wrong with one field."""

    field: str
    message: str


class Problem(BaseModel):
    """What went wrong, in the shape of RFC 9457."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: str = "about:blank"
    title: str
    """The status in words."""
    status: int
    detail: str
    """What went wrong, for a person to read."""
    code: str
    """What went wrong, for a program to read."""
    suggested_action: str
    """What can be done about it."""
    request_id: str
    """The request's id, to report it by."""
    errors: list[FieldProblem] | None = None
    """For `InvalidRequest`: what is wrong with which field."""


REF = "#/components/schemas/{model}"


def _documented(status: int) -> dict[str, Any]:
    schema = {"$ref": REF.format(model="Problem")}
    content = {"application/problem+json": {"schema": schema}}
    return {"description": HTTPStatus(status).phrase, "content": content}


PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: _documented(status)
    for status in (400, 401, 403, 404, 405, 408, 413, 415, 422, 429, 500, 502, 503, 504)
}
"""What any route may answer instead of what it is for."""


def problem(
    status: int, code: str, detail: str, *, action: str = "", request_id: str = "", **more: Any
) -> dict[str, Any]:
    """Describe one problem."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "suggested_action": action,
        "request_id": request_id,
        **more,
    }


def reader_message(error: CitewellError) -> str:
    """Return an error's words; where they are not for readers, others, and the log gets its own."""
    said = next(
        (READER_MESSAGES[kind] for kind in type(error).mro() if kind in READER_MESSAGES), ""
    )
    if said:
        LOG.error("%s: %s", type(error).__name__, error)
    return said or str(error)


def problem_from_error(error: CitewellError, request_id: str) -> dict[str, Any]:
    """Describe one of Citewell's own errors; one of no kind is what nobody foresaw."""
    if type(error) is CitewellError:
        return unexpected_problem(request_id)
    return problem(
        STATUS_BY_ERROR[type(error)],
        type(error).__name__,
        reader_message(error),
        action=error.advice,
        request_id=request_id,
    )


def error_response(error: CitewellError, scope: Scope) -> Response:
    """Answer a request with one of Citewell's own errors."""
    body = problem_from_error(error, str(scope.get("request_id", "")))
    headers = {"Retry-After": str(error.retry_after)} if error.retryable else {}
    if body["status"] == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="citewell"'
    return problem_response(body, scope, headers)


def request_id_of(request: Request) -> str:
    """Return the id that the request was given on arrival."""
    return str(request.scope.get("request_id", ""))


NOT_FOUND_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>Page not found</title><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/book.css"></head><body class="book"><main><h1>Page not found</h1>
<p>{detail}</p><p><a href="/">Back to the book</a></p></main></body></html>
"""


def _is_reader(scope: Scope) -> bool:
    """Whether a person follows a link in a browser, and no program asks for data."""
    accepted = Headers(scope=scope).get("accept", "")
    return scope.get("method") in ("GET", "HEAD") and "text/html" in accepted


def problem_response(
    body: dict[str, Any], scope: Scope, headers: dict[str, str] | None = None
) -> Response:
    """Answer a request with a problem, in the shape that its address speaks."""
    if body["status"] == HTTPStatus.NOT_FOUND and _is_reader(scope):
        page = NOT_FOUND_PAGE.format(detail=escape(body["detail"]))
        policy = "default-src 'none'; style-src 'self'"
        own = {"Content-Security-Policy": policy, "Vary": "Accept"}
        return HTMLResponse(page, body["status"], (headers or {}) | own)
    if is_openai_path(scope["path"]):
        status = openai_status(body["status"])
        return JSONResponse(openai_error(body), status, headers)
    return JSONResponse(body, body["status"], headers, media_type="application/problem+json")


HTTP_ERROR_TEXT = {
    400: ("The request's body cannot be read.", "Send JSON in UTF-8."),
    404: ("There is nothing at this address.", "See `/docs` for what there is."),
    405: ("This address does not take that method.", "Use one of those in the `Allow` header."),
}
"""What is said of, and can be done about, what the framework refuses by itself."""


def allowed_methods(routes: Iterable[BaseRoute], scope: Scope) -> list[str]:
    """Return the methods of an address over all of its routes; the framework names one route's."""
    known = list(routes)
    return [
        method
        for method in METHODS
        if any(one.matches({**scope, "method": method})[0] is Match.FULL for one in known)
    ]


def document_problems(app: FastAPI) -> None:
    """Describe the one shape where the API is described.

    The framework would describe it as `application/json`, which it is not sent as.
    """
    describe = app.openapi

    def described() -> dict[str, Any]:
        schema = describe()
        parts: dict[str, Any] = {}
        for shape in (Problem, OpenAIError):
            own = shape.model_json_schema(ref_template=REF)
            parts |= {**own.pop("$defs"), shape.__name__: own}
        schema["components"]["schemas"] = linked(schema["components"]["schemas"] | parts, REF)
        for path, operations in schema["paths"].items():
            for operation in operations.values() if is_openai_path(path) else ():
                operation["responses"].pop("422", None)  # said as 400
        return schema

    app.openapi = described  # type: ignore[method-assign]


def add_handlers(app: FastAPI) -> None:
    """Answer every kind of failure in the one shape."""
    document_problems(app)

    @app.exception_handler(CitewellError)
    async def ours(request: Request, error: CitewellError) -> Response:
        return error_response(error, request.scope)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        fields = [
            {
                "field": ".".join(str(part) for part in entry["loc"] if part != "body") or "body",
                "message": entry["msg"].removeprefix("Value error, "),
            }
            for entry in error.errors()
        ]
        said = "; ".join(f"{f['field']}: {f['message']}" for f in fields)
        return problem_response(
            problem(
                422,
                "InvalidRequest",
                said,
                action="Correct the named fields and send the request again.",
                request_id=request_id_of(request),
                errors=fields,
            ),
            request.scope,
        )

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        status = HTTPStatus(error.status_code)
        code = status.phrase.title().replace(" ", "")
        headers = dict(error.headers or {})
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(allowed_methods(app.router.routes, request.scope))
        said, action = HTTP_ERROR_TEXT.get(status, (str(error.detail), ""))
        body = problem(status, code, said, action=action, request_id=request_id_of(request))
        return problem_response(body, request.scope, headers)

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> Response:
        return unexpected_response(error, request.scope)


def unexpected_response(error: Exception, scope: Scope) -> Response:
    """Answer a request that broke; the log gets what the caller must not see."""
    request_id = str(scope.get("request_id", ""))
    LOG.error("unexpected error in request %s", request_id, exc_info=error)
    return problem_response(unexpected_problem(request_id), scope)


def unexpected_problem(request_id: str) -> dict[str, Any]:
    """Describe an error nobody foresaw, without a word of what it was."""
    return problem(
        500,
        "Unexpected",
        "Something went wrong on our side.",
        action="Try again; if it stays, report the request id to the operator.",
        request_id=request_id,
    )


OPENAI_PREFIX = "/v1/"
STATUSES = (400, 401, 403, 404, 405, 408, 413, 415, 429, 500, 502, 503, 504)
OPENAI_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
OPENAI_ERROR_CODES = {
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


def _documented_for_openai(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/OpenAIError"}
    content = {"application/json": {"schema": schema}}
    return {"description": HTTPStatus(status).phrase, "content": content}


OPENAI_ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    one: _documented_for_openai(one) for one in STATUSES
}
"""What any route below `/v1` may answer instead of what it is for."""


def is_openai_path(path: str) -> bool:
    """Return whether clients of OpenAI call this address."""
    return path.startswith(OPENAI_PREFIX)


def openai_status(status: int) -> int:
    """Return the status that OpenAI clients expect: what cannot be done is a bad request."""
    return HTTPStatus.BAD_REQUEST if status == HTTPStatus.UNPROCESSABLE_ENTITY else status


def openai_error(problem: dict[str, Any]) -> dict[str, Any]:
    """Return the same as a problem of RFC 9457."""
    status, code = problem["status"], problem["code"]
    server = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    wrong = problem.get("errors") or [{"field": "model" if code == "UnknownBook" else None}]
    return {
        "error": {
            "message": f"{problem['detail'].rstrip('.')}. {problem['suggested_action']}".strip(),
            "type": OPENAI_ERROR_TYPES.get(
                status, "server_error" if server else "invalid_request_error"
            ),
            "param": wrong[0]["field"],
            "code": OPENAI_ERROR_CODES.get(code, code),
        }
    }
