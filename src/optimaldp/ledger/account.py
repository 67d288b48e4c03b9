"""The account: what each class of people has lost so far, and the refusal when one more spend would be too much.

A class is a declared part (or "in no part") together with a level group (or "no group"). **Parallel composition**: a spend on
one part costs the others nothing, because nobody is in two parts and (under substitution) nobody changes theirs; the
total is that of the class that lost most. **Personalised**: a spend may cost a level group less than everybody else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from optimaldp.errors import BudgetError, LedgerError, LevelError
from optimaldp.ledger.budget import Budget, difference, readable
from optimaldp.ledger.composition.rules import NOTHING, Rule, Spending, read_rule
from optimaldp.ledger.entry import FIRST, Opening, Spend
from optimaldp.ledger.people import Group, Part, PartValue, askable_parts, disjoint_parts, is_level, read_part
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.numbers import fraction_text

# What one spend costs, and whom: the same question costs the people of different parts and levels differently.


_LEVELS_OF_VERSION_ONE = re.compile(r".* \| levels: (?P<column>[^\W\d]\w*)", re.DOTALL)


@dataclass(frozen=True)
class Cost:
    """What a spend takes from everybody in *part* (``None``: from everybody), and from those who have a level of their own."""

    part: Part | None
    bound: Bound
    levels: str | None = None
    personal: tuple[tuple[str, Bound], ...] = ()

    def of(self, group: Group | None) -> Bound:
        """What it takes from the people of *group*.

        A question that honours the levels of a column takes from nobody more than their level there, whether or not the level is
        named. For a group of another column nothing is known, so it loses what everybody loses.
        """
        if group is None or group.column != self.levels:
            return self.bound
        named = dict(self.personal).get(group.level)
        if named is not None:
            return named
        return self.bound if self.levels is None else self.at_most(Epsilon.read(group.level))

    def at_most(self, level: Epsilon) -> Bound:
        """What it takes from people who lose no more than *level*."""
        return Bound(min(level, self.bound.epsilon), self.bound.delta)


def cost_of(spend: Spend, disjoint: Collection[Part]) -> Cost:
    """What *spend* certainly took, where *disjoint* are the parts that cannot overlap with others.

    Entries of version 1 say less than was lost in three cases, and are read on the safe side: a part that could overlap with
    another one is charged to everybody; the delta of a question is charged to every level group; a group is one of the column
    that the question names, and only of that one.
    """
    if spend.version != FIRST:
        return cost_as_written(spend)
    part = spend.part if spend.part in disjoint else None
    personal = tuple((level, Bound(own.epsilon, max(own.delta, spend.bound.delta))) for level, own in spend.personal)
    return Cost(part, spend.bound, _column_of_version_one(spend), personal)


def cost_as_written(spend: Spend) -> Cost:
    """What *spend* says of itself; for version 1 that is what version 0.1.0 charged."""
    return Cost(spend.part, spend.bound, spend.levels, spend.personal)


def _column_of_version_one(spend: Spend) -> str | None:
    """Version 0.1.0 wrote the column of levels at the end of the question and nowhere else."""
    match = _LEVELS_OF_VERSION_ONE.fullmatch(spend.question)
    if match is None or not spend.personal or not all(is_level(name) for name, _ in spend.personal):
        return None
    return match["column"]


# The sentence of a refusal: what was needed, what remains and for whom, and the way out.


def refusal(
    rule: Rule,
    spending: Spending,
    cost: Bound,
    budget: Budget,
    *,
    part: Part | None,
    group: Group | None,
    together: int,
) -> BudgetError:
    """The error for a spend of *cost* that does not fit; *together* spends asked with it are already in *spending*."""
    spent = rule.spent(spending, budget)
    sentence = f"release needs {_needs(rule, spent, cost, budget, _whose(part, group))}"
    sentence += f" spent in {_entries(spending.count)}{_asked_together(together)})"
    if group is not None and group.column is not None:
        sentence += f". Ask with levels={group.column!r}: then these people are left out and lose nothing"
    return BudgetError(sentence, needs=cost, spent=spent, budget=budget, entries=spending.count)


def _needs(rule: Rule, spent: Bound, cost: Bound, budget: Budget, whose: str) -> str:
    of_budget = f"({readable(spent.epsilon)} of {readable(budget.epsilon)}"
    if rule.name != "basic":
        one_more = f"one more spend of epsilon {readable(cost.epsilon)} but none fits{whose}"
        return f"{one_more} under {rule.name} composition {of_budget}"
    if spent.epsilon + cost.epsilon > budget.epsilon:
        rest = remaining_words(budget.epsilon, spent.epsilon)
        return f"epsilon {readable(cost.epsilon)} but {rest} remains{whose} {of_budget}"
    rest = fraction_text(max(Fraction(0), budget.delta - spent.delta))
    of_budget = f"({fraction_text(spent.delta)} of {fraction_text(budget.delta)}"
    return f"delta {fraction_text(cost.delta)} but {rest} remains{whose} {of_budget}"


def _whose(part: Part | None, group: Group | None) -> str:
    whose = "" if part is None else f" for part {part}"
    return whose + ("" if group is None else f" for the people with {group}")


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


def _asked_together(questions: int) -> str:
    if questions == 0:
        return ""
    before = "question before it that was" if questions == 1 else f"{questions} questions before it that were"
    return f", counting the {before} asked together"


def remaining_words(budget: Epsilon, spent: Epsilon) -> str:
    """``budget - spent`` for a message: exact where possible, never negative, rounded down where not."""
    exact = difference(budget, spent)
    if exact is not None:
        return readable(exact)
    rest = float(budget) - float(spent)
    return "0" if rest <= 0 else f"about {rest:.6g}"


# Finding a declared part or a level group by what people call it.


NamedPart = Part | PartValue
"""A part, its value (``"north"``) or its condition (``"region = 'north'"``)."""

NamedGroup = Group | tuple[str, Any] | str | float | Epsilon
"""A group, ``("trust", 0.1)``, its text (``"trust = 0.1"``), or its level alone where only one column has it."""

_NOTHING_SPENT = "Nothing was spent."


def find_part(opening: Opening, name: NamedPart, column: str | None = None) -> Part:
    """The declared part of this name."""
    matches = [part for part in opening.parts if _is_called(part, name) and column in (None, part.column)]
    if not matches:
        raise LedgerError(
            f"part {str(name)!r} is not one of the declared parts {[str(part) for part in opening.parts]}. {_NOTHING_SPENT}"
        )
    if len(set(matches)) > 1:
        raise LedgerError(
            f"part {str(name)!r} can be any of {[str(part) for part in matches]}. Write the whole condition. {_NOTHING_SPENT}"
        )
    return matches[0]


def _is_called(part: Part, name: NamedPart) -> bool:
    if isinstance(name, Part):
        return part == name
    if isinstance(name, bool):
        return False
    return name in (part.value, str(part)) or (isinstance(name, str) and part == read_part(name))


def require_askable(opening: Opening, part: Part) -> None:
    """Charging a part alone is right only if nobody outside of it can change the answer."""
    if part not in askable_parts(opening.parts):
        raise LedgerError(
            f"part {str(part)!r} was declared by optimaldp 0.1.0 and can be read but no longer asked: it is not a value of the "
            f"one column by which this ledger tells people apart, so that it may overlap with another part. {_NOTHING_SPENT}"
        )
    if opening.unit is not None and not opening.unit_has_one_part:
        raise LedgerError(
            f"part {str(part)!r} cannot be charged alone with the unit {opening.unit!r}: a person may have rows in several "
            f"parts. Make a ledger with unit_has_one_part, if every unit has one part and that is public. {_NOTHING_SPENT}"
        )


def find_group(groups: Sequence[Group], name: NamedGroup, column: str | None = None) -> Group:
    """The level group of this name among *groups*."""
    if isinstance(name, tuple):
        column, name = name
    if isinstance(name, Group):
        matches = [group for group in groups if group == name]
    else:
        texts = {str(name), _level_text(name)}
        matches = [group for group in groups if texts & {group.level, str(group)} and column in (None, group.column)]
    if len(matches) == 1:
        return matches[0]
    known = [str(group) for group in (matches or groups)]
    if matches:
        raise LedgerError(f"level {str(name)!r} is a group of several columns: {known}. Name the column too.")
    raise LedgerError(f"this ledger has no level group {str(name)!r}. It has the groups {known}.")


def _level_text(name: object) -> str:
    try:
        return str(Epsilon.read(name))
    except LevelError:
        return str(name)


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
        return self.within(self.opening.budget)

    def within(self, budget: Budget) -> Account:
        """The same spends, held against another budget."""
        twin = Account(self.opening if budget is self.opening.budget else replace(self.opening, budget=budget))
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
