"""What a referee of releases says, and the only form in which a mechanism reaches a sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

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


@dataclass(frozen=True)
class Certified(Generic[Mechanism]):
    """A mechanism with the finding that passed it: the only thing that a release samples from."""

    mechanism: Mechanism
    finding: Finding

    def __post_init__(self) -> None:
        if not self.finding.private:
            raise NotCertifiedError(f"the mechanism is {self.finding}. Nothing was sampled and nothing was spent.")


def same(a: Ball, b: Ball, floor: Ball) -> bool:
    """Whether two enclosures of one number are both sharp, measured by its own size: a 0 in place of e^-1000 is a breach."""
    size = a.abs_upper() + b.abs_upper()
    return bool(a.overlaps(b)) and bool((a - b).abs_upper() <= Ball(2) ** (-_AGREE) * size + floor)
