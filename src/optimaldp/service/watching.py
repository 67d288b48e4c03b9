"""What the one who runs the service sees of it: a log of JSON lines, and counters. No cell, no count, no question, no key."""

from __future__ import annotations

import json
import logging
import os
from typing import Any

from optimaldp.extras import requiring
from optimaldp.service.keys import moment

LOGGER = logging.getLogger("optimaldp.service")


class JsonLines(logging.Formatter):
    """One JSON object for each record: when, how bad, what, and the fields that were given with it.

    Of a library's record, which may quote anything, only whose it is and the kind of its error.
    """

    def format(self, record: logging.LogRecord) -> str:
        said = {"time": moment(), "level": record.levelname.lower(), "event": record.getMessage()}
        if record.name != LOGGER.name:
            kind = record.exc_info[0] if record.exc_info else None
            said |= {"event": "library", "library": record.name, "kind": "" if kind is None else kind.__name__}
        # Never exc_info: a traceback's words may hold data.
        return json.dumps(said | getattr(record, "fields", {}))


def log(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Write one line of the log."""
    LOGGER.log(level, event, extra={"fields": fields})


def log_to_stderr() -> None:
    """Write the log to standard error, as JSON lines; with it what libraries warn of."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.getLogger().handlers[:] = [handler]
    LOGGER.setLevel(logging.INFO)


class Counters:
    """Calls by route and status, for Prometheus; of all processes together where there are several."""

    def __init__(self) -> None:
        with requiring("prometheus_client"):
            from prometheus_client import CollectorRegistry, Counter
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "optimaldp_calls", "Calls by route and status.", ["route", "status"], registry=self._registry
        )

    def count(self, route: str, status: int) -> None:
        self._calls.labels(route, str(status)).inc()

    def text(self) -> str:
        """All counters, as Prometheus reads them."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry).decode()
