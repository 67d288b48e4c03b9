"""The account: what each class of persons has lost so far, and the refusal when one more spend would be too much.

A class is a declared part (or "in no part") together with a level group (or "no group"). **Parallel composition**: a spend on
one part costs the others nothing, because nobody is in two parts and (under substitution) nobody changes theirs; the
total is that of the class that lost most. **Personalised**: a spend may cost a level group less than everybody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce

from optimaldp.errors import BudgetError, LedgerError
from optimaldp.ledger.budget import Budget, difference, readable
from optimaldp.ledger.composition.rules import Rule, Tally, read_rule
from optimaldp.ledger.entry import Opening, Spend
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.numbers import fraction_text

PersonClass = tuple[str | None, str | None]


class Account:
    """The running totals of a ledger."""

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.rule: Rule = read_rule(opening.composition)
        self.spends = 0
        self._groups = dict(opening.groups)
        self._tallies: dict[PersonClass, Tally] = {
            (part, group): Tally() for part in (None, *opening.parts) for group in (None, *self._groups)
        }

    def charge(self, spend: Spend) -> None:
        """Add a spend to every class that it concerns."""
        self._tally(spend.part, None)  # a part that was never declared would be charged to nobody
        self._meet(group for group, _ in spend.personal)
        self.spends += 1
        for person, tally in self._concerned(spend):
            tally.add(spend.costs(person[1]))

    def require(self, spend: Spend) -> None:
        """Raise :class:`BudgetError` with the numbers if *spend* does not fit any more."""
        self._check_names(spend)
        for person, tally in self._concerned(spend):
            if person[1] is not None and person[1] not in self._groups:
                continue  # a group without a budget of its own never loses more than everybody, who are checked
            budget = self.budget_of(person[1])
            cost = spend.costs(person[1])
            if not self.rule.admits(tally, cost, budget):
                raise self._refusal(person, tally, cost, budget)

    def _meet(self, groups: Iterable[str]) -> None:
        """Keep count of level groups that no budget was declared for; so far they were charged as everybody was."""
        for group in groups:
            for part in (None, *self.opening.parts):
                self._tallies.setdefault((part, group), self._tallies[part, None].copy())

    def groups(self) -> tuple[str, ...]:
        """The level groups that were declared or spent for."""
        return tuple(dict.fromkeys(group for _, group in self._tallies if group is not None))

    def budget_of(self, group: str | None) -> Budget:
        """A level group without a budget of its own has everybody's."""
        return self.opening.budget if group is None else self._groups.get(group, self.opening.budget)

    def spent(self, *, part: str | None = None, group: str | None = None) -> Bound:
        """What the persons of *part* and *group* have lost; without a part, the persons who have lost most."""
        self._tally(part, group)
        tallies = [t for (p, g), t in self._tallies.items() if g == group and (part is None or p == part)]
        return reduce(_larger, (self.rule.spent(tally, self.budget_of(group)) for tally in tallies))

    def _tally(self, part: str | None, group: str | None) -> Tally:
        try:
            return self._tallies[part, group]
        except KeyError:
            raise LedgerError(
                f"this ledger has no part {part!r} with group {group!r}. It declares the parts "
                f"{list(self.opening.parts)} and has the groups {list(self.groups())}."
            ) from None

    def _concerned(self, spend: Spend) -> Iterator[tuple[PersonClass, Tally]]:
        for person, tally in self._tallies.items():
            if spend.part is None or spend.part == person[0]:
                yield person, tally

    def _check_names(self, spend: Spend) -> None:
        self._tally(spend.part, None)
        for group, bound in spend.personal:
            if bound.epsilon > spend.bound.epsilon or bound.delta > spend.bound.delta:
                raise LedgerError(
                    f"the level of group {group!r} is weaker than the level {spend.bound} of the release."
                )

    def _refusal(self, person: PersonClass, tally: Tally, cost: Bound, budget: Budget) -> BudgetError:
        whose = "".join(f" for {kind} {name!r}" for kind, name in zip(("part", "group"), person) if name)
        spent = self.rule.spent(tally, budget)
        entries = f"{tally.count} {'entry' if tally.count == 1 else 'entries'}"
        if self.rule.name != "basic":
            sentence = (
                f"release needs one more spend of epsilon {readable(cost.epsilon)} but none fits{whose} under "
                f"{self.rule.name} composition ({readable(spent.epsilon)} of {readable(budget.epsilon)} spent in {entries})"
            )
        elif spent.epsilon + cost.epsilon > budget.epsilon:
            left = remaining_words(budget.epsilon, spent.epsilon)
            sentence = (
                f"release needs epsilon {readable(cost.epsilon)} but {left} remains{whose} "
                f"({readable(spent.epsilon)} of {readable(budget.epsilon)} spent in {entries})"
            )
        else:
            left = fraction_text(max(Fraction(0), budget.delta - spent.delta))
            sentence = (
                f"release needs delta {fraction_text(cost.delta)} but {left} remains{whose} "
                f"({fraction_text(spent.delta)} of {fraction_text(budget.delta)} spent in {entries})"
            )
        return BudgetError(sentence, needs=cost, spent=spent, budget=budget, entries=tally.count)


def remaining_words(budget: Epsilon, spent: Epsilon) -> str:
    """``budget - spent`` for a message: exact where possible, never negative, rounded down where not."""
    exact = difference(budget, spent)
    if exact is not None:
        return readable(exact)
    left = float(budget) - float(spent)
    return "0" if left <= 0 else f"about {left:.6g}"


def _larger(first: Bound, second: Bound) -> Bound:
    """The larger epsilon and the larger delta: a level that covers both classes of persons."""
    return Bound(max(first.epsilon, second.epsilon), max(first.delta, second.delta))
