"""The web application: pages, our own assets, and the JSON API. It computes nothing itself."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from optimaldp.studio.api_calls import CALLS
from optimaldp.studio.gate import UPLOAD, BodyTooLargeError, Gate, refusal, too_large
from optimaldp.studio.openapi import openapi_document
from optimaldp.studio.pages import API_PAGE, PAGES, Page, asset, page_html
from optimaldp.studio.pool import Pool, WorkerLostError
from optimaldp.studio.settings import SPENDING, TABLE_CALLS, FileTooLargeError, Settings, discard, received

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
            "sheets",
            "explore",
            "design",
            "draw",
            "channel",
            "table",
            "start",
            "answers",
            "rehearsal",
            "basket",
            "release",
            "sanitise",
            "research",
            "api",
        )
    },
    "icon.svg": "image/svg+xml",
}
TABLE_HEADER = "X-Studio-Table"
TICKET_HEADER = "X-Studio-Ticket"
_UNTOLD = "Whether anything was spent stands in the history."
_MOST_TICKETS = 10_000


def application(settings: Settings) -> Starlette:
    """The studio as an ASGI application."""
    routes = [
        Route("/", _first(settings)),
        *(Route(page.path, _page(page, settings)) for page in (*PAGES, API_PAGE)),
        *(Route(f"/static/{name}", _asset(name, kind)) for name, kind in ASSETS.items()),
        *(
            Route(f"/api/{call.name}", _call(call.name, settings), methods=[call.method])
            for call in CALLS
            if call.name != "upload"
        ),
        Route(UPLOAD, _upload(settings), methods=["POST"]),
        Route("/made/clean-{number:int}.{kind}", _made),
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
        # Private to the one who runs the studio (mode 700), and gone with everything in it when the studio ends.
        with tempfile.TemporaryDirectory(prefix="optimaldp-studio-", ignore_cleanup_errors=True) as folder:
            app.state.pool = Pool(settings.at_work(folder))
            app.state.spending = asyncio.Lock()
            app.state.tickets = {}
            warming = asyncio.create_task(app.state.pool.warm())
            try:
                yield
            finally:
                warming.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await warming
                await app.state.pool.close()

    return lifespan


def _first(settings: Settings) -> Callable[[Request], Awaitable[Response]]:
    """Whoever came with a table begins at it; everybody else where nothing is needed."""
    path = "/explore" if settings.data is None else "/release"

    async def show(_: Request) -> Response:
        return RedirectResponse(path, 303)

    return show


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


async def _made(request: Request) -> Response:
    """A sanitised table of this session, or its statement: they may be published."""
    number, kind = request.path_params["number"], request.path_params["kind"]
    ending = {"csv": ".csv", "json": ".csv.json"}.get(kind)
    path = Path(str(request.app.state.pool.table.folder)) / f"clean-{number}{ending}"
    if ending is None or not path.is_file():
        raise HTTPException(404)
    return FileResponse(path, media_type=f"text/{kind}", filename=f"clean{ending}")


def _call(name: str, settings: Settings) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            body = (await request.body()).decode("utf-8")
        except UnicodeDecodeError:
            return refusal(400, "NotJSON", "the request is not UTF-8 text")
        if name in TABLE_CALLS and (moved := _another_table(request)) is not None:
            return moved
        if name in SPENDING:
            return await _spend(request, name, body)
        if name == "settled":
            async with request.app.state.spending:
                await request.app.state.pool.settled()
        return await _run(request, name, body, settings.most_seconds)

    return answer


def _another_table(request: Request) -> Response | None:
    """A page that still shows the table before must not ask its questions of another one."""
    shown = request.headers.get(TABLE_HEADER)
    if shown is None or shown == str(request.app.state.pool.table.number):
        return None
    return refusal(409, "AnotherTable", "another file was opened meanwhile; reload the page to go on with it")


async def _spend(request: Request, name: str, body: str) -> Response:
    """One release at a time, each ticket once: a double click spends once, and two tabs find each other's answers."""
    state, ticket = request.app.state, request.headers.get(TICKET_HEADER)
    if ticket is not None:
        if ticket in state.tickets:
            return refusal(409, "SentTwice", f"this was sent already and is not done a second time. {_UNTOLD}")
        state.tickets[ticket] = None
        if len(state.tickets) > _MOST_TICKETS:
            state.tickets.pop(next(iter(state.tickets)))
    async with state.spending:
        if await request.is_disconnected():  # cancelled while it waited for its turn: nothing was begun
            return Response("{}", 499)
        # It may count for longer than half a minute: it is shown with its progress, and can be cancelled.
        made = await _run(request, name, body, None)
        # Whoever waits for the lock finds the ledger at rest: a worker that was stopped has ended.
        await state.pool.settled()
    return made


async def _run(request: Request, name: str, body: str, seconds: float | None) -> Response:
    try:
        status, text = await _unless_gone(request, request.app.state.pool.run(name, body, seconds=seconds))
    except TimeoutError:
        sentence = f"this takes longer than {seconds:g} s and was stopped; use the command line for it"
        return refusal(504, "TooSlow", sentence)
    except WorkerLostError:
        sentence = "the computing process ended unexpectedly; perhaps it needed too much memory."
        return refusal(500, "InternalError", f"{sentence} {_UNTOLD}" if name in SPENDING else sentence)
    return Response(text, status, media_type="application/json")


def _upload(settings: Settings) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        if settings.data is not None:
            sentence = (
                "this studio was started with a table, to which its ledger belongs; start another one for another file"
            )
            return refusal(409, "TableGiven", sentence)
        state = request.app.state
        async with state.spending:
            before = state.pool.table
            try:
                table = await received(request.stream(), request.headers.get("X-File-Name", ""), before)
            except (FileTooLargeError, BodyTooLargeError):
                return too_large(UPLOAD)
            except ClientDisconnect:  # nobody waits for the rest of the file; what came of it is gone
                return Response("{}", 499)
            await state.pool.use(table)
            shown = await _run(request, "session", "{}", settings.most_seconds)
            if shown.status_code == 200:
                discard(before)
            else:  # what cannot be read leaves everything as it was
                await state.pool.use(before)
                discard(table)
            return shown

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


async def _too_large(request: Request, _: object) -> Response:
    return too_large(request.url.path)


async def _failed(*_: object) -> Response:
    return refusal(500, "InternalError", "something unforeseen happened; its words are withheld")
