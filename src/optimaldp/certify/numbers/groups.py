"""The referee of counts and sums of several private groups that share one draw of lattice noise.

**Theorem.** A person adds values to at most m groups. When a record is replaced, what the groups gain together and what they lose
together are each at most m M, with M = max(0, largest value) - min(0, least value). Lattice noise on one cell more than there are
groups has ``P(z) ~ e^(-eta |z|_1 / 2)`` on the vectors with sum 0. Without its last cell that is ``e^(-eta max(gain, loss))``, so
a change by such a vector costs at most eta m M.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any

from optimaldp.certify.core.examined import Finding
from optimaldp.certify.noise import STREAMS, Stream, borders_problem, check_recipe, parts_problem, put_together
from optimaldp.certify.numbers.parts import added_by_record, changed, clamp, need, passed, watched
from optimaldp.laws.law import Table
from optimaldp.privacy import Epsilon, Neighbours

_FEW = 3  # groups of a small twin, whose laws are compared number by number
_SHORT = (Epsilon.read("ln(6)"), Epsilon.read(1))  # few bits propose a total there
_HALF = Epsilon.read("ln(4)")  # the ratio of one cell's own noise is 1/2 there
_REACH = 60  # cells whose weight beyond is below 2^-60
_EACH = 1000  # people in a cell of a made-up table


def examine_grouped(mechanism: Any) -> Finding:
    """What one person can move between groups, the recipe of the noise, its sampler, and what people see of one group."""
    return passed(lambda: _look_at_groups(mechanism))


def _look_at_groups(mechanism: Any) -> list[str]:
    setting, noise = mechanism.setting, mechanism.noise()
    need(setting.neighbours is Neighbours.SUBSTITUTION, "noise with a shared total is for replaced records")
    need(setting.groups >= 1 and setting.groups_per_person >= 1 and not setting.levels, "it is not for such groups")
    adds = added_by_record(mechanism.question)
    furthest = max(0, *adds) - min(0, *adds)
    need(furthest == noise.sensitivity, "one person moves the groups by another number than the noise covers")
    _look_at_moves(adds, furthest)
    recipe = noise.recipe.to_document()
    verdict = check_recipe(recipe)
    need(
        verdict.accepted and verdict.neighbours is setting.neighbours, "the recipe of the noise does not keep its level"
    )
    need(recipe["bins"] == setting.groups + 1, "the noise does not have one cell more than there are groups")
    spent = verdict.level * (furthest * setting.groups_per_person)
    need(spent <= setting.level.epsilon, "the groups together spend more than the level")
    need(not mechanism.delta, "no delta is used")
    problem = _parts_problem(noise.lattice.__class__) or borders_problem(noise.recipe)
    need(not problem, f"the sampler does not draw the noise of its recipe: {problem}")
    _look_at_draws(mechanism)
    _look_at_widths(mechanism)
    _look_at_shown(mechanism)
    return [
        "what one person can move, from every cell of the table: what groups gain and lose together, exactly",
        "the recipe of the noise, in exact arithmetic, on one cell more than there are groups; the cell is dropped",
        "the sampler's law on few groups: all short sequences of bits, added up exactly; what is recorded is each number of a "
        "table and its own noise",
        "the width of an interval against a sum over all cells, on few groups",
        f"for all tables, by theorem: {mechanism.proof}",
    ]


def _look_at_moves(adds: set[int], furthest: int) -> None:
    """Every record of a person in up to two of three groups, every record in its place: the norm of the theorem, by adding up."""
    values = {0, min(adds), max(adds), sorted(adds)[len(adds) // 2]}
    for most in (1, 2):
        records = set(_records(values, most))
        worst = max(_norm([b - a for a, b in zip(here, there)]) for here in records for there in records)
        need(worst == most * furthest, "one person moves the groups further than the theorem says")


def _records(values: set[int], most: int) -> Iterator[tuple[int, ...]]:
    for places in combinations(range(_FEW), most):
        for own in product(values, repeat=most):
            record = [0] * _FEW
            for place, value in zip(places, own):
                record[place] = value
            yield tuple(record)


def _norm(change: list[int]) -> int:
    return max(sum(part for part in change if part > 0), -sum(part for part in change if part < 0))


def _few_groups(mechanism: Any) -> Any:
    """The same mechanism for few groups: one code serves both."""
    return changed(mechanism, setting=changed(mechanism.setting, groups=min(_FEW, mechanism.setting.groups)))


@lru_cache(maxsize=8)
def _parts_problem(lattice: Callable[..., Any]) -> str:
    """The parts that a draw is made of, on three cells: it depends on the code alone."""
    return next(filter(None, (parts_problem(lattice(3, epsilon).recipe) for epsilon in _SHORT)), "")


def _look_at_draws(mechanism: Any) -> None:
    """With bits that are written down: the numbers of made-up tables and the noise of the recipe, cell by cell."""
    twin = _few_groups(mechanism)
    question, linear, cells = mechanism.question, twin.linear(), watched(mechanism.question.cells)
    tables = [Table(dict.fromkeys(cells[place::_FEW], _EACH + 7 * place)) for place in range(twin.setting.groups)]
    for people in (tables, [Table({})] * len(tables)):
        totals = [question.total(question.fold(table.cells)) for table in people]
        for name in STREAMS:
            noise = put_together(twin.noise().recipe, Stream(name))
            known = [linear.offset + linear.unit * (total + more) for total, more in zip(totals, noise)]
            recorded = [Fraction(one.details["recorded"]) for one in twin.draw_together(people, Stream(name))]
            need(recorded == known, "what is recorded is not the number of each table and its own noise")


def _look_at_widths(mechanism: Any) -> None:
    """The half width of one group against the law of one cell, as a sum over all places of the others."""
    twin = _few_groups(mechanism)
    lattice = twin.noise().lattice
    noise = changed(twin.noise(), epsilon=_HALF, sensitivity=1, per_person=1)
    law = _one_cell(lattice.bins)
    for confidence in (mechanism.question.said.confidence, Fraction(99, 100)):
        width = noise.half_width(confidence)
        beyond = [sum(chance for at, chance in law.items() if abs(at) > w) for w in (width - 1, width)]
        need(beyond[1] <= 1 - confidence, "an interval is too narrow")
        need(width == 0 or beyond[0] > 1 - confidence, "an interval is wider than it needs to be")


@lru_cache(maxsize=8)
def _one_cell(cells: int) -> Mapping[int, Fraction]:
    """The law of one cell at ratio 1/2: ``P(k) ~ 2^-|k| f(-k)``, with f the weight of the other cells' sum."""
    one = {at: Fraction(1, 2 ** abs(at)) for at in range(-_REACH, _REACH + 1)}
    others = {0: Fraction(1)}
    for _ in range(cells - 1):
        wider: dict[int, Fraction] = {}
        for at, weight in others.items():
            for more, own in one.items():
                if abs(at + more) <= _REACH:
                    wider[at + more] = wider.get(at + more, Fraction(0)) + weight * own
        others = wider
    weights = {at: own * others[-at] for at, own in one.items()}
    whole = sum(weights.values())
    return {at: weight / whole for at, weight in weights.items()}


def _look_at_shown(mechanism: Any) -> None:
    """The clamp and the interval of one group, recomputed from a recorded number."""
    linear, options = mechanism.linear(), mechanism.question.said
    width = mechanism.noise().half_width(options.confidence) * linear.unit
    for recorded in (-7, 0, 3, 10**9):
        value = linear.offset + linear.unit * recorded
        shown = mechanism.details_of(value, {})
        wanted = value if options.output == "unbiased" else clamp(value, linear)
        need(Fraction(shown["exact"]) == wanted, "the answer is not the recorded number moved into what is possible")
        ends = [float(clamp(value + sign * width, linear)) for sign in (-1, 1)]
        need([*map(float, shown["interval"])] == ends, "the interval does not follow from the recorded number")
