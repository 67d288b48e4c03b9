"""From a source to a sanitised table: check, certify, count, spend, draw."""

from __future__ import annotations

import datetime
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack

from optimaldp.asking.ask import Ask, takes_options
from optimaldp.asking.corridor import Losses, Order, Ready, losses_of, opened_book, read_own_level, walk
from optimaldp.asking.releasing import note_description, open_asked
from optimaldp.certify.asked import require_first_draw, require_levels_read
from optimaldp.certify.core.referee import require_shares
from optimaldp.certify.histogram_draws import keeps_by_words
from optimaldp.certify.noise import (
    STREAMS,
    Stream,
    certify_noise,
    chosen_by_coins,
    require_sampler,
    require_selection,
    require_table_draw,
    table_together,
)
from optimaldp.errors import NotCertifiedError
from optimaldp.histograms.noise.sparse import SparseNoise
from optimaldp.histograms.release import thinned
from optimaldp.privacy import approximate
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.columns import Column, read_columns
from optimaldp.sampling import BitSource, SystemBits
from optimaldp.sanitising.choosing import (
    CHOICE_SHARE,
    COLUMNS_SHARE,
    PAIRS_SHARE,
    Pair,
    Selection,
    candidate_pairs,
    joining,
    joint_codes,
    offered_tables,
    pairs_worth_measuring,
    scores_of,
    sensitivity_of,
    tree_codes,
    worth_measuring_together,
)
from optimaldp.sanitising.counting import count_table
from optimaldp.sanitising.drawing import Drawn, draw_table, map_back, noise_for, noisy_total
from optimaldp.sanitising.noisy import NoisyTable
from optimaldp.sanitising.planning import Asked, SanitisingPlan, fitted_codes, make_plan, part_of, split_epsilon
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
_MOST_CHOSEN = 3  # columns of which pairs are chosen
_LEAST_TRIED = 2  # from where on cells of a sparse one are kept


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
    optional part ``sanitise``); ``marginals="choose"`` measures each column and pairs that are chosen privately.
    *levels* names a column with each person's own epsilon. *among* asks only the people for whom a
    condition holds; the others, whoever they are, have a row without values. A joint table of more cells than fit in memory
    (add-remove) is drawn sparsely, and *margins*, each column if not given, are measured beside it with a quarter of epsilon.
    Values outside of bins are with those who have no value: an empty cell; ``outside="ends"`` puts them into the end bins.
    *prior* is a public belief about the cells of the joint table, as in :func:`~optimaldp.histograms.private_histogram`.

    *remap* says how counts that noise made negative are mended. *source*, *unit*, *reduce*, *reduce_order*, *where*, *part*,
    *types*, *delimiter*, *encoding* and *description* as in :func:`~optimaldp.release`.

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
            note_description(book, opened)
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
        written = counted[0].by_level or ()
        levels = self.counted_levels(counted)
        require_levels_read((text, own) for (text, _), own in zip(written, levels))
        for own in levels:
            _require_own_level(self.plan, own, weightless)
        return ReadyTable(self, counted, weightless)

    def restored(self, recorded: Answer, dataset: str | None) -> Sanitised | None:
        """The table that the ledger kept; ``None`` where it was too large to be kept."""
        statement = dict(recorded.statement or {})
        plan = _plan_as_chosen(self.plan, statement)
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

    @property
    def mechanisms(self) -> tuple[()]:
        return ()  # noise alone: delta is never spent

    def draw(self, source: BitSource, dataset: str | None) -> Sanitised:
        plan = self.order.plan
        require_first_draw(self)
        if plan.method == "chosen":
            plan, drawn, codes, seed = _draw_chosen(plan, self.counted, source)
        else:
            drawn, codes, seed = _draw(plan, self.counted, self.weightless, source)
        statement = statement_of(plan, drawn, codes, dataset, datetime.datetime.now(datetime.UTC))
        promised = self.order.plan
        if (statement["epsilon"], statement["neighbours"]) != (str(promised.level.epsilon), promised.neighbours.value):
            raise NotCertifiedError("What would be stated is not what was promised.")
        if (told := self.order.opened.description) is not None:
            statement["described"] = told.published()
        return _made(plan, self.order.opened, drawn, codes, seed, statement)


