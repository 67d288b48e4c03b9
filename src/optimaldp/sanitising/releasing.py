"""From a source to a sanitised table: check, certify, count, spend, draw."""

from __future__ import annotations

import datetime
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from optimaldp.asking.preparing import read_own_level, withhold_details
from optimaldp.asking.promise import read_release_level
from optimaldp.histograms.keeping import thinned
from optimaldp.privacy import level as level_of
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.sampling import SystemBits
from optimaldp.sanitising.columns import Column
from optimaldp.sanitising.counting import count_table
from optimaldp.sanitising.drawing import Drawn, draw_table, map_back, noisy_total
from optimaldp.sanitising.marginals import fitted_codes
from optimaldp.sanitising.noisy import NoisyTable
from optimaldp.sanitising.planning import Asked, SanitisingPlan, make_plan
from optimaldp.sanitising.replaying import packed_release, too_large, unpacked_release
from optimaldp.sanitising.rows import generator, placed_codes
from optimaldp.sanitising.sanitised import Sanitised
from optimaldp.sanitising.statements import statement_of
from optimaldp.tables import Counted, People, Source, open_source
from optimaldp.tables.tally import Option

if TYPE_CHECKING:
    from optimaldp.ledger import Ledger


def sanitise(
    source: object,
    columns: Mapping[str, Any] | Sequence[str],
    *,
    epsilon: object,
    delta: object = 0,
    neighbours: str | Neighbours | None = None,
    unit: str | None = None,
    reduce: str | None = None,
    reduce_order: str | None = None,
    where: str | None = None,
    among: str | None = None,
    levels: str | None = None,
    part: object = None,
    marginals: str | Sequence[Sequence[str]] | None = None,
    margins: str | Sequence[Sequence[str]] | None = None,
    remap: str = "automatic",
    prior: object = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    types: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Sanitised:
    """A sanitised table of *columns*: rows of the same kind, which may be published.

    *columns* maps each name to its public options, to :func:`bins`, or to ``None`` where the column's type lists its values.
    Without *marginals* the joint table of all columns gets noise; with them a public list of tables, fitted by a model (the
    optional part ``sanitise``). *levels* names a column with each person's own epsilon. *among* asks only the people for whom a
    condition holds; the others, whoever they are, have a row without values. A joint table of more cells than fit in memory
    (add-remove) is drawn sparsely, and *margins*, each column if not given, are measured beside it with a quarter of epsilon.
    *prior* is a public belief about the cells of the joint table, as in :func:`~optimaldp.histograms.private_histogram`.

    With a *ledger* the table is kept there: asking the same of unchanged data gives it again and costs nothing. Tables too large
    to be kept are announced by a warning before anything is spent.

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
    bound = read_release_level(epsilon, delta)
    asked = Asked(columns, bound, neighbours, people, part, marginals, remap, among, margins, prior)
    if ledger is None:
        plan = make_plan(opened, asked.without_ledger())
        return _finish(plan, opened, withhold_details(lambda: _counted(opened, plan)))
    return _on_ledger(opened, asked, ledger)


def _counted(opened: Source, plan: SanitisingPlan) -> list[Counted]:
    return [count_table(opened, table, plan.people, plan.among) for table in plan.tables]


def _finish(
    plan: SanitisingPlan,
    opened: Source,
    counted: list[Counted],
    dataset: str | None = None,
    unasked: frozenset[Epsilon] = frozenset(),
) -> Sanitised:
    drawn, codes, seed = withhold_details(lambda: _draw(plan, counted, unasked))
    statement = statement_of(plan, drawn, dataset, datetime.datetime.now(datetime.UTC))
    return _made(plan, opened, drawn, codes, seed, statement)


def _made(
    plan: SanitisingPlan,
    opened: Source,
    drawn: tuple[Drawn, ...],
    codes: object,
    seed: int,
    statement: dict[str, Any],
    recorded: bool = False,
) -> Sanitised:
    whole = {column.name: opened.schema[column.name].kind != "real" for column in plan.columns}
    promise = plan.level.epsilon, plan.neighbours, plan.method
    return Sanitised(plan.columns, codes, drawn, *promise, statement, whole, seed, recorded)


def _draw(
    plan: SanitisingPlan, counted: list[Counted], unasked: frozenset[Epsilon]
) -> tuple[tuple[Drawn, ...], Any, int]:
    bits = SystemBits()
    noisy = [
        draw_table(_cells(one, table, plan, unasked), table, noise, bits)
        for one, table, noise in zip(counted, plan.tables, plan.noises)
    ]
    drawn, seed = _mapped(plan, noisy), bits.take(128)
    if plan.method == "joint":
        return drawn, placed_codes(drawn[0], generator(seed), drawn[1:]), seed
    people = drawn[0].total
    return drawn, fitted_codes(plan.columns, drawn, noisy_total(drawn) if people is None else people), seed


def _mapped(plan: SanitisingPlan, noisy: Sequence[NoisyTable]) -> tuple[Drawn, ...]:
    """What follows the noise, for each table."""
    drawn = [
        map_back(table, noise.mechanism, remap=plan.remap, prior=plan.prior) for table, noise in zip(noisy, plan.noises)
    ]
    if plan.method == "joint" and drawn[1:]:
        # The margins say how many people there are, and so how many the cells hide that are never drawn.
        joint = replace(drawn[0], total=noisy_total(drawn[1:]))
        drawn[0] = replace(joint, expected_error=joint.expected_error + joint.unplaced)
    return tuple(drawn)


def _cells(
    counted: Counted, columns: Sequence[Column], plan: SanitisingPlan, unasked: frozenset[Epsilon]
) -> dict[int, int]:
    """True cells of the table as it is released: closed columns have no cell for everybody else."""
    if counted.by_level is None:
        return _without_closed(counted.cells, counted.shape, columns)
    last = math.prod(counted.shape) - 1 if plan.neighbours is Neighbours.SUBSTITUTION else None
    place = plan.tables.index(tuple(columns))
    groups = [(_own_level(read_own_level(text), plan, place, unasked), cells) for text, cells in counted.by_level]
    return thinned(groups, plan.levels[place], everybody_else=last)


def _own_level(own: Epsilon, plan: SanitisingPlan, place: int, unasked: frozenset[Epsilon]) -> Epsilon:
    """A person's own level in one of the tables: the same person is in all of them, so it is divided as epsilon is."""
    if own in unasked or own.is_zero:
        return ZERO
    return plan.levels[place] if own >= plan.level.epsilon else plan.shares(own)[place]


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
    people, version = plan.people, opened.version()
    part = None if people.part is None else people.part[1]
    level = level_of(plan.level.epsilon)
    known = _recorded(book, plan, opened, version, part)
    if known is not None:
        return known
    if too_large(plan.sizes, float(plan.level.epsilon)):
        cells = f"a table of {sum(plan.sizes):,} cells is too large to be kept in the ledger"
        warnings.warn(f"{cells}: save it, since asking for it again will be paid again.", stacklevel=4)
    charged: dict[str, Any] = {"question": plan.text, "level": level, "levels": people.levels}
    charged |= {"neighbours": plan.neighbours, "unit": people.unit, "part": part}
    book.require(**charged)
    counted = withhold_details(lambda: _counted(opened, plan))
    personal = withhold_details(lambda: _personal_costs(book, plan, counted[0], part))
    unasked = frozenset(own for own, cost in (personal or {}).items() if cost.epsilon.is_zero)
    reservation = book.reserve(**charged, data_version=version, personal=personal)
    made = _finish(plan, opened, counted, book.opening.dataset, unasked)
    kept = packed_release([one.noisy for one in made.tables], made.codes, made.seed)
    reservation.record({"rows": made.rows, "unplaced": made.unplaced}, made.statement | {"kept": kept})
    return made


def kept_statement(
    book: Ledger, plan: SanitisingPlan, version: str | None, part: Option | None
) -> dict[str, Any] | None:
    """What the ledger keeps of the same table of unchanged data, rows included; ``None`` where it would be paid."""
    same = book.opening.neighbours is plan.neighbours and book.opening.unit == plan.people.unit
    entry = book.answered(plan.text, level_of(plan.level.epsilon), version, part=part) if same and version else None
    return None if entry is None or not (entry.statement or {}).get("kept") else dict(entry.statement or {})


def _recorded(
    book: Ledger, plan: SanitisingPlan, opened: Source, version: str | None, part: Option | None
) -> Sanitised | None:
    """The table that the ledger already holds for the same columns, level, people and data: it costs nothing."""
    statement = kept_statement(book, plan, version, part)
    if statement is None:
        return None
    leasts = [getattr(noise.mechanism, "least", 0) for noise in plan.noises]
    kept = unpacked_release(statement.pop("kept", None), plan.tables, plan.levels, plan.neighbours, leasts)
    if kept is None:
        return None
    noisy, codes, seed = kept
    return _made(plan, opened, _mapped(plan, noisy), codes, seed, statement, recorded=True)


def _personal_costs(
    book: Ledger, plan: SanitisingPlan, counted: Counted, part: Option | None
) -> dict[Epsilon, Any] | None:
    """What the people of each level lose: nothing where their own budget is used up, since they are not asked any more."""
    column = plan.people.levels
    if counted.by_level is None or column is None:
        return None
    own = [read_own_level(text) for text, _ in counted.by_level]
    askable = book.askable(column, own, level=level_of(plan.level.epsilon), part=part)
    costs = {one: level_of(min(one, plan.level.epsilon)) for one in own}
    return costs | {one: level_of(ZERO) for one, may in askable.items() if not may}
