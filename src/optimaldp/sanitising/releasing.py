"""From a source to a sanitised table: check, certify, count, spend, draw."""

from __future__ import annotations

import datetime
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack

from optimaldp.asking.ask import Ask, takes_options
from optimaldp.asking.corridor import Losses, Order, Ready, losses_of, opened_book, read_own_level, walk
from optimaldp.asking.releasing import open_asked
from optimaldp.certify.noise import certify_noise, require_table_draw
from optimaldp.histograms.noise.sparse import SparseNoise
from optimaldp.histograms.release import thinned
from optimaldp.privacy import approximate
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.columns import Column
from optimaldp.sampling import BitSource, SystemBits
from optimaldp.sanitising.counting import count_table
from optimaldp.sanitising.drawing import Drawn, draw_table, map_back, noise_for, noisy_total
from optimaldp.sanitising.noisy import NoisyTable
from optimaldp.sanitising.planning import Asked, SanitisingPlan, fitted_codes, make_plan
from optimaldp.sanitising.rows import generator, placed_codes
from optimaldp.sanitising.sanitised import Sanitised
from optimaldp.sanitising.statements import packed_release, statement_of, too_large, unpacked_release
from optimaldp.tables import Counted, Source

if TYPE_CHECKING:
    from optimaldp.asking.ask import LevelLike
    from optimaldp.ledger import Ledger
    from optimaldp.ledger.entry import Answer
    from optimaldp.privacy import ApproximateDP

_TRIED = Epsilon.read(1)  # the level at which the code that draws is examined
_MOST_TRIED = 6  # columns of a table that it is examined on


class TableOptions(TypedDict, total=False):
    """What can be said of a sanitised table beside its columns, for readers of types: the fields of an ask without groups."""

    epsilon: Required[LevelLike]
    delta: LevelLike
    neighbours: str | Neighbours | None
    unit: str | None
    reduce: str | Mapping[str, str] | None
    reduce_order: str | None
    where: str | None
    levels: str | None
    part: str | int | None
    types: Mapping[str, str] | None
    delimiter: str | None
    encoding: str | None
    description: str | os.PathLike[str] | None


