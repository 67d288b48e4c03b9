"""The service over HTTP: who calls is asked first, then what; everything else is decided at the desk.

Order of every call: a key in the URL is refused; the key in the header is looked up; its rate and its role are checked; only
then the body is read, up to its limit in bytes and in time. Questions are answered when their clock says.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from optimaldp.asking.corridor import Clock
from optimaldp.documents.json_text import json_text, read_json_text
from optimaldp.errors import InputError, LedgerError, OptimalDPError
from optimaldp.service.configuration import SANITISE, Configuration
from optimaldp.service.desk import Begun, CuratorDesk, clerk_settings
from optimaldp.service.keys import Person, holds_key
from optimaldp.service.oidc import SignInPages
from optimaldp.service.refusals import (
    BUSY,
    FAILED,
    KEY_IN_URL,
    LEDGER_UNAVAILABLE,
    Refused,
    error_document,
    refusal_of,
    unknown,
)
from optimaldp.service.routes import ROUTES, ApiRoute, openapi_document
from optimaldp.service.watching import Counters, log
from optimaldp.service.workers import BusyError, CutOffError, Workers

PUBLIC_SECONDS = 30.0  # work on public things alone (previews, verify) is stopped after that
_KEY_NAMES = ("key", "api_key", "apikey", "token", "access_token", "authorization", "bearer")
_SLOW_BODY = "The body came too slowly. Nothing was done; send it again, or ask the steward to raise body_seconds."
_TRIES_TO_OPEN = 60  # a second apart
_TOO_SLOW = (
    f"This takes longer than {PUBLIC_SECONDS:g} seconds and was stopped. Nothing was spent; "
    "ask for fewer answers or fewer columns."
)
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class CheckedCall:
    """One call whose caller is known and may make it."""

    route: ApiRoute
    request: Request
    person: Person
    body: dict[str, Any]

    def query(self, name: str) -> str | None:
        return self.request.query_params.get(name)

    def named(self, name: str) -> str:
        return str(self.request.path_params[name])

    def require_fields(self) -> None:
        """Refuse what the body of this call does not take."""
        known = [] if self.route.body is None else self.route.body["properties"]
        for name, value in self.body.items():
            if name not in known:
                rule, remedy = "is not a field of this call", f"known are: {', '.join(known) or 'none'}"
                raise InputError(name[:80], value, rule, remedy)


def create_app(config: Configuration, *, pages: Sequence[BaseRoute] = ()) -> Starlette:
    """The service as an ASGI application; *pages* are further routes, which have no key to show.

    Data sets are opened and ledgers made when it starts: whatever is wrong with them stops it then.
    """
    service = Service(config)
    routes = [Route(one.path, service.endpoint(one), methods=[one.method], name=one.name) for one in ROUTES]
    handlers: dict[Any, Any] = {HTTPException: _no_route, Exception: _unforeseen}
    if config.sign_in is not None:
        routes += SignInPages(config, config.sign_in, lambda: service.desk.store).routes()
    app = Starlette(routes=[*routes, *pages], exception_handlers=handlers, lifespan=service.lifespan)
    # An address that is nearly right would be sent on to whatever host the caller names.
    app.router.redirect_slashes = False
    app.add_middleware(Envelope, counters=service.counters)
    return app


class Service:
    """The calls of one process."""

    def __init__(self, config: Configuration) -> None:
        self.config, self.counters = config, Counters()
        self.desk: CuratorDesk
        self.workers: Workers
        self._rates = Rates(config.rate / config.workers)

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.desk = await self._opened_desk()
        self.workers = Workers(clerk_settings(self.config), self.config.questions_at_once)
        self.workers.start()
        log("started", datasets=sorted(self.config.datasets))
        try:
            yield
        finally:
            await self.workers.close()
            await run_in_threadpool(self.desk.close)
            log("stopped")

    async def _opened_desk(self) -> CuratorDesk:
        """The desk. One of several processes waits while the database is away: a failed start would end all of them."""
        for _ in range(_TRIES_TO_OPEN if self.config.workers > 1 else 0):
            try:
                return await run_in_threadpool(CuratorDesk, self.config)
            except LedgerError as error:
                log("ledger", level=logging.ERROR, words=str(error))
            await asyncio.sleep(1)
        return await run_in_threadpool(CuratorDesk, self.config)

    def endpoint(self, route: ApiRoute) -> Callable[[Request], Awaitable[Response]]:
        """What answers a route: the caller, her rate, her role, the body, then the call itself."""
        work: Callable[[CheckedCall], Awaitable[Response]]
        work = getattr(self, f"_{route.name}", self._by_the_desk)

        async def answer(request: Request) -> Response:
            request.state.route = route.path
            try:
                if route.roles is None:
                    return await work(None)  # type: ignore[arg-type]
                person = await run_in_threadpool(self.desk.person, _bearer(request))
                request.state.who = person.name
                self._rates.take(person.key.id)
                if not person.has(*route.roles):
                    raise Refused(403, _other_role(route, person))
                body = {} if route.body is None else await self._body(request)
                return await work(CheckedCall(route, request, person, body))
            except Refused as error:
                return JSONResponse(error.document, error.status, headers=error.headers)
            except LedgerError as error:
                log("ledger", level=logging.ERROR, words=str(error))
                return JSONResponse(error_document(LEDGER_UNAVAILABLE), 503)
            except OptimalDPError as error:
                refused = refusal_of(error)
                return JSONResponse(refused.document, refused.status)

        return answer

    async def _body(self, request: Request) -> dict[str, Any]:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "Send JSON with the header Content-Type: application/json.")
        try:
            async with asyncio.timeout(self.config.body_seconds):
                raw = await _limited(request, self.config.most_bytes)
        except TimeoutError:
            raise Refused(408, _SLOW_BODY, headers={"Connection": "close"}) from None
        try:
            body = read_json_text(raw.decode("utf-8"), source="body", field="request")
        except UnicodeDecodeError:
            raise Refused(400, "The body is not UTF-8 text. Send JSON in UTF-8.", field="body") from None
        if not isinstance(body, dict):
            raise InputError("body", body, "is not a JSON object", "send an object with named fields")
        return body

    # Calls that the desk answers by itself: a method of the route's name, with the caller and what the route takes.

    async def _by_the_desk(self, call: CheckedCall) -> Response:
        route = call.route
        said: list[Any] = [*map(call.named, route.named), *(call.query(name) for name, _ in route.query)]
        if route.body is not None:
            call.require_fields()
            said.append(call.body)
        shown = await run_in_threadpool(getattr(self.desk, route.name), call.person, *said)
        return JSONResponse(shown, min(route.answers))

    async def _openapi(self, _: CheckedCall) -> Response:
        return JSONResponse(openapi_document())

    async def _health(self, _: CheckedCall) -> Response:
        well = await run_in_threadpool(self.desk.store.is_well)
        return JSONResponse({"status": "ok" if well else "the store does not answer"}, 200 if well else 503)

    async def _metrics(self, _: CheckedCall) -> Response:
        return PlainTextResponse(self.counters.text())

    # Calls that compute on public things.

    async def _preview(self, call: CheckedCall) -> Response:
        return await self._public("preview", await run_in_threadpool(self.desk.preview_payload, call.person, call.body))

    async def _verify(self, call: CheckedCall) -> Response:
        return await self._public("verify", json_text({"document": call.body}))

    async def _public(self, name: str, payload: str) -> Response:
        try:
            status, text = await self.workers.run(name, payload, seconds=PUBLIC_SECONDS)
        except CutOffError:
            raise Refused(400, _TOO_SLOW) from None
        except BusyError:
            raise Refused(503, BUSY) from None
        return Response(text, status, media_type="application/json")

    # Calls that spend.

    async def _ask(self, call: CheckedCall) -> Response:
        return await self._paid(call, "ask")

    async def _sanitise(self, call: CheckedCall) -> Response:
        return await self._paid(call, SANITISE)

    async def _paid(self, call: CheckedCall, kind: str) -> Response:
        clock = Clock(self.config.answer_after)
        sent = call.request.headers.get("idempotency-key")
        begun = await run_in_threadpool(self.desk.begin, call.person, kind, call.body, sent)
        if not isinstance(begun, Begun):
            status, document = await run_in_threadpool(self.desk.replay, begun)
            return JSONResponse(document, status)
        return await self._walked(clock, kind, begun, self.desk.settle)

    async def _approve(self, call: CheckedCall) -> Response:
        call.require_fields()
        clock = Clock(self.config.answer_after)
        begun = await run_in_threadpool(self.desk.approve, call.person, call.named("id"))
        return await self._walked(clock, begun.record.kind, begun, self.desk.settle_approved)

    async def _walked(self, clock: Clock, kind: str, begun: Begun, settle: Callable[..., Any]) -> Response:
        """Have a clerk answer, keep what became of it, and give it out when the clock says.

        An error that nothing was read for is said at once; everything else at one time, whatever it is.
        """
        try:
            status, text = await self.workers.run_by(clock, kind, begun.payload)
            document = json.loads(text)
        except CutOffError:
            status, document = 500, error_document(FAILED)
        except BusyError:
            status, document = 503, error_document(BUSY)
        asked = begun.record
        try:
            status, document = await run_in_threadpool(settle, asked, status, document)
            log("question", kind=kind, who=asked.asker, dataset=asked.dataset, request=asked.id, status=status)
        finally:  # also where the store fails: how long the work took is not to be seen
            if status in (200, 500):
                await asyncio.sleep(clock.left())
        return JSONResponse(document, status)


def _other_role(route: ApiRoute, person: Person) -> str:
    """Why a key does not open a route: the role that is needed, those that its owner has, and who can change that."""
    needed, has = " or ".join(route.roles or ()), " and ".join(sorted(person.roles))
    return (
        f"This call needs the role {needed}, and your key has {has}. Use another key, or ask the steward for the role."
    )


def _bearer(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


async def _limited(request: Request, most: int) -> bytes:
    """The body; what really arrives is counted, because a length need not be announced, or be true."""
    announced = request.headers.get("content-length", "0")
    body = bytearray()
    if announced.isdigit() and int(announced) <= most:
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    break
            else:
                return bytes(body)
        except ClientDisconnect:
            raise Refused(
                400, "The body ended before its end. Nothing was done; send it again.", field="body"
            ) from None
    raise Refused(
        413, f"The body is larger than {most} bytes. Nothing was done; send less.", headers={"Connection": "close"}
    )


class Rates:
    """How many calls each key may make in a minute: a bucket that fills again as time passes."""

    def __init__(self, each_minute: float) -> None:
        self._most = max(1.0, each_minute)
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> None:
        """Count one call; refuse it if the minute's are used up."""
        now = time.monotonic()
        left, since = self._left.get(key, (self._most, now))
        left = min(self._most, left + (now - since) * self._most / 60)
        if left < 1:
            self._left[key] = left, now
            wait = max(1, round((1 - left) * 60 / self._most))
            raise Refused(429, "Too many calls with this key. Wait and try again.", headers={"Retry-After": str(wait)})
        self._left[key] = left - 1, now


