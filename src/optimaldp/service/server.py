"""Starting the service: check everything that was named, listen, serve until told to stop."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.errors import InputError, MissingExtraError
from optimaldp.service.configuration import Configuration, read_configuration

if TYPE_CHECKING:
    from starlette.applications import Starlette

_STARTED_WITH = "OPTIMALDP_SERVICE"  # how the processes of one service are told what it was started with
_MOST_CONNECTIONS = 1000
KEYS_FILE = "demo-keys.json"


def serve(
    config: Configuration, *, announce: Callable[[str], Sequence[str]] = lambda _: (), workers: int | None = None
) -> None:
    """Serve until stopped; questions under way are answered first. Prints its address when it listens.

    Before that, what *announce* says of the address.
    """
    require_service()
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from optimaldp.service.app import create_app
    from optimaldp.service.desk import CuratorDesk
    from optimaldp.service.pages import page_routes
    from optimaldp.service.watching import log_to_stderr

    CuratorDesk(
        config
    ).close()  # what is wrong with data sets, ledgers or the store is said here, before anything listens
    log_to_stderr()
    number = workers or config.workers
    listening = listen(config)
    url = config.url(listening.getsockname()[1])
    for line in (*announce(url), f"optimaldp serve: {url}"):
        print(line, flush=True)
    options: dict[str, Any] = {
        "lifespan": "on",
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "proxy_headers": False,
        "limit_concurrency": _MOST_CONNECTIONS,
        # Long enough for questions that wait for their time; whoever keeps a connection open longer is cut off.
        "timeout_graceful_shutdown": int(2 * config.answer_after) + 5,
        "ssl_certfile": config.certificate,
        "ssl_keyfile": config.private_key,
    }
    if number == 1:
        _end_in_order()
        app = create_app(config, pages=page_routes(accounts=config.sign_in is not None))
        server = uvicorn.Server(uvicorn.Config(app, **options))
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
        return
    with _shared_counters():
        said = {"file": config.file, "ledger": config.ledger, "workers": number}
        os.environ[_STARTED_WITH] = json.dumps(said)
        made = uvicorn.Config("optimaldp.service.server:application", factory=True, workers=number, **options)
        Multiprocess(made, [listening]).run()


def require_service() -> None:
    """Name the extra if one of its packages is missing: some of them belong to other extras too."""
    try:
        import prometheus_client  # noqa: F401
        import sqlalchemy  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(error.name or "uvicorn", "service") from None


def _end_in_order() -> None:
    """Being told to stop is an order that was carried out: what is kept for this run alone is removed, and the exit code is 0."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def application() -> Starlette:
    """The application of one of several processes."""
    from dataclasses import replace

    from optimaldp.service.app import create_app
    from optimaldp.service.pages import page_routes
    from optimaldp.service.watching import log_to_stderr

    said = json.loads(os.environ[_STARTED_WITH])
    log_to_stderr()
    config = read_configuration(said["file"], ledger=said["ledger"])
    pages = page_routes(accounts=config.sign_in is not None)
    return create_app(replace(config, workers=said["workers"]), pages=pages)


@contextmanager
def _shared_counters() -> Iterator[None]:
    """A folder in which the counters of several processes come together."""
    with tempfile.TemporaryDirectory(prefix="optimaldp-counters-", ignore_cleanup_errors=True) as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        try:
            yield
        finally:
            del os.environ["PROMETHEUS_MULTIPROC_DIR"]


def listen(config: Configuration) -> socket.socket:
    """A socket on the host and port of the configuration; port 0 is any free one."""
    try:
        family = socket.getaddrinfo(config.host, None)[0][0]
    except OSError:
        raise InputError("host", config.host, "is not an address of this machine", "write 127.0.0.1") from None
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((config.host, config.port))
        made.listen(_MOST_CONNECTIONS)
    except OSError as error:
        made.close()
        rule = f"cannot be listened on ({error.strerror})"
        raise InputError("port", config.port, rule, "choose another with --port, or 0 for any free one") from None
    return made


