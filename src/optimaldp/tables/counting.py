"""Counting: one aggregate query per tally. The only code that sees anything computed from data."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.engines import writer
from optimaldp.tables.opening import open_source
from optimaldp.tables.plans import CountingPlan, plan_counting
from optimaldp.tables.readings import nested_too_deeply
from optimaldp.tables.reducing import first_row_each, one_row_each
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
        query = _query(opened.table, plan) if plan.key is None else _key_query(opened.table, plan)
    except RecursionError:
        query = None
    if query is None:
        raise nested_too_deeply("question")
    run = fetch if opened.feed is None else opened.feed.fetch
    rows = without_engine_message(opened.label, "counted", lambda: run(opened.table, query))
    if plan.key is None:
        return _counted(rows, plan)
    return Counted({}, (), keys={key: int(people) for key, people in rows})


def _query(table: object, plan: CountingPlan) -> Any:
    """The one aggregate query: rows of (level?, counts…) for conditions, of (level?, cell, count) for all else."""
    rows = _rows(table, plan)
    if plan.unit is None:
        return _filtered_counts(rows, plan) if plan.filtered else _cell_counts(rows, plan)
    if not plan.reduced:
        cell = plan.cell([reading.number(rows[f"key{place}"]) for place, reading in enumerate(plan.readings)])
        return _grouped(_one_level(first_row_each(rows, cell, plan.size), plan), plan)
    people = _one_level(one_row_each(rows, plan.reduced), plan)
    if plan.filtered:
        holds = {f"key{one.place}": one.final(people) for one in plan.reduced}
        return _filtered_counts(people.mutate(**holds), plan)
    return _grouped(people.mutate(cell=plan.cell([_number(one, people) for one in plan.reduced])), plan)


def _number(one: Any, people: Any) -> Any:
    final = one.final(people)
    return one.reading.number(final) if one.rule in ("any", "all") else final


def _rows(table: Any, plan: CountingPlan) -> Any:
    """What is read of each row, under names of ours alone: the table's own names cannot get in the way."""
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
    return rows if plan.unit is None else rows.filter(rows.unit.notnull())


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


def _filtered_counts(table: Any, plan: CountingPlan) -> Any:
    """How many people there are, and for how many each combination of conditions holds.

    As quick as the bare aggregate, where grouping by a truth value is twice as slow.
    """
    wanted = {"everyone": table.count()}
    for chosen in plan.filtered:
        holds = table[f"key{chosen[0]}"]
        for place in chosen[1:]:
            holds = holds & table[f"key{place}"]
        wanted["_".join(["hold", *map(str, chosen)])] = table.count(where=holds)
    if plan.level is None:
        return table.aggregate(**wanted)
    return table.group_by("level").aggregate(**wanted).limit(MOST_LEVELS + 1)


def _grouped(table: Any, plan: CountingPlan, number_of_people: Any = None) -> Any:
    """Rows of (level?, cell, count): never many more than the question can use."""
    keys = ["cell"] if plan.level is None else ["level", "cell"]
    number_of_people = table.count() if number_of_people is None else number_of_people
    groups = table.group_by(*keys).aggregate(people=number_of_people)
    if plan.level is None:
        return groups
    return groups.limit(min((MOST_LEVELS + 1) * plan.size, _LARGEST_LIMIT))


def _cell_counts(rows: Any, plan: CountingPlan) -> Any:
    """Group by the keys themselves, then number the few groups: numbering every row first is twice as slow."""
    groups = rows.group_by(*rows.columns).aggregate(people=rows.count())
    numbers = [reading.number(groups[f"key{place}"]) for place, reading in enumerate(plan.readings)]
    numbered = groups.mutate(cell=plan.cell(numbers))
    return _grouped(numbered, plan, numbered["people"].sum())


def _key_query(table: object, plan: CountingPlan) -> Any:
    """Rows of (key, people). A person has one key: the one of most of their rows (ties: the least), or of the first row."""
    rows = _rows(table, plan)
    if plan.unit is not None:
        spoken = rows.mutate(key=writer(rows).cases((rows.speaks, rows.key)))
        rows = _first_keys(spoken) if plan.order is not None else _voted_keys(spoken)
    keyed = rows.filter(rows.key.notnull())
    return keyed.group_by("key").aggregate(people=keyed.count())


def _first_keys(rows: Any) -> Any:
    """The key of a person's first row that speaks; ties go to the least, a row without a key gives none."""
    spoken = rows.filter(rows.speaks & rows.place.notnull())
    steps = spoken.group_by("unit", "place").aggregate(key=spoken.key.min())
    placed = steps.mutate(first=steps.place.min().over(writer(rows).window(group_by=steps.unit)))
    return placed.filter(placed.place == placed.first).select(key=placed.key)


def _voted_keys(rows: Any) -> Any:
    spoken = rows.filter(rows.key.notnull())
    votes = spoken.group_by("unit", "key").aggregate(votes=spoken.count())
    most = votes.mutate(most=votes.votes.max().over(writer(rows).window(group_by=votes.unit)))
    leading = most.filter(most.votes == most.most)
    return leading.group_by("unit").aggregate(key=leading.key.min())


def _counted(rows: list[tuple[Any, ...]], plan: CountingPlan) -> Counted:
    grouped: dict[Any, dict[int, int]] = {}
    total: dict[int, int] = {}
    for row in rows:
        level, numbers = (row[0], row[1:]) if plan.level is not None else ("", row)
        cells = grouped.setdefault(level, {})
        whole = [int(value or 0) for value in numbers]
        for cell, people in enumerate(_disentangled(whole, plan)) if plan.filtered else [whole]:
            if people:
                cells[cell] = cells.get(cell, 0) + people
                total[cell] = total.get(cell, 0) + people
    by_level = None if plan.levels is None else _by_level(grouped, plan.levels)
    return Counted(dict(sorted(total.items())), plan.shape, by_level, plan.options)


def _disentangled(numbers: list[int], plan: CountingPlan) -> list[int]:
    """From "at least these conditions hold" to "exactly these hold", in the order of the cells (yes before no)."""
    places = range(len(plan.readings))
    at_least = dict(zip([(), *plan.filtered], numbers, strict=True))
    counts = []
    for answers in itertools.product((True, False), repeat=len(plan.readings)):
        yes = tuple(place for place in places if answers[place])
        no = [place for place in places if not answers[place]]
        counts.append(
            sum(
                (-1) ** len(more) * at_least[tuple(sorted((*yes, *more)))]
                for number in range(len(no) + 1)
                for more in itertools.combinations(no, number)
            )
        )
    return counts


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
