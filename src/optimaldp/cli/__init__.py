"""The command line: a thin layer over the library.

Each command has a module of its own that imports what it needs when it runs, so that ``optimaldp --help`` stays instant.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn, cast

import typer

from optimaldp import __version__
from optimaldp.errors import OptimalDPError, PaidRepeatWarning, ReadingWarning, printable

COMMANDS = (
    "release",
    "preview",
    "report",
    "studio",
    "describe",
    "sanitise",
    "histogram",
    "verify",
    "mcp",
    "ledger",
    "serve",
    "design",
    "leakage",
    "audit",
    "papers",
    "channel",
)
"""Every command, in the order in which people need them; the module of that name registers it."""

app = typer.Typer(
    name="optimaldp",
    help="Private answers to questions about a table of people, each by the best mechanism known for it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)


@app.callback(invoke_without_command=True)
def _about(context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line: every error of ours, or of the words typed, is one line on standard error and exit code 2."""
    if sys.stdout is None:  # closed by whoever started the program: an answer would be paid for and lost
        _fail("standard output is closed, so no answer could be printed; nothing was asked and nothing was spent")
    _NOTES.clear()
    _register(sys.argv[1:])
    try:
        with _warnings_as_notes():
            code = app(standalone_mode=False)
        sys.stdout.flush()
    except _USAGE_ERROR as error:
        if not error.format_message():  # a bare group of commands has printed its help already
            sys.exit(0)
        _fail(error.format_message())
    except typer.Abort:
        _fail("stopped")
    except OptimalDPError as error:
        _fail(str(error))
    except BrokenPipeError:
        _leave_unwritten()
        sys.exit(0)  # the reader has seen enough: ``optimaldp papers | head``
    except OSError as error:
        _leave_unwritten()
        _fail(
            f"standard output could not be written ({error.strerror}); with a ledger, ask the same question again: "
            "the recorded answer costs nothing"
        )
    sys.exit(code if isinstance(code, int) else 0)


def _leave_unwritten() -> None:
    """Python would try to write the rest once more when it ends, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_NOTES: set[str] = set()


def note(text: str) -> None:
    """Print a caution to standard error: one line, once."""
    if text not in _NOTES:
        _NOTES.add(text)
        print(f"optimaldp: note: {printable(text)}", file=sys.stderr, flush=True)


def _register(arguments: list[str]) -> None:
    """Import the command that is named, or all of them: for a page of help, or for a word that none of them has."""
    # Typer reads the options of every command that is registered, whichever is run.
    for name in arguments[:1] if set(arguments[:1]) & set(COMMANDS) else COMMANDS:
        import_module(f"optimaldp.cli.{name}")


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Our own warnings are one line on standard error, when they are given: before anything is spent."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if issubclass(category, PaidRepeatWarning | ReadingWarning):
                note(str(message))
            else:
                others(message, category, *place)

        warnings.simplefilter("always", PaidRepeatWarning)
        warnings.simplefilter("default", ReadingWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


# The class of errors in the words that were typed: typer names only its subclasses.
_USAGE_ERROR = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])


def _fail(message: str) -> NoReturn:
    print(f"optimaldp: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)
