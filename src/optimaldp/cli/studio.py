"""``optimaldp studio``: a local web page for choosing a level and for releases with the budget in sight."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from optimaldp.cli import app
from optimaldp.cli.options import OF_TABLE, asking


@app.command()
@asking(*OF_TABLE)
def studio(
    *,
    data: Annotated[str | None, typer.Option(help="A table to release from: CSV, Parquet, or a database URL.")] = None,
    ledger: Annotated[
        str | None, typer.Option(help="The ledger that pays; without it nothing limits the spend.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Epsilon of a new ledger, if it does not exist yet.")] = None,
    budget_delta: Annotated[str, typer.Option(help="Delta of a new ledger.")] = "0",
    asked: dict[str, Any],
    port: Annotated[
        int | None, typer.Option(help="The port; 8600 or a free one if left out.", min=0, max=65535)
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen. Any other than the loopback address needs the token that is printed.")
    ] = "127.0.0.1",
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Open the studio: explore levels, design mechanisms, measure channels, release private answers."""
    from optimaldp.studio.server import prepared, serve

    limit = None
    if budget is not None:
        from optimaldp.ledger import Budget

        limit = Budget(epsilon=budget, delta=budget_delta)
    with prepared(data, ledger, budget=limit, host=host, **asked) as settings:
        serve(settings, port=port, open_page=open_page)
