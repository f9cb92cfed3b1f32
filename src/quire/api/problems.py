"""Errors to HTTP: one table, and one JSON shape.

The shape is that of RFC 9457 plus `code`, `suggested_action` and `request_id`.
"""

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from quire import errors
from quire.errors import QuireError

LOG = logging.getLogger("quire.api")
RETRY_AFTER = "5"

STATUS: dict[type[QuireError], int] = {
    errors.QuireError: 500,
    errors.BadRequest: 422,
    errors.UnknownBook: 404,
    errors.UnknownPage: 404,
    errors.UnknownThread: 404,
    errors.UnknownAnswer: 404,
    errors.BadSettings: 500,
    errors.IngestError: 500,
    errors.UnsupportedSource: 422,
    errors.UnreadableFile: 422,
    errors.EmptyBook: 422,
    errors.BookBusy: 409,
    errors.DiskFull: 507,
    errors.UnreadableExport: 422,
    errors.SearchIndexError: 500,
    errors.IndexUnavailable: 503,
    errors.IndexMismatch: 503,
    errors.EmbedderUnavailable: 503,
    errors.EmbedderUnreachable: 503,
    errors.StoreUnavailable: 503,
    errors.StoreMismatch: 503,
    errors.ModelError: 502,
    errors.ModelUnavailable: 503,
    errors.ModelTimedOut: 504,
    errors.ModelMisbehaved: 502,
}


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


def problem_of(error: QuireError, request_id: str) -> dict[str, Any]:
    """Describe one of Quire's own errors."""
    status = STATUS[type(error)]
    return problem(
        status, type(error).__name__, str(error), action=error.advice, request_id=request_id
    )


def request_id_of(request: Request) -> str:
    """Give the id that the request was given on arrival."""
    return str(request.scope.get("request_id", ""))


def _respond(body: dict[str, Any], headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(body, body["status"], headers, media_type="application/problem+json")


def add_handlers(app: FastAPI) -> None:
    """Answer every kind of failure in the one shape."""

    @app.exception_handler(QuireError)
    async def ours(request: Request, error: QuireError) -> JSONResponse:
        body = problem_of(error, request_id_of(request))
        return _respond(body, {"Retry-After": RETRY_AFTER} if error.retryable else None)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        fields = [
            {
                "field": ".".join(str(part) for part in entry["loc"] if part != "body") or "body",
                "message": entry["msg"].removeprefix("Value error, "),
            }
            for entry in error.errors()
        ]
        said = "; ".join(f"{f['field']}: {f['message']}" for f in fields)
        return _respond(
            problem(
                422,
                "InvalidRequest",
                said,
                action="Correct the named fields and send the request again.",
                request_id=request_id_of(request),
                errors=fields,
            )
        )

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        code = HTTPStatus(error.status_code).phrase.title().replace(" ", "")
        body = problem(
            error.status_code, code, str(error.detail), request_id=request_id_of(request)
        )
        return _respond(body, dict(error.headers) if error.headers else None)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        LOG.error("unexpected error in request %s", request_id_of(request), exc_info=error)
        return _respond(unexpected_problem(request_id_of(request)))


def unexpected_problem(request_id: str) -> dict[str, Any]:
    """Describe an error nobody foresaw, without a word of what it was."""
    return problem(
        500,
        "Unexpected",
        "Something went wrong on our side.",
        action="Try again; if it stays, report the request id to the operator.",
        request_id=request_id,
    )
