"""Starting the studio: check what was named, find a port, open the page, serve until stopped."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.asking.ask import Ask
from optimaldp.errors import InputError, MissingExtraError, TableError
from optimaldp.studio.desk import Desk, told_by
from optimaldp.studio.settings import Settings

if TYPE_CHECKING:
    from optimaldp.ledger import Budget
    from optimaldp.tables import Description

PORT = 8600


def serve(settings: Settings, *, port: int | None = None, open_page: bool = True) -> None:
    """Serve the studio until it is interrupted; prints the address."""
    try:
        import uvicorn

        from optimaldp.studio.app import application
    except ImportError as error:
        raise MissingExtraError(error.name or "uvicorn", "studio") from None
    listening = _listen(settings.host, port)
    address = settings.address(listening.getsockname()[1])
    print(f"optimaldp studio: {address}  (Ctrl+C stops it)", flush=True)
    if open_page:
        _open_later(address)
    options: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False}
    server = uvicorn.Server(uvicorn.Config(application(settings), lifespan="on", **options))
    _end_in_order()
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def _end_in_order() -> None:
    """Being told to end (SIGTERM) removes what is kept for this session alone, as Ctrl+C does."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


@contextlib.contextmanager
def prepared(
    data: str | None,
    ledger: str | None,
    *,
    budget: Budget | None = None,
    neighbours: str | None = None,
    unit: str | None = None,
    host: str = "127.0.0.1",
    **reading: Any,
) -> Iterator[Settings]:
    """Settings of a studio. A ledger that does not exist is made here if *budget* says how large it is, else by the start page.

    Without a ledger named, a record of this session, which ends with it. *reading* (types, delimiter, encoding, description)
    says how the cells are read: the ledger remembers it.
    """
    from optimaldp.ledger.opening import ledger_exists

    if data is None:
        said = {"ledger": ledger, "budget": budget, "neighbours": neighbours, "unit": unit, **reading}
        for name, value in said.items():
            if value is not None:
                remedy = "add --data survey.csv; for a file that is chosen in the page it is said there"
                raise InputError(name, str(value), "was given without a table", remedy)
        yield Settings(host=host)
        return
    _check_path(data)
    description = reading.pop("description", None)
    said = {
        name: value for name, value in {"neighbours": neighbours, "unit": unit, **reading}.items() if value is not None
    }
    with contextlib.ExitStack() as stack:
        kept, record = ledger is not None, ledger
        if record is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="optimaldp-studio-"))
            record = str(Path(folder) / "session.ledger")
        told = told_by(data, description)
        if budget is not None or ledger_exists(record):
            _open_book(record, budget, told, said)
        elif told is None and (written := Desk(data, record).beside).exists():
            remedy = f"start with --description {written}, or move it away"
            raise InputError("description", str(written), "lies where the start page would write its own", remedy)
        yield Settings(data, record, kept, host=host, description=description, said=said)


def _open_book(record: str, budget: Budget | None, told: Description | None, said: dict[str, Any]) -> None:
    """Make the ledger, or see that one which exists agrees with what was said."""
    from optimaldp.ledger import open_ledger
    from optimaldp.ledger.opening import ledger_exists

    people: dict[str, Any] = {name: said[name] for name in ("neighbours", "unit") if name in said}
    settings = {name: value for name, value in said.items() if name not in people}
    if told is not None:
        ask = Ask("", 0, **people).described(told)
        people = {"neighbours": ask.neighbours} | ({"unit": ask.unit} if told.says_person else {})
        settings |= {"description": told.hash}
    named = None if budget is None or ledger_exists(record) else Path(record).stem
    open_ledger(record, budget=budget, dataset=named, settings=settings or None, **people).close()


def _check_path(data: str) -> None:
    """Tell a mistyped path at once; everything else about the table is found out when the page asks."""
    if "://" not in data and not any(sign in data for sign in "*?[") and not Path(data).exists():
        raise TableError("data", data, "does not exist", "check the path")


def _listen(host: str, port: int | None) -> socket.socket:
    """The wanted port, or the usual one, or any free one if the usual one is taken."""
    try:
        family = socket.getaddrinfo(host, None)[0][0]
    except OSError:
        raise InputError("host", host, "is not an address of this machine") from None
    for wanted in (port,) if port is not None else (PORT, 0):
        made = socket.socket(family, socket.SOCK_STREAM)
        _keep_to_ourselves(made)
        try:
            made.bind((host, wanted))
        except OSError:
            made.close()
            continue
        made.listen(64)
        return made
    raise InputError("port", port, "is taken or not allowed", "choose another, or leave it out")


def _keep_to_ourselves(made: socket.socket) -> None:
    """A port that was just left may be taken at once, one in use never.

    On Windows SO_REUSEADDR means something else: another program may take a port that is in use, and with it our requests.
    """
    exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)  # Windows alone has it
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR if exclusive is None else exclusive, 1)


def _open_later(address: str) -> None:
    """Open the browser a moment after the server began to listen; a machine without one is no error."""
    import webbrowser

    timer = threading.Timer(0.3, lambda: webbrowser.open(address))
    timer.daemon = True
    timer.start()
