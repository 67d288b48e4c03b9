"""Ask the tables of a curator: the same words as for a table of one's own, sent over HTTP with a key.

Every call is written once, as a :class:`SentCall`: what is sent, and how the answer is read. :class:`Curator` sends calls and
waits, :class:`AsyncCurator` awaits them. The one home of httpx.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Unpack, overload
from urllib.parse import quote, urlsplit

from optimaldp.asking.ask import FIELDS, Ask, AskOptions, key_of, takes_options
from optimaldp.asking.preview_result import Preview
from optimaldp.asking.published import release_of
from optimaldp.asking.result import Release
from optimaldp.errors import (
    AccessError,
    BudgetError,
    InputError,
    LedgerError,
    NotApprovedError,
    OptimalDPError,
    ServiceError,
    StillWaitingError,
)
from optimaldp.extras import requiring
from optimaldp.ledger import History, Remaining
from optimaldp.questions.base import Question

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx

Value = TypeVar("Value")
Document = dict[str, Any]

ANSWERED, FAILED, REFUSED = "answered", "failed", "refused"
_SETTLED = (ANSWERED, FAILED, REFUSED)
_RETRIES = 2
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@overload
def connect(
    url: str, key: str, *, asynchronous: Literal[False] = False, timeout: float = 120, unencrypted: bool = False
) -> Curator: ...


@overload
def connect(
    url: str, key: str, *, asynchronous: Literal[True], timeout: float = 120, unencrypted: bool = False
) -> AsyncCurator: ...


def connect(
    url: str, key: str, *, asynchronous: bool = False, timeout: float = 120, unencrypted: bool = False
) -> Curator | AsyncCurator:
    """Connect to a curator's service, whose tables are asked like a table of one's own.

    Parameters
    ----------
    url
        The address of the service, ``https://curator.example``.
    key
        The key that the steward handed out. It travels in a header, never in a URL.
    asynchronous
        Give the object whose methods are awaited.
    timeout
        For how many seconds an answer is waited for.
    unencrypted
        Allow a plain ``http`` address that is not this machine: the key can then be read on the way.

    Nothing is sent before the first question::

        with odp.connect("https://curator.example", key) as curator:
            table = curator.table("hospital")
            table.preview("count(age >= 65)", epsilon=0.2)
            table.ask("count(age >= 65)", epsilon=0.2)
    """
    address = _address(url, unencrypted)
    return (AsyncCurator if asynchronous else Curator)(address, _key(key), timeout)


def _address(url: str, unencrypted: bool) -> str:
    parts = urlsplit(url) if isinstance(url, str) else urlsplit("")
    remedy = "write https://host or http://127.0.0.1:8080"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("url", url, "is not the address of a service", remedy)
    if parts.username or parts.password or parts.query or parts.fragment:
        # Not quoted: what stands there may be the key.
        raise InputError(
            "url", parts.hostname, "has more than an address", "hand the key over by itself: connect(url, key)"
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not unencrypted:
        rule = "is not encrypted, so the key could be read on the way"
        raise InputError("url", url, rule, "use https, or say unencrypted=True inside a closed network")
    return url.rstrip("/")


def _key(key: str) -> str:
    if not isinstance(key, str) or not key.strip().isascii() or not key.strip().isprintable() or not key.strip():
        raise InputError("key", "what was given", "is not a key", "give the text that `key create` printed")
    return key.strip()


# What is sent, and how its answer is read.


@dataclass(frozen=True)
class SentCall(Generic[Value]):
    """One request to the service."""

    path: str
    read: Callable[[Document], Value]
    body: Mapping[str, Any] | None = None
    """What is posted; ``None`` asks for something."""
    query: Mapping[str, str] = field(default_factory=dict)
    ticket: str | None = None
    """A text that is sent with every attempt, so that none after the first is carried out."""

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"

    @property
    def repeatable(self) -> bool:
        return self.body is None or self.ticket is not None

    def sent(self) -> dict[str, Any]:
        """The arguments of httpx."""
        headers = {} if self.ticket is None else {"Idempotency-Key": self.ticket}
        content = {} if self.body is None else {"json": dict(self.body)}
        return {"method": self.method, "url": f"/v1/{self.path}", "params": self.query, "headers": headers, **content}


def _itself(document: Document) -> Document:
    return document


def _datasets() -> SentCall[list[Document]]:
    return SentCall("datasets", lambda document: list(document["datasets"]))


def _preview(
    dataset: str, question: Question | str, more: Mapping[str, Any], options: Mapping[str, Any]
) -> SentCall[Preview]:
    said = {name: value for name, value in more.items() if value is not None}
    return SentCall("preview", _read_preview, {"dataset": dataset, **written(Ask(question, **options)), **said})


def _read_preview(document: Document) -> Preview:
    """As the library gives it; that the question waits for an approver is a note."""
    waits = ["An approver has to let this question through."] if document.get("waits") else []
    shown = {name: value for name, value in document.items() if name not in ("dataset", "waits")}
    return Preview.from_document(shown | {"notes": [*document["notes"], *waits]})


def _ask(dataset: str, question: Question | str, options: Mapping[str, Any]) -> SentCall[Document]:
    if not isinstance(question, (Question, str)):
        raise InputError("question", question, "is not one question", "ask a curator one question at a time")
    body = {"dataset": dataset, **written(Ask(question, **options))}
    return SentCall("ask", _itself, body, ticket=secrets.token_urlsafe(24))


def _remaining(dataset: str) -> SentCall[Remaining]:
    return SentCall(
        "remaining", lambda document: Remaining.from_document(document["remaining"]), query={"dataset": dataset}
    )


def _history(dataset: str) -> SentCall[Document]:
    return SentCall("history", _itself, query={"dataset": dataset})


def _requests(dataset: str | None, status: str | None) -> SentCall[list[Document]]:
    query = {name: value for name, value in (("dataset", dataset), ("status", status)) if value is not None}
    return SentCall("requests", lambda document: list(document["requests"]), query=query)


def _request(number: str) -> SentCall[Document]:
    return SentCall(f"requests/{quote(number, safe='')}", _itself)


def _decide(number: str, decision: str, body: Mapping[str, Any]) -> SentCall[Document]:
    return SentCall(f"requests/{quote(number, safe='')}/{decision}", _itself, body)


def written(ask: Ask) -> Document:
    """An ask as JSON: what differs from nothing said, by the keys of documents.

    >>> written(Ask("count(age >= 65)", "ln(2)", where="ward = 'north'"))
    {'question': 'count(age >= 65)', 'epsilon': 'ln(2)', 'where': "ward = 'north'"}
    """
    said = {key_of(name): getattr(ask, name) for name, one in FIELDS.items() if getattr(ask, name) != one.default}
    return {name: _plain(value) for name, value in said.items()}


def _plain(value: Any) -> Any:
    """A value as JSON has it; exact numbers, questions and aims are texts."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    return value if isinstance(value, (str, bool, int, float)) and not isinstance(value, Decimal) else str(value)