def _counted(opened: Source, plan: SanitisingPlan) -> list[Counted]:
    offered = offered_tables(plan.columns) if plan.method == "chosen" else ()
    return [count_table(opened, table, plan.people, plan.among) for table in (*plan.tables, *offered)]


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
    return _from_noise(plan, noisy_tables(plan, counted, unasked, bits), bits)


def _from_noise(
    plan: SanitisingPlan, noisy: Sequence[NoisyTable], bits: BitSource
) -> tuple[tuple[Drawn, ...], Any, int]:
    """Everything that follows the noise: counts and rows. No true count comes here."""
    drawn, seed = _mapped(plan, noisy), bits.take(128)
    if plan.method == "joint":
        joint, beside = drawn[0], [one.noisy for one in drawn[1:]]
        return drawn, placed_codes(joint.noisy, joint.counts, joint.unplaced, generator(seed), beside), seed
    people = drawn[0].total
    return drawn, fitted_codes(plan.columns, drawn, noisy_total(drawn) if people is None else people), seed


def _draw_chosen(
    plan: SanitisingPlan, counted: Sequence[Counted], bits: BitSource
) -> tuple[SanitisingPlan, tuple[Drawn, ...], Any, int]:
    """Each column by itself, then pairs that are chosen one after the other, then the chosen pairs.

    Or all columns together, where that may be and their table bears its noise.

    What is chosen depends on noisy tables and earlier choices alone, beside the true tables that the choice itself protects: the
    levels of all of it add up (adaptive composition).
    """
    alone = _mapped(plan, noisy_tables(plan, counted, frozenset(), bits))
    people = noisy_total(alone) if alone[0].total is None else alone[0].total
    behind = dict(zip(offered_tables(plan.columns), counted[len(plan.tables) :]))
    pairs = {pair: behind[pair] for pair in candidate_pairs(plan.columns)}
    epsilon = plan.level.epsilon
    rest = part_of(epsilon, 1 - COLUMNS_SHARE)
    if plan.together and worth_measuring_together(plan.columns, _rational(rest), people, plan.neighbours):
        joint = [behind[plan.columns]]
        plan, noisy = _measured_too(plan, alone, (plan.columns,), (rest,), joint, ZERO, bits)
        return _fitted(replace(plan, selection=_said(0, ZERO, plan.neighbours)), noisy, people, bits)
    whole = part_of(epsilon, PAIRS_SHARE)
    number = pairs_worth_measuring(list(pairs), _rational(whole), people, plan.neighbours)
    if not number:  # what is left is worth more spent on the columns themselves
        levels = split_epsilon(rest, plan.sizes)
        plan, noisy = _measured_too(plan, alone, plan.tables, levels, counted, ZERO, bits)
        return _fitted(replace(plan, selection=_said(0, ZERO, plan.neighbours)), noisy, people, bits)
    own, choice = part_of(epsilon, PAIRS_SHARE / number), part_of(epsilon, CHOICE_SHARE / number)
    selection = Selection(_rational(choice), sensitivity_of(plan.neighbours))
    margins = {one.noisy.columns[0].name: one.noisy.dense.clip(0) for one in alone}
    cells = {pair: _without_closed(one.cells, one.shape, pair) for pair, one in pairs.items()}
    chosen: list[Pair] = []
    for _ in range(number):
        offered = {pair: cells[pair] for pair in joining(list(cells), chosen)}
        scores = scores_of(offered, margins, people, _rational(own), plan.neighbours)
        chosen.append(list(offered)[selection.draw(scores, bits)])
    plan, noisy = _measured_too(
        plan, alone, chosen, [own] * number, [pairs[pair] for pair in chosen], choice * number, bits
    )
    return _fitted(replace(plan, selection=_said(number, choice, plan.neighbours)), noisy, people, bits)


