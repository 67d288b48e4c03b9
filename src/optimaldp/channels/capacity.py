"""Shannon capacity with a certified gap.

For any input distribution p with output q = pC, ``I(p) <= capacity <= max_x D(C_x ‖ q)``: both ends are computed from
the same p, so the answer proves itself whatever method found p. The classical iteration (Blahut, Arimoto) closes the
gap like 1/k; an interior-point method closes it in some twenty steps of one linear solve each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.numbers import ExactOrFloat, FloatArray, Label, as_floats, bits_of, read_gain
from optimaldp.channels.vulnerability import (
    column_maxima_sum,
    joint,
    joint_floats,
    mutual_information,
    negative_entropies,
    read_prior,
)
from optimaldp.errors import ChannelError
from optimaldp.programs.linear import minimise
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel

# The most that a channel leaks over all priors, or over all gains.


_MOST_READINGS = 4096  # ways to read the outputs, each with a linear program, up to which all are tried
_STARTS = 24


def capacity_over_gains(channel: Channel, prior: object = None) -> ExactOrFloat:
    """The largest factor by which the channel multiplies any gain of 0 or more: ``Σ_z max_x C[x,z]`` over possible inputs.

    >>> from optimaldp.channels import Channel
    >>> capacity_over_gains(Channel([["3/4", "1/4"], ["1/4", "3/4"]]))
    Fraction(3, 2)
    """
    rows = _possible_rows(channel, prior)
    if channel.exact:
        return sum((max(column) for column in zip(*rows)), Fraction(0))
    return float(np.array(rows).max(axis=0).sum())


def additive_capacity(channel: Channel, prior: object = None, *, gains: str = "bounded") -> ExactOrFloat:
    """The largest *increase* of an expected gain under one prior, over a class of gains.

    ``"bounded"``: gains of at most 1 whose best guess is never worth less than 0; ``1 − Σ_z min_x C[x,z]`` over the
    inputs that are possible. ``"spanning"``: each guess's gains lie within 1 of one another; the expected distance in
    total variation from the prior to the posterior.

    >>> from optimaldp.channels import Channel
    >>> response = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> additive_capacity(response), additive_capacity(response, gains="spanning")
    (Fraction(1, 2), Fraction(1, 4))
    """
    if gains == "bounded":
        rows = _possible_rows(channel, prior)
        if channel.exact:
            return 1 - sum((min(column) for column in zip(*rows)), Fraction(0))
        return 1 - float(np.array(rows).min(axis=0).sum())
    if gains != "spanning":
        raise ChannelError("gains", gains, "is not a class of gains", "use 'bounded' or 'spanning'")
    read = read_prior(channel, prior)
    if channel.exact and isinstance(read, tuple):
        columns = zip(*joint(channel, read))
        half = sum((abs(cell - p * sum(column)) for column in columns for cell, p in zip(column, read)), Fraction(0))
        return half / 2
    joints = joint_floats(channel, read)
    return float(np.abs(joints - as_floats(read)[:, None] * joints.sum(axis=0)).sum()) / 2


def _possible_rows(channel: Channel, prior: object) -> list[Any]:
    masses = read_prior(channel, prior)
    return [row for row, mass in zip(channel.rows, masses) if mass > 0]


@dataclass(frozen=True, repr=False)
class GainCapacity(Result):
    """**Guarantee.** ``lower <= capacity <= upper`` as factors on the gain; *prior* attains *lower*."""

    lower: float
    upper: float
    prior: dict[Label, float]

    @property
    def exact(self) -> bool:
        """Whether both ends agree, up to the rounding of the solver."""
        return self.upper - self.lower <= 1e-9 * self.upper

    def summary(self) -> str:
        return f"GainCapacity(factor {self.lower:.6g}{'' if self.exact else f' to {self.upper:.6g}'})"

    def to_document(self) -> dict[str, Any]:
        return {"lower": self.lower, "upper": self.upper, "prior": list(self.prior.values())}


def gain_capacity(gain: object, channel: Channel) -> GainCapacity:
    """The largest factor by which the channel multiplies one gain of 0 or more, over all priors.

    Finding it is hard in general: every way to read the outputs is a linear program. Up to some thousand ways all are
    tried; beyond, a search gives the lower end, and the sum of column maxima (which no gain exceeds) the upper.

    >>> from optimaldp.channels import Channel
    >>> gain_capacity([[1, 0], [0, 1]], Channel([["3/4", "1/4"], ["1/4", "3/4"]]))
    GainCapacity(factor 1.5)
    """
    matrix = np.array(read_gain(gain, secrets=len(channel.inputs)), dtype=float)
    if matrix.min() < 0:
        raise ChannelError("gain", float(matrix.min()), "is negative", "a factor needs gains of 0 or more")
    if not matrix.max(axis=1).any():
        raise ChannelError("gain", 0, "is all that can be gained", "some guess must be worth something")
    array, guesses = channel.array, matrix.shape[1]
    ways = guesses ** len(channel.outputs) if len(channel.outputs) < 40 else _MOST_READINGS + 1
    limit = float(column_maxima_sum(channel))
    if ways <= _MOST_READINGS:
        tried = [
            _best_prior(array, matrix, np.array(reading)) for reading in product(range(guesses), repeat=array.shape[1])
        ]
        value, masses = max(tried, key=lambda pair: pair[0])
        limit = min(limit, value)
    else:
        value, masses = _search(array, matrix)
    masses = masses / masses.sum()
    return GainCapacity(min(value, limit), limit, dict(zip(channel.inputs, masses.tolist())))


def _best_prior(array: FloatArray, gain: FloatArray, reading: NDArray[np.int64]) -> tuple[float, FloatArray]:
    """The prior, scaled so that no guess is worth more than 1 beforehand, for which one reading of the outputs gains most."""
    worth = (array * gain[:, reading]).sum(axis=1)
    # an input that no guess rewards would be unbounded and adds nothing
    useful = gain.max(axis=1) > 0
    found = minimise(-worth[useful], rows=gain[useful].T, bounds=np.ones(gain.shape[1]))
    masses = np.zeros(len(array))
    masses[useful] = found.point
    return -found.value, masses


def _search(array: FloatArray, gain: FloatArray) -> tuple[float, FloatArray]:
    """Reading and prior in turn, each the best for the other, from several starts."""
    # only where the search starts depends on the seed, never whether its result is right
    generator = np.random.default_rng(0)
    best, masses = 0.0, np.ones(len(array))
    for start in range(_STARTS):
        prior = np.ones(len(array)) if start == 0 else generator.dirichlet(np.full(len(array), 0.5))
        value = 0.0
        # neither half of a round can lower the value, so it settles: at a local optimum, hence the many starts
        for _ in range(_MOST_ROUNDS):
            reading = (array.T @ (gain * prior[:, None])).argmax(axis=1)
            grown, prior = _best_prior(array, gain, reading)
            if grown <= value * (1 + 1e-12):
                break
            value = grown
        if value > best:
            best, masses = value, prior
    return best, masses


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


# Information of order α: Sibson's and Arimoto's, and the leakage that belongs to them. Bits throughout.


_MOST_STEPS = 20_000


def _check_order(order: float, *, least: float) -> None:
    if not order >= least or order == 0:
        rule = "above 0" if least == 0 else f"{least:g} or more"
        raise ChannelError("order", order, "is not an order of information here", f"it must be {rule}, or infinite")


def sibson_information(channel: Channel, order: float, prior: object = None) -> float:
    """Sibson's mutual information ``α/(α−1) · log2 Σ_z (Σ_x π(x) C[x,z]^α)^(1/α)``.

    Order 1 is Shannon's; order ∞ is the min-capacity over the inputs that are possible, which is why it is also called
    maximal leakage.

    >>> from optimaldp.channels import Channel
    >>> round(sibson_information(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), 2), 6)
    0.321928
    """
    _check_order(order, least=0)
    if order == 1:
        return mutual_information(channel, prior)
    return _sibson(channel.array, as_floats(read_prior(channel, prior)), order)


def _sibson(array: FloatArray, masses: FloatArray, order: float) -> float:
    possible = array[masses > 0]
    if order == math.inf:
        return max(0.0, math.log2(possible.max(axis=0).sum()))
    # Each column is divided by its largest cell first: C^α underflows long before the norm does.
    most = possible.max(axis=0)
    scaled = possible / np.where(most > 0, most, 1.0)
    with np.errstate(divide="ignore", over="ignore"):
        norms = most * (masses[masses > 0] @ scaled**order) ** (1 / order)
    return max(0.0, order / (order - 1) * math.log2(norms.sum()))


def arimoto_information(channel: Channel, order: float, prior: object = None) -> float:
    """Arimoto's mutual information: Rényi's entropy of the input less Arimoto's conditional one.

    It is Sibson's under the prior ``π^α / Σ π^α``. Order 1 is Shannon's; order ∞ is the min-entropy leakage.

    >>> from optimaldp.channels import Channel
    >>> response = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> round(arimoto_information(response, float("inf"), ["9/10", "1/10"]), 6)
    0.0
    """
    _check_order(order, least=0)
    masses = as_floats(read_prior(channel, prior))
    if order == 1:
        return mutual_information(channel, prior)
    if order == math.inf:
        return max(0.0, math.log2((channel.array * masses[:, None]).max(axis=0).sum() / masses.max()))
    # by the largest first: π^α alone underflows at a large order, to 0/0
    tilted = (masses / masses.max()) ** order
    return _sibson(channel.array, tilted / tilted.sum(), order)


def alpha_leakage(channel: Channel, order: float, prior: object = None) -> float:
    """α-leakage about the input itself: how much the output improves a guess that is scored by the loss of order α.

    From order 1 (Shannon's information) to ∞ (min-entropy leakage); equal to Arimoto's information.
    """
    _check_order(order, least=1)
    return arimoto_information(channel, order, prior)


def maximal_alpha_leakage(channel: Channel, order: float, *, gap: float = 1e-9) -> Capacity:
    """The largest information of order α over all priors, with bounds that enclose it.

    Order 1 is Shannon's capacity, ∞ the min-capacity; from any order above 1 it bounds the α-leakage about every
    function of the input, random ones included.

    >>> from optimaldp.channels import Channel
    >>> maximal_alpha_leakage(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), 2)
    Capacity(0.321928095 bits, gap 0)
    """
    _check_order(order, least=1)
    if not gap > 0:
        raise ChannelError("gap", gap, "is not a positive number of bits", "write for instance 1e-9")
    if order == 1:
        return shannon_capacity(channel, gap=gap)
    size = len(channel.inputs)
    if order == math.inf:
        bits = bits_of(column_maxima_sum(channel))
        return Capacity(bits, bits, dict.fromkeys(channel.inputs, 1 / size), 0)
    return _by_multiplication(channel, order, gap)


def _by_multiplication(channel: Channel, order: float, gap: float) -> Capacity:
    """Maximise ``f(π) = Σ_z (Σ_x π_x C^α)^(1/α)``, which is concave and homogeneous of degree 1/α.

    A step ``π_x ∝ π_x g_x^(α/(α−1))`` with the gradient g (up to its factor) never lowers f: Jensen's inequality for
    each output. Concavity gives ``max f <= f + (max_x g_x − f)/α``, so every step knows how far it may still be.
    """
    used = channel.array[:, channel.array.max(axis=0) > 0]
    most = used.max(axis=0)
    powers = (used / most) ** order
    masses = np.full(len(used), 1 / len(used))
    factor = order / (order - 1)
    lower, upper, step = 0.0, math.inf, 0
    for step in range(1, _MOST_STEPS + 1):
        sums = masses @ powers
        value = float((most * sums ** (1 / order)).sum())
        gradient = powers @ (most * sums ** (1 / order - 1))
        lower = factor * math.log2(value)
        # each step's bound is true by itself, so the least stays
        upper = min(upper, factor * math.log2(value + (float(gradient.max()) - value) / order))
        if upper - lower <= gap or step == _MOST_STEPS:
            break
        masses = masses * (gradient / gradient.max()) ** factor
        masses /= masses.sum()
    spread = dict(zip(channel.inputs, masses.tolist()))
    return Capacity(max(0.0, min(lower, upper)), max(0.0, upper), spread, step)
