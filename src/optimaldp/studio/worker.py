"""The process that computes: one line of JSON in, one line out. It can be stopped at any moment.

Stopping a release loses at most budget, never privacy: the ledger has the spend before anything is sampled.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import IO, Any


def main() -> None:
    """Serve the studio's calls."""

    def calls(settings: Mapping[str, Any]) -> Any:
        from optimaldp.studio.calls import Calls

        return Calls(settings)

    serve_calls(calls)


def serve_calls(make: Callable[[Mapping[str, Any]], Any]) -> None:
    """Serve calls from standard input until it ends; the first line holds the settings from which *make* makes what answers."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints goes to standard error and not between our lines
    warnings.simplefilter("ignore")  # what a release warns of stands in its reply, where the person who asks reads it
    calls = make(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        _answer(calls, json.loads(line), answers)
    calls.close()


def _answer(calls: Any, request: dict[str, str], answers: IO[str]) -> None:
    status, body = calls.run(request["call"], request["body"])
    print(json.dumps({"status": status, "body": body}), file=answers, flush=True)


if __name__ == "__main__":
    main()
