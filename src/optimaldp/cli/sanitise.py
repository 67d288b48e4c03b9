"""``optimaldp sanitise``: a table goes in, a table of the same kind that may be published comes out."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from optimaldp.cli import app
from optimaldp.cli.options import EpsilonOption, LedgerFile, MaybeData, asking, print_bars
from optimaldp.errors import InputError

ColumnTexts = Annotated[
    list[str],
    typer.Option(
        "--column",
        help="A column with its public values: \"sex: ['m', 'f']\", \"age: bins=[0, 18, 65, 120]\", or a bare name where the "
        "type lists them. Repeat it for each column.",
    ),
]
Output = Annotated[str | None, typer.Option("--output", help="Where the rows go: clean.csv or clean.parquet.")]
Marginals = Annotated[
    str | None,
    typer.Option(
        "--marginals", help='Measure these tables instead of the joint one: "sex,age; age,smokes"; or "choose".'
    ),
]
MarginTables = Annotated[
    str | None,
    typer.Option(
        "--margins",
        help="Beside a joint table too large for memory: the tables to measure with a quarter of epsilon (default: each column).",
    ),
]
Among = Annotated[
    str | None,
    typer.Option("--among", help="Ask only people with this condition; the others have a row without values."),
]
PriorText = Annotated[
    str | None,
    typer.Option("--prior", help="Public belief about the cells: flat, uniform, a JSON list, dirichlet:[1, 2, 3]."),
]
Outside = Annotated[
    str | None,
    typer.Option(
        "--outside", help="ends: values outside of bins go to the end bins. Without it, they are empty cells."
    ),
]
WithLabels = Annotated[bool, typer.Option("--labels", help="Write the names of bins instead of numbers inside them.")]
OnlyEstimate = Annotated[
    bool, typer.Option("--estimate", help="Read nothing; print what joint table and marginals would be off.")
]
PublicNumber = Annotated[str | None, typer.Option("--n", help="With --estimate: the number of people.")]


OF_TABLE = (
    "delta",
    "neighbours",
    "unit",
    "reduce",
    "reduce_order",
    "where",
    "levels",
    "part",
    "types",
    "delimiter",
    "encoding",
    "description",
)
"""What of an ask goes with a sanitised table, which has no groups and one aim."""


@app.command("sanitise")
@asking(*OF_TABLE)
def sanitise_command(
    *,
    column: ColumnTexts,
    epsilon: EpsilonOption,
    asked: dict[str, Any],
    data: MaybeData = None,
    output: Output = None,
    marginals: Marginals = None,
    margins: MarginTables = None,
    prior: PriorText = None,
    among: Among = None,
    outside: Outside = None,
    ledger: LedgerFile = None,
    labels: WithLabels = False,
    estimate: OnlyEstimate = False,
    n: PublicNumber = None,
) -> None:
    """Write a sanitised table: made-up rows for some columns, and beside them how far off their counts are."""
    if estimate:
        _estimate(column, epsilon, asked["neighbours"], marginals, n)
        return
    if data is None or output is None:
        missing = "data" if data is None else "output"
        remedy = "write --data people.csv --output clean.csv, or --estimate to read nothing"
        raise InputError(missing, "nothing", "was given", remedy)
    if n is not None:
        raise InputError("n", n, "goes with --estimate alone", "the number of people is counted")
    from optimaldp.histograms.prior_text import read_prior_text
    from optimaldp.sanitising import sanitise
    from optimaldp.sanitising.sanitised import check_output

    target = check_output(output)  # before anything is spent
    made = sanitise(
        data,
        column,
        epsilon=epsilon,
        marginals=marginals,
        margins=margins,
        prior=None if prior is None else read_prior_text(prior),
        among=among,
        outside=outside,
        ledger=ledger,
        **asked,
    )
    made.save(target, labels=labels)
    typer.echo(f"{target}: {made.rows} rows; {target}.json says what is off by how much")
    if made.recorded:
        typer.echo("The ledger had this table already: it cost nothing.")
    if sys.stdout.isatty():
        _show_margins(made)


def _estimate(columns: list[str], epsilon: str, neighbours: str | None, marginals: str | None, n: str | None) -> None:
    from optimaldp.sanitising import estimate

    made = estimate(columns, epsilon=epsilon, n=_whole(n), neighbours=neighbours or "substitution", marginals=marginals)
    typer.echo(json.dumps(made.to_document(), indent=2, ensure_ascii=False))


def _whole(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InputError("n", text, "is not a whole number", "write --n 5000") from None


def _show_margins(made: Any) -> None:
    for column in made.columns:
        if not any(one.noisy.dense is not None and column in one.noisy.columns for one in made.tables):
            continue
        margin = made.margin(column.name)
        names = ["(no value)" if label is None else label for label in column.labels]
        typer.echo(f"\n{column.name} (each ±{margin.reach()} with probability 0.95)")
        print_bars(names, margin.counts.tolist())
