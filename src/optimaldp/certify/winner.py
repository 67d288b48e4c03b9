"""The referee of "who wins?": for which numbers of options and which epsilon the flip envelope is proven private."""

from __future__ import annotations

from fractions import Fraction

from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.trajectory import Number

_CONTINUUM_OPTIONS = 5  # proven up to five; from eleven on it is false


def lattice_proof(options: int, epsilon: Epsilon) -> str | None:
    """Why the lattice version is epsilon-DP for every n with this many options, or ``None`` where no proof is known."""
    if options <= 3:
        return "proven for every n and every epsilon: at most three options"
    if hypotheses_hold(options, epsilon):
        return "proven for every n: H1 and H2 hold"
    return None


def continuum_proof(options: int) -> str | None:
    """Why the continuum version is epsilon-DP for every n and every epsilon, or ``None``."""
    return "proven for every n and every epsilon: at most five options" if options <= _CONTINUUM_OPTIONS else None


def hypotheses_hold(options: int, epsilon: Epsilon) -> bool:
    """Whether H1 and H2 hold at ``x = e^-epsilon``, certainly: rationals exactly, everything else in balls."""
    if epsilon.infinite:
        return False
    with precision(192):
        ratio = epsilon.exact_ratio
        x: Number = 1 / ratio if ratio is not None else 1 / epsilon.exp()
        return _hypotheses(options, x)


def _hypotheses(options: int, x: Number) -> bool:
    one = Fraction(1) if isinstance(x, Fraction) else ball(1)
    if not x * (options - 1) <= one:
        return False
    return all(
        (options - r - s) * x * (r + (s + 1) * x) <= r - 1 + (s + 2) * x
        for r in range(2, options)
        for s in range(options - r)
    )