@takes_options("by", "groups", "public_groups", "groups_per_person", "aim")
def sanitise(
    source: object,
    columns: Mapping[str, Any] | Sequence[str],
    *,
    among: str | None = None,
    marginals: str | Sequence[Sequence[str]] | None = None,
    margins: str | Sequence[Sequence[str]] | None = None,
    remap: str = "automatic",
    prior: object = None,
    outside: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    **options: Unpack[TableOptions],
) -> Sanitised:
    """A sanitised table of *columns*: rows of the same kind, which may be published.

    *columns* maps each name to its public options, to :func:`bins`, or to ``None`` where the column's type lists its values.
    Without *marginals* the joint table of all columns gets noise; with them a public list of tables, fitted by a model (the
    optional part ``sanitise``). *levels* names a column with each person's own epsilon. *among* asks only the people for whom a
    condition holds; the others, whoever they are, have a row without values. A joint table of more cells than fit in memory
    (add-remove) is drawn sparsely, and *margins*, each column if not given, are measured beside it with a quarter of epsilon.
    Values outside of bins are with those who have no value: an empty cell; ``outside="ends"`` puts them into the end bins.
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
    asked = Asked(columns, Ask("", **options), marginals, remap, among, margins, prior, outside)
    bits = SystemBits()  # first: a broken generator is refused before anything is read or spent
    with opened_book(ledger) as book:
        opened = open_asked(source, [asked.ask], book)
        if book is not None:
            book.note_description(None if opened.description is None else opened.description.hash)
        plan = make_plan(opened, asked, book)
        require_drawn(plan)
        return walk(opened, [TableOrder(plan, opened)], book, bits)[0]


@dataclass(frozen=True)
class TableOrder(Order[Sanitised]):
    """A sanitised table that is asked for, with everything public about it settled."""

    plan: SanitisingPlan
    opened: Source

    @property
    def asked(self) -> SanitisingPlan:
        return self.plan

    def count(self, opened: Source) -> list[Counted]:
        return _counted(opened, self.plan)

    def counted_levels(self, counted: list[Counted]) -> tuple[Epsilon, ...]:
        return tuple(read_own_level(text) for text, _ in counted[0].by_level or ())

    def prepare(self, counted: list[Counted], weightless: frozenset[Epsilon]) -> ReadyTable:
        return ReadyTable(self, counted, weightless)

    def restored(self, recorded: Answer, dataset: str | None) -> Sanitised | None:
        """The table that the ledger kept; ``None`` where it was too large to be kept."""
        plan, statement = self.plan, dict(recorded.statement or {})
        leasts = [getattr(noise.mechanism, "least", 0) for noise in plan.noises]
        kept = unpacked_release(statement.pop("kept", None), plan.tables, plan.levels, plan.neighbours, leasts)
        if kept is None:
            return None
        noisy, codes, seed = kept
        return _made(plan, self.opened, _mapped(plan, noisy), codes, seed, statement, recorded=True)

    def to_record(self, made: Sanitised) -> tuple[object, object]:
        kept = packed_release([one.noisy for one in made.tables], made.codes, made.seed)
        return {"rows": made.rows, "unplaced": made.unplaced}, made.statement | {"kept": kept}

    def warn_before(self, book: Ledger) -> None:
        if too_large(self.plan.sizes, float(self.plan.level.epsilon)):
            cells = f"a table of {sum(self.plan.sizes):,} cells is too large to be kept in the ledger"
            warnings.warn(f"{cells}: save it, since asking for it again will be paid again.", stacklevel=4)


@dataclass(frozen=True, repr=False)
class ReadyTable(Ready[Sanitised]):
    """A counted table, ready to be drawn. Private."""

    order: TableOrder
    counted: list[Counted]
    weightless: frozenset[Epsilon]

    @property
    def spent(self) -> ApproximateDP:
        return self.order.plan.level

    @property
    def losses(self) -> Losses:
        return losses_of(self.order.counted_levels(self.counted), self.spent.epsilon, self.weightless)

    def draw(self, source: BitSource, dataset: str | None) -> Sanitised:
        plan = self.order.plan
        drawn, codes, seed = _draw(plan, self.counted, self.weightless, source)
        statement = statement_of(plan, drawn, codes, dataset, datetime.datetime.now(datetime.UTC))
        return _made(plan, self.order.opened, drawn, codes, seed, statement)


def _counted(opened: Source, plan: SanitisingPlan) -> list[Counted]:
    return [count_table(opened, table, plan.people, plan.among) for table in plan.tables]


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
    plan: SanitisingPlan, counted: list[Counted], unasked: frozenset[Epsilon], bits: BitSource
) -> tuple[tuple[Drawn, ...], Any, int]:
    noisy = noisy_tables(plan, counted, unasked, bits)
    drawn, seed = _mapped(plan, noisy), bits.take(128)
    if plan.method == "joint":
        joint, beside = drawn[0], [one.noisy for one in drawn[1:]]
        return drawn, placed_codes(joint.noisy, joint.counts, joint.unplaced, generator(seed), beside), seed
    people = drawn[0].total
    return drawn, fitted_codes(plan.columns, drawn, noisy_total(drawn) if people is None else people), seed


def noisy_tables(
    plan: SanitisingPlan, counted: Sequence[Counted], unasked: frozenset[Epsilon], bits: BitSource
) -> list[NoisyTable]:
    """Everything between the counts and the noisy tables: the referee runs this very function on made-up people."""
    return [
        draw_table(_cells(one, table, plan, unasked, bits), table, noise, bits)
        for one, table, noise in zip(counted, plan.tables, plan.noises)
    ]


def require_drawn(plan: SanitisingPlan) -> None:
    """Have the code that draws examined: on tables of the same kind with few values, with bits that are written down."""
    small = tuple(_few_values(table) for table in plan.tables)
    if any(isinstance(noise.mechanism, SparseNoise) for noise in plan.noises):
        small = small[1:]  # how a table is drawn sparsely has a referee of its own
    if not small:
        return
    tried = replace(plan, tables=small, level=approximate(_TRIED))
    sizes, shares = tried.sizes, tried.shares(_TRIED)
    noises = tuple(
        certify_noise(noise_for(size, share, plan.neighbours), cells=size, epsilon=share, neighbours=plan.neighbours)
        for size, share in zip(sizes, shares)
    )
    tried = replace(tried, levels=shares, noises=noises)
    recipes = [noise.mechanism.recipe for noise in noises if not isinstance(noise.mechanism, SparseNoise)]

    def draw(people: Mapping[str, Mapping[int, int]], by_level: bool, bits: BitSource) -> list[Any]:
        counted = []
        for table in small:
            shape, cells = tuple(column.size for column in table), dict[int, int]()
            for own in people.values():
                for cell, number in own.items():
                    cells[cell] = cells.get(cell, 0) + number
            groups = tuple((text, dict(own)) for text, own in people.items()) if by_level else None
            counted.append(Counted(cells, shape, groups))
        return [one.dense.tolist() for one in noisy_tables(tried, counted, frozenset(), bits)]

    require_table_draw(draw, recipes, _TRIED, plan.neighbours)


def _few_values(table: Sequence[Column]) -> tuple[Column, ...]:
    """The same columns with so few values that the noise of all cells is made of few bits."""
    few = 2 if len(table) <= 2 else 1
    return tuple(replace(column.first(few), closed=False) for column in table[:_MOST_TRIED])


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
    counted: Counted, columns: Sequence[Column], plan: SanitisingPlan, unasked: frozenset[Epsilon], bits: BitSource
) -> dict[int, int]:
    """True cells of the table as it is released: closed columns have no cell for everybody else."""
    if counted.by_level is None:
        return _without_closed(counted.cells, counted.shape, columns)
    last = math.prod(counted.shape) - 1 if plan.neighbours is Neighbours.SUBSTITUTION else None
    place = plan.tables.index(tuple(columns))
    groups = [(_own_level(read_own_level(text), plan, place, unasked), cells) for text, cells in counted.by_level]
    return thinned(groups, plan.levels[place], everybody_else=last, source=bits)


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