# What comes back.


def read_reply(status: int, document: Any) -> Document:
    """The document of an answer; anything but success is raised as an error of ours."""
    if status in (200, 201, 202) and isinstance(document, dict):
        return document
    error = document.get("error") if isinstance(document, dict) else None
    raise error_of(status, error if isinstance(error, dict) else {})


def error_of(status: int, error: Mapping[str, Any]) -> OptimalDPError:
    """The error that the library itself would have raised, with the words of the service."""
    message = str(error.get("message") or f"The service answered with status {status}, which says nothing more.")
    if status in (401, 403, 404):
        return AccessError(message, status=status)
    if status == 400 and error.get("field"):
        made = InputError(
            str(error["field"]), error.get("value"), str(error.get("rule") or ""), str(error.get("remedy") or "")
        )
        made.args = (message,)
        return made
    if status == 409:
        refused = BudgetError(message) if _NOTHING_SPENT in message else LedgerError(message)
        refused.args = (message,)
        return refused
    return ServiceError(message, status=status)


_NOTHING_SPENT = "Nothing was sampled and nothing was spent"


def _unreachable(error: Exception) -> ServiceError:
    # The words of httpx may quote the address; its kind is enough.
    return ServiceError(
        f"The service cannot be reached ({type(error).__name__}). Is the address right, and is it running?"
    )


