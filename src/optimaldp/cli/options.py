"""Options that several commands share."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from optimaldp.errors import InputError

Data = Annotated[
    str,
    typer.Option(
        "--data",
        help="A CSV or Parquet path, or a table in a database: duckdb:///file.db?table=t, postgres://host/base?table=t.",
    ),
]
Asked = Annotated[
    list[str], typer.Option("--question", help="For example \"share(smokes = 'yes') >= 0.3\"; may be repeated.")
]
EpsilonOption = Annotated[str, typer.Option("--epsilon", help="The privacy level: 0.5, 'ln(2)'. There is no default.")]
DeltaOption = Annotated[str, typer.Option("--delta", help="The delta of the level.")]
NeighboursOption = Annotated[
    str | None,
    typer.Option(
        "--neighbours",
        help="substitution (unless a ledger says otherwise): one record replaced, the number of people is public; "
        "add-remove: one person more or less.",
    ),
]
Unit = Annotated[str | None, typer.Option("--unit", help="The column that identifies a person; else each row is one.")]
Reduce = Annotated[
    str | None,
    typer.Option(
        "--reduce", help="How the rows of a person become one: any, all, most-frequent, first, mean, max, min."
    ),
]
ReduceOrder = Annotated[str | None, typer.Option("--reduce-order", help="The column whose order 'first' follows.")]
Levels = Annotated[str | None, typer.Option("--levels", help="A public column with each person's own epsilon.")]
AimOption = Annotated[
    str | None,
    typer.Option(
        "--aim",
        help="With --levels: 'typical' (small average error), 'every table' (least worst error) or, for small tables, "
        "'prior: 0.5' (least average error over votes in which everybody says yes with this chance).",
    ),
]
Where = Annotated[str | None, typer.Option("--where", help="Only rows with this SQL condition speak for their person.")]
By = Annotated[str | None, typer.Option("--by", help="Answer once for each public group: a column.")]
GroupsOption = Annotated[
    str | None, typer.Option("--groups", help="The groups of --by: a,b,c or ['a', 'b']; '(other)' is everybody else.")
]
PublicGroups = Annotated[
    bool,
    typer.Option(
        "--public-groups", help="Declare that it is public who is in which group (of --by, or of two groups)."
    ),
]
LedgerFile = Annotated[
    str | None,
    typer.Option("--ledger", help="A ledger that pays for the answer; make one with: optimaldp ledger create."),
]
Part = Annotated[
    str | None,
    typer.Option("--part", help="Ask and charge only this part: a value of the column by which the ledger has parts."),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        help="How the cells of a CSV column are read: age=number, cost='number 1,234.5', day='date %d/%m/%Y'; may be repeated.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="What separates the fields of a CSV; else what its first line uses most."),
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="The encoding of a CSV, for example latin-1; else UTF-8.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PlanFile = Annotated[
    str | None, typer.Option("--plan", help="A plan file (TOML) with source, unit, neighbours, budget and questions.")
]
# With a plan these may be left out; see needed().
MaybeData = Annotated[str | None, Data.__metadata__[0]]
MaybeAsked = Annotated[list[str] | None, Asked.__metadata__[0]]
MaybeEpsilon = Annotated[str | None, EpsilonOption.__metadata__[0]]


def question_options(
    delta: DeltaOption = "0",
    neighbours: NeighboursOption = None,
    unit: Unit = None,
    reduce: Reduce = None,
    reduce_order: ReduceOrder = None,
    where: Where = None,
    by: By = None,
    groups: GroupsOption = None,
    public_groups: PublicGroups = False,
    levels: Levels = None,
    aim: AimOption = None,
    ledger: LedgerFile = None,
    part: Part = None,
    types: Types = None,
) -> dict[str, Any]:
    """What every question takes, as the library reads it."""
    return locals() | {"groups": read_groups(groups), "types": read_types(types)}


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """A command that asks questions: its parameter *asked* gathers their options, which stand in its place."""
    shared = inspect.signature(question_options, eval_str=True).parameters
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        parameters += shared.values() if name == "asked" else [parameter]
    parameters = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]

    def run(**values: Any) -> None:
        command(asked=question_options(**{name: values.pop(name) for name in shared}), **values)

    run.__doc__ = command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


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


def read_types(types: list[str] | None) -> dict[str, str] | None:
    """``name=type`` for each column."""
    if not types:
        return None
    declared = dict(text.split("=", 1) for text in types if "=" in text)
    if len(declared) < len(types):
        raise InputError("type", types, "does not say name=type once for each column", "write --type age=number")
    return {name: kind.strip("\"'") for name, kind in declared.items()}


def read_groups(groups: str | None) -> list[Any] | None:
    """``a,b,c``, or a list as in a question."""
    if groups is None:
        return None
    text = groups.strip()
    if text.startswith("["):
        from optimaldp.questions.literals import read_list, read_option  # exact numbers: not for a page of help

        return [read_option(part) for part in read_list(text)]
    return [part.strip() for part in text.split(",") if part.strip()]


def plain(answer: Any) -> str:
    """The bare answer for a pipe: a text, or JSON for everything else."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
