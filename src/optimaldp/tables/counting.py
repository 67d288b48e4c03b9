"""Counting: one aggregate query per tally. The only code that sees anything computed from data."""

from __future__ import annotations

import itertools
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.engines import writer
from optimaldp.tables.opening import open_source
from optimaldp.tables.plans import CountingPlan, plan_counting
from optimaldp.tables.readings import nested_too_deeply
from optimaldp.tables.reducing import Reduced, first_row_each, one_row_each
from optimaldp.tables.source import Source, fetch, without_engine_message
from optimaldp.tables.tally import Counted, KeyTally, People, Tally

MOST_LEVELS = 1000  # a levels column has a few values; a column of names given by mistake must not be fetched
_LARGEST_LIMIT = 2**62


def count_people(source: object, tally: Tally | KeyTally, people: People | None = None) -> Counted:
    """Count the people in each cell of *tally*, by one aggregate query where the data lives.

    *people* says who counts as a person and who is asked; without it each row is a person and all are asked.

    **Guarantee.** Every person is in exactly one cell, whatever the data, so one person changes at most two counts by one each.
    Questions are checked before anything is read; errors after that hold no cell and no count, and no row decides whether
    there is one.

    >>> import pyarrow
    >>> from optimaldp.tables.tally import Condition
    >>> table = pyarrow.table({"person": [1, 1, 2], "smokes": ["no", "yes", "no"]})
    >>> count_people(table, Tally((Condition("smokes = 'yes'"),)), People(unit="person")).counts
    (1, 1)
    """
    opened = open_source(source)
    return count_checked(opened, plan_counting(opened, tally, people))


def count_checked(opened: Source, plan: CountingPlan) -> Counted:
    """The same for a plan that :func:`plan_counting` has made of this table."""
    try:
        query = _query(opened.table, plan)
    except RecursionError:
        query = None
    if query is None:
        raise nested_too_deeply("question")
    run = fetch if opened.feed is None else opened.feed.fetch
    rows = without_engine_message(opened.label, "counted", lambda: run(opened.table, query))
    if plan.key is not None:
        return Counted({}, (), keys={key: int(people) for key, people in rows})
    grouped: dict[Any, dict[int, int]] = {}
    total: dict[int, int] = {}
    for row in rows:
        level, numbers = (row[0], row[1:]) if plan.level is not None else ("", row)
        counts = [int(value or 0) for value in numbers]
        if plan.filtered:
            # From "at least these conditions hold" to "exactly these hold": one condition after the other, whoever it holds for
            # is taken out of the cell that does not ask for it.
            for place in range(len(plan.readings)):
                for cell in range(len(counts)):
                    if cell & 2**place:
                        counts[cell] -= counts[cell - 2**place]
        cells = grouped.setdefault(level, {})
        for cell, people in enumerate(counts) if plan.filtered else [counts]:
            if people:
                cells[cell] = cells.get(cell, 0) + people
                total[cell] = total.get(cell, 0) + people
    by_level = None if plan.levels is None else _by_level(grouped, plan.levels)
    return Counted(dict(sorted(total.items())), plan.shape, by_level, plan.options)


def _query(table: Any, plan: CountingPlan) -> Any:
    """The one aggregate query: rows of (level?, counts…) for conditions, of (level?, cell, count) for other readings, and of
    (key, count) for keys."""
    # What is read of each row, under names of ours alone: the table's own names cannot get in the way.
    columns = {f"key{place}": reading.key(table) for place, reading in enumerate(plan.readings)}
    if plan.level is not None:
        columns["level"] = plan.level(table)
    if plan.key is not None:
        columns["key"] = plan.key(table)
    if plan.unit is not None:
        columns["unit"] = plan.unit(table)
        columns["speaks"] = writer(table).literal(True) if plan.where is None else plan.where.on(table)
    elif plan.where is not None:
        columns = _silenced(columns, plan.where.on(table), plan)
    if plan.order is not None:
        columns["place"] = plan.order(table)
    if plan.part is not None:
        columns["inside"] = plan.part(table)
    rows = table.select(**columns)
    if plan.part is not None:
        rows = rows.filter(rows.inside).drop("inside")
    if plan.unit is not None:
        rows = _people(rows.filter(rows.unit.notnull()), plan)
    if not plan.filtered:
        return _grouped(rows, plan)
    # How many people each combination of conditions holds for, in the order of the cells; for the last, everybody. As quick as
    # the bare aggregate, where grouping by a truth value is twice as slow.
    counts: dict[str, Any] = {}
    for answers in itertools.product((True, False), repeat=len(plan.readings)):
        holds = [rows[f"key{place}"] for place, yes in enumerate(answers) if yes]
        counts[f"cell{len(counts)}"] = rows.count(where=reduce(and_, holds) if holds else None)
    if plan.level is None:
        return rows.aggregate(**counts)
    return rows.group_by("level").aggregate(**counts).limit(MOST_LEVELS + 1)


