"""Numbers that are only ever compared: ``count(…)``, ``share(…)``, ``mean(…)``, and one of them plus a margin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from optimaldp.questions.base import Question


class Quantity(ABC):
    """A private number. Comparing it makes a question; the number itself is never released."""

    @abstractmethod
    def compared(self, comparison: str, bound: object) -> Question:
        """The question ``quantity <comparison> bound``; *bound* is a number, another quantity, or one plus a margin."""

    def __ge__(self, bound: object) -> Question:
        return self.compared(">=", bound)

    def __gt__(self, bound: object) -> Question:
        return self.compared(">", bound)

    def __le__(self, bound: object) -> Question:
        return self.compared("<=", bound)

    def __lt__(self, bound: object) -> Question:
        return self.compared("<", bound)

    def __add__(self, margin: object) -> Shifted:
        return Shifted(self, margin)


@dataclass(frozen=True)
class Shifted:
    """A quantity plus a margin: only on the right side of a comparison."""

    quantity: Quantity
    margin: Any
