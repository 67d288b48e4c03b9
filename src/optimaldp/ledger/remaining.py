"""What is left of a budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.ledger.budget import Budget, difference, exact_text, readable, text_at_least
from optimaldp.ledger.refusal import remaining_words
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.numbers import fraction_text
from optimaldp.results import Result


@dataclass(frozen=True, repr=False)
class Remaining(Result):
    """What a budget still covers: what can be spent (basic rule), or the distance to the limit (the others)."""

    budget: Budget
    spent: Bound
    entries: int
    composition: str

    @property
    def epsilon(self) -> Epsilon:
        """What is left of epsilon: never more than the true difference, and that itself wherever it can be written exactly."""
        exact = difference(self.budget.epsilon, self.spent.epsilon)
        if exact is not None and exact_text(exact) is not None:
            return exact
        rest = float(self.budget.epsilon) - float(self.spent.epsilon)
        return ZERO if rest <= 1e-9 else Epsilon(Fraction(rest - 1e-9), Fraction(1))

    @property
    def delta(self) -> Fraction:
        return max(Fraction(0), self.budget.delta - self.spent.delta)

    def summary(self) -> str:
        if self.budget.unlimited:
            return f"Remaining(no limit, epsilon {readable(self.spent.epsilon)} spent in {self._entries()})"
        rest = remaining_words(self.budget.epsilon, self.spent.epsilon)
        delta = f", delta {fraction_text(self.delta)}" if self.budget.delta else ""
        spent = f"{readable(self.spent.epsilon)} of {readable(self.budget.epsilon)} spent in {self._entries()}"
        return f"Remaining(epsilon {rest}{delta}; {spent})"

    def to_document(self) -> dict[str, Any]:
        return {
            "epsilon": str(self.epsilon),
            "delta": fraction_text(self.delta),
            "spent": {"epsilon": text_at_least(self.spent.epsilon), "delta": fraction_text(self.spent.delta)},
            "budget": self.budget.to_document(),
            "entries": self.entries,
            "composition": self.composition,
        }

    def details(self) -> list[tuple[str, str]]:
        return [
            ("spent", readable(self.spent.epsilon)),
            ("budget", str(self.budget)),
            ("composition", self.composition),
        ]

    def _entries(self) -> str:
        return f"{self.entries} {'entry' if self.entries == 1 else 'entries'}"
