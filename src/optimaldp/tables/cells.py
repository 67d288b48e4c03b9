"""From a tally to cells: which group each row belongs to, as Ibis expressions checked against the schema.

A person is in exactly one cell. Cells are numbered from 0; the last one is everybody else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.questions.tally import BinTally, CrossTally, Option, OptionTally, PredicateTally, Tally
from optimaldp.tables import terms
from optimaldp.tables.comparing import moment
from optimaldp.tables.predicates import Predicate, parse_predicate
from optimaldp.tables.schema import ColumnType, Schema
from optimaldp.tables.terms import Term, as_double


@dataclass(frozen=True)
class Cells:
    """*keys* are what is read of each row; *number* turns a table of keys into the number of the cell."""

    size: int
    """How many cells, with everybody else."""
    keys: Callable[[Any], dict[str, Any]]
    number: Callable[[Any], Any]
    has_others: bool = True
    """Whether the last cell is everybody else; for predicates it is an answer like the others ("no")."""
    options: tuple[Option, ...] | None = None
    """The options that the column's type listed, when the question left them out."""


def cells_of(tally: Tally, schema: Schema) -> Cells:
    """The cells of a tally, checked against the schema."""
    if isinstance(tally, OptionTally):
        return _option_cells(tally, schema)
    if isinstance(tally, BinTally):
        return _bin_cells(tally, schema)
    if isinstance(tally, CrossTally):
        return _cross_cells(tally, schema)
    return predicate_cells(predicates_of(tally, schema))


def predicates_of(tally: PredicateTally, schema: Schema) -> tuple[Predicate, ...]:
    if len(tally.predicates) not in (1, 2):
        raise QuestionError("predicates", tally.predicates, "must be one or two")
    return tuple(parse_predicate(text, schema) for text in tally.predicates)


def predicate_cells(predicates: tuple[Predicate, ...]) -> Cells:
    """Yes before no, the first predicate varying slowest."""

    def keys(table: Any) -> dict[str, Any]:
        return {f"holds{place}": predicate.on(table) for place, predicate in enumerate(predicates)}

    def number(keyed: Any) -> Any:
        import ibis

        first = ibis.cases((keyed.holds0, 0), else_=1)
        return first if len(predicates) == 1 else first * 2 + ibis.cases((keyed.holds1, 0), else_=1)

    return Cells(2 ** len(predicates), keys, number, has_others=False)


def _option_cells(tally: OptionTally, schema: Schema, *, key: str = "key") -> Cells:
    name = schema.find(tally.column)
    column = schema[name]
    options = options_of(tally, name, column)
    literals = [_option_value(option, name, column) for option in options]
    last = len(options)

    def number(keyed: Any) -> Any:
        if last > terms.MANY and terms.can_list(column.kind, column.largest_whole):
            # Found at -1 means not found; one list is one node, where ten thousand cases take Ibis many seconds.
            place = terms.listing(column.kind, [literal.literal for literal in literals]).index(_wide(keyed[key]))
            return place.nullif(-1).fill_null(last)
        pairs = [(literal.build(keyed), place) for place, literal in enumerate(literals)]
        return keyed[key].cases(*pairs, else_=last)

    listed = options if tally.options is None else None
    return Cells(last + 1, lambda table: {key: _plain(table[name])}, number, options=listed)


def _wide(value: Any) -> Any:
    """Whole numbers with 64 bits, as in a list of literals."""
    return value.cast("int64") if value.type().is_integer() else value


def _plain(value: Any) -> Any:
    """The column itself, or as doubles where it holds numbers that are not whole."""
    return as_double(value) if value.type().is_decimal() or value.type().is_floating() else value


def options_of(tally: OptionTally, name: str, column: ColumnType) -> tuple[Option, ...]:
    """The public options: written out, or listed by the column's type. Never taken from the data."""
    options = column.options if tally.options is None else tally.options
    if options is None:
        rule = f"is a column of type {column.name}, which does not list its options"
        raise QuestionError("column", name, rule, "write the options out: they are never taken from the data")
    if not options:
        raise QuestionError("options", options, "are empty", "write out at least one option")
    seen: set[tuple[type, Option]] = set()
    for option in options:
        if (type(option), option) in seen:
            raise QuestionError("options", option, "is listed twice", "list every option once")
        seen.add((type(option), option))
    return tuple(options)


def _option_value(option: Option, name: str, column: ColumnType) -> Term:
    """An option as a literal of the column's kind, or a refusal before anything is read."""
    if column.kind == "truth" and _truth(option) is not None:
        return terms.literal_term("truth", _truth(option), "boolean", "")
    if column.kind == "text" and isinstance(option, str):
        return terms.literal_term("text", option, "string", "")
    if column.kind == "date" and isinstance(option, str):
        return moment(terms.literal_term("text", option, "string", option), "date")
    if column.kind in ("whole", "real") and isinstance(option, int) and not isinstance(option, bool):
        if not -(2**63) <= option < 2**63:
            raise QuestionError("options", option, "does not fit into 64 bits")
        whole = column.kind == "whole"
        return terms.literal_term(column.kind, option if whole else float(option), "int64" if whole else "float64", "")
    rule = f"is not an option of column {name}, which holds {column.words}"
    raise QuestionError("options", option, rule, "text goes into quotes, numbers do not")


def _truth(option: Option) -> bool | None:
    if isinstance(option, bool):
        return option
    return {"true": True, "false": False}.get(option.lower()) if isinstance(option, str) else None


def _bin_cells(tally: BinTally, schema: Schema) -> Cells:
    name = schema.find(tally.column)
    column = schema[name]
    edges = _edges(tally, name, column)
    bins = len(edges) - 1

    def bin_of(table: Any) -> Any:
        import ibis

        value = _plain(table[name])
        missing = value.isnull() | value.isnan() if value.type().is_floating() else value.isnull()
        below = [(value < _edge(edge, column), place) for place, edge in enumerate(edges[1:-1])]
        return ibis.cases((missing, bins), *below, else_=bins - 1)

    return Cells(bins + 1, lambda table: {"key": bin_of(table)}, lambda keyed: keyed.key)


def _edges(tally: BinTally, name: str, column: ColumnType) -> tuple[Fraction, ...]:
    if column.kind not in ("whole", "real"):
        raise QuestionError("column", name, f"holds {column.words}", "bins need a column of numbers")
    edges = tally.edges
    if len(edges) < 2 or any(low >= high for low, high in itertools.pairwise(edges)):
        shown = [str(edge) for edge in edges]
        raise QuestionError("bins", shown, "are not at least two increasing edges", "for example 0, 18, 65, 120")
    return edges


def _edge(edge: Fraction, column: ColumnType) -> Any:
    """An edge beside a column: exact for whole numbers, the nearest double for others (as the data's text was read)."""
    import ibis

    if column.kind == "real":
        return ibis.literal(float(edge), type="float64")
    # For whole x: x < edge exactly when x < ceil(edge).
    whole = min(max(math.ceil(edge), -(2**63)), 2**63 - 1)
    return ibis.literal(whole, type="int64")


def _cross_cells(tally: CrossTally, schema: Schema) -> Cells:
    first = _option_cells(tally.first, schema, key="first_key")
    second = _option_cells(tally.second, schema, key="second_key")
    rows, columns = first.size - 1, second.size - 1

    def number(keyed: Any) -> Any:
        import ibis

        left, right = first.number(keyed), second.number(keyed)
        inside = (left < rows) & (right < columns)
        return ibis.cases((inside, left * columns + right), else_=rows * columns)

    return Cells(rows * columns + 1, lambda table: {**first.keys(table), **second.keys(table)}, number)
