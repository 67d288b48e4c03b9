"""The composition rule of a ledger: what many spends cost together, and whether one more fits.

Only the basic rule lets levels be chosen on the way. The two sharper ones count levels that were written down when the ledger was
opened: whatever is asked, in whatever order, is then a post-processing of the planned randomised responses, all drawn
beforehand, so the promise of the whole plan holds at every moment.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from optimaldp.errors import InputError, LedgerError
from optimaldp.extras import requiring
from optimaldp.ledger.budget import Budget, budget_words, readable, single_bound
from optimaldp.ledger.composition.optimal import compose_optimal
from optimaldp.privacy.balls import precision, upper
from optimaldp.privacy.epsilon import INFINITE, ZERO, Epsilon
from optimaldp.privacy.levels import Bound, level
from optimaldp.privacy.numbers import is_whole

# Basic composition: epsilons add up, deltas add up, exactly. The default, and the only rule that needs no plan.
#
# It holds for questions *and levels* that are chosen in the light of earlier answers (Dwork, Roth 2014, Theorem 3.16;
# Rogers, Roth, Ullman, Vadhan 2016 for levels chosen on the way).


NOTHING = Bound(ZERO, Fraction(0))


def add(first: Bound, second: Bound) -> Bound:
    """What two levels cost together; a delta above 1 is 1."""
    return Bound(first.epsilon + second.epsilon, min(Fraction(1), first.delta + second.delta))


def compose_basic(levels: Iterable[Bound]) -> Bound:
    """The exact sum of levels.

    **Guarantee.** Mechanisms of these levels, each chosen after seeing the answers of the ones before, keep the returned level
    together.

    >>> from optimaldp.privacy import Epsilon
    >>> str(compose_basic([Bound(Epsilon.read(0.1), Fraction(0))] * 3))
    '(0.3, 0)'
    """
    total = NOTHING
    for item in levels:
        total = add(total, item)
    return total


# Composition of mixed levels through privacy-loss distributions of dp-accounting.
#
# Every (epsilon, delta)-DP mechanism is a post-processing of one randomised response (see :mod:`.optimal`), whose privacy
# loss is ``+epsilon`` or ``-epsilon``, or infinite with probability delta. dp-accounting convolves such losses on a grid. Here
# each epsilon is raised to the grid *before* its loss is made: the mechanism keeps that level too, so every rounding goes up.
#
# dp-accounting's own event for repeated randomised response forgets to multiply by the count; only its distributions are used,
# and the law "n at once = n times one" is tested.


_MOST_CELLS = 200_000  # of the grid at most: a convolution of that length takes a fraction of a second
_ROUNDED_UP = 1 + 1e-12  # more than all roundings of a few float operations together


def compose_losses(levels: Mapping[Bound, int], delta: Fraction) -> Epsilon:
    """An epsilon that mechanisms of these *levels* (level: how many) keep together at a total *delta*.

    **Guarantee.** Never below the true value, and never above the plain sum where that applies: epsilons are rounded up to
    the grid, probabilities and the result upwards, and *delta* is lowered by a bound on the rounding errors of the transform.
    The mechanisms may be chosen adaptively, and in any order; the list of levels may not.

    >>> tenth = Bound(Epsilon.read(0.1), Fraction(0))
    >>> 1.3 < float(compose_losses({tenth: 50, Bound(Epsilon.read(0.5), Fraction(0)): 2}, Fraction(1, 10**6))) < 6
    True
    """
    used = {bound: count for bound, count in levels.items() if count > 0}
    if not used:
        return ZERO
    total = compose_basic(Bound(b.epsilon * n, b.delta * n) for b, n in used.items())
    plain_sum = total.epsilon if total.delta <= delta else INFINITE
    if any(bound.epsilon.infinite for bound in used):
        return plain_sum
    return min(plain_sum, _convolved(used, delta))


def _convolved(levels: Mapping[Bound, int], delta: Fraction) -> Epsilon:
    raised = sorted((_rational_above(b.epsilon), b.delta, n) for b, n in levels.items())
    total = sum(epsilon * n for epsilon, _, n in raised)
    if total == 0:
        return INFINITE  # only deltas: their plain sum is all there is to say
    grid = _grid((epsilon for epsilon, _, _ in raised), total)
    cells = 2 * math.ceil(total / grid) + 2 * len(raised)
    count = sum(n for _, _, n in raised)
    goal = float(delta) / _ROUNDED_UP - _transform_error(cells, count)
    if goal <= 0:
        return INFINITE
    result = _composed([(math.ceil(e / grid), d, n) for e, d, n in raised], grid).get_epsilon_for_delta(goal)
    return INFINITE if math.isinf(result) else Epsilon(Fraction(float(result) * _ROUNDED_UP + 1e-12), Fraction(1))


def _rational_above(epsilon: Epsilon) -> Fraction:
    plain, ratio = epsilon.finite_parts
    if ratio == 1:
        return plain
    with precision(64):
        return upper(epsilon.ball())


def _grid(epsilons: Iterable[Fraction], total: Fraction) -> Fraction:
    """The largest step of which every epsilon is a multiple, or, if that would make too many cells, total / cells."""
    step = Fraction(0)
    for epsilon in epsilons:
        step = _common_measure(step, epsilon)
    return max(step, total / _MOST_CELLS)


def _common_measure(first: Fraction, second: Fraction) -> Fraction:
    denominator = math.lcm(first.denominator, second.denominator)
    return Fraction(math.gcd(int(first * denominator), int(second * denominator)), denominator)


def _transform_error(cells: int, count: int) -> float:
    """A bound on the total error of the fast Fourier transforms: sqrt(N) log N rounding units for each factor."""
    return 4 * 2.0**-52 * math.sqrt(cells) * math.log2(cells) * count


def _composed(steps: list[tuple[int, Fraction, int]], grid: Fraction) -> Any:
    with requiring("dp_accounting"):
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    interval = float(grid) * _ROUNDED_UP
    together = None
    for step, delta, count in steps:
        epsilon, rest = float(step * grid), float(1 - delta)
        finite = {
            step: rest / (1 + math.exp(-epsilon)) * _ROUNDED_UP,
            -step: rest * math.exp(-epsilon) / (1 + math.exp(-epsilon)) * _ROUNDED_UP,
        }
        if step == 0:
            finite = {0: rest * _ROUNDED_UP}
        one = PrivacyLossDistribution.create_from_rounded_probability(
            finite, min(1.0, float(delta) * _ROUNDED_UP), interval
        )
        several = one if count == 1 else one.self_compose(count)
        together = several if together is None else together.compose(several)
    return together


Document = dict[str, Any]


@dataclass
class Spending:
    """What was spent on one class of people: the exact sum, and how often each level."""

    total: Bound = NOTHING
    levels: Counter[Bound] = field(default_factory=Counter)

    def add(self, bound: Bound) -> None:
        self.total = add(self.total, bound)
        self.levels[bound] += 1

    def copy(self) -> Spending:
        return Spending(self.total, self.levels.copy())

    @property
    def count(self) -> int:
        return self.levels.total()


class Rule(ABC):
    """How spends compose."""

    name: str

    @abstractmethod
    def spent(self, spending: Spending, budget: Budget) -> Bound:
        """What the spends of *spending* cost together, at the budget's delta where the rule trades the two."""

    @abstractmethod
    def admits(self, spending: Spending, bound: Bound, budget: Budget) -> bool:
        """Whether one more spend at *bound* keeps the promise of *budget*."""

    def check(self, budget: Budget) -> None:  # noqa: B027  (most rules go with every budget)
        """Raise an error if this rule cannot keep *budget*."""

    def to_document(self) -> Document:
        return {"rule": self.name}


