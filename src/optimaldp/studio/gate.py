"""Who may talk to the studio: checked before anything else looks at a request.

- On the loopback address: the ``Host`` must be a name of this machine, so that no web page can reach the studio through a name
  of its own that resolves here (DNS rebinding).
- Bound elsewhere: every request needs the token, from the URL once, then from a cookie or the ``X-Studio-Token`` header.
- A request that changes or computes something must be JSON (of a file that is given to the page: bytes), and must not come from a
  page of another origin; one that spends budget or opens a file needs the token in a header, which only our own page knows.
- Nothing larger than 5 MB is read, of a file 200 MB.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from optimaldp.studio.calls import error_document
from optimaldp.studio.settings import MOST_BYTES, MOST_UPLOADED, SPENDING, Settings

COOKIE = "optimaldp-studio"
TOKEN_HEADER = "X-Studio-Token"
UPLOAD = "/api/upload"
GUARDED = (UPLOAD, "/api/open", "/api/proposal", *(f"/api/{name}" for name in SPENDING))
"""What only our own page may do."""
_LOCAL_HOST = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?")
_SAFE_METHODS = ("GET", "HEAD")

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def refusal(status: int, kind: str, message: str) -> JSONResponse:
    """An error of the gate, in the shape of all errors."""
    return JSONResponse(error_document(kind, message), status)


class Gate:
    """Middleware that refuses what must not come in, and puts the security headers on everything that goes out."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = self._refuse(Request(scope)) or self._admit_by_url(Request(scope))
        handler: ASGIApp = self._app if answer is None else answer
        await handler(scope, _limited(receive, _most_bytes(scope["path"])), _with_headers(send))

    def _refuse(self, request: Request) -> Response | None:
        headers = request.headers
        if self._settings.is_local and not _LOCAL_HOST.fullmatch(headers.get("host", "")):
            return refusal(403, "WrongHost", "this studio answers to names of this machine only: use http://127.0.0.1")
        if (announced := _announced(headers)) is None:
            return refusal(400, "WrongLength", "the header Content-Length is not a number of bytes: send the true one")
        if announced > _most_bytes(request.url.path):
            return too_large(request.url.path)
        if request.method in _SAFE_METHODS:
            foreign = request.url.path.startswith("/api/") and _is_foreign(headers)
            return foreign_origin() if foreign else self._refuse_stranger(request)
        if request.method != "POST":
            return refusal(405, "MethodNotAllowed", f"{request.method} is not offered; use GET or POST")
        return self._refuse_foreign(request) or self._refuse_stranger(request)

    def _refuse_foreign(self, request: Request) -> Response | None:
        """A page of another origin must not be able to send anything that counts."""
        headers = request.headers
        if _is_foreign(headers):
            return foreign_origin()
        sent, path = headers.get("content-type", "").partition(";")[0].strip().lower(), request.url.path
        if path == UPLOAD and sent != "application/octet-stream":
            return refusal(415, "NotBytes", "send the file with Content-Type: application/octet-stream")
        if path != UPLOAD and sent != "application/json":
            return refusal(415, "NotJSON", "send JSON with Content-Type: application/json")
        if path in GUARDED and not self._knows(headers.get(TOKEN_HEADER)):
            return refusal(403, "TokenMissing", f"this needs the header {TOKEN_HEADER} with the studio's token")
        return None

    def _refuse_stranger(self, request: Request) -> Response | None:
        if self._settings.is_local or self._knows(request.headers.get(TOKEN_HEADER)):
            return None
        if self._knows(request.cookies.get(COOKIE)) or self._knows(request.query_params.get("token")):
            return None
        return refusal(403, "TokenMissing", "open the address that the studio printed: it holds the token")

    def _admit_by_url(self, request: Request) -> Response | None:
        """A token in the URL becomes a cookie at once, so that it does not stay in the address bar or in links."""
        if self._settings.is_local or request.method != "GET" or not self._knows(request.query_params.get("token")):
            return None
        answer = RedirectResponse(request.url.path, 303)
        answer.set_cookie(COOKIE, self._settings.token, httponly=True, samesite="strict")
        return answer

    def _knows(self, token: str | None) -> bool:
        return token is not None and hmac.compare_digest(token.encode(), self._settings.token.encode())


def _is_foreign(headers: Headers) -> bool:
    """Whether a browser says that a page of another origin sent this."""
    origin = headers.get("origin")
    other = origin is not None and _host_of(origin) != headers.get("host")
    return other or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


def _host_of(origin: str) -> str | None:
    """Where a page came from; ``None`` where the header is no address at all, such as ``http://[``."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _announced(headers: Headers) -> int | None:
    """How many bytes are announced, none if nothing is; ``None`` where that is not a number."""
    text = headers.get("content-length") or "0"
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def foreign_origin() -> JSONResponse:
    return refusal(403, "ForeignOrigin", "requests from pages of another origin are refused")


def too_large(path: str = "") -> JSONResponse:
    what = "the file" if path == UPLOAD else "the request"
    way_out = "name it on the command line: --data" if path == UPLOAD else "use the command line for it"
    return refusal(413, "TooLarge", f"{what} is larger than {_most_bytes(path) // 10**6} MB; {way_out}")


def _most_bytes(path: str) -> int:
    return MOST_UPLOADED if path == UPLOAD else MOST_BYTES


class BodyTooLargeError(Exception):
    """More came than was announced or allowed."""


def _limited(receive: Receive, most: int) -> Receive:
    """Count what really arrives: a length need not be announced, or be true."""
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > most:
            raise BodyTooLargeError
        return message

    return counted


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = Headers(raw=message["headers"])
            more = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items() if k not in present]
            message["headers"] = [*message["headers"], *more]
        await send(message)

    return sending
