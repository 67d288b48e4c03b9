"""Counting: one aggregate query per tally. The only code that sees anything computed from data."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from optimaldp.errors import QuestionError, TableError
from optimaldp.questions.tally import Counted, PredicateTally, Tally
from optimaldp.tables import persons
from optimaldp.tables.cells import Cells, cells_of, predicate_cells, predicates_of
from optimaldp.tables.predicates import Predicate, guarded, parse_predicate
from optimaldp.tables.schema import Kind, Schema
from optimaldp.tables.sources import Source, open_source

MOST_LEVELS = 1000  # a levels column has a few values; a column of names given by mistake must not be fetched

_ORDERED: tuple[Kind, ...] = ("text", "whole", "real", "truth", "date", "time")


@dataclass(frozen=True)
class _Plan:
    """Everything about a count that is settled before data is read."""

    cells: Cells
    predicates: tuple[Predicate, ...]
    rule: str | None
    unit: str | None
    order: str | None
    levels: str | None
    where: Predicate | None


def count(
    source: Any,
    tally: Tally,
    *,
    unit: str | None = None,
    reduce: str | None = None,
    reduce_order: str | None = None,
    levels: str | None = None,
    where: str | None = None,
) -> Counted:
    """Count the persons in each cell of *tally*, by one aggregate query where the data lives.

    *unit* names the column that identifies a person (rows without a value there are left out); *reduce* says how several rows
    become one value: ``any``/``all`` for predicates, ``most-frequent`` (ties by the order of the options), or ``first`` by the
    column *reduce_order*. Without *unit* each row is a person. *where* is a public predicate: only these rows speak for their
    person, who is counted all the same. *levels* names a column with each person's privacy level.

    **Guarantee.** Every person is in exactly one cell, whatever the data, so one person changes at most two counts by one each.
    Questions are checked before anything is read; errors after that hold no cell and no count.

    >>> import pyarrow
    >>> table = pyarrow.table({"person": [1, 1, 2], "smokes": ["no", "yes", "no"]})
    >>> count(table, PredicateTally(("smokes = 'yes'",)), unit="person").counts
    (1, 1)
    """
    opened = open_source(source)
    plan = check(opened, tally, unit=unit, reduce=reduce, reduce_order=reduce_order, levels=levels, where=where)
    query = guarded("question", lambda: _query(opened.table, plan))
    rows = guarded("question", lambda: opened.fetch(query))
    return _counted(rows, plan, opened)


def check(
    source: Source,
    tally: Tally,
    *,
    unit: str | None = None,
    reduce: str | None = None,
    reduce_order: str | None = None,
    levels: str | None = None,
    where: str | None = None,
) -> _Plan:
    """Check a count against the schema without reading data: raises what :func:`count` would raise before reading."""
    schema = source.schema
    predicates = predicates_of(tally, schema) if isinstance(tally, PredicateTally) else ()
    return _Plan(
        rule=persons.rule_for(tally, reduce, reduce_order, unit),
        cells=predicate_cells(predicates) if predicates else cells_of(tally, schema),
        predicates=predicates,
        unit=_column(schema, unit, "unit", kinds=(*_ORDERED, "other")),
        order=_column(schema, reduce_order, "reduce_order", kinds=_ORDERED),
        levels=_column(schema, levels, "levels", kinds=("text", "whole", "real")),
        where=None if where is None else parse_predicate(where, schema),
    )


def _column(schema: Schema, name: str | None, field: str, *, kinds: tuple[Kind, ...]) -> str | None:
    if name is None:
        return None
    own = schema.find(name, field=field)
    if schema[own].kind not in kinds:
        raise QuestionError(field, own, f"holds {schema[own].words}", f"it cannot serve as {field}")
    return own


def _query(table: Any, plan: _Plan) -> Any:
    """The one aggregate query: rows of (level?, counts…) for predicates, of (level?, cell, count) for all else."""
    rows = _rows(table, plan)
    if plan.unit is None:
        return _predicate_counts(rows, plan) if plan.predicates else _cell_counts(rows, plan)
    people = _one_level(_people(rows, plan), plan)
    if plan.rule in ("any", "all"):
        return _predicate_counts(people, plan)
    return _grouped_cells(people, plan, people.count())


def _rows(table: Any, plan: _Plan) -> Any:
    """What is read of each row, under names of ours alone: the table's own names cannot get in the way."""
    import ibis

    columns = plan.cells.keys(table)
    if plan.unit is None:
        # A filtered count passes over NULL by itself; turning NULL into FALSE first costs a quarter of the whole query.
        columns |= {f"holds{place}": predicate.build(table) for place, predicate in enumerate(plan.predicates)}
    if plan.levels is not None:
        columns["level"] = table[plan.levels]
    if plan.unit is None:
        return table.select(**_silenced(columns, table, plan))
    columns["unit"] = table[plan.unit]
    columns["speaks"] = ibis.literal(True) if plan.where is None else plan.where.on(table)
    if plan.order is not None:
        columns["place"] = table[plan.order]
    return table.select(**columns).filter(ibis._.unit.notnull())


