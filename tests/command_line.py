"""The command line, run in this process."""

from __future__ import annotations

import io
import sys
from typing import NamedTuple
from unittest.mock import patch


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
