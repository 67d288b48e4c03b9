"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_INTRODUCTION = """# Command line

`optimaldp COMMAND --help` says the same in a terminal. Errors are one line on standard error with exit code 2; `-` reads
standard input. Piped output is JSON or the bare answer, so that commands can be joined:

    optimaldp design problem.json | optimaldp verify -
"""


def write_cli(folder: Path) -> None:
    """One page, ``cli.md``."""
    from typer.main import get_command

    from optimaldp.cli import app, commands  # noqa: F401  (registers the commands)

    sections = [_section(path, command) for path, command in leaves(get_command(app), "optimaldp")]
    (folder / "cli.md").write_text("\n".join([_INTRODUCTION, *sections]))


def leaves(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, with the words that call it."""
    below = getattr(command, "commands", None)
    if below is None:
        yield path, command
        return
    for name in sorted(below):
        yield from leaves(below[name], f"{path} {name}")


def _section(path: str, command: Any) -> str:
    shown = [one for one in command.params if not getattr(one, "hidden", False) and one.name != "help"]
    arguments = " ".join(_placeholder(one) for one in shown if one.param_type_name == "argument")
    needed = " ".join(
        f"{one.opts[0]} {_word(one)}" for one in shown if one.param_type_name == "option" and one.required
    )
    usage = " ".join(part for part in (path, arguments, needed, "[OPTIONS]") if part)
    lines = [f"## {path}", "", inspect.cleandoc(command.help or "").replace("``", "`"), "", f"    {usage}", ""]
    if shown:
        lines += ["| | | default |", "| --- | --- | --- |", *map(_row, shown), ""]
    return "\n".join(lines)


def _placeholder(one: Any) -> str:
    return _word(one) if one.required else f"[{_word(one)}]"


def _word(one: Any) -> str:
    return str(one.metavar or one.opts[0].lstrip("-").upper())


def _row(one: Any) -> str:
    if one.param_type_name == "argument":
        name = f"`{_placeholder(one)}`"
    else:
        value = "" if one.is_flag else f" {_word(one)}"
        name = f"`{', '.join([*one.opts, *one.secondary_opts])}{value}`"
    text = " ".join((one.help or "").split()).replace("|", "\\|").replace("<", "&lt;")
    return f"| {name} | {text} | {_default(one)} |"


def _default(one: Any) -> str:
    if one.required:
        return "required"
    given = one.default
    return "" if given in (None, False, "", ()) or callable(given) or repr(given).startswith("<") else f"`{given}`"
