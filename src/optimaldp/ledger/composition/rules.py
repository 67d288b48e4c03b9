"""The composition rule of a ledger: what many spends cost together, and whether one more fits.

Only the basic rule lets levels be chosen on the way. The two sharper ones count levels that were written down when the ledger was
opened: whatever is asked, in whatever order, is then a post-processing of the planned randomised responses, all drawn
beforehand, so the promise of the whole plan holds at every moment.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from optimaldp.errors import InputError, LedgerError
from optimaldp.ledger.budget import Budget, budget_words, readable, single_bound
from optimaldp.ledger.composition.basic import NOTHING, add
from optimaldp.ledger.composition.losses import compose_losses
from optimaldp.ledger.composition.optimal import compose_optimal
from optimaldp.privacy.levels import Bound, level

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
            if not isinstance(count, int) or isinstance(count, bool) or count < 1:
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
        planned = dict(self.plan)
        if bound not in planned:
            levels = "; ".join(budget_words(slot.epsilon, slot.delta) for slot in planned)
            raise LedgerError(
                f"the plan of this ledger has no spend of {budget_words(bound.epsilon, bound.delta)} (it has {levels}). "
                "Nothing was sampled and nothing was spent."
            )
        return spending.levels[bound] < planned[bound]

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
