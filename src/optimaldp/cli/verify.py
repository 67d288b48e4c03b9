"""``optimaldp verify``: is this mechanism private, and is it the best?"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from optimaldp.cli import app
from optimaldp.cli.options import read_json
from optimaldp.errors import InputError

if TYPE_CHECKING:
    from optimaldp.certify import DesignVerdict
    from optimaldp.mechanisms import Mechanism


@app.command("verify")
def verify_command(
    mechanism: Annotated[
        str,
        typer.Argument(
            help="A file that design or release --json wrote, or one like it; - is standard input.", metavar="MECHANISM"
        ),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, as is always done when the output is not a terminal.")
    ] = False,
) -> None:
    """Check a mechanism (privacy on every edge, optimality from its certificate), a proof that there is none, or a release.

    Exit code 0: private, or proven impossible. 1: not, or the file claims more of a private mechanism than is true.
    """
    from optimaldp.asking.verifying import verify_document as verify_release
    from optimaldp.certify.graphs.verdict import IMPOSSIBLE, verify_document
    from optimaldp.designing.solving import confirmed, examined

    document = read_json(mechanism)
    if isinstance(document, list) or (isinstance(document, dict) and "edges" not in document):
        _verify_releases(document if isinstance(document, list) else [document], verify_release, source=mechanism)
    if isinstance(document, dict) and document.get("status") in IMPOSSIBLE:
        finding = examined(document)
        typer.echo(json.dumps(finding.to_document(), ensure_ascii=False))
        raise typer.Exit(0 if finding else 1)
    verdict, checked = verify_document(document)
    verdict = confirmed(document, verdict)
    if as_json or not sys.stdout.isatty():
        typer.echo(json.dumps(verdict.to_document(), ensure_ascii=False))
    else:
        _show(verdict, checked)
    raise typer.Exit(0 if verdict else 1)


def _verify_releases(documents: list[Any], verify_document: Any, *, source: str) -> NoReturn:
    """Releases, one object or a list of them: re-examined from their documents alone."""
    from optimaldp.asking.verifying import SANITISED

    for document in documents or [None]:
        known = isinstance(document, dict) and (
            document.get("kind") == SANITISED or {"question", "answer"} <= set(document)
        )
        if not known:
            rule = "is neither a mechanism (with edges), a release (with question and answer) nor a sanitised table"
            raise InputError("file", source, rule, "give what design --output, release --json or sanitise wrote")
    reports = [verify_document(document) for document in documents]
    shown = [report.to_document() for report in reports]
    typer.echo(json.dumps(shown if len(shown) > 1 else shown[0], ensure_ascii=False, indent=2))
    raise typer.Exit(0 if all(report.holds for report in reports) else 1)


def _show(verdict: DesignVerdict, mechanism: Mechanism) -> None:
    from rich.console import Console
    from rich.table import Table

    proven = "exactly" if verdict.proof == "exact" else "in floating point"
    claimed = {True: f"[green]{verdict.claim}[/], proven {proven}", False: "[red]not proven[/]", None: "no certificate"}
    table = Table(show_header=False, box=None)
    table.add_row("private", "[green]yes[/]" if verdict.private else "[red]no[/]")
    table.add_row("least epsilon", f"{verdict.epsilon:.10g} (at the given delta)")
    table.add_row("worst edge", " – ".join(verdict.worst_edge or ("none",)), style=None)
    table.add_row("claim", claimed[verdict.optimal] + ("" if not verdict.gap else f" (gap {verdict.gap:.2g})"))
    console = Console()
    console.print(f"{len(mechanism)} datasets, {mechanism.graph.edge_count} edges between neighbours")
    console.print(table)
    console.print(verdict.reason, markup=False)
