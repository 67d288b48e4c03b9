"""Shannon capacity with a certified gap.

For any input distribution p with output q = pC, ``I(p) <= capacity <= max_x D(C_x ‖ q)``: both ends are computed from
the same p, so the answer proves itself whatever method found p. The classical iteration (Blahut, Arimoto) closes the
gap like 1/k; an interior-point method closes it in some twenty steps of one linear solve each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from optimaldp.channels.labels import Label
from optimaldp.channels.measures.entropies import negative_entropies
from optimaldp.channels.numbers import FloatArray
from optimaldp.errors import ChannelError
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel

_MOST_STEPS = 200
_SOLVED_TOGETHER = 250  # inputs up to which all are unknowns at once: a Newton step then takes milliseconds
_MOST_ROUNDS = 60
_TINY_MASS = 1e-6  # of the uniform mass: an input below it leaves until its divergence calls it back
_BITS_PER_NAT = 1 / math.log(2)


@dataclass(frozen=True, repr=False)
class Capacity(Result):
    """**Guarantee.** ``lower <= capacity <= upper`` in bits; *prior* attains *lower*."""

    lower: float
    upper: float
    prior: dict[Label, float]
    steps: int

    @property
    def bits(self) -> float:
        """The capacity, within :attr:`gap`."""
        return self.lower

    @property
    def gap(self) -> float:
        return self.upper - self.lower

    def __float__(self) -> float:
        return self.bits

    def summary(self) -> str:
        return f"Capacity({self.lower:.9g} bits, gap {self.gap:.2g})"

    def to_document(self) -> dict[str, Any]:
        return {"bits": self.lower, "upper_bits": self.upper, "prior": list(self.prior.values()), "steps": self.steps}


def shannon_capacity(channel: Channel, *, gap: float = 1e-9) -> Capacity:
    """``max_p I(p, C)`` in bits, certified to *gap*.

    >>> from optimaldp.channels import Channel
    >>> round(shannon_capacity(Channel([["3/4", "1/4"], ["1/4", "3/4"]])).bits, 9)
    0.188721876
    """
    if not gap > 0:
        raise ChannelError("gap", gap, "is not a positive number of bits", "write for instance 1e-9")
    array = _distinct(channel.array)
    search = _Search(array[0])
    masses, steps = (_interior_point if len(array[0]) <= _SOLVED_TOGETHER else _by_rounds)(search, gap)
    lower, upper = search.bounds(masses)
    spread = np.zeros(len(channel.inputs))
    spread[array[1]] = masses
    return Capacity(lower, upper, dict(zip(channel.inputs, spread.tolist())), steps)


def _distinct(array: FloatArray) -> tuple[FloatArray, Any]:
    """Equal inputs count once (they make the problem degenerate), outputs that never occur not at all."""
    used = array[:, array.max(axis=0) > 0]
    _, first = np.unique(used, axis=0, return_index=True)
    first = np.sort(first)
    return used[first], first


class _Search:
    """The objective and its bounds on one matrix."""

    def __init__(self, array: FloatArray) -> None:
        self.array = array
        self.entropies = negative_entropies(array)
        rows, columns = array.shape
        # Rounding of a sum of positive terms is relative: at most (terms + a few) units in the last place of each logarithm.
        self.rounding = 4 * (rows + columns) * 2.0**-53

    def divergences(self, masses: FloatArray) -> FloatArray:
        """``D(C_x ‖ q)`` in nats for every input x; infinite where x has an output that q has not."""
        output = masses @ self.array
        missing = output <= 0
        if not missing.any():
            return self.entropies - self.array @ np.log(output)
        divergences = self.entropies - self.array @ np.log(np.where(missing, 1.0, output))
        return np.where((self.array[:, missing] > 0).any(axis=1), np.inf, divergences)

    def bounds(self, masses: FloatArray) -> tuple[float, float]:
        """``I(p)`` and ``max_x D``, in bits, rounded outwards."""
        divergences = self.divergences(masses)
        slack = self.rounding * (float(np.abs(self.entropies).max()) + float(divergences.max()))
        if divergences.max() == math.inf:
            return 0.0, math.inf
        if divergences.max() <= slack:
            return 0.0, 0.0 if len(masses) == 1 else 2 * slack * _BITS_PER_NAT
        lower = max(0.0, float(masses @ divergences) - slack)
        return lower * _BITS_PER_NAT, (float(divergences.max()) + slack) * _BITS_PER_NAT


def _by_rounds(search: _Search, gap: float) -> tuple[FloatArray, int]:
    """The problem on a few inputs, joined in each round by those whose divergence still exceeds the value.

    The best prior of a large channel rests on few inputs, and the bounds of all of them cost one product; so a round is
    cheap, and what it proves is checked on the whole channel.
    """
    size = len(search.array)
    divergences = search.divergences(np.full(size, 1 / size))
    chosen = np.sort(np.argsort(-divergences)[:_SOLVED_TOGETHER])
    best, best_gap, steps = np.full(size, 1 / size), math.inf, 0
    for _ in range(_MOST_ROUNDS):
        rows = search.array[chosen]
        # sharper than asked: what inputs outside the part still add comes on top of the part's own gap
        part, more = _interior_point(_Search(rows[:, rows.max(axis=0) > 0]), gap / 4)
        steps += more
        masses = np.zeros(size)
        masses[chosen] = part
        lower, upper = search.bounds(masses)
        if upper - lower < best_gap:
            best, best_gap = masses, upper - lower
        if best_gap <= gap:
            return best, steps
        divergences = search.divergences(masses)
        above = np.flatnonzero(divergences * _BITS_PER_NAT > lower)
        worst = above[np.argsort(-divergences[above])[: _SOLVED_TOGETHER // 2]]
        grown = np.union1d(chosen[part > _TINY_MASS / size], worst)
        if np.array_equal(grown, chosen):
            break
        chosen = grown
    # the iteration multiplies, so it never revives an input of mass 0: every input gets a little
    polished, more = _iterate(search, gap, 2000, 0.999 * best + 0.001 / size)
    return polished, steps + more


def _interior_point(search: _Search, gap: float) -> tuple[FloatArray, int]:
    """Primal-dual steps for ``max I(p)`` on the simplex.

    Optimality: ``D_x + s_x = level``, ``s >= 0``, ``p_x s_x = 0``. The Hessian of I is ``−C diag(1/q) Cᵀ``.
    """
    size = len(search.array)
    masses = np.full(size, 1 / size)
    divergences = search.divergences(masses)
    # above every divergence, so that all slacks are positive: an interior point to begin at
    level = float(divergences.max()) + 0.1
    slacks = level - divergences
    best, best_gap = masses, math.inf
    for step in range(1, _MOST_STEPS + 1):
        masses, slacks, level = _newton(search, masses, slacks, level)
        candidate = masses / masses.sum()
        lower, upper = search.bounds(candidate)
        if upper - lower < best_gap:
            best, best_gap = candidate, upper - lower
        if upper - lower <= gap:
            return best, step
        if float(masses @ slacks) < 1e-18:
            break
    # Only rounding is left to fight: the classical iteration cannot make it worse.
    polished, more = _iterate(search, gap, 500, best)
    return polished, step + more


def _newton(
    search: _Search, masses: FloatArray, slacks: FloatArray, level: float
) -> tuple[FloatArray, FloatArray, float]:
    output = masses @ search.array
    size = len(masses)
    target = float(masses @ slacks) / size * 0.1
    scaled = search.array / np.sqrt(output)
    hessian = scaled @ scaled.T
    residual = search.divergences(masses) + slacks - level
    # Eliminate the slacks: (H + S/P) dp + 1·dlevel = residual + (target/P − S), 1ᵀ dp = 1 − 1ᵀ p.
    hessian[np.diag_indices(size)] += slacks / masses
    right = residual + target / masses - slacks
    solved = np.linalg.solve(hessian, np.column_stack([right, np.ones(size)]))
    dlevel = (solved[:, 0].sum() - (1 - masses.sum())) / solved[:, 1].sum()
    dmasses = solved[:, 0] - dlevel * solved[:, 1]
    dslacks = target / masses - slacks - slacks / masses * dmasses
    # not quite to the wall: a mass of 0 is divided by in the next step
    length = min(1.0, 0.99 * _room(masses, dmasses), 0.99 * _room(slacks, dslacks))
    return masses + length * dmasses, slacks + length * dslacks, level + length * float(dlevel)


def _room(values: FloatArray, change: FloatArray) -> float:
    """How far *values* can go along *change* before one of them reaches 0."""
    falling = change < 0
    return float((-values[falling] / change[falling]).min()) if falling.any() else math.inf


def _iterate(search: _Search, gap: float, most: int, start: FloatArray | None = None) -> tuple[FloatArray, int]:
    """The iteration of Blahut and Arimoto: ``p_x ∝ p_x exp D(C_x ‖ q)``."""
    masses = np.full(len(search.array), 1 / len(search.array)) if start is None else start
    step = 0
    while step < most:
        lower, upper = search.bounds(masses)
        if upper - lower <= gap:
            break
        # the largest exponent is taken off, which cancels: exp of a large divergence would overflow
        weights = masses * np.exp(search.divergences(masses) - upper / _BITS_PER_NAT)
        masses = weights / weights.sum()
        step += 1
    return masses, step
