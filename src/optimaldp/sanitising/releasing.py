"""From a source to a sanitised table: check, certify, count, spend, draw."""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optimaldp.asking.preparing import withhold_details
from optimaldp.asking.promise import read_level
from optimaldp.errors import LevelError, TableError
from optimaldp.histograms.keeping import thinned
from optimaldp.privacy import level as level_of
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.sampling import SystemBits
from optimaldp.sanitising.columns import Column
from optimaldp.sanitising.counting import count_table
from optimaldp.sanitising.drawing import Drawn, draw_table
from optimaldp.sanitising.marginals import fitted_codes
from optimaldp.sanitising.planning import Asked, Plan, make_plan
from optimaldp.sanitising.rows import generator, placed_codes
from optimaldp.sanitising.sanitised import Sanitised
from optimaldp.sanitising.splitting import split_epsilon
from optimaldp.sanitising.statements import statement_of
from optimaldp.tables import Counted, People, Source, open_source

if TYPE_CHECKING:
    from optimaldp.ledger import Ledger


def sanitise(
    source: Any,
    columns: Mapping[str, Any] | Sequence[str],
    *,
    epsilon: Any,
    delta: Any = 0,
    neighbours: str | Neighbours | None = None,
    unit: str | None = None,
    reduce: str | None = None,
    reduce_order: str | None = None,
    where: str | None = None,
    levels: str | None = None,
    part: Any = None,
    marginals: str | Sequence[Sequence[str]] | None = None,
    remap: str = "automatic",
    ledger: Ledger | str | os.PathLike[str] | None = None,
    types: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Sanitised:
    """A sanitised table of *columns*: rows of the same kind, which may be published.

    *columns* maps each name to its public options, to :func:`bins`, or to ``None`` where the column's type lists its values.
    Without *marginals* the joint table of all columns gets noise; with them a public list of tables, fitted by a model (the
    optional part ``sanitise``). *levels* names a column with each person's own epsilon.

    **Guarantee.** The rows, and everything else in the result, are epsilon-differentially private for the stated neighbours
    and people; *delta* is never used, so none is charged. The noise has passed the referee before data is read. Under
    substitution there are as many rows as people.

    >>> import pyarrow
    >>> from optimaldp.sanitising import bins
    >>> table = pyarrow.table({"sex": ["f", "m"] * 500, "age": list(range(1000))})
    >>> clean = sanitise(table, {"sex": ["m", "f"], "age": bins([0, 250, 500, 1000])}, epsilon=1)
    >>> clean.rows, list(clean.to_frame())
    (1000, ['sex', 'age'])
    """
    declared = None if types is None else dict(types)
    opened = open_source(source, types=declared, delimiter=delimiter, encoding=encoding)
    people = People(unit, reduce, reduce_order, where, None, levels)
    asked = Asked(columns, read_level(epsilon, delta), neighbours, people, part, marginals, remap)
    if ledger is None:
        plan = make_plan(opened, asked.without_ledger())
        return _finish(plan, opened, withhold_details(lambda: _counted(opened, plan)))
    return _on_ledger(opened, asked, ledger)


def _counted(opened: Source, plan: Plan) -> list[Counted]:
    return [count_table(opened, table, plan.people) for table in plan.tables]


def _finish(plan: Plan, opened: Source, counted: list[Counted], dataset: str | None = None) -> Sanitised:
    drawn, codes = withhold_details(lambda: _draw(plan, counted))
    whole = {column.name: opened.schema[column.name].kind != "real" for column in plan.columns}
    statement = statement_of(plan, drawn, dataset, datetime.datetime.now(datetime.UTC))
    return Sanitised(plan.columns, codes, drawn, plan.level.epsilon, plan.neighbours, plan.method, statement, whole)


def _draw(plan: Plan, counted: list[Counted]) -> tuple[tuple[Drawn, ...], Any]:
    bits = SystemBits()
    drawn = tuple(
        draw_table(_cells(one, table, epsilon, plan), table, noise, bits, remap=plan.remap)
        for one, table, epsilon, noise in zip(counted, plan.tables, plan.levels, plan.noises)
    )
    if plan.method == "joint":
        return drawn, placed_codes(drawn[0], generator(bits))
    total = drawn[0].total
    people = (
        total if total is not None else max(1, round(sum(int(one.noisy.dense.sum()) for one in drawn) / len(drawn)))
    )
    return drawn, fitted_codes(plan.columns, drawn, people)


def _cells(counted: Counted, columns: Sequence[Column], epsilon: Epsilon, plan: Plan) -> dict[int, int]:
    """True cells of the table as it is released: closed columns have no cell for everybody else."""
    if counted.by_level is None:
        return _without_closed(counted.cells, counted.shape, columns)
    last = math.prod(counted.shape) - 1 if plan.neighbours is Neighbours.SUBSTITUTION else None
    place = plan.tables.index(tuple(columns))
    groups = [(_own_level(text, plan, place), cells) for text, cells in counted.by_level]
    return thinned(groups, epsilon, everybody_else=last)


def _own_level(text: str, plan: Plan, place: int) -> Epsilon:
    """A person's own level in one of the tables: the same person is in all of them, so it is divided as epsilon is."""
    own = min(_read_own(text), plan.level.epsilon)
    sizes = [math.prod(column.size for column in table) for table in plan.tables]
    return plan.levels[place] if own == plan.level.epsilon else split_epsilon(own, sizes)[place]


def _read_own(text: str) -> Epsilon:
    try:
        return Epsilon.read(text, name="levels")
    except LevelError:
        pass  # the message quotes the cell: leave this block before raising another
    raise TableError("levels", "a value of the column", "is not a privacy level", "write 0.5, 'ln(2)' or 'inf'")


def _without_closed(cells: Mapping[int, int], shape: Sequence[int], columns: Sequence[Column]) -> dict[int, int]:
    """Renumber the cells where columns are closed. Whoever has no value all the same is counted with the first.

    A type can promise that a value is never missing and be wrong; every person must still be in exactly one cell.
    """
    if not any(column.closed for column in columns):
        return dict(cells)
    import numpy as np

    numbers = np.fromiter(cells, dtype=np.int64, count=len(cells))
    positions = np.unravel_index(numbers, tuple(shape))
    inside = [
        np.where(position >= column.size, 0, position) if column.closed else position
        for position, column in zip(positions, columns)
    ]
    merged: dict[int, int] = {}
    for cell, people in zip(np.ravel_multi_index(inside, [c.size for c in columns]).tolist(), cells.values()):
        merged[cell] = merged.get(cell, 0) + people
    return merged


def _on_ledger(opened: Source, asked: Asked, ledger: Ledger | str | os.PathLike[str]) -> Sanitised:
    from optimaldp.ledger import Ledger, open_ledger

    if isinstance(ledger, Ledger):
        return _spend_and_draw(opened, asked.with_ledger(ledger), ledger)
    with open_ledger(ledger) as book:
        return _spend_and_draw(opened, asked.with_ledger(book), book)


def _spend_and_draw(opened: Source, asked: Asked, book: Ledger) -> Sanitised:
    """Spend first, then draw: a crash may lose budget, never privacy. No delta is spent: none is used."""
    plan = make_plan(opened, asked)
    people = plan.people
    charged: dict[str, Any] = {"question": plan.text, "level": level_of(plan.level.epsilon), "levels": people.levels}
    charged |= {"neighbours": plan.neighbours, "unit": people.unit}
    charged |= {"part": None if people.part is None else people.part[1]}
    book.require(**charged)
    counted = withhold_details(lambda: _counted(opened, plan))
    personal = withhold_details(lambda: _personal_costs(plan, counted[0]))
    reservation = book.reserve(**charged, data_version=opened.version(), personal=personal)
    made = _finish(plan, opened, counted, book.opening.dataset)
    reservation.record({"rows": made.rows, "unplaced": made.unplaced}, made.statement)
    return made


def _personal_costs(plan: Plan, counted: Counted) -> dict[Epsilon, Any] | None:
    """What the people of each level lose."""
    if counted.by_level is None:
        return None
    own = [_read_own(text) for text, _ in counted.by_level]
    return {epsilon: level_of(min(epsilon, plan.level.epsilon)) for epsilon in own}
