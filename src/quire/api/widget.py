"""The chat for other people's pages: a script that any site may load."""

import gzip
import hashlib
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from quire.api.page import STATIC

BUILT = STATIC / "widget"
HEADERS = {
    # Its address stays while its bytes change, so that browsers ask again, and mostly get a 304.
    "Cache-Control": "public, max-age=300, stale-while-revalidate=86400",
    # A module of another site is loaded only if its owner allows that; it holds nothing secret.
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept-Encoding, Origin",
}


def widget_paths() -> dict[str, Path]:
    """Give the widget's files by their addresses."""
    return {f"/{file.name}": file for file in sorted(BUILT.glob("*.js"))}


def widget_router() -> APIRouter:
    """Serve `/widget.js`, and beside it what it loads when an answer has formulas."""
    router = APIRouter(include_in_schema=False)
    for address, file in widget_paths().items():
        router.add_api_route(address, _served(file), methods=["GET", "HEAD"])
    return router


def _served(file: Path) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        whole, packed, tag = _read(file)
        zipped = "gzip" in request.headers.get("accept-encoding", "")
        tag = f'"{tag}-gzip"' if zipped else f'"{tag}"'
        headers = {**HEADERS, "ETag": tag}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if zipped:
            headers["Content-Encoding"] = "gzip"
        return Response(packed if zipped else whole, headers=headers, media_type="text/javascript")

    return serve


@cache
def _read(file: Path) -> tuple[bytes, bytes, str]:
    """Give a file's bytes, the same packed, and a tag that changes with them."""
    whole = file.read_bytes()
    return whole, gzip.compress(whole, mtime=0), hashlib.sha256(whole).hexdigest()[:32]
