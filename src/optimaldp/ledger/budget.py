"""A budget: how much privacy all answers about one data set may cost together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.errors import LevelError
from optimaldp.privacy.epsilon import INFINITE, Epsilon
from optimaldp.privacy.levels import Bound, single_level
from optimaldp.privacy.numbers import fraction_text, read_probability
from optimaldp.privacy.step_function import Level
from optimaldp.results import Result

_LONGEST_BITS = 3000  # about 900 digits; Python refuses to print integers of more than 4,300


@dataclass(frozen=True, repr=False)
class Budget(Result):
    """The (epsilon, delta) that everything released from one data set must keep together.

    **Guarantee.** Both numbers are kept exactly as they were written, and comparing or adding them never rounds.

    >>> Budget(epsilon=3, delta=1e-6)
    Budget(epsilon 3, delta 1e-06)
    """

    epsilon: Epsilon
    delta: Fraction

    def __init__(self, epsilon: object, delta: object = 0) -> None:
        object.__setattr__(self, "epsilon", Epsilon.read(epsilon))
        object.__setattr__(self, "delta", read_probability(delta, name="delta", error=LevelError))

    @property
    def unlimited(self) -> bool:
        """Whether nothing is ever refused: a ledger that only keeps the record."""
        return self.epsilon.infinite

    def covers(self, spent: Bound) -> bool:
        """Whether *spent* stays within both numbers."""
        return self.unlimited or (spent.epsilon <= self.epsilon and spent.delta <= self.delta)

    def summary(self) -> str:
        return "Budget(no limit)" if self.unlimited else f"Budget({budget_words(self.epsilon, self.delta)})"

    def to_document(self) -> dict[str, Any]:
        return {"epsilon": str(self.epsilon), "delta": fraction_text(self.delta)}

    @staticmethod
    def from_document(document: dict[str, Any]) -> Budget:
        """Read a budget back from :meth:`to_document`."""
        return Budget(epsilon=document["epsilon"], delta=document["delta"])


UNLIMITED = Budget(epsilon=INFINITE, delta=1)


def budget_words(epsilon: Epsilon, delta: Fraction) -> str:
    """``epsilon 0.5`` or ``epsilon 0.5, delta 1e-06``: delta is named only when there is one."""
    return f"epsilon {readable(epsilon)}" + (f", delta {fraction_text(delta)}" if delta else "")


def readable(epsilon: Epsilon) -> str:
    """An epsilon for a message: exact where that is short, else its value to a few digits."""
    text = exact_text(epsilon)
    return text if text is not None and len(text) <= 16 else f"about {float(epsilon):.6g}"


def exact_text(epsilon: Epsilon) -> str | None:
    """The exact text, or ``None`` where it would be a number of a thousand digits (many spends of ``ln(3/2)`` multiply up)."""
    parts = () if epsilon.infinite else epsilon.finite_parts
    bits = max((max(part.numerator, part.denominator).bit_length() for part in parts), default=0)
    return str(epsilon) if bits <= _LONGEST_BITS else None


def text_at_least(epsilon: Epsilon) -> str:
    """The exact text, or a decimal that is certainly not below."""
    text = exact_text(epsilon)
    return text if text is not None else str(float(epsilon) + 1e-9)


def single_bound(level: Level) -> Bound:
    """The one (epsilon, delta) of a level that a ledger can add up."""
    return single_level(level, "a ledger").forward[0]


def difference(total: Epsilon, part: Epsilon) -> Epsilon | None:
    """``total - part`` where that is again an exact epsilon, else ``None`` (its value can still be shown as a decimal)."""
    if total.infinite:
        return total
    (plain, ratio), (less, factor) = total.finite_parts, part.finite_parts
    if plain >= less and ratio >= factor:
        return Epsilon(plain - less, ratio / factor)
    return None
