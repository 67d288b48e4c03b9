"""Options that several commands share. Those of a question are made from :class:`~optimaldp.asking.ask.Ask`."""

from __future__ import annotations

import inspect
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any

import typer

from optimaldp.asking.ask import FIELDS, READING_FIELDS, meaning_of
from optimaldp.errors import InputError

DATA = "A CSV or Parquet path, or a table in a database: duckdb:///file.db?table=t, postgres://host/base?table=t."
Data = Annotated[str, typer.Option("--data", help=DATA)]
MaybeData = Annotated[str | None, typer.Option("--data", help=DATA)]
Asked = Annotated[list[str] | None, typer.Option("--question", help=f"{meaning_of('question').words} May be repeated.")]
EpsilonOption = Annotated[str, typer.Option("--epsilon", help=meaning_of("epsilon").words)]
MaybeEpsilon = Annotated[str | None, typer.Option("--epsilon", help=meaning_of("epsilon").words)]
LedgerFile = Annotated[
    str | None,
    typer.Option("--ledger", help="A ledger that pays for the answer; make one with: optimaldp ledger create."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PlanFile = Annotated[
    str | None, typer.Option("--plan", help="A plan file (TOML) with source, unit, neighbours, budget and questions.")
]


def flag_of(name: str) -> str:
    """The command-line option of a field."""
    return "--" + (meaning_of(name).flag or name).replace("_", "-")


def option_of(name: str) -> inspect.Parameter:
    """A field of an :class:`~optimaldp.asking.ask.Ask` as an option that typer reads."""
    meaning, declared = meaning_of(name), FIELDS[name]
    again = " May be repeated." if meaning.form.repeated else ""
    kind: Any = bool if meaning.form.switch else list[str] | None if meaning.form.repeated else str | None
    default = None if declared.default is MISSING else declared.default
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=str(default) if isinstance(default, int) and not meaning.form.switch else default,
        annotation=Annotated[kind, typer.Option(flag_of(name), help=meaning.words + again)],
    )


def read_option(name: str, typed: Any) -> Any:
    """What was typed for a field, as the library reads it."""
    form = meaning_of(name).form
    return typed if typed in (None, []) or form.switch else form.read(typed)


def asking(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with these fields of an ask as options: its parameter *asked* gathers them, and they stand in its place."""
    shared = {name: option_of(name) for name in names}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
            parameters += shared.values() if name == "asked" else [parameter]
        parameters = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]

        def run(**values: Any) -> None:
            asked = {name: read_option(name, values.pop(name)) for name in shared}
            command(asked={name: None if value == [] else value for name, value in asked.items()}, **values)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


OF_QUESTION = tuple(name for name in FIELDS if name not in ("question", "epsilon"))
"""Every field that has an option of its own kind; the question and epsilon may be left out where there is a plan."""
OF_FILE = READING_FIELDS
OF_TABLE = tuple(name for name in FIELDS if meaning_of(name).of_table)
"""What is said once for a table."""


def needed(value: Any, name: str) -> Any:
    """An option that may be left out only when there is a plan."""
    if value:
        return value
    raise InputError(name, f"--{name}", "is missing", f"{_MISSING[name]}, or name a --plan")


_MISSING = {
    "data": "name a table: --data survey.csv",
    "question": "ask something: --question \"share(smokes = 'yes') >= 0.3\"",
    "epsilon": "there is no default: --epsilon 0.5 for example",
}


def plain(answer: Any) -> str:
    """The bare answer for a pipe: a text, or JSON for everything else."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


# Reading what a command is given: a path, or ``-`` for standard input, holding JSON.


def read_text(path: str) -> str:
    """Read a file, or standard input for ``-``."""
    try:
        return sys.stdin.buffer.read().decode("utf-8") if path == "-" else Path(path).read_text("utf-8")
    except OSError as error:
        raise InputError("file", path, f"cannot be read ({error.strerror})", "check the path") from None
    except UnicodeDecodeError:
        raise InputError("file", path, "is not UTF-8 text", "JSON files are UTF-8") from None


def read_json(path: str) -> Any:
    """Read JSON; numbers with a point come as ``Decimal``, so that their decimal text is what counts."""
    from optimaldp.documents.json_text import read_json_text  # exact numbers: not for a page of help

    return read_json_text(read_text(path), source=path)


# Counts as bars in a terminal.


_LONGEST_BAR = 40  # characters of the longest bar
_LEAST_WIDTH = 4  # the same in a narrow terminal
_MOST_BARS = 40  # bars that are worth a screen
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar_lines(names: Sequence[str], counts: Sequence[int], *, columns: int = 80) -> list[str]:
    """One line for each count: its name, a bar, the number. Negative counts have no bar. No line is wider than *columns*.

    >>> print("\\n".join(bar_lines(["yes", "no"], [40, 10])))
    yes  ████████████████████████████████████████ 40
    no   ██████████ 10
    """
    largest, shown = max([*counts, 1]), list(zip(names, counts))[:_MOST_BARS]
    digits = max((len(str(count)) for _, count in shown), default=1)
    wanted = max((len(name) for name, _ in shown), default=0)
    width = min(wanted, max(columns - digits - _LEAST_WIDTH - 3, _LEAST_WIDTH))
    room = min(_LONGEST_BAR, max(columns - width - digits - 3, 0))
    lines = [f"{_shortened(name, width):<{width}}  {_bar(count, largest, room)}{count}" for name, count in shown]
    return lines if len(counts) <= _MOST_BARS else [*lines, f"… and {len(counts) - _MOST_BARS} more"]


def _shortened(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}…"


def _bar(count: int, largest: int, room: int) -> str:
    eighths = max(0, count) * 8 * room // largest
    whole, rest = divmod(eighths, 8)
    bar = "█" * whole + (_EIGHTHS[rest] if rest else "")
    return f"{bar} " if bar else ""


def print_bars(names: Sequence[str], counts: Sequence[int], *, err: bool = False) -> None:
    """The bars as wide as the terminal allows."""
    for line in bar_lines(names, counts, columns=shutil.get_terminal_size().columns):
        typer.echo(line, err=err)
