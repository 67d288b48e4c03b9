"""Proofs that no private channel is more useful, and the floats that stay true in spite of rounding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.numbers import FloatArray, cell_text
from optimaldp.channels.optimal.program import DecayKernel, Program, cell_flows
from optimaldp.errors import ChannelError
from optimaldp.programs.linear import minimise

# Proofs that no private channel is more useful: each can be checked from the problem alone.


class ChannelProof(ABC):
    """An upper bound on the utility of every private channel, with its reason."""

    @abstractmethod
    def bound(self) -> Fraction:
        """The bound, recomputed from the proof's own numbers: what they prove, and 1 if they prove nothing."""

    @abstractmethod
    def to_document(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class PotentialProof(ChannelProof):
    """Binary gain: ``λ ≥ 0`` with ``Φ λ ≥ π`` proves ``U ≤ Σ λ``,
    because ``Φ D ≤ 1`` for the diagonal D of any private channel.
    """

    kernel: DecayKernel
    prior: tuple[Fraction, ...]
    potential: tuple[Fraction, ...]

    def bound(self) -> Fraction:
        if any(value < 0 for value in self.potential):
            return Fraction(1)
        for row, mass in zip(self.kernel.rows, self.prior):
            if sum((phi * value for phi, value in zip(row, self.potential)), Fraction(0)) < mass:
                return Fraction(1)  # it proves nothing: no utility exceeds 1 anyway
        return sum(self.potential, Fraction(0))

    def to_document(self) -> dict[str, Any]:
        return {"kind": "potential", "potential": [cell_text(value) for value in self.potential]}


@dataclass(frozen=True)
class UniformPotentialProof(ChannelProof):
    """The potential proof when all distance counts agree: ``λ`` is constant, so one sum is all there is to check."""

    borders: tuple[int, ...]
    inverse_ratio: Fraction
    """``e^-epsilon``, rounded down if it is irrational: then the bound is rounded up."""

    def bound(self) -> Fraction:
        total, power = Fraction(0), Fraction(1)
        for size in self.borders:
            total += size * power
            power *= self.inverse_ratio
        return 1 / total

    def to_document(self) -> dict[str, Any]:
        size = sum(self.borders)
        return {"kind": "potential", "potential": [float(self.bound()) / size] * size}


@dataclass(frozen=True)
class RoundedPotentialProof(ChannelProof):
    """A potential in floats, and the bound that it proves after every rounding was paid for."""

    potential: tuple[float, ...]
    value: Fraction

    def bound(self) -> Fraction:
        return self.value

    def to_document(self) -> dict[str, Any]:
        return {"kind": "potential", "potential": list(self.potential)}


@dataclass(frozen=True)
class CliquePotentialProof(ChannelProof):
    """The potential proof where every two answers are neighbours: ``(Φ λ)_y = (1 − t) λ_y + t Σ λ``, so no matrix is needed."""

    prior: tuple[Fraction, ...]
    potential: tuple[Fraction, ...]
    inverse_ratio: Fraction
    """``e^-epsilon``, rounded down if it is irrational."""

    def bound(self) -> Fraction:
        total, t = sum(self.potential, Fraction(0)), self.inverse_ratio
        reached = ((1 - t) * value + t * total for value in self.potential)
        if min(self.potential) < 0 or any(r < mass for r, mass in zip(reached, self.prior)):
            return Fraction(1)
        return total

    def to_document(self) -> dict[str, Any]:
        return {"kind": "potential", "potential": [cell_text(value) for value in self.potential]}


@dataclass(frozen=True)
class ProgramProof(ChannelProof):
    """Weights on the privacy constraints of a linear program:
    by weak duality they bound its value, whoever found them.
    """

    program: Program
    weights: tuple[Fraction, ...]
    arcs: tuple[tuple[int, int, Fraction], ...]
    """Both directions of every edge, with the factors of the program."""

    def bound(self) -> Fraction:
        return self.program.dual_bound(self.weights)

    def to_document(self) -> dict[str, Any]:
        flows = [
            [y, other, z, cell_text(weight)]
            for (y, other, z), weight in cell_flows(self.program, self.weights, self.arcs).items()
        ]
        return {"kind": "linear-program dual", "flows": flows}


@dataclass(frozen=True)
class WeighedPotentialProof(ChannelProof):
    """A potential of either sign in floats, flows that leave no answer below 0, and the bound that they prove."""

    potential: tuple[float, ...]
    flows: tuple[tuple[int, int, float], ...]
    """A weight on ``M[y,·] <= e^epsilon M[y',·]`` for every guess alike."""
    value: Fraction

    def bound(self) -> Fraction:
        return self.value

    def to_document(self) -> dict[str, Any]:
        return {"kind": "potential", "potential": list(self.potential), "flows": [list(flow) for flow in self.flows]}


@dataclass(frozen=True)
class TheoremProof(ChannelProof):
    """A theorem that gives the value; *statement* names it."""

    statement: str
    value: Fraction

    def bound(self) -> Fraction:
        return self.value

    def to_document(self) -> dict[str, Any]:
        return {"kind": "theorem", "statement": self.statement}


@dataclass(frozen=True)
class CutTheoremProof(ChannelProof):
    """The same theorem after an edge was dropped, which allows only more: the optimum of a ring is at most that of its line."""

    statement: str
    cut: tuple[int, int]
    value: Fraction

    def bound(self) -> Fraction:
        return self.value

    def to_document(self) -> dict[str, Any]:
        return {"kind": "theorem", "statement": self.statement, "cut": [list(self.cut)]}


# Kernels, channels and bounds in floats that hold in spite of rounding.
#
# A sum of products of nonnegative floats has a *relative* error of at most ``(terms + 3) · 2^-53``, so every
# inequality below is made true by scaling with that much; and channels are built for an ``e^epsilon`` smaller by
# 1e-12, so that their floats as they are keep epsilon itself.


UNIT = 2.0**-53
MARGIN = 1e-12  # by which e^epsilon is reduced: more than a sum of some thousand floats can be wrong
_SMALLEST = 1e-280  # a cell that underflows to 0 beside one that does not would mean epsilon = ∞; a floor keeps ratios
_NOISE = 1e-15  # weight of a column below which it is dropped: the solver's noise, not an output

IntArray = NDArray[np.int64]


def powers_not_steeper(ratio: Fraction, count: int) -> FloatArray:
    """``ratio^-d`` for d = 0, 1, …, rounded so that no step is steeper than *ratio*: what a channel may use."""
    t = min(float(1 / ratio) * (1 + MARGIN), 1.0)
    # cumprod rounds by 2^-53 a step, and the margin of each step is nine thousand times that
    return np.asarray(np.maximum(np.cumprod(np.concatenate([[1.0], np.full(count - 1, t)])), _SMALLEST))


def powers_not_larger(ratio: Fraction, count: int) -> FloatArray:
    """``ratio^-d`` for d = 0, 1, …, rounded so that none is too large: what a bound may use."""
    t = float(1 / ratio) * (1 - 1e-15)
    # 1e-15 pays for the roundings of t, and the last line for those of the products, twice over
    table = np.cumprod(np.concatenate([[1.0], np.full(count - 1, min(t, 1.0))]))
    return np.asarray(table * (1 - (np.arange(count) + 2) * 2 * UNIT))


def kernel_of(steps: IntArray, powers: FloatArray) -> FloatArray:
    """``Φ`` from whole distances; −1 stands for "nothing joins them"."""
    if steps.min() >= 0:
        return np.asarray(powers[steps])
    return np.where(steps >= 0, powers[steps], 0.0)


def filled_rows(rows: FloatArray, favourite: int, ratio: float) -> FloatArray:
    """Rows that keep every factor and sum to about one made rows that keep it and sum to one.

    All rows are scaled until none exceeds one, and what each lacks goes to one column, after giving up just so much of
    the channel for that column that the differences of those rests keep the factors too.
    """
    size = rows.shape[1]
    # by a little more than the largest sum: rounding must not leave a row above one, whose rest would be negative
    scaled: FloatArray = rows / (float(rows.sum(axis=1).max()) * (1 + 2 * (size + 4) * UNIT))
    rest = 1 - scaled.sum(axis=1)
    most = float(rest.max()) + 2 * size * UNIT
    # With s <= x s' before, the favourite's cells keep x if (1 − g) rest + g <= x g, whatever the rests are: solved for g
    # at the largest rest.
    given_up = most / (ratio * (1 - MARGIN) - 1 + most)
    scaled *= 1 - given_up
    scaled[:, favourite] += given_up + (1 - given_up) * np.maximum(rest, 0)
    return scaled


def not_vanishing(cells: FloatArray) -> FloatArray:
    """Cells kept off the smallest floats: the greater of a column that keeps every factor and a constant keeps them too."""
    return np.maximum(cells, _SMALLEST)


def without_noise(weights: FloatArray) -> FloatArray:
    """Column weights as a solver gave them: negative and tiny ones are none."""
    return np.where(weights > _NOISE, weights, 0.0)


def covering_bound(kernel: FloatArray, potential: FloatArray, masses: FloatArray) -> float:
    """``Σ λ`` after λ was clipped and stretched until ``Φ λ ≥ π`` certainly holds: a bound on every private channel."""
    size = len(masses)
    kept = np.maximum(potential, 0)
    reached = kernel @ kept * (1 - 2 * (size + 4) * UNIT)
    needed = masses > 0
    if (reached[needed] <= 0).any():
        # no stretch covers an answer that is not reached at all; one bounds every utility
        return 1.0
    stretch = float((masses[needed] * (1 + 4 * UNIT) / reached[needed]).max())
    return min(1.0, float(kept.sum()) * stretch * (1 + 2 * (size + 4) * UNIT))


# The small program behind the whole one: ``max π·D`` with ``Φ D <= 1``, and its potential λ >= 0 with ``Φ λ >= π``.
#
# The diagonal D of a private channel satisfies it, so λ is a bound. Where every two answers are a few steps apart it is
# hardly above the optimum, a few dozen guesses carry all of D, and the columns ``Φ D`` need only be widened until rows sum to
# one: that is where the search for a channel begins.


_REPLACING_MARGIN = 1e-9  # by which a guess must be worse than another to be left out


@dataclass(frozen=True)
class CoveringGuesses:
    """The guesses that a best channel may need, how often each is right (D), and the potential that covers the prior."""

    guesses: IntArray
    weights: FloatArray
    potential: FloatArray
    excess: FloatArray
    """By which factor the potential reaches more than the prior: one where a guess is worth making."""

    def promising(self, count: int) -> IntArray:
        """The guesses that are made, and those next to being made, *count* in all if there are so many."""
        nearest = np.lexsort((self.excess, self.weights <= 0))
        made = int((self.weights > 0).sum())
        return np.sort(self.guesses[nearest[: max(made, count)]])

    def weights_of(self, guesses: IntArray) -> FloatArray:
        return self.weights[np.searchsorted(self.guesses, guesses)]

    def proof(self, kernel: FloatArray, masses: FloatArray) -> RoundedPotentialProof:
        """The bound that the potential proves; *kernel* is Φ rounded down."""
        kept = np.maximum(self.potential, 0)
        return RoundedPotentialProof(tuple(kept.tolist()), Fraction(covering_bound(kernel, kept, masses)))


def cover_prior(kernel: FloatArray, masses: FloatArray) -> CoveringGuesses:
    """Solve the small program for the useful guesses; *kernel* is Φ."""
    guesses = useful_guesses(kernel, masses)
    size = len(masses)
    # priors are about 1/n: in units of that the solver's tolerances mean the same at every size
    solved = minimise(-masses[guesses] * size, rows=kernel[:, guesses], bounds=np.ones(size), method="highs-ds")
    if not solved.solved:
        raise ChannelError("linear program", solved.message, "was not solved")
    # any λ >= 0 proves a bound once it is stretched to cover (covering_bound): the solver's noise costs, and harms not
    potential = np.maximum(solved.row_prices, 0) / size
    reached = potential @ kernel[:, guesses]
    excess = np.where(masses[guesses] > 0, reached / np.maximum(masses[guesses], np.finfo(float).tiny), np.inf)
    return CoveringGuesses(guesses, np.maximum(solved.point, 0), potential, excess)


def useful_guesses(kernel: FloatArray, masses: FloatArray) -> IntArray:
    """All but those that another replaces: one so much likelier that ``π_z <= Φ π_y`` reads every output of z better.

    A part of the graph that is never the truth has one guess all the same: its rows must sum to one, too.
    """
    # One that is replaced by another that is replaced itself is no loss: Φ[z,w] >= Φ[z,y] Φ[y,w], so the last of such a
    # chain replaces all before it.
    replaced = (masses[:, None] * kernel).max(axis=0) > masses * (1 + _REPLACING_MARGIN)
    useful = (masses > 0) & ~replaced
    for y in np.flatnonzero(masses <= 0):
        if not useful[kernel[y] > 0].any():
            useful[y] = True
    return np.flatnonzero(useful)