def _people(rows: Any, plan: CountingPlan) -> Any:
    """One row for each person: their level, and their key, their cell or whether each condition holds."""
    if plan.key is not None:
        spoken = rows.mutate(key=writer(rows).cases((rows.speaks, rows.key)))
        return _first_keys(spoken) if plan.order is not None else _voted_keys(spoken)
    if not plan.reduced:
        cell = plan.cell([reading.number(rows[f"key{place}"]) for place, reading in enumerate(plan.readings)])
        return _one_level(first_row_each(rows, cell, plan.size), plan)
    people = _one_level(one_row_each(rows, plan.reduced), plan)
    if plan.filtered:
        return people.mutate(**{f"key{one.place}": one.final(people) for one in plan.reduced})
    return people.mutate(cell=plan.cell([_number(one, people) for one in plan.reduced]))


def _number(one: Reduced, people: Any) -> Any:
    final = one.final(people)
    return one.reading.number(final) if one.rule in ("any", "all") else final


def _silenced(columns: dict[str, Any], speaks: Any, plan: CountingPlan) -> dict[str, Any]:
    """Where each row is a person: a row that does not speak has no value, so its person is among the rest."""
    write = writer(speaks)
    if plan.filtered:
        return {name: value if name == "level" else value & speaks for name, value in columns.items()}
    return {name: value if name == "level" else write.cases((speaks, value)) for name, value in columns.items()}


def _one_level(people: Any, plan: CountingPlan) -> Any:
    """A person's level; NULL, which is refused later, where their rows disagree."""
    if plan.level is None:
        return people
    return people.mutate(level=writer(people).cases((people.low == people.high, people.low)))


def _grouped(rows: Any, plan: CountingPlan) -> Any:
    """Rows of (key, count), or of (level?, cell, count): never many more than the question can use."""
    if plan.key is not None:
        keyed = rows.filter(rows.key.notnull())
        return keyed.group_by("key").aggregate(people=keyed.count())
    number_of_people = rows.count()
    if plan.unit is None:
        # Group by the keys themselves, then number the few groups: numbering every row first is twice as slow.
        groups = rows.group_by(*rows.columns).aggregate(people=rows.count())
        numbers = [reading.number(groups[f"key{place}"]) for place, reading in enumerate(plan.readings)]
        rows = groups.mutate(cell=plan.cell(numbers))
        number_of_people = rows["people"].sum()
    if plan.level is None:
        return rows.group_by("cell").aggregate(people=number_of_people)
    groups = rows.group_by("level", "cell").aggregate(people=number_of_people)
    return groups.limit(min((MOST_LEVELS + 1) * plan.size, _LARGEST_LIMIT))


def _first_keys(rows: Any) -> Any:
    """A person's key: that of their first row that speaks; ties go to the least, a row without a key gives none."""
    spoken = rows.filter(rows.speaks & rows.place.notnull())
    steps = spoken.group_by("unit", "place").aggregate(key=spoken.key.min())
    placed = steps.mutate(first=steps.place.min().over(writer(rows).window(group_by=steps.unit)))
    return placed.filter(placed.place == placed.first).select(key=placed.key)


def _voted_keys(rows: Any) -> Any:
    """A person's key: that of most of their rows; ties go to the least."""
    spoken = rows.filter(rows.key.notnull())
    votes = spoken.group_by("unit", "key").aggregate(votes=spoken.count())
    most = votes.mutate(most=votes.votes.max().over(writer(rows).window(group_by=votes.unit)))
    leading = most.filter(most.votes == most.most)
    return leading.group_by("unit").aggregate(key=leading.key.min())


def _by_level(grouped: dict[Any, dict[int, int]], column: str) -> tuple[tuple[str, dict[int, int]], ...]:
    if None in grouped:
        remedy = "the levels are public: give one to every person, the same in all rows of a person"
        raise TableError("levels", column, "does not hold exactly one level for every person", remedy)
    if len(grouped) > MOST_LEVELS:
        raise TableError("levels", column, f"holds more than {MOST_LEVELS} levels", "is it the right column?")
    return tuple(sorted(((_level_text(level), cells) for level, cells in grouped.items()), key=lambda pair: pair[0]))


def _level_text(level: Any) -> str:
    """A level as text: numbers by their shortest decimal, without a trailing .0."""
    if isinstance(level, str):
        return level.strip()
    text = format(Decimal(repr(level)) if isinstance(level, float) else Decimal(level), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