@dataclass(frozen=True)
class Basic(Rule):
    """Exact sums; any level at any time. The default."""

    name = "basic"

    def spent(self, spending: Spending, budget: Budget) -> Bound:
        return spending.total

    def admits(self, spending: Spending, bound: Bound, budget: Budget) -> bool:
        return budget.covers(add(spending.total, bound))


@dataclass(frozen=True)
class Optimal(Rule):
    """Every spend at one level named in advance, composed optimally: as many as fit into the budget.

    A spend below that level is allowed and counts as one at it.

    >>> Optimal(epsilon=0.1).to_document()
    {'rule': 'optimal', 'epsilon': '0.1', 'delta': '0'}
    """

    bound: Bound
    name = "optimal"

    def __init__(self, epsilon: object, delta: object = 0) -> None:
        object.__setattr__(self, "bound", _bound(epsilon, delta))

    def spent(self, spending: Spending, budget: Budget) -> Bound:
        return Bound(
            compose_optimal(self.bound, spending.count, budget.delta), budget.delta if spending.count else Fraction(0)
        )

    def admits(self, spending: Spending, bound: Bound, budget: Budget) -> bool:
        if bound.epsilon > self.bound.epsilon or bound.delta > self.bound.delta:
            raise LedgerError(
                f"this ledger composes spends of at most {budget_words(self.bound.epsilon, self.bound.delta)}, and one of "
                f"{budget_words(bound.epsilon, bound.delta)} was asked for. Nothing was sampled and nothing was spent."
            )
        return budget.unlimited or compose_optimal(self.bound, spending.count + 1, budget.delta) <= budget.epsilon

    def to_document(self) -> Document:
        return {"rule": self.name, **Budget(self.bound.epsilon, self.bound.delta).to_document()}