def _rational(share: Epsilon) -> Fraction:
    assert share.plain is not None, "a share of epsilon is a finite number"
    return share.plain


def _measured_too(
    plan: SanitisingPlan,
    alone: Sequence[Drawn],
    tables: Sequence[tuple[Column, ...]],
    levels: Sequence[Epsilon],
    counted: Sequence[Counted],
    choosing: Epsilon,
    bits: BitSource,
) -> tuple[SanitisingPlan, list[NoisyTable]]:
    """The plan with these tables behind its own, and all noisy tables. The referee adds up what everything costs."""
    more = replace(plan, tables=tuple(tables), levels=tuple(levels), noises=_certified(tables, levels, plan.neighbours))
    together = _joined(plan, more)
    require_shares(plan.level.epsilon, [*(noise.mechanism.epsilon for noise in together.noises), choosing])
    return together, [*(one.noisy for one in alone), *noisy_tables(more, counted, frozenset(), bits)]


def _joined(plan: SanitisingPlan, more: SanitisingPlan) -> SanitisingPlan:
    tables, levels = (*plan.tables, *more.tables), (*plan.levels, *more.levels)
    return replace(plan, tables=tables, levels=levels, noises=(*plan.noises, *more.noises))


def _fitted(
    plan: SanitisingPlan, noisy: Sequence[NoisyTable], people: int, bits: BitSource
) -> tuple[SanitisingPlan, tuple[Drawn, ...], Any, int]:
    drawn, seed = _mapped(plan, noisy), bits.take(128)
    make = joint_codes if drawn[-1].noisy.columns == plan.columns else tree_codes
    return plan, drawn, make(plan.columns, drawn, people, generator(seed)), seed


def _said(number: int, choice: Epsilon, neighbours: Neighbours) -> dict[str, Any]:
    return {
        "pairs": number,
        "epsilon_of_each_choice": str(choice),
        "mechanism": "permute-and-flip",
        "score": "distance from independent columns, less the noise of measuring",
        "sensitivity": sensitivity_of(neighbours),
    }


def _plan_as_chosen(plan: SanitisingPlan, statement: Mapping[str, Any]) -> SanitisingPlan:
    """The plan of a recorded table, with the pairs that had been chosen."""
    if plan.method != "chosen" or "tables" not in statement:
        return plan
    by_name = {column.name: column for column in plan.columns}
    rest = statement["tables"][len(plan.tables) :]
    tables = tuple(tuple(by_name[name] for name in one["columns"]) for one in rest)
    levels = tuple(Epsilon.read(one["epsilon"]) for one in rest)
    more = replace(plan, tables=tables, levels=levels, noises=_certified(tables, levels, plan.neighbours))
    return replace(_joined(plan, more), selection=statement.get("selection"))


def _certified(
    tables: Sequence[Sequence[Column]], levels: Sequence[Epsilon], neighbours: Neighbours
) -> tuple[Any, ...]:
    sizes = [math.prod(column.size for column in table) for table in tables]
    return tuple(
        certify_noise(noise_for(size, level, neighbours), cells=size, epsilon=level, neighbours=neighbours)
        for size, level in zip(sizes, levels)
    )