def _settled(document: Document) -> Release:
    """The answer of a request that is decided, or why there is none."""
    if document["status"] == ANSWERED:
        return release_of(document["answer"])
    if document["status"] == REFUSED:
        reason = document.get("reason")
        words = f" {reason}" if reason else ""
        raise NotApprovedError(f"The approver refused the question.{words} {_NOTHING_SPENT}.")
    raise ServiceError(str(document.get("reason") or "No answer was given. What was reserved stays spent."))


def _pauses(every: float) -> Iterator[float]:
    """Ever longer, up to five seconds: somebody may wait for an hour."""
    while True:
        yield every
        every = min(5.0, every * 1.5)


class _Request:
    """A question that was sent to a curator, as it was last seen."""

    def __init__(self, curator: Any, document: Document) -> None:
        self._curator = curator
        self.document = document
        """All that was said of it: who asked what, who decided, and why."""

    @property
    def id(self) -> str:
        return str(self.document["request"])

    @property
    def asker(self) -> str | None:
        return self.document.get("asker")

    @property
    def question(self) -> str | None:
        """The question, where it is known: the first answer of the service names the request alone."""
        ask = self.document.get("ask") or {}
        return ask.get("question")

    @property
    def settled(self) -> bool:
        """Whether it was decided and carried out when it was last seen."""
        return self.document["status"] in _SETTLED

    def __repr__(self) -> str:
        what = "" if self.question is None else f", {self.question!r}"
        return f"{type(self).__name__.lstrip('_')}({self.id}{what}, {self.document['status']})"


