"""``optimaldp report``: what was asked and answered, as one page to hand over or as a record for the public registry."""

from __future__ import annotations

from typing import Annotated

import typer

from optimaldp.cli import app
from optimaldp.errors import InputError


@app.command("report")
def report_command(
    documents: Annotated[
        list[str] | None,
        typer.Argument(help="Without a ledger: files that release --json wrote.", metavar="[RELEASE]..."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="A ledger file, or postgresql://host/database?ledger=name.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            help="The page to write: .html, or .pdf where a browser or another printer of pages is installed.",
        ),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(
            "--registry", help="The record for the public registry of deployments to write: .yaml.", metavar="FILE"
        ),
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--field", help="With --registry: what only the curator knows, as intended_use=TEXT.", metavar="NAME=TEXT"
        ),
    ] = None,
) -> None:
    """Write questions, answers, what they mean, what remains and the proofs as one page. Reads no data, spends nothing."""
    if output is None and registry is None:
        raise InputError("output", "--output", "is missing", "give --output report.html, or --registry record.yaml")
    if fields and registry is None:
        raise InputError(
            "field", fields[0], "belongs to a record, and no record is asked for", "give --registry record.yaml"
        )
    if registry is not None:
        from optimaldp.reporting.registry import write_registry_record

        typer.echo(
            str(write_registry_record(ledger, registry, documents=documents or [], fields=_fields(fields or [])))
        )
    if output is not None:
        from optimaldp.reporting.report import write_report

        typer.echo(str(write_report(ledger, output, documents=documents or [])))


def _fields(texts: list[str]) -> dict[str, str]:
    read: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name in read:
            rule = "comes twice" if equals else "is not a name, an equals sign and a text"
            raise InputError("field", text, rule, 'write each field once, as "intended_use=TEXT"')
        read[name] = value
    return read
