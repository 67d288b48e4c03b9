"""The sentence of a refusal: what was needed, what remains and for whom, and the way out."""

from __future__ import annotations

from fractions import Fraction

from optimaldp.errors import BudgetError
from optimaldp.ledger.budget import Budget, difference, readable
from optimaldp.ledger.composition.rules import Rule, Spending
from optimaldp.ledger.people import Group, Part
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.numbers import fraction_text


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
