"""The static files of the chat page and the widget."""

import gzip
import hashlib
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import resources
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

STATIC_DIR = Path(str(resources.files("citewell.api") / "static"))
PAGE_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
}


def chat_page_paths() -> dict[str, Path]:
    """Return the page's files by URL path."""
    files = sorted(file for file in STATIC_DIR.iterdir() if file.is_file())
    return {"/" if file.name == "index.html" else f"/{file.name}": file for file in files}


def chat_page_router() -> APIRouter:
    """Return the router of the page; a mount at `/` would hide the errors of other routes."""
    router = APIRouter(include_in_schema=False)
    for path, file in chat_page_paths().items():
        router.add_api_route(
            path, _serve_page_file(file), methods=["GET", "HEAD"], response_class=FileResponse
        )
    return router


def _serve_page_file(file: Path) -> Callable[[], Awaitable[FileResponse]]:
    async def serve() -> FileResponse:
        return FileResponse(file, headers=PAGE_HEADERS)

    return serve


WIDGET_DIR = STATIC_DIR / "widget"
WIDGET_HEADERS = {
    # The URL is not versioned, so browsers revalidate it and mostly get a 304.
    "Cache-Control": "public, max-age=300, stale-while-revalidate=86400",
    # Other sites may load the module; it contains nothing secret.
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept-Encoding, Origin",
}


def widget_paths() -> dict[str, Path]:
    """Return the widget's files by URL path."""
    return {f"/{file.name}": file for file in sorted(WIDGET_DIR.glob("*.js"))}


def widget_router() -> APIRouter:
    """Return the router of `/widget.js` and of the module that it loads for formulas."""
    router = APIRouter(include_in_schema=False)
    for path, file in widget_paths().items():
        router.add_api_route(path, _serve_widget_file(file), methods=["GET", "HEAD"])
    return router


def _serve_widget_file(file: Path) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        content, compressed, digest = _read_compressed(file)
        accepts_gzip = "gzip" in request.headers.get("accept-encoding", "")
        etag = f'"{digest}-gzip"' if accepts_gzip else f'"{digest}"'
        headers = {**WIDGET_HEADERS, "ETag": etag}
        if etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if accepts_gzip:
            headers["Content-Encoding"] = "gzip"
        body = compressed if accepts_gzip else content
        return Response(body, headers=headers, media_type="text/javascript")

    return serve


@cache
def _read_compressed(file: Path) -> tuple[bytes, bytes, str]:
    """Return a file's content, its gzip-compressed content, and its digest."""
    content = file.read_bytes()
    return content, gzip.compress(content, mtime=0), hashlib.sha256(content).hexdigest()[:32]
