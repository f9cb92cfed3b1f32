"""Error responses: the status of each error, and problem details by RFC 9457.

Problems have the additional fields `code`, `suggested_action` and `request_id`. The routes for
OpenAI clients return errors in OpenAI's format instead.
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
from citewell.api.schemas import add_json_schema_refs
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
"""Messages for readers in place of an error's own, which may contain paths and addresses of the
server and goes to the log."""


class FieldProblem(BaseModel):
    """A validation error of one field."""

    field: str
    message: str


class Problem(BaseModel):
    """Problem details by RFC 9457."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: str = "about:blank"
    title: str
    """The phrase of the HTTP status."""
    status: int
    detail: str
    """A human-readable explanation."""
    code: str
    """A machine-readable error code."""
    suggested_action: str
    """How to resolve the problem."""
    request_id: str
    """The id of the request, for reporting the problem."""
    errors: list[FieldProblem] | None = None
    """For `InvalidRequest`: the invalid fields."""


REF = "#/components/schemas/{model}"


def _error_responses(
    statuses: Iterable[int], model: str, media_type: str
) -> dict[int | str, dict[str, Any]]:
    content = {media_type: {"schema": {"$ref": REF.format(model=model)}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in statuses
    }


OPENAI_ERROR_STATUSES = (400, 401, 403, 404, 405, 408, 413, 414, 415, 429, 431, 500, 502, 503, 504)
PROBLEM_RESPONSES = _error_responses(
    sorted((*OPENAI_ERROR_STATUSES, 422)), "Problem", "application/problem+json"
)
"""Error responses of every route, for the OpenAPI document."""
OPENAI_ERROR_RESPONSES = _error_responses(OPENAI_ERROR_STATUSES, "OpenAIError", "application/json")
"""Error responses of every route below `/v1`, for the OpenAPI document."""


def problem(
    status: int, code: str, detail: str, *, action: str = "", request_id: str = "", **extra: Any
) -> dict[str, Any]:
    """Return a problem as JSON data."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "suggested_action": action,
        "request_id": request_id,
        **extra,
    }


def reader_message(error: CitewellError) -> str:
    """Return an error's message for readers; log the original if it is not meant for them."""
    messages = (READER_MESSAGES[cls] for cls in type(error).mro() if cls in READER_MESSAGES)
    message = next(messages, "")
    if message:
        LOG.error("%s: %s", type(error).__name__, error)
    return message or str(error)


def problem_from_error(error: CitewellError, request_id: str) -> dict[str, Any]:
    """Return the problem for an error; the bare base class stands for an unexpected error."""
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
    """Return the response for an error."""
    body = problem_from_error(error, str(scope.get("request_id", "")))
    headers = {"Retry-After": str(error.retry_after)} if error.retryable else {}
    if body["status"] == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="citewell"'
    return problem_response(body, scope, headers)


def request_id_of(request: Request) -> str:
    """Return the id that the middleware assigned to the request."""
    return str(request.scope.get("request_id", ""))


NOT_FOUND_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>Page not found</title><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/book.css"></head><body class="book"><main><h1>Page not found</h1>
<p>{detail}</p><p><a href="/">Back to the book</a></p></main></body></html>
"""


def _accepts_html(scope: Scope) -> bool:
    """Return whether the request comes from a browser that follows a link."""
    accept = Headers(scope=scope).get("accept", "")
    return scope.get("method") in ("GET", "HEAD") and "text/html" in accept


def problem_response(
    body: dict[str, Any], scope: Scope, headers: dict[str, str] | None = None
) -> Response:
    """Return a problem as an HTML page, in OpenAI's format, or by RFC 9457."""
    if body["status"] == HTTPStatus.NOT_FOUND and _accepts_html(scope):
        page = NOT_FOUND_PAGE.format(detail=escape(body["detail"]))
        policy = "default-src 'none'; style-src 'self'"
        page_headers = {"Content-Security-Policy": policy, "Vary": "Accept"}
        return HTMLResponse(page, body["status"], (headers or {}) | page_headers)
    if is_openai_path(scope["path"]):
        is_unprocessable = body["status"] == HTTPStatus.UNPROCESSABLE_ENTITY
        status = HTTPStatus.BAD_REQUEST if is_unprocessable else body["status"]
        return JSONResponse(openai_error(body), status, headers)
    return JSONResponse(body, body["status"], headers, media_type="application/problem+json")


HTTP_ERROR_TEXT = {
    400: ("The request's body cannot be read.", "Send JSON in UTF-8."),
    404: ("This URL does not exist.", "See `/docs` for the available routes."),
    405: ("This URL does not support that method.", "Use one of those in the `Allow` header."),
}
"""Details and suggested actions for errors that the framework raises."""


def allowed_methods(routes: Iterable[BaseRoute], scope: Scope) -> list[str]:
    """Return the methods of a URL over all of its routes; the framework considers only one."""
    routes = list(routes)
    return [
        method
        for method in METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    ]


def _document_problems(app: FastAPI) -> None:
    """Add the error models to the OpenAPI document, with their own media type."""
    generate = app.openapi

    def openapi_with_problems() -> dict[str, Any]:
        document = generate()
        models: dict[str, Any] = {}
        for model in (Problem, OpenAIError):
            schema = model.model_json_schema(ref_template=REF)
            models |= {**schema.pop("$defs"), model.__name__: schema}
        components = document["components"]
        components["schemas"] = add_json_schema_refs(components["schemas"] | models, REF)
        for path, operations in document["paths"].items():
            for operation in operations.values() if is_openai_path(path) else ():
                operation["responses"].pop("422", None)  # sent as 400
        return document

    app.openapi = openapi_with_problems  # type: ignore[method-assign]


def add_handlers(app: FastAPI) -> None:
    """Register the exception handlers and document their responses."""
    _document_problems(app)

    @app.exception_handler(CitewellError)
    async def handle_citewell_error(request: Request, error: CitewellError) -> Response:
        return error_response(error, request.scope)

    @app.exception_handler(RequestValidationError)
    async def handle_validation_error(request: Request, error: RequestValidationError) -> Response:
        fields = [
            {
                "field": ".".join(str(part) for part in entry["loc"] if part != "body") or "body",
                "message": entry["msg"].removeprefix("Value error, "),
            }
            for entry in error.errors()
        ]
        return problem_response(
            problem(
                422,
                "InvalidRequest",
                "; ".join(f"{f['field']}: {f['message']}" for f in fields),
                action="Correct the named fields and send the request again.",
                request_id=request_id_of(request),
                errors=fields,
            ),
            request.scope,
        )

    @app.exception_handler(HTTPException)
    async def handle_http_error(request: Request, error: HTTPException) -> Response:
        status = HTTPStatus(error.status_code)
        code = status.phrase.title().replace(" ", "")
        headers = dict(error.headers or {})
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(allowed_methods(app.router.routes, request.scope))
        detail, action = HTTP_ERROR_TEXT.get(status, (str(error.detail), ""))
        body = problem(status, code, detail, action=action, request_id=request_id_of(request))
        return problem_response(body, request.scope, headers)

    @app.exception_handler(Exception)
    async def handle_unexpected_error(request: Request, error: Exception) -> Response:
        return unexpected_response(error, request.scope)


def unexpected_response(error: Exception, scope: Scope) -> Response:
    """Log an unexpected error, and return a response without its details."""
    request_id = str(scope.get("request_id", ""))
    LOG.error("unexpected error in request %s", request_id, exc_info=error)
    return problem_response(unexpected_problem(request_id), scope)


def unexpected_problem(request_id: str) -> dict[str, Any]:
    """Return the problem for an unexpected error, without its details."""
    return problem(
        500,
        "Unexpected",
        "Something went wrong on our side.",
        action="Try again; if the error persists, report the request id to the operator.",
        request_id=request_id,
    )


OPENAI_PREFIX = "/v1/"
OPENAI_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
OPENAI_ERROR_CODES = {
    "UnknownBook": "model_not_found",
    "KeyNeeded": "invalid_api_key",
    "WrongKey": "invalid_api_key",
    "RateLimited": "rate_limit_exceeded",
}
"""OpenAI's error codes; errors without one keep their own."""


class ErrorDetail(BaseModel):
    """An error in OpenAI's format."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    message: str
    """A human-readable explanation with a suggested action."""
    type: str
    """The kind of error."""
    param: str | None
    """The invalid field, if any."""
    code: str
    """A machine-readable error code."""


class OpenAIError(BaseModel):
    """An error response in OpenAI's format."""

    error: ErrorDetail


def is_openai_path(path: str) -> bool:
    """Return whether the path belongs to the routes for OpenAI clients."""
    return path.startswith(OPENAI_PREFIX)


def openai_error(problem: dict[str, Any]) -> dict[str, Any]:
    """Convert a problem to OpenAI's format."""
    status, code = problem["status"], problem["code"]
    is_server_error = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    fields = problem.get("errors") or [{"field": "model" if code == "UnknownBook" else None}]
    return {
        "error": {
            "message": f"{problem['detail'].rstrip('.')}. {problem['suggested_action']}".strip(),
            "type": OPENAI_ERROR_TYPES.get(
                status, "server_error" if is_server_error else "invalid_request_error"
            ),
            "param": fields[0]["field"],
            "code": OPENAI_ERROR_CODES.get(code, code),
        }
    }