class Envelope:
    """Around every call: no key in the URL, a number, headers, one line of the log, one count."""

    def __init__(self, app: ASGIApp, counters: Counters) -> None:
        self._app, self._counters = app, counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        request, number = Request(scope), secrets.token_hex(8)
        scope.setdefault("state", {})
        status = 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                present = {name.lower() for name, _ in message["headers"]}
                more = {**HEADERS, "X-Request-Id": number}
                added = [(k.lower().encode(), v.encode()) for k, v in more.items() if k.lower().encode() not in present]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        try:
            if _has_key(request):
                await JSONResponse(error_document(KEY_IN_URL, field="url"), 400)(scope, receive, sending)
            else:
                await self._app(scope, receive, sending)
        finally:
            state = scope["state"]
            route = state.get("route", "other")  # as it is declared: names of people and requests are not counted
            self._counters.count(route, status)
            log("call", number=number, method=request.method, route=route, status=status, who=state.get("who"))


def _has_key(request: Request) -> bool:
    names = {name.lower() for name in request.query_params}
    return bool(names & set(_KEY_NAMES)) or holds_key(f"{request.url.path}?{request.url.query}")


async def _no_route(_: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        return JSONResponse(unknown("address").document, 404)
    wrong_method = "This address does not take this method. GET /v1/openapi.json lists the methods of every address."
    message = {405: wrong_method}.get(error.status_code, "The request is not well-formed HTTP. Nothing was done.")
    return JSONResponse(error_document(message), error.status_code, headers=error.headers)


async def _unforeseen(_: Request, error: Exception) -> Response:
    log("unforeseen", level=logging.ERROR, kind=type(error).__name__)
    return JSONResponse(error_document(FAILED), 500)
