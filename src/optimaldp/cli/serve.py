"""``optimaldp serve``: the curator, which many people ask while nobody sees the data; and its keys."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from optimaldp.cli import app
from optimaldp.errors import InputError

serve_app = typer.Typer(help="Start the curator: many people ask, nobody sees the data, the budget holds.")
key_app = typer.Typer(help="Keys: create NAME, list, revoke ID.", no_args_is_help=True)
serve_app.add_typer(key_app, name="key")
app.add_typer(serve_app, name="serve")

ConfigFile = Annotated[str | None, typer.Option("--config", help="The configuration: curator.toml.")]


@serve_app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    config: ConfigFile = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="A first look at made-up patients; keys in demo-keys.json.")
    ] = False,
    port: Annotated[int | None, typer.Option(help="The port; 0 is any free one.", min=0, max=65535)] = None,
    ledger: Annotated[str | None, typer.Option(help="Where budgets are kept: a file or postgresql://...")] = None,
    workers: Annotated[int | None, typer.Option(help="How many processes serve.", min=1, max=64)] = None,
) -> None:
    """Start the curator, or with ``key`` make, list and revoke its keys."""
    from optimaldp.service.configuration import read_configuration
    from optimaldp.service.server import demo as demonstration
    from optimaldp.service.server import require_service, write_keys
    from optimaldp.service.server import serve as start

    require_service()
    if demo == (config is not None):
        said = config if config is not None else "nothing"
        raise InputError(
            "config", said, "must be given, or --demo, not both", "write: optimaldp serve --config curator.toml"
        )
    if config is not None:
        read = read_configuration(config, ledger=ledger, port=port)
        if context.invoked_subcommand is not None:
            context.obj = read
            return
        start(read, workers=workers)
        return
    if context.invoked_subcommand is not None:
        raise InputError("demo", True, "writes its keys into demo-keys.json by itself", "name a configuration")
    with demonstration(port=port, ledger=ledger) as made:
        start(made, announce=lambda url: [str(write_keys(made, url))], workers=workers)


@key_app.command("create")
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Somebody whom the configuration names.")],
    days: Annotated[int, typer.Option(help="After how many days the key expires.")] = 90,
) -> None:
    """Make a key and print it, this once."""
    from optimaldp.service.keys import create_key

    typer.echo(create_key(context.obj, name, days=days))


@key_app.command("list")
def list_keys(context: typer.Context) -> None:
    """The keys that were made: their numbers, names and times, never the keys."""
    from optimaldp.service.store import ServiceStore

    store = ServiceStore(context.obj.ledger)
    keys = [key.to_document() for key in store.all_keys()]
    store.close()
    if not sys.stdout.isatty():
        typer.echo(json.dumps(keys, indent=2))
        return
    for key in keys:
        state = f"revoked {key['revoked']}" if key["revoked"] else f"expires {key['expires']}"
        typer.echo(f"{key['id']}  {key['name']}  {state}")


@key_app.command("revoke")
def revoke(
    context: typer.Context, number: Annotated[str, typer.Argument(help="The number of the key.", metavar="ID")]
) -> None:
    """Revoke a key: it opens nothing from now on."""
    from optimaldp.service.store import ServiceStore

    store = ServiceStore(context.obj.ledger)
    known = store.revoke_key(number)
    store.close()
    if not known:
        raise InputError("id", number, "is not the number of a key", "look it up: optimaldp serve --config F key list")
    typer.echo(f"revoked {number}")
