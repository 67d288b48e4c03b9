"""Gaussian DP: the level whose step function is one smooth curve."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from optimaldp.errors import LevelError
from optimaldp.privacy.balls import Ball, ball
from optimaldp.privacy.numbers import TOO_SMALL, fraction_text, read_number
from optimaldp.privacy.step_function import Level
from optimaldp.privacy.trajectory import Number, Steps, check

_MOST_MU = 10**6


@dataclass(frozen=True)
class GaussianDP(Level):
    """mu-Gaussian DP: ``F(s) = Phi(Phi^-1(s) + mu)``, so that t steps are one step with ``t mu``."""

    mu: Fraction
    is_rational: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if 0 < self.mu < TOO_SMALL:
            raise LevelError("mu", "below 1e-1000", "is too small to mean anything", "write 0, or more")
        vars(self)["is_rational"] = self.mu == 0

    def reversed(self) -> GaussianDP:
        return self

    def sides(self, s: Number, t: Steps) -> tuple[Number, Number]:
        check(s, t)
        if s == 0 or s == 1 or t == 0 or self.mu == 0:
            return s, 1 - s
        if t == math.inf:
            return Fraction(1), Fraction(0)
        shift = ball(self.mu * Fraction(t))
        root = Ball(2).sqrt()
        quantile = _normal_quantile(ball(s), ball(1 - s))  # 1 - s while s is exact
        return (-(quantile + shift) / root).erfc() / 2, ((quantile + shift) / root).erfc() / 2

    def implies(self, other: Level) -> bool:
        return isinstance(other, GaussianDP) and self.mu <= other.mu

    def __str__(self) -> str:
        return f"{fraction_text(self.mu)}-Gaussian DP"


def _normal_quantile(s: Ball, rest: Ball) -> Ball:
    """``Phi^-1``; from the nearer end, because erfinv of a number next to 1 loses what a small s or *rest* knows."""
    root = Ball(2).sqrt()
    return -root * (2 * s).erfcinv() if s < 0.5 else root * (2 * rest).erfcinv()


def read_gaussian(mu: object, *, name: str) -> GaussianDP:
    """Read the mu of Gaussian DP exactly; errors name the field and the value."""
    number = read_number(mu, name=name, error=LevelError)
    if number < 0:
        raise LevelError(name, mu, "is negative", "a privacy parameter is 0 or more")
    if number > _MOST_MU:
        raise LevelError(name, mu, "is too large to mean privacy", "with more than 10 hardly anything is promised")
    if 0 < number < TOO_SMALL:
        raise LevelError(name, mu, "is too small to mean anything", "write 0, or a number from 1e-1000 on")
    return GaussianDP(number)
