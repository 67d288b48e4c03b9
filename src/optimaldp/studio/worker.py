"""The process that computes: one line of JSON in, one line out. It can be stopped at any moment.

Stopping a release loses at most budget, never privacy: the ledger has the spend before anything is sampled.
"""

from __future__ import annotations

import json
import os
import sys
from typing import IO, Any


def main() -> None:
    """Serve calls from standard input until it ends; the first line holds the settings."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints goes to standard error and not between our lines
    settings = json.loads(sys.stdin.readline())
    from optimaldp.studio.calls import Calls

    calls = Calls(settings)
    for line in sys.stdin:
        _answer(calls, json.loads(line), answers)
    calls.close()


def _answer(calls: Any, request: dict[str, str], answers: IO[str]) -> None:
    status, body = calls.run(request["call"], request["body"])
    print(json.dumps({"status": status, "body": body}), file=answers, flush=True)


if __name__ == "__main__":
    main()
