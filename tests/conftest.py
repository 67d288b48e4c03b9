"""Shared by all tests: the exact numbers to compare with."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from hypothesis import settings

# No test is timed: the first example of a test may load scipy or compile a kernel.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

VECTORS = Path(__file__).parent / "vectors"


def vectors(name: str, *kinds: str) -> list[dict[str, Any]]:
    """The instances of one vector file, those of the named kinds only if any are named."""
    instances = json.loads((VECTORS / f"{name}.json").read_text())["instances"]
    return [x for x in instances if not kinds or x["kind"] in kinds]


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str


def run_cli(*arguments: str, stdin: str = "") -> Ran:
    """Run the command line in this process, exactly as the installed script would."""
    from optimaldp.cli import main

    out, err = io.StringIO(), io.StringIO()
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    code = 0
    with (
        patch.object(sys, "argv", ["optimaldp", *arguments]),
        patch.object(sys, "stdin", given),
        patch.object(sys, "stdout", out),
        patch.object(sys, "stderr", err),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Ran(code, out.getvalue(), err.getvalue())