def _require_choice(neighbours: Neighbours) -> None:
    """Refuse a private choice that is not the proven one, on made-up people."""
    import numpy as np

    first, second = (column.first(column.named - 1) for column in read_columns({"a": [0, 1], "b": [0, 1]}))
    margins = {"a": np.array([3, 1]), "b": np.array([0, 4])}

    def score(cells: Mapping[int, int]) -> int:
        return scores_of({(first, second): cells}, margins, 4, _rational(_TRIED), neighbours)[0]

    require_selection(lambda epsilon: Selection(epsilon, sensitivity_of(neighbours)).draw, score, neighbours)


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
    for noise in plan.noises:
        require_sampler(noise.mechanism)
    tried = _with_few_values(plan)

    def draw(
        people: Mapping[str, Mapping[int, int]], by_level: bool, bits: BitSource, left_out: str = "0"
    ) -> list[Any]:
        counted = _made_up(tried.tables, {left_out if own == "0" else own: c for own, c in people.items()}, by_level)
        return [_drawn_cells(one) for one in noisy_tables(tried, counted, frozenset({Epsilon.read(left_out)}), bits)]

    used_up = partial(draw, left_out="1/4")  # whose own budget is used up is left out like somebody of level 0
    for one in (draw, used_up) if plan.people.levels is not None else (draw,):
        require_table_draw(one, [_recipe(noise.mechanism) for noise in tried.noises], _TRIED, plan.neighbours)
    if plan.method == "chosen":
        _require_choice(plan.neighbours)
        _require_chosen(tried)
    else:
        _require_nothing_else(_first_table(tried), _draw)


def _with_few_values(plan: SanitisingPlan) -> SanitisingPlan:
    """The same plan for so few values that the noise of all cells is made of few bits."""
    few = 2 if all(len(table) <= 2 for table in plan.tables) else 1
    among = plan.tables[:_MOST_CHOSEN] if plan.method == "chosen" else plan.tables
    tables = tuple(tuple(replace(column.first(few), closed=False) for column in table[:_MOST_TRIED]) for table in among)
    columns = tuple({column.name: column for table in tables for column in table}.values())
    tried = replace(plan, columns=columns, tables=tables, level=approximate(_TRIED), remap="projection", prior=None)
    sizes, levels = [math.prod(column.size for column in table) for table in tables], tried.shares(_TRIED)
    noises = tuple(
        certify_noise(
            SparseNoise(size, level, _LEAST_TRIED)
            if isinstance(noise.mechanism, SparseNoise)
            else noise_for(size, level, plan.neighbours),
            cells=size,
            epsilon=level,
            neighbours=plan.neighbours,
        )
        for noise, size, level in zip(plan.noises, sizes, levels)
    )
    return replace(tried, levels=levels, noises=noises)


def _first_table(tried: SanitisingPlan) -> SanitisingPlan:
    """The first table by itself, with the margins of its columns: a model takes too long to be tried."""
    columns = {column.name for column in tried.tables[0]}
    places = [
        place
        for place, table in enumerate(tried.tables)
        if not place or (tried.method == "joint" and {column.name for column in table} <= columns)
    ]
    return replace(
        tried,
        columns=tried.tables[0],
        tables=tuple(tried.tables[place] for place in places),
        levels=tuple(tried.levels[place] for place in places),
        noises=tuple(tried.noises[place] for place in places),
        method="joint",
    )


def _made_up(
    tables: Sequence[Sequence[Column]], people: Mapping[str, Mapping[int, int]], by_level: bool
) -> list[Counted]:
    """People by their own level and cell, in every table the same."""
    cells = dict[int, int]()
    for own in people.values():
        for cell, number in own.items():
            cells[cell] = cells.get(cell, 0) + number
    groups = tuple((text, dict(own)) for text, own in people.items()) if by_level else None
    return [Counted(dict(cells), tuple(column.size for column in table), groups) for table in tables]


def _recipe(noise: Any) -> Any:
    return noise if isinstance(noise, SparseNoise) else noise.recipe


def _drawn_cells(noisy: NoisyTable) -> Any:
    return noisy.dense.tolist() if noisy.kept is None else dict(noisy.kept)


