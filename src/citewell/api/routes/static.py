"""The chat page: a few files, each at its own address."""

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


def page_paths() -> dict[str, Path]:
    """Return the page's files by their addresses."""
    files = sorted(file for file in STATIC_DIR.iterdir() if file.is_file())
    return {"/" if file.name == "index.html" else f"/{file.name}": file for file in files}


def page_router() -> APIRouter:
    """Serve the page at `/` and its files beside it; a mount would swallow other routes' errors."""
    router = APIRouter(include_in_schema=False)
    for address, file in page_paths().items():
        router.add_api_route(
            address, _serve_page_file(file), methods=["GET", "HEAD"], response_class=FileResponse
        )
    return router


def _serve_page_file(file: Path) -> Callable[[], Awaitable[FileResponse]]:
    async def serve() -> FileResponse:
        return FileResponse(file, headers=PAGE_HEADERS)

    return serve


WIDGET_DIR = STATIC_DIR / "widget"
WIDGET_HEADERS = {
    # Its address stays while its bytes change, so that browsers ask again, and mostly get a 304.
    "Cache-Control": "public, max-age=300, stale-while-revalidate=86400",
    # A module of another site is loaded only if its owner allows that; it holds nothing secret.
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept-Encoding, Origin",
}


def widget_paths() -> dict[str, Path]:
    """Return the widget's files by their addresses."""
    return {f"/{file.name}": file for file in sorted(WIDGET_DIR.glob("*.js"))}


def widget_router() -> APIRouter:
    """Serve `/widget.js`, and beside it what it loads when an answer has formulas."""
    router = APIRouter(include_in_schema=False)
    for address, file in widget_paths().items():
        router.add_api_route(address, _serve_widget_file(file), methods=["GET", "HEAD"])
    return router


def _serve_widget_file(file: Path) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        whole, packed, tag = _read(file)
        zipped = "gzip" in request.headers.get("accept-encoding", "")
        tag = f'"{tag}-gzip"' if zipped else f'"{tag}"'
        headers = {**WIDGET_HEADERS, "ETag": tag}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if zipped:
            headers["Content-Encoding"] = "gzip"
        return Response(packed if zipped else whole, headers=headers, media_type="text/javascript")

    return serve


@cache
def _read(file: Path) -> tuple[bytes, bytes, str]:
    """Return a file's bytes, the same packed, and a tag that changes with them."""
    whole = file.read_bytes()
    return whole, gzip.compress(whole, mtime=0), hashlib.sha256(whole).hexdigest()[:32]
