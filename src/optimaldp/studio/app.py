"""The web application: pages, our own assets, and the JSON API. It computes nothing itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from optimaldp.studio.gate import BodyTooLargeError, Gate, refusal, too_large
from optimaldp.studio.openapi import CALLS, openapi_document
from optimaldp.studio.pages import API_PAGE, PAGES, Page, asset, page_html
from optimaldp.studio.pool import Pool, WorkerLostError
from optimaldp.studio.settings import Settings

# Every file that is served, by name: no path from a request ever reaches the file system.
ASSETS = {
    "studio.css": "text/css",
    **{
        f"{name}.js": "text/javascript"
        for name in (
            "theme",
            "studio",
            "charts",
            "graph",
            "explore",
            "design",
            "draw",
            "channel",
            "release",
            "research",
            "api",
        )
    },
    "icon.svg": "image/svg+xml",
}


def application(settings: Settings) -> Starlette:
    """The studio as an ASGI application."""
    routes = [
        *(Route(page.path, _page(page, settings)) for page in (*PAGES, API_PAGE)),
        *(Route(f"/static/{name}", _asset(name, kind)) for name, kind in ASSETS.items()),
        *(Route(f"/api/{call.name}", _call(call.name, settings), methods=[call.method]) for call in CALLS),
        Route("/openapi.json", _openapi),
    ]
    handlers: dict[Any, Any] = {HTTPException: _not_found, BodyTooLargeError: _too_large, Exception: _failed}
    return Starlette(
        routes=routes,
        middleware=[Middleware(Gate, settings)],
        exception_handlers=handlers,
        lifespan=_lifespan(settings),
    )


def _lifespan(settings: Settings) -> Callable[[Starlette], Any]:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.pool = Pool(settings.for_worker())
        warming = asyncio.create_task(app.state.pool.warm())
        try:
            yield
        finally:
            warming.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await warming
            await app.state.pool.close()

    return lifespan


def _page(page: Page, settings: Settings) -> Callable[[Request], Awaitable[Response]]:
    async def show(_: Request) -> Response:
        return HTMLResponse(page_html(page, settings.token))

    return show


def _asset(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def show(_: Request) -> Response:
        return PlainTextResponse(asset(name), media_type=kind)

    return show


async def _openapi(_: Request) -> Response:
    return JSONResponse(openapi_document())


def _call(name: str, settings: Settings) -> Callable[[Request], Awaitable[Response]]:
    # A release may count for longer than half a minute: it is shown with its progress, and can be cancelled.
    seconds = None if name == "release" else settings.most_seconds

    async def answer(request: Request) -> Response:
        try:
            body = (await request.body()).decode("utf-8")
        except UnicodeDecodeError:
            return refusal(400, "NotJSON", "the request is not UTF-8 text")
        try:
            status, text = await _unless_gone(request, request.app.state.pool.run(name, body, seconds=seconds))
        except TimeoutError:
            words = f"this takes longer than {settings.most_seconds:g} s and was stopped; use the command line for it"
            return refusal(504, "TooSlow", words)
        except WorkerLostError:
            return refusal(
                500, "InternalError", "the computing process ended unexpectedly; perhaps it needed too much memory"
            )
        return Response(text, status, media_type="application/json")

    return answer


async def _unless_gone(request: Request, work: Awaitable[tuple[int, str]]) -> tuple[int, str]:
    """Wait for *work*, and stop it when the browser does not wait any more (the cancel button, a closed tab)."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=0.2))[0]:
            if await request.is_disconnected():
                task.cancel()
                break
        return await task
    except asyncio.CancelledError:
        task.cancel()
        return 499, "{}"


async def _not_found(_: Request, error: HTTPException) -> Response:
    kind = {404: "NotFound", 405: "MethodNotAllowed"}.get(error.status_code, "RequestError")
    return refusal(error.status_code, kind, "there is nothing here; see /api for what there is")


async def _too_large(*_: Any) -> Response:
    return too_large()


async def _failed(*_: Any) -> Response:
    return refusal(500, "InternalError", "something unforeseen happened; its words are withheld")