@dataclass(frozen=True)
class Planned(Rule):
    """Mixed levels named in advance with how often each may be spent, composed by privacy-loss distributions.

    >>> Planned({0.1: 20, (0.5, 1e-7): 2}).to_document()["plan"]
    [['0.1', '0', 20], ['0.5', '1e-07', 2]]
    """

    plan: tuple[tuple[Bound, int], ...]
    name = "planned"

    def __init__(self, plan: Mapping[Any, int]) -> None:
        slots: Counter[Bound] = Counter()
        for key, count in plan.items():
            if not is_whole(count, 1):
                raise InputError("plan", count, "is not a number of spends", "plan each level 1, 2, 3, ... times")
            slots[_bound(*key) if isinstance(key, tuple) else _bound(key, 0)] += count
        if not slots:
            raise InputError("plan", dict(plan), "is empty", "name at least one level and how often it is spent")
        object.__setattr__(
            self, "plan", tuple(sorted(slots.items(), key=lambda item: (item[0].epsilon, item[0].delta)))
        )

    def check(self, budget: Budget) -> None:
        needs = compose_losses(dict(self.plan), budget.delta)
        if needs > budget.epsilon:
            raise LedgerError(
                f"the plan needs epsilon {readable(needs)} at delta {budget.to_document()['delta']}, and the budget is "
                f"{readable(budget.epsilon)}. Plan fewer or stricter spends."
            )

    def spent(self, spending: Spending, budget: Budget) -> Bound:
        return Bound(compose_losses(spending.levels, budget.delta), budget.delta if spending.count else Fraction(0))

    def admits(self, spending: Spending, bound: Bound, budget: Budget) -> bool:
        if not any(slot.epsilon == bound.epsilon and slot.delta >= bound.delta for slot, _ in self.plan):
            levels = "; ".join(budget_words(slot.epsilon, slot.delta) for slot, _ in self.plan)
            raise LedgerError(
                f"the plan of this ledger has no spend of {budget_words(bound.epsilon, bound.delta)} (it has {levels}). "
                "Nothing was sampled and nothing was spent."
            )
        return self._has_room_for(spending.levels + Counter({bound: 1}), bound.epsilon)

    def _has_room_for(self, spends: Counter[Bound], epsilon: Epsilon) -> bool:
        """Whether each spend of this epsilon has a planned one of its own that is no stricter: a delta need not be used up."""
        asked, planned = (
            sorted((one.delta for one, times in every for _ in range(times) if one.epsilon == epsilon), reverse=True)
            for every in (spends.items(), self.plan)
        )
        return len(asked) <= len(planned) and all(delta <= most for delta, most in zip(asked, planned))

    def to_document(self) -> Document:
        slots = [[*Budget(slot.epsilon, slot.delta).to_document().values(), count] for slot, count in self.plan]
        return {"rule": self.name, "plan": slots}


def read_rule(value: str | Rule | Document) -> Rule:
    """Read a rule from its name, from itself, or from what a ledger wrote."""
    if isinstance(value, Rule):
        return value
    if value in ("basic", {"rule": "basic"}):
        return Basic()
    if isinstance(value, dict) and value.get("rule") == "optimal":
        return Optimal(epsilon=value["epsilon"], delta=value["delta"])
    if isinstance(value, dict) and value.get("rule") == "planned":
        return Planned({(epsilon, delta): count for epsilon, delta, count in value["plan"]})
    raise InputError(
        "composition",
        value,
        "is not a composition rule",
        "use 'basic', Optimal(epsilon=0.1) for equal levels or Planned({0.1: 20, 0.5: 2}) for mixed ones",
    )


def _bound(epsilon: object, delta: object) -> Bound:
    return single_bound(level(epsilon, delta))
