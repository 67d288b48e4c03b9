"""The referee of "who wins?": for which numbers of options and which epsilon the flip envelope is proven private.

Every statement here holds for every number of people under substitution, also when some people chose none of the
options: a vote may then leave the election or enter it. The proofs are outlined in the documentation of ``winner``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from optimaldp.certify.winner.brackets import Bracket, read_table
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.trajectory import Number

_CONTINUUM_OPTIONS = 5  # proven up to five; from eleven on it is false
_BITS = 192


def lattice_proof(options: int, epsilon: Epsilon) -> str | None:
    """Why the lattice version is epsilon-DP for every n with this many options, or ``None`` where no proof is known.

    >>> lattice_proof(5, Epsilon.read("1")), lattice_proof(8, Epsilon.read("0.3"))
    ('proven for every n: finite certificate', None)
    """
    if epsilon.infinite:
        return None
    if options <= 3:
        return "proven for every n and every epsilon: at most three options"
    if hypotheses_hold(options, epsilon):
        return "proven for every n: H1 and H2 hold"
    if inside_bracket(options, epsilon):
        return "proven for every n: finite certificate"
    return None


def continuum_proof(options: int) -> str | None:
    """Why the continuum version is epsilon-DP for every n and every epsilon, or ``None``."""
    return "proven for every n and every epsilon: at most five options" if options <= _CONTINUUM_OPTIONS else None


def hypotheses_hold(options: int, epsilon: Epsilon) -> bool:
    """Whether H1 and H2 certainly hold at the ``x = e^-epsilon`` that is used: rationals exactly, everything else in balls."""
    with precision(_BITS):
        return _hypotheses(options, _decay(epsilon))


def inside_bracket(options: int, epsilon: Epsilon) -> bool:
    """Whether ``e^-epsilon`` certainly lies in a bracket that the finite certificate accepted."""
    with precision(_BITS):
        x = _decay(epsilon)
        return any(_between(low, x, high) for low, high, _ in _brackets().get(options, ()))


@cache
def _brackets() -> dict[int, list[Bracket]]:
    return read_table()


def _decay(epsilon: Epsilon) -> Number:
    ratio = epsilon.exact_ratio
    return 1 / ratio if ratio is not None else 1 / epsilon.exp()


def _between(low: Fraction, x: Number, high: Fraction) -> bool:
    if isinstance(x, Fraction):
        return low <= x <= high
    return bool(ball(low) <= x) and bool(x <= ball(high))


def _hypotheses(options: int, x: Number) -> bool:
    """H1: ``x <= 1/(K-1)``. H2: ``(K-r-s) x (r+(s+1)x) <= r-1+(s+2)x`` for all r >= 2, s >= 0, r + s <= K-1."""
    one = Fraction(1) if isinstance(x, Fraction) else ball(1)
    # A ball that leaves it open counts as not proven: the next proof is tried, or another mechanism is used.
    if not x * (options - 1) <= one:
        return False
    return all(
        (options - r - s) * x * (r + (s + 1) * x) <= r - 1 + (s + 2) * x
        for r in range(2, options)
        for s in range(options - r)
    )
