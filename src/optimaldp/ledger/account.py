"""The account: what each class of people has lost so far, and the refusal when one more spend would be too much.

A class is a declared part (or "in no part") together with a level group (or "no group"). **Parallel composition**: a spend on
one part costs the others nothing, because nobody is in two parts and (under substitution) nobody changes theirs; the
total is that of the class that lost most. **Personalised**: a spend may cost a level group less than everybody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from optimaldp.errors import BudgetError, LedgerError
from optimaldp.ledger.budget import Budget
from optimaldp.ledger.composition.basic import NOTHING
from optimaldp.ledger.composition.rules import Rule, Spending, read_rule
from optimaldp.ledger.cost import Cost, cost_of
from optimaldp.ledger.entry import Opening, Spend
from optimaldp.ledger.people import Group, Part, disjoint_parts, is_level
from optimaldp.ledger.refusal import refusal
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import Bound

PersonClass = tuple[Part | None, Group | None]
Past = tuple[Cost, Any] | None
"""Every cost so far, the last one first, as a chain of pairs: an account to try spends on shares it."""


class Account:
    """The running totals of a ledger."""

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.rule: Rule = read_rule(opening.composition)
        self.spends = 0
        one_part_each = opening.unit is None or opening.unit_has_one_part
        self._disjoint = disjoint_parts(opening.parts) if one_part_each else frozenset()
        self._budgets = dict(opening.groups)
        self._spendings: dict[PersonClass, Spending] = {
            (part, group): Spending() for part in (None, *opening.parts) for group in (None, *self._budgets)
        }
        self._past: Past = None
        # Groups that version 0.1.0 declared without a column: the first column of levels that has such a level claims them.
        self._without_column = {group for group in self._budgets if group.column is None}

    def copy(self) -> Account:
        """An account to try spends on."""
        twin = Account(self.opening)
        twin.spends = self.spends
        twin._spendings = {person: spending.copy() for person, spending in self._spendings.items()}
        twin._past = self._past
        twin._without_column = set(self._without_column)
        return twin

    def enter(self, spend: Spend) -> None:
        """Add a spend that the ledger holds."""
        self._require_part(spend.part)
        self.charge(cost_of(spend, self._disjoint))

    def charge(self, cost: Cost) -> None:
        """Take *cost* from every class that it concerns."""
        self._track_groups(cost)
        self.spends += 1
        self._past = (cost, self._past)
        for (_, group), spending in self._concerned(cost.part):
            _take(cost, group, spending)

    def require(self, costs: Sequence[Cost]) -> None:
        """Raise :class:`BudgetError` with the numbers if *costs* do not all fit together."""
        trial = self.copy()
        for position, cost in enumerate(costs):
            trial._check_personal(cost)
            trial._track_groups(cost)
            trial._require_room(cost, position)
            trial.charge(cost)

    def admits(self, group: Group, costs: Sequence[Cost]) -> bool:
        """Whether the budget of *group* itself still covers *costs*; always true for a group without one."""
        if not self._has_budget(group):
            return True
        trial = self.copy()
        for cost in costs:
            trial._track_groups(cost)
            for person, spending in trial._concerned(cost.part):
                if person[1] == group and not trial.rule.admits(spending, cost.of(group), trial.budget_of(group)):
                    return False
            trial.charge(cost)
        return True

    def groups(self) -> tuple[Group, ...]:
        """The level groups that were declared or spent for."""
        return tuple(dict.fromkeys(group for _, group in self._spendings if group is not None))

    def budgeted_levels(self, column: str) -> tuple[str, ...]:
        """The levels of *column* that have a budget of their own."""
        return tuple(g.level for g in self._budgets if g.column in (column, None) and is_level(g.level))

    def budget_of(self, group: Group | None) -> Budget:
        """A level group without a budget of its own has everybody's."""
        if group is None:
            return self.opening.budget
        without_column = self._budgets.get(Group(None, group.level), self.opening.budget)
        return self._budgets.get(group, without_column)

    def spent(self, *, part: Part | None = None, group: Group | None = None) -> Bound:
        """What the people of *part* and *group* have lost; without a part, the people who have lost most."""
        self._require_group(group)
        parts = (None, *self.opening.parts) if part is None else (part,)
        return reduce(_larger, (self._spent_by((one, group)) for one in parts))

    def entries(self, *, part: Part | None = None, group: Group | None = None) -> int:
        """How many spends concern *part* and *group*; all of them where neither is named."""
        if part is None and group is None:
            return self.spends
        parts = (None, *self.opening.parts) if part is None else (part,)
        return max(self._spendings[one, group].count for one in parts)

    def _spent_by(self, person: PersonClass) -> Bound:
        part, group = person
        composed = self.rule.spent(self._spendings[part, None], self.opening.budget)
        if group is None:
            return composed
        # Levels of people are chosen on the way, so for them only the plain sum is a theorem, under every rule; and they never
        # lost more than everybody.
        own = self._spendings[person].total
        return own if own.epsilon <= composed.epsilon and own.delta <= composed.delta else composed

    def _track_groups(self, cost: Cost) -> None:
        """Keep count of level groups that no budget was declared for, from the first question on."""
        for level, _ in cost.personal:
            group, unnamed = Group(cost.levels, level), Group(None, level)
            claimed = cost.levels is not None and unnamed in self._without_column
            self._without_column.discard(unnamed)
            if (None, group) in self._spendings:
                continue
            for part in (None, *self.opening.parts):
                self._spendings[part, group] = self._spending_of_the_past((part, group))
                if claimed:
                    del self._spendings[part, unnamed]

    def _spending_of_the_past(self, person: PersonClass) -> Spending:
        part, group = person
        spending, past = Spending(), self._past
        while past is not None:
            cost, past = past
            if cost.part is None or cost.part == part:
                _take(cost, group, spending)
        return spending

    def _require_room(self, cost: Cost, position: int) -> None:
        for person, spending in self._concerned(cost.part):
            group = person[1]
            if group is not None and not self._has_budget(group):
                continue  # a group without a budget of its own never loses more than everybody, who are checked
            own, budget = cost.of(group), self.budget_of(group)
            if not self._covers(spending, own, budget, group):
                raise self._refusal(person, own, position)

    def _covers(self, spending: Spending, own: Bound, budget: Budget, group: Group | None) -> bool:
        if group is not None and own == NOTHING:
            return True
        return self.rule.admits(spending, own, budget)

    def _refusal(self, person: PersonClass, own: Bound, position: int) -> BudgetError:
        spending, budget = self._spendings[person], self.budget_of(person[1])
        return refusal(self.rule, spending, own, budget, part=person[0], group=person[1], together=position)

    def _has_budget(self, group: Group) -> bool:
        return group in self._budgets or Group(None, group.level) in self._budgets

    def _concerned(self, part: Part | None) -> Iterator[tuple[PersonClass, Spending]]:
        for person, spending in self._spendings.items():
            if part is None or part == person[0]:
                yield person, spending

    def _check_personal(self, cost: Cost) -> None:
        for level, own in cost.personal:
            most = cost.bound if cost.levels is None else cost.at_most(Epsilon.read(level))
            if own.epsilon > most.epsilon or own.delta > most.delta:
                raise LedgerError(
                    f"the people with level {level} would lose {own}, which is more than the {most} that this release promises "
                    "them. Nothing was sampled and nothing was spent."
                )

    def _require_part(self, part: Part | None) -> None:
        """A part that was never declared would be charged to nobody."""
        if part is not None and part not in self.opening.parts:
            raise LedgerError(
                f"this ledger has no part {str(part)!r}. It declares the parts {[str(one) for one in self.opening.parts]}."
            )

    def _require_group(self, group: Group | None) -> None:
        if group is not None and (None, group) not in self._spendings:
            raise LedgerError(
                f"this ledger has no level group {str(group)!r}. It has the groups {[str(one) for one in self.groups()]}."
            )


def _take(cost: Cost, group: Group | None, spending: Spending) -> None:
    own = cost.of(group)
    # People of weight 0 take no part in a question: its answer is independent of them, under every rule of composition.
    if group is None or own != NOTHING:
        spending.add(own)


def _larger(first: Bound, second: Bound) -> Bound:
    """The larger epsilon and the larger delta: a level that covers both classes of people."""
    return Bound(max(first.epsilon, second.epsilon), max(first.delta, second.delta))
