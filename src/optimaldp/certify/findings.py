"""What a referee says, and the only form in which a mechanism reaches a sampler.

A *finding* is about one mechanism: whether it was passed, and in plain words what was checked. Only the referees of this package
mint :class:`Certified`; a release draws from nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar, final

from optimaldp.errors import NotCertifiedError
from optimaldp.privacy.balls import Ball

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
