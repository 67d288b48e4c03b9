"""What the referee of releases needs of a mechanism: it looks at it from outside and imports none of its code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

from optimaldp.laws.law import Law
from optimaldp.laws.setting import Setting, Table
from optimaldp.privacy import ApproximateDP, Neighbours


class ExaminedQuestion(Protocol):
    """The question that a mechanism answers, as the referee sees it."""

    @property
    def answers(self) -> Sequence[str]: ...

    @property
    def cells(self) -> int:
        """Into how many cells a record can fall."""
        ...

    def spec(self) -> Mapping[str, Any]:
        """The question in plain numbers."""
        ...

    def fold(self, cells: Mapping[int, int]) -> Any:
        """What the next two take, from the cells."""
        ...

    def truth(self, counts: Any) -> int:
        """The position of the true answer, as the question understands it."""
        ...

    def flips(self, counts: Any, neighbours: Neighbours) -> int | float:
        """The least number of neighbour moves that change the answer, as the question counts them."""
        ...


class Examined(Protocol):
    """A mechanism as the referee sees it."""

    @property
    def name(self) -> str: ...

    @property
    def question(self) -> ExaminedQuestion: ...

    @property
    def setting(self) -> Setting: ...

    @property
    def proof(self) -> str: ...

    @property
    def listed(self) -> bool:
        """Whether its answers are a list and its law can be read for any table."""
        ...

    def at(self, level: ApproximateDP) -> Self: ...

    def small_twin(self) -> Self:
        """The same mechanism for fewer options or bins, where there are many; itself otherwise."""
        ...

    def law(self, table: Table) -> Law: ...

    def parameters(self) -> Mapping[str, Any]:
        """Every public number that its law depends on beside the question, the level and the neighbours."""
        ...

    def draw(self, table: Table, source: object) -> Any: ...

    def __hash__(self) -> int:
        """What is public about it: the same mechanism is examined once."""
        ...
