"""``optimaldp mcp``: let an assistant ask a table that it cannot see."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from optimaldp.cli import app
from optimaldp.cli.options import OF_FILE, asking
from optimaldp.errors import InputError

KEY_VARIABLE = "OPTIMALDP_KEY"


@app.command()
@asking(*OF_FILE)
def mcp(
    *,
    url: Annotated[str | None, typer.Option(help="The address of a curator's service.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Which data set of the service, if the key may see several.")
    ] = None,
    key_file: Annotated[
        str | None,
        typer.Option(help=f"A file with the key. Without it, the variable {KEY_VARIABLE} of the environment."),
    ] = None,
    data: Annotated[str | None, typer.Option(help="A table on this machine, best by its description.")] = None,
    ledger: Annotated[str | None, typer.Option(help="The ledger that pays.")] = None,
    budget: Annotated[str | None, typer.Option(help="Epsilon of a new ledger, if it does not exist yet.")] = None,
    budget_delta: Annotated[str, typer.Option(help="Delta of a new ledger.")] = "0",
    asked: dict[str, Any],
) -> None:
    """Let an assistant ask a table that it cannot see (Model Context Protocol, on standard input and output)."""
    if (url is None) == (data is None):
        raise InputError(
            "url", url, "goes without --data, and one of them is needed", "name --url, or --data with --ledger"
        )
    if url is not None:
        _serve_remote(url, dataset, _key(key_file))
    else:
        _serve_own(str(data), ledger, budget, budget_delta, asked)


def _serve_remote(url: str, dataset: str | None, key: str) -> None:
    from optimaldp.assistant import RemoteDesk, only_dataset, serve
    from optimaldp.client import connect

    with connect(url, key) as curator:
        serve(RemoteDesk(curator, only_dataset(curator, dataset)))


def _serve_own(data: str, ledger: str | None, budget: str | None, budget_delta: str, reading: dict[str, Any]) -> None:
    from optimaldp.asking.session import open_table
    from optimaldp.assistant import OwnTable, serve
    from optimaldp.ledger import Budget

    limit = None if budget is None else Budget(epsilon=budget, delta=budget_delta)
    with open_table(data, ledger=ledger, budget=limit, **reading) as table:
        serve(OwnTable(table))


def _key(file: str | None) -> str:
    """The key, from a file or the environment: an argument would stand in the list of processes."""
    if file is None:
        key = os.environ.get(KEY_VARIABLE, "")
        if not key:
            raise InputError(
                "key", KEY_VARIABLE, "is not set", f"put the key into {KEY_VARIABLE}, or name a --key-file"
            )
        return key
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("key-file", file, f"cannot be read ({type(error).__name__})", "check the path") from None