# A first look: made-up patients, two askers who share a budget of epsilon = 1, and a key for everybody.


_WARDS = ("Cardiology", "Oncology", "Surgery", "Maternity")
_PEOPLE = 2000
_ASKERS, _APPROVER, _STEWARD, _AUDITOR = ("ann", "ben"), "dora", "sue", "otto"
_DESCRIPTION = {
    "name": "hospital",
    "resources": [
        {
            "name": "patients",
            "path": "hospital.csv",
            "schema": {
                "fields": [
                    {"name": "patient", "type": "string"},
                    {"name": "ward", "type": "string", "constraints": {"enum": list(_WARDS)}},
                    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110}},
                    {"name": "smokes", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"]},
                    {"name": "cost", "type": "number", "constraints": {"minimum": 0, "maximum": 20000}},
                ]
            },
        }
    ],
    "optimaldp": {"person": None, "neighbours": "substitution", "reviewed": True, "step": {"cost": 10, "age": 1}},
}


@contextmanager
def demo(*, port: int | None = None, ledger: str | None = None) -> Iterator[Configuration]:
    """A curator of made-up patients. Without *ledger* its budget lives in a folder that ends with it."""
    with tempfile.TemporaryDirectory(prefix="optimaldp-demo-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        _write_demo(folder)
        yield read_configuration(folder / "curator.toml", ledger=ledger, port=port)


def _write_demo(folder: Path) -> None:
    rows = ["patient,ward,age,smokes,cost"]
    for number in range(_PEOPLE):
        # A rule instead of chance: everybody can see that nobody is meant.
        age, smokes = 18 + number * 37 % 73, "yes" if number % 7 < 2 else "no"
        rows.append(f"p{number:04d},{_WARDS[number * 13 % 11 % 4]},{age},{smokes},{200 + number * 7919 % 9000}.50")
    (folder / "hospital.csv").write_text("\n".join(rows) + "\n", "utf-8")
    (folder / "hospital.datapackage.json").write_text(json.dumps(_DESCRIPTION, indent=2), "utf-8")
    askers = "".join(
        f"[askers.{name}]\ndatasets = {{hospital = {{shared = true}}}}\napprove_above = 0.5\n\n" for name in _ASKERS
    )
    others = f"[approvers.{_APPROVER}]\n\n[stewards.{_STEWARD}]\n\n[auditors.{_AUDITOR}]\n"
    dataset = '[datasets.hospital]\ndescription = "hospital.datapackage.json"\nbudget = {epsilon = 1}\nshare_answers = true\n\n'
    (folder / "curator.toml").write_text(f"[service]\nanswer_after = 2.0\n\n{dataset}{askers}{others}", "utf-8")


def write_keys(config: Configuration, url: str) -> Path:
    """Fresh keys of the demo for everybody, in ``demo-keys.json`` of this folder, readable by who started it alone."""
    from optimaldp.service.keys import create_key
    from optimaldp.service.store import ServiceStore

    store = ServiceStore(config.ledger)
    try:
        for old in store.all_keys():
            store.revoke_key(old.id)
        key = {one: create_key(config, one, days=7, store=store) for one in (*_ASKERS, _APPROVER, _STEWARD, _AUDITOR)}
    finally:
        store.close()
    document = {
        "url": url,
        "dataset": "hospital",
        "steward": key[_STEWARD],
        "approver": key[_APPROVER],
        "auditor": key[_AUDITOR],
        "askers": [key[name] for name in _ASKERS],
    }
    path = Path.cwd() / KEYS_FILE
    try:
        path.unlink(missing_ok=True)  # never write through a link, nor into a file that others may read
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(json.dumps(document, indent=2) + "\n")
    except OSError as error:
        raise InputError(
            KEYS_FILE, str(path), f"cannot be written ({error.strerror})", "start in another folder"
        ) from None
    return path
