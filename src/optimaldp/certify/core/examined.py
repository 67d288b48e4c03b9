"""What a referee sees of a mechanism, what it finds, and the only form in which a mechanism reaches a sampler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar, final

from optimaldp.errors import NotCertifiedError
from optimaldp.laws.law import Law, Setting, Table
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import Ball

# What a referee says, and the only form in which a mechanism reaches a sampler.
#
# A *finding* is about one mechanism: whether it was passed, and in plain words what was checked. Only the referees of this
# package mint :class:`Certified`; a release draws from nothing else.

Mechanism = TypeVar("Mechanism")

_AGREE = 100  # bits to which an enclosure that is shown must be known, counted from its own size


@dataclass(frozen=True)
class Finding:
    """What the referee found: public words. Only a passed finding lets a sampler run."""

    private: bool
    checks: tuple[str, ...]
    failure: str = ""

    def __str__(self) -> str:
        return "certified" if self.private else f"not certified: {self.failure}"


Where = TypeVar("Where")


@dataclass(frozen=True)
class LeastLevel(Generic[Where]):
    """Whether every promise is kept, the least epsilon that is (rounded up; infinite if there is none), and *worst*: the place
    that comes nearest to breaking its promise, or breaks it most."""

    private: bool
    epsilon: float
    worst: Where | None
    reason: str = ""


@final
class Certified(Generic[Mechanism]):
    """A mechanism with the finding that passed it: the only thing that a release samples from."""

    __slots__ = ("finding", "mechanism")
    mechanism: Mechanism
    finding: Finding

    def __init__(self, *_: object, **__: object) -> None:
        # Whoever calls the class has not asked a referee: what they hand over is not looked at.
        raise NotCertifiedError("Only the referee certifies a mechanism. Nothing was sampled and nothing was spent.")

    def __repr__(self) -> str:
        return f"Certified({self.mechanism!r})"


def mint(mechanism: Mechanism, finding: Finding) -> Certified[Mechanism]:
    """Certify what a referee of this package has passed; raises :class:`NotCertifiedError` otherwise."""
    if not finding.private:
        raise NotCertifiedError(f"The mechanism is {finding}. Nothing was sampled and nothing was spent.")
    certified: Certified[Mechanism] = object.__new__(Certified)  # past __init__, which refuses everybody
    certified.mechanism, certified.finding = mechanism, finding
    return certified


def same(a: Ball, b: Ball, floor: Ball) -> bool:
    """Whether two enclosures of one number are both sharp, measured by its own size: a 0 in place of e^-1000 is a breach."""
    size = a.abs_upper() + b.abs_upper()
    return bool(a.overlaps(b)) and bool((a - b).abs_upper() <= Ball(2) ** (-_AGREE) * size + floor)


# What the referee of releases needs of a mechanism: it looks at it from outside and imports none of its code.


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