class WaitingRequest(_Request):
    """A question that waits for an approver, or that an approver may decide."""

    _curator: Curator

    @property
    def status(self) -> str:
        """waiting, running, answered, refused or failed: as the service says now."""
        self.document = self.document | self._curator.send(_request(self.id))
        return str(self.document["status"])

    def wait(self, timeout: float | None = None, *, every: float = 0.5) -> Release:
        """Wait for the decision and give the answer.

        Raises :class:`~optimaldp.errors.NotApprovedError` where the approver refused it, and
        :class:`~optimaldp.errors.StillWaitingError` after *timeout* seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        for pause in _pauses(every):
            if self.status in _SETTLED:
                return _settled(self.document)
            if end is not None and time.monotonic() + pause > end:
                raise StillWaitingError(f"The question still waits for an approver after {timeout:g} s.")
            time.sleep(pause)
        raise AssertionError("pauses never end")

    def approve(self) -> WaitingRequest:
        """Let it through: it is carried out at once. For approvers."""
        return WaitingRequest(self._curator, self._curator.send(_decide(self.id, "approve", {})))

    def refuse(self, reason: str) -> WaitingRequest:
        """Refuse it, with a reason for the asker. For approvers."""
        return WaitingRequest(self._curator, self._curator.send(_decide(self.id, "refuse", {"reason": reason})))


class AsyncWaitingRequest(_Request):
    """The same to be awaited: ``await request.status``, ``await request.wait()``."""

    _curator: AsyncCurator

    @property
    async def status(self) -> str:
        """waiting, running, answered, refused or failed: as the service says now."""
        self.document = self.document | await self._curator.send(_request(self.id))
        return str(self.document["status"])

    async def wait(self, timeout: float | None = None, *, every: float = 0.5) -> Release:
        """Wait for the decision and give the answer, as :meth:`WaitingRequest.wait` does."""
        end = None if timeout is None else time.monotonic() + timeout
        for pause in _pauses(every):
            if await self.status in _SETTLED:
                return _settled(self.document)
            if end is not None and time.monotonic() + pause > end:
                raise StillWaitingError(f"The question still waits for an approver after {timeout:g} s.")
            await asyncio.sleep(pause)
        raise AssertionError("pauses never end")

    async def approve(self) -> AsyncWaitingRequest:
        """Let it through: it is carried out at once. For approvers."""
        return AsyncWaitingRequest(self._curator, await self._curator.send(_decide(self.id, "approve", {})))

    async def refuse(self, reason: str) -> AsyncWaitingRequest:
        """Refuse it, with a reason for the asker. For approvers."""
        body = {"reason": reason}
        return AsyncWaitingRequest(self._curator, await self._curator.send(_decide(self.id, "refuse", body)))


@dataclass(frozen=True)
class RemoteTable:
    """A table of a curator. It is asked like one that :func:`optimaldp.open` gives; the data stays where it is."""

    curator: Curator = field(repr=False)
    name: str

    @takes_options()
    def ask(self, question: Question | str, **options: Unpack[AskOptions]) -> Release | WaitingRequest:
        """Answer *question* privately and pay for it from the asker's budget.

        **Guarantee.** The spend is durable before anything is sampled. A question that has to wait for an approver is
        a :class:`WaitingRequest`; nothing is spent until it is let through. A call that is sent again because the
        connection broke is carried out once.
        """
        document = self.curator.send(_ask(self.name, question, options))
        return release_of(document) if "answer" in document else WaitingRequest(self.curator, document)

    @takes_options()
    def preview(
        self,
        question: Question | str,
        *,
        n: int | None = None,
        margins: Sequence[int] | None = None,
        **options: Unpack[AskOptions],
    ) -> Preview:
        """How often the answer would be wrong, by margin: public, reads no data and spends nothing."""
        return self.curator.send(_preview(self.name, question, {"n": n, "margins": margins}, options))

    @property
    def remaining(self) -> Remaining:
        """What is left of the asker's budget."""
        return self.curator.send(_remaining(self.name))

    def history(self) -> History:
        """What was asked, with levels, answers, times and statements, in order: an asker sees her own questions."""
        return History.from_document(self.curator.send(_history(self.name)), self.remaining)


@dataclass(frozen=True)
class AsyncRemoteTable:
    """The same to be awaited: ``await table.ask(...)``, ``await table.remaining``."""

    curator: AsyncCurator = field(repr=False)
    name: str

    @takes_options()
    async def ask(self, question: Question | str, **options: Unpack[AskOptions]) -> Release | AsyncWaitingRequest:
        """Answer *question* privately and pay for it, as :meth:`RemoteTable.ask` does."""
        document = await self.curator.send(_ask(self.name, question, options))
        return release_of(document) if "answer" in document else AsyncWaitingRequest(self.curator, document)

    @takes_options()
    async def preview(
        self,
        question: Question | str,
        *,
        n: int | None = None,
        margins: Sequence[int] | None = None,
        **options: Unpack[AskOptions],
    ) -> Preview:
        """How often the answer would be wrong, by margin: public, reads no data and spends nothing."""
        return await self.curator.send(_preview(self.name, question, {"n": n, "margins": margins}, options))

    @property
    async def remaining(self) -> Remaining:
        """What is left of the asker's budget."""
        return await self.curator.send(_remaining(self.name))

    async def history(self) -> History:
        """What was asked, in order: an asker sees her own questions."""
        return History.from_document(await self.curator.send(_history(self.name)), await self.remaining)


@cache
def _authorities() -> SSLContext:
    """Whose certificates are believed. Reading the list takes longer than a call, so all connections share it."""
    with requiring("httpx"):
        import httpx

    return httpx.create_ssl_context()