def _require_chosen(tried: SanitisingPlan) -> None:
    """Refuse pairs that are not chosen and measured as the release says."""
    pairs = candidate_pairs(tried.columns)
    # So many people that all columns together, or else pairs, are worth measuring, and so few that none is.
    for people, together, streams in ((500, True, STREAMS[:1]), (500, False, STREAMS), (3, True, STREAMS[:1])):
        counted = _made_up(tried.tables, {"1": {0: people, 1: people}}, False)
        for place, pair in enumerate(pairs):  # each goes together a little more than the one before
            apart = people // 2 - people * place // 25
            places = 0, 1, pair[1].size, pair[1].size + 1
            inside = dict(zip(places, (people - apart, apart, apart, people - apart)))
            counted += _made_up([pair], {"1": inside}, False)
        counted += _made_up([tried.columns], {"1": {0: people, 1: people}}, False)
        for name in streams:
            said, drawn, _, seed = _draw_chosen(replace(tried, together=together), counted, Stream(name))
            tables, cells, other = _chosen_by_parts(said, drawn[: len(tried.tables)], counted, Stream(name))
            same_tables = said.tables[len(tried.tables) :] == tuple(tables)
            if not same_tables or [_drawn_cells(one.noisy) for one in drawn] != cells or seed != other:
                raise NotCertifiedError("Pairs are not chosen and measured as the release says. Nothing was sampled.")


def _chosen_by_parts(
    said: SanitisingPlan, alone: Sequence[Drawn], counted: Sequence[Counted], bits: BitSource
) -> tuple[Sequence[tuple[Column, ...]], list[Any], int]:
    """What is measured behind the columns, all noisy cells and the seed: at the levels that the release says, with these bits."""
    selection = said.selection or {}
    each, number = Epsilon.read(selection["epsilon_of_each_choice"]), selection["pairs"]
    require_shares(_TRIED, [*said.levels, *[each] * number])
    first = said.tables[: len(alone)]
    known = dict(zip((*first, *offered_tables(said.columns)), (one.cells for one in counted)))
    recipes = [_recipe(noise.mechanism) for noise in said.noises]
    cells = [table_together(recipe, known[table], bits) for recipe, table in zip(recipes, first)]
    total = noisy_total(alone) if alone[0].total is None else alone[0].total
    margins = {one.noisy.columns[0].name: one.noisy.dense.clip(0) for one in alone}
    chosen: list[Pair] = []
    for _ in range(number):
        offered = {pair: known[pair] for pair in joining(candidate_pairs(said.columns), chosen)}
        scores = scores_of(offered, margins, total, _rational(said.levels[-1]), said.neighbours)
        chosen.append(list(offered)[chosen_by_coins(scores, _rational(each), said.neighbours, bits)])
    joint = len(said.tables) == len(first) + 1 and not chosen
    behind = chosen or ((said.columns,) if joint else first)
    cells += [table_together(recipe, known[table], bits) for recipe, table in zip(recipes[len(alone) :], behind)]
    return behind, cells, bits.take(128)


def _require_own_level(plan: SanitisingPlan, own: Epsilon, unasked: frozenset[Epsilon]) -> None:
    """Refuse tables that cost somebody more than their own level together, or keep them more often than that says."""
    shares = [_own_level(own, plan, place, unasked) for place in range(len(plan.tables))]
    require_shares(ZERO if own in unasked else own, shares)
    for share, whole in zip(shares, plan.levels):
        if not keeps_by_words(thinned, share, whole):
            raise NotCertifiedError("People are not kept as often as their own level says. Nothing was sampled.")


def _require_nothing_else(plan: SanitisingPlan, draw: Callable[..., Any]) -> None:
    """Refuse rows that are not made of the noisy tables alone: for made-up people, from bits that are written down."""
    for cells, others in (({0: 9, 1: 2}, {0: 2, 1: 9}), ({1: 30}, {0: 30})):
        counted, bits = _made_up(plan.tables, {"1": cells}, False), Stream("rows")
        noisy = noisy_tables(plan, counted, frozenset(), bits)
        noisy_tables(plan, _made_up(plan.tables, {"1": others}, False), frozenset(), Stream("other people"))
        alone, rows, other = _from_noise(plan, noisy, bits)
        drawn, codes, seed = draw(plan, counted, frozenset(), Stream("rows"))
        same_counts = [table.counts for table in drawn] == [table.counts for table in alone]
        if not same_counts or codes.tolist() != rows.tolist() or seed != other:
            raise NotCertifiedError("The rows are not made of the noisy tables alone. Nothing was sampled.")


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