def _silenced(columns: dict[str, Any], table: Any, plan: _Plan) -> dict[str, Any]:
    """Where each row is a person: a row that does not speak has no value, so its person is among the rest."""
    import ibis

    if plan.where is None:
        return columns
    speaks = plan.where.on(table)
    if plan.predicates:
        return {name: value & speaks if name.startswith("holds") else value for name, value in columns.items()}
    return {name: value if name == "level" else ibis.cases((speaks, value)) for name, value in columns.items()}


def _people(rows: Any, plan: _Plan) -> Any:
    if plan.rule in ("any", "all"):
        return persons.by_any_or_all(rows, len(plan.predicates), everyone=plan.rule == "all")
    return persons.by_first(rows, plan.cells) if plan.rule == "first" else persons.by_most_frequent(rows, plan.cells)


def _one_level(people: Any, plan: _Plan) -> Any:
    """A person's level; NULL, which is refused later, where their rows disagree."""
    import ibis

    if plan.levels is None:
        return people
    return people.mutate(level=ibis.cases((people.low == people.high, people.low)))


def _level_key(plan: _Plan) -> list[str]:
    return [] if plan.levels is None else ["level"]


def _predicate_counts(table: Any, plan: _Plan) -> Any:
    """Filtered counts: as quick as the bare aggregate, where grouping by a truth value is twice as slow."""
    wanted = {"everyone": table.count(), "first": table.count(where=table.holds0)}
    if len(plan.predicates) == 2:
        wanted["second"] = table.count(where=table.holds1)
        wanted["both"] = table.count(where=table.holds0 & table.holds1)
    if plan.levels is None:
        return table.aggregate(**wanted)
    return table.group_by("level").aggregate(**wanted).limit(MOST_LEVELS + 1)


def _grouped_cells(table: Any, plan: _Plan, number_of_persons: Any) -> Any:
    """Rows of (level?, cell, count): never many more than the question can use."""
    found = table.group_by(*_level_key(plan), "cell").aggregate(persons=number_of_persons)
    return found if plan.levels is None else found.limit((MOST_LEVELS + 1) * plan.cells.size)


def _cell_counts(rows: Any, plan: _Plan) -> Any:
    """Group by the keys themselves, then number the few groups: numbering every row first is twice as slow."""
    groups = rows.group_by(*rows.columns).aggregate(persons=rows.count())
    numbered = groups.mutate(cell=plan.cells.number(groups).fill_null(plan.cells.size - 1))
    return _grouped_cells(numbered, plan, numbered.persons.sum())


def _counted(rows: list[tuple[Any, ...]], plan: _Plan, source: Source) -> Counted:
    grouped: dict[Any, list[int]] = {}
    for row in rows:
        level, numbers = (row[0], row[1:]) if plan.levels is not None else ("", row)
        counts = grouped.setdefault(level, [0] * plan.cells.size)
        for cell, persons_there in _numbers(numbers, plan):
            counts[cell] += persons_there
    total = tuple(sum(column) for column in zip(*grouped.values())) or (0,) * plan.cells.size
    by_level = None if plan.levels is None else _by_level(grouped, plan.levels)
    return Counted(total, by_level, plan.cells.options)


def _numbers(row: tuple[Any, ...], plan: _Plan) -> list[tuple[int, int]]:
    numbers = [int(value or 0) for value in row]
    if not plan.predicates or plan.rule in ("first", "most-frequent"):
        return [(numbers[0], numbers[1])]
    everyone, yes, *two = numbers
    if not two:
        return [(0, yes), (1, everyone - yes)]
    second, both = two
    return list(enumerate([both, yes - both, second - both, everyone - yes - second + both]))


def _by_level(grouped: dict[Any, list[int]], column: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    if None in grouped:
        remedy = "the levels are public: give one to every person, the same in all rows of a person"
        raise TableError("levels", column, "does not hold exactly one level for every person", remedy)
    if len(grouped) > MOST_LEVELS:
        raise TableError("levels", column, f"holds more than {MOST_LEVELS} levels", "is it the right column?")
    return tuple(sorted((_level_text(level), tuple(counts)) for level, counts in grouped.items()))


def _level_text(level: Any) -> str:
    """A level as text: numbers by their shortest decimal, without a trailing .0."""
    if isinstance(level, str):
        return level.strip()
    text = format(Decimal(repr(level)) if isinstance(level, float) else Decimal(level), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