class _Connection:
    """Where the service is, and how httpx is made for it. The key is in no repr."""

    def __init__(self, url: str, key: str, timeout: float) -> None:
        with requiring("httpx"):
            import httpx

        self.url = url
        # What this machine's environment says of proxies is not for its own loopback address.
        self._made: dict[str, Any] = {
            "base_url": url,
            "headers": {"Authorization": f"Bearer {key}", "Accept": "application/json"},
            "timeout": httpx.Timeout(timeout, connect=10),
            "follow_redirects": False,
            "trust_env": urlsplit(url).hostname not in _LOOPBACK,
            "verify": _authorities(),
        }
        self._failures = httpx.TransportError

    def _read(self, call: SentCall[Value], reply: httpx.Response) -> Value:
        try:
            document = reply.json()
        except ValueError:
            document = None
        return call.read(read_reply(reply.status_code, document))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


class Curator(_Connection):
    """A connection to a curator's service. Get one from :func:`connect` (``odp.connect``)."""

    def __init__(self, url: str, key: str, timeout: float = 120) -> None:
        super().__init__(url, key, timeout)
        with requiring("httpx"):
            import httpx

        self._http = httpx.Client(**self._made)

    def datasets(self) -> list[Document]:
        """The data sets that this key may see, each with its reviewed description: never the data."""
        return self.send(_datasets())

    def table(self, name: str) -> RemoteTable:
        """The data set of this name, to be asked."""
        return RemoteTable(self, name)

    def requests(self, *, dataset: str | None = None, status: str | None = None) -> list[WaitingRequest]:
        """What was asked, the newest first: an asker's own requests, an approver's those of her data sets."""
        return [WaitingRequest(self, one) for one in self.send(_requests(dataset, status))]

    def request(self, number: str) -> WaitingRequest:
        """One request by its number."""
        return WaitingRequest(self, self.send(_request(number)))

    def send(self, call: SentCall[Value]) -> Value:
        """Send a call and read its answer. A broken connection is tried again where that cannot do anything twice."""
        for attempt in range(_RETRIES + 1):
            try:
                return self._read(call, self._http.request(**call.sent()))
            except self._failures as error:
                if attempt == _RETRIES or not call.repeatable:
                    raise _unreachable(error) from None
                time.sleep(0.2 * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncCurator(_Connection):
    """The same to be awaited: ``async with odp.connect(url, key, asynchronous=True) as curator``."""

    def __init__(self, url: str, key: str, timeout: float = 120) -> None:
        super().__init__(url, key, timeout)
        with requiring("httpx"):
            import httpx

        self._http = httpx.AsyncClient(**self._made)

    async def datasets(self) -> list[Document]:
        """The data sets that this key may see, each with its reviewed description: never the data."""
        return await self.send(_datasets())

    def table(self, name: str) -> AsyncRemoteTable:
        """The data set of this name, to be asked."""
        return AsyncRemoteTable(self, name)

    async def requests(self, *, dataset: str | None = None, status: str | None = None) -> list[AsyncWaitingRequest]:
        """What was asked, the newest first: an asker's own requests, an approver's those of her data sets."""
        return [AsyncWaitingRequest(self, one) for one in await self.send(_requests(dataset, status))]

    async def request(self, number: str) -> AsyncWaitingRequest:
        """One request by its number."""
        return AsyncWaitingRequest(self, await self.send(_request(number)))

    async def send(self, call: SentCall[Value]) -> Value:
        """Send a call and read its answer, as :meth:`Curator.send` does."""
        for attempt in range(_RETRIES + 1):
            try:
                return self._read(call, await self._http.request(**call.sent()))
            except self._failures as error:
                if attempt == _RETRIES or not call.repeatable:
                    raise _unreachable(error) from None
                await asyncio.sleep(0.2 * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    async def close(self) -> None:
        """Let go of the connection."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncCurator:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
