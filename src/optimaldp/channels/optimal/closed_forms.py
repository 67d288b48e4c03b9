"""Optimal oblivious mechanisms without a linear program: constant sums, the line, the clique, and the certified closed
form.

Every function takes a rational kernel and returns exact rows with a proof, or ``None`` where its hypothesis fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import ne
from typing import Any

import numpy as np

from optimaldp.channels import numbers as exact_matrix
from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.channels.channel import Channel
from optimaldp.channels.databases import Databases
from optimaldp.channels.numbers import ExactOrFloat, FloatArray
from optimaldp.channels.optimal.program import DecayKernel
from optimaldp.channels.optimal.proofs import (
    ChannelProof,
    CliquePotentialProof,
    PotentialProof,
    TheoremProof,
    powers_not_steeper,
)
from optimaldp.channels.report import check_databases
from optimaldp.errors import ChannelError
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.results import Result

# The kernel ``Φ[y,z] = e^(−epsilon · d(y,z))`` in rationals:
# the least that one column of a private channel can keep of its maximum.


# Rings of any size: by symmetry the optimal mechanism is one row and its rotations.


@dataclass(frozen=True, repr=False, eq=False)
class RingProfile(Result):
    """An optimal mechanism on a ring, as the one row that all rows are rotations of."""

    size: int
    epsilon: Epsilon
    utility: Fraction
    upper_bound: Fraction
    cells: FloatArray
    """The probability of each answer by its distance around the ring."""

    def row(self, answer: int) -> FloatArray:
        """The distribution of one answer (floats)."""
        return np.roll(self.cells, answer)

    def summary(self) -> str:
        return f"RingProfile({self.size} answers, {self.epsilon}-DP, utility {float(self.utility):.6g})"

    def details(self) -> list[tuple[str, str]]:
        return [
            ("utility", f"{float(self.utility):.9g}"),
            ("no private channel exceeds", f"{float(self.upper_bound):.9g}"),
        ]

    def to_document(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "epsilon": str(self.epsilon),
            "utility": float(self.utility),
            "upper_bound": float(self.upper_bound),
            "cells": self.cells.tolist(),
        }

    def channel(self) -> Channel:
        """The whole matrix; for thousands of answers it is large."""
        return Channel(np.stack([self.row(y) for y in range(self.size)]))


def ring_profile(size: int, epsilon: object) -> RingProfile:
    """The optimal mechanism on a ring of *size* answers, uniform prior, binary gain: by symmetry one row says it all.

    Odd and even rings alike (erratum F17): ``e^(−epsilon d)/s`` with s the sum over the ring.

    >>> ring_profile(6, "ln(2)").utility
    Fraction(8, 21)
    """
    read = Epsilon.read(epsilon)
    if size < 3 or read.infinite:
        raise ChannelError("ring", (size, str(read)), "needs 3 or more answers and a finite epsilon")
    # the row and its utility from below, the bound from above: what lies between them is the rounding alone
    low, high = read.ratio_below(bits=64), read.ratio_above(bits=64)
    around = np.minimum(np.arange(size), size - np.arange(size))
    weights = powers_not_steeper(low, size // 2 + 1)[around]
    return RingProfile(size, read, 1 / _ring_sum(size, 1 / low), 1 / _ring_sum(size, 1 / high), weights / weights.sum())


def _ring_sum(size: int, t: Fraction) -> Fraction:
    half = (size - 1) // 2
    if t == 1:
        return Fraction(size)
    # 1 + 2 (t + … + t^half), and once more t^(n/2) for the answer opposite on an even ring
    total = 1 + 2 * t * (1 - t**half) / (1 - t)
    return total if size % 2 else total + t ** (size // 2)


Exact = Sequence[Sequence[Fraction]]
ExactChannel = tuple[tuple[Fraction, ...], ...]
Prior = tuple[Fraction, ...]
LINE_THEOREM = "geometric mechanism with Bayes guesses, optimal on a line (Ghosh et al. 2009)"


@dataclass(frozen=True)
class ClosedForm:
    """The rows of an optimal channel (columns are guesses), the route that led to it, and why nothing is better."""

    rows: ExactChannel
    route: str
    proof: ChannelProof | None


def constant_sum(kernel: DecayKernel, prior: Prior) -> ClosedForm | None:
    """Uniform prior and the same ``s = Σ_y Φ[y,z]`` for all z: ``Φ/s``, utility ``1/s`` (Theorem 4 as it should be:
    erratum F15).
    """
    if len(set(prior)) != 1:
        return None
    total = sum(kernel.rows[0], Fraction(0))
    # all() stops at the first row that differs: on most graphs the second
    if not all(sum(row, Fraction(0)) == total for row in kernel.rows[1:]):
        return None
    rows = tuple(tuple(phi / total for phi in row) for row in kernel.rows)
    potential = tuple(mass / total for mass in prior)
    return ClosedForm(rows, "constant-sum", PotentialProof(kernel, prior, potential))


def clique(kernel: DecayKernel, prior: Prior) -> ClosedForm | None:
    """Every two answers are neighbours, any prior: utility ``max_k (mass of the top k)/(1+(k−1)t)`` (erratum F19)."""
    size = len(prior)
    if not kernel.graph.is_clique or not kernel.graph.plain or size == 1:
        return None
    t = 1 / next(iter(kernel.factors.values()))
    kept, _ = kept_on_clique(prior, t)
    top, peak = set(kept), 1 / (1 + (len(kept) - 1) * t)
    rows = [[_clique_cell(y, z, top, peak, t) for z in range(size)] for y in range(size)]
    return ClosedForm(tuple(map(tuple, rows)), "clique", clique_proof(prior, kernel.epsilon))


def kept_on_clique(prior: Prior, t: Fraction) -> tuple[list[int], Fraction]:
    """The likeliest answers that are worth keeping on a clique, and the utility of keeping them; ``t = e^-epsilon``."""
    order = sorted(range(len(prior)), key=lambda y: -prior[y])
    mass, best, kept = Fraction(0), Fraction(-1), 0
    for k, y in enumerate(order, start=1):
        mass += prior[y]
        if mass / (1 + (k - 1) * t) > best:
            best, kept = mass / (1 + (k - 1) * t), k
    return order[:kept], best


def clique_proof(prior: Prior, epsilon: Epsilon) -> CliquePotentialProof:
    """``λ_y = (π_y − t·U)/(1 − t)`` on the answers that are kept, 0 elsewhere, at an ``e^epsilon`` rounded up."""
    t = 1 / (epsilon.exact_ratio or epsilon.ratio_above(bits=64))
    kept, best = kept_on_clique(prior, t)
    # λ >= 0: the last answer kept did not lower U, so π_y >= t·U for all of them. Σ λ = U, so λ reaches t·U elsewhere,
    # which is enough: the next answer would have lowered U.
    potential = [Fraction(0)] * len(prior)
    for y in kept:
        potential[y] = (prior[y] - t * best) / (1 - t)
    return CliquePotentialProof(prior, tuple(potential), t)


def _clique_cell(y: int, z: int, top: set[int], peak: Fraction, t: Fraction) -> Fraction:
    if z not in top:
        return Fraction(0)
    if y not in top:
        # 1/k lies between peak·t and peak, so such a row is within one factor of every other
        return Fraction(1, len(top))
    return peak if y == z else peak * t


def truncated_geometric(size: int, inverse_ratio: Fraction) -> ExactChannel:
    """The truncated geometric mechanism on a line of *size* answers (004 Table 2a).

    >>> truncated_geometric(3, Fraction(1, 2))[0]
    (Fraction(2, 3), Fraction(1, 6), Fraction(1, 6))
    """
    t = inverse_ratio
    if size == 1:
        return ((Fraction(1),),)
    powers = [Fraction(1)]
    for _ in range(size):
        powers.append(powers[-1] * t)
    ends, inner = 1 / (1 + t), (1 - t) / (1 + t)
    diagonal = [ends, *[inner] * (size - 2), ends]
    return tuple(tuple(diagonal[z] * powers[abs(y - z)] for z in range(size)) for y in range(size))


def line(kernel: DecayKernel, worth: Exact, gain: Exact | None) -> ClosedForm | None:
    """A line, any prior, a gain that only falls with the distance: the geometric mechanism, each output read by its
    Bayes guess.

    *gain* is ``None`` for the binary gain. That one mechanism serves every prior and every such gain is the theorem
    of Ghosh, Roughgarden and Sundararajan (2009).
    """
    order = kernel.graph.line_order
    if order is None or len(worth[0]) != len(worth) or not (gain is None or falls_with_distance(gain, order)):
        return None
    t = 1 / next(iter(kernel.factors.values()), Fraction(1))
    merged, value = _geometric_with_guesses(order, t, worth)
    # a potential asks the referee to believe no theorem; where it would be negative, the theorem is all there is
    potential = _line_potential([worth[y][y] for y in order], t) if gain is None else None
    if potential is None or sum(potential) != value:
        if not kernel.exact:  # the rows use an e^epsilon rounded down; what bounds all others must use one rounded up
            above = DecayKernel(kernel.graph, kernel.epsilon, above=True)
            _, value = _geometric_with_guesses(order, 1 / next(iter(above.factors.values())), worth)
        proof: ChannelProof = TheoremProof(LINE_THEOREM, value)
    else:
        where = {y: position for position, y in enumerate(order)}
        prior = tuple(worth[y][y] for y in range(len(order)))
        proof = PotentialProof(kernel, prior, tuple(potential[where[y]] for y in range(len(order))))
    return ClosedForm(tuple(map(tuple, merged)), "line", proof)


def _geometric_with_guesses(order: list[int], t: Fraction, worth: Exact) -> tuple[list[list[Fraction]], Fraction]:
    """The geometric mechanism along *order*, every output read by its Bayes guess, and what that is worth."""
    plain = truncated_geometric(len(order), t)
    # columns stay in the order of the line, rows in that of the vertices: the guesses lead from the one to the other
    rows = [plain[0]] * len(order)
    for position, y in enumerate(order):
        rows[y] = plain[position]
    guesses = _best_guesses(rows, worth)
    merged = [[Fraction(0)] * len(order) for _ in order]
    for y, row in enumerate(rows):
        for z, cell in enumerate(row):
            merged[y][guesses[z]] += cell
    return merged, sum((w * m for ws, ms in zip(worth, merged) for w, m in zip(ws, ms) if w), Fraction(0))


def _line_potential(prior: list[Fraction], t: Fraction) -> list[Fraction] | None:
    """``λ = Φ⁻¹ π`` along a line, where the inverse of Φ has three diagonals; ``None`` if λ is negative somewhere."""
    if len(prior) == 1:
        return prior
    # The inverse of t^|i−j| is known (Kac, Murdock and Szegő): n steps where an exact solve takes n³.
    sides = [Fraction(0), *prior, Fraction(0)]
    last = len(prior) - 1
    potential = [
        (((1 + t * t) if 0 < i < last else 1) * prior[i] - t * (sides[i] + sides[i + 2])) / (1 - t * t)
        for i in range(len(prior))
    ]
    return potential if min(potential) >= 0 else None


def _best_guesses(rows: Exact, worth: Exact) -> list[int]:
    if all(not w or y == z for y, row in enumerate(worth) for z, w in enumerate(row)):
        # a guess is worth something for one answer alone: n² products instead of n³
        return [max(range(len(rows)), key=lambda y: worth[y][y] * column[y]) for column in zip(*rows)]
    values = exact_matrix.multiply(list(zip(*rows)), worth)
    return [max(range(len(row)), key=lambda w: row[w]) for row in values]


def falls_with_distance_on(graph: AnswerGraph, gain: Exact | FloatArray) -> bool:
    """Whether the graph is a line and every answer's gain depends on the distance alone and only falls with it."""
    order = graph.line_order
    return order is not None and len(gain[0]) == len(gain) and falls_with_distance(gain, order)


def falls_with_distance(gain: Exact | FloatArray, order: list[int]) -> bool:
    if isinstance(gain, np.ndarray):
        return all(_array_falls(place, gain[y, order]) for place, y in enumerate(order))
    for position, y in enumerate(order):
        along = [gain[y][z] for z in order]
        after, before = along[position:], along[position::-1]
        if not all(_never_rises(part) for part in (after, before)) or any(map(ne, after, before)):
            return False
    return True


def _array_falls(place: int, along: FloatArray) -> bool:
    after, before = along[place:], along[place::-1]
    both = min(len(after), len(before))
    falls = bool((np.diff(after) <= 0).all() and (np.diff(before) <= 0).all())
    return falls and bool((after[:both] == before[:both]).all())


def _never_rises(values: Sequence[Fraction]) -> bool:
    return all(near >= far for near, far in pairwise(values))


def closed_form(kernel: DecayKernel, prior: Prior) -> ClosedForm | None:
    """``Φ D = 1``, ``Φ λ = π``: if D ≥ 0 then ``Φ·diag(D)`` is private;
    if also λ ≥ 0 it is optimal, utility ``Σ λ``.
    """
    solved = exact_matrix.solve_exactly(kernel.rows, [[Fraction(1), mass] for mass in prior])
    # D < 0 is no channel and λ < 0 no proof: either way the linear program has to find both
    if solved is None or any(value < 0 for pair in solved for value in pair):
        return None
    diagonal = [d for d, _ in solved]
    rows = tuple(tuple(phi * d for phi, d in zip(row, diagonal)) for row in kernel.rows)
    return ClosedForm(rows, "closed-form", PotentialProof(kernel, prior, tuple(value for _, value in solved)))


# The paper's lemmas as transformations: each keeps privacy and the posterior vulnerability under a uniform prior.


# The channel that leaks the most that a private one can.


_MOST_DATABASES = 1100


def extremal_channel(individuals: int, values: Any, epsilon: object) -> Channel:
    """The channel on ``Val^u`` that attains Theorem 1: ``α / x^d`` with ``α = (x/(v−1+x))^u`` (errata F4, F5).

    *values* is their number or the values themselves. An irrational ``e^epsilon`` is taken from below, so the
    channel is private. It has a row and a column for each of the ``v^u`` databases, so these are few.

    >>> extremal_channel(2, 2, "ln(2)")
    Channel(4 inputs × 4 outputs, exact)
    """
    names = tuple(range(values)) if isinstance(values, int) else tuple(values)
    check_databases(individuals, len(names))
    if (size := len(names) ** individuals) > _MOST_DATABASES:
        raise ChannelError(
            "individuals",
            individuals,
            f"with {len(names)} values make {size} databases, more than the {_MOST_DATABASES} that a matrix is written out for",
            "database_bound() gives what this channel leaks for any number of people",
        )
    read = Epsilon.read(epsilon)
    if read.infinite:
        return Channel.identity(list(Databases.of_values(names, individuals)))
    ratio = read.ratio_below(bits=64)
    databases = list(Databases.of_values(names, individuals))
    alpha = (ratio / (len(names) - 1 + ratio)) ** individuals
    cells = [alpha / ratio**d for d in range(individuals + 1)]
    rows = [[cells[sum(a != b for a, b in zip(x, z))] for z in databases] for x in databases]
    return Channel(rows, databases, outputs=databases)


Rows = list[list[Any]]


def _plain_rows(channel: Channel) -> Rows:
    return [list(row) for row in channel.rows] if channel.exact else channel.array.tolist()


def _zero(channel: Channel) -> ExactOrFloat:
    return Fraction(0) if channel.exact else 0.0


def _as_channel(rows: Rows, channel: Channel, outputs: Sequence[Any]) -> Channel:
    return Channel(rows if channel.exact else np.array(rows), channel.inputs, outputs=outputs)


def square(channel: Channel) -> Channel:
    """Lemma 1: as many outputs as inputs, each column's maximum on the diagonal; outputs are then guesses of the input.

    Every output is handed to an input where it is likeliest; inputs that get none keep a zero column.

    >>> square(Channel([["1/2", "1/4", "1/8", "1/8"], ["1/4", "1/2", "1/8", "1/8"], ["1/4"] * 4])).rows[2]
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    """
    rows = _plain_rows(channel)
    size = len(rows)
    merged = [[_zero(channel)] * size for _ in range(size)]
    for z in range(len(channel.outputs)):
        likeliest = max(range(size), key=lambda x: (rows[x][z], -x))
        for x in range(size):
            merged[x][likeliest] += rows[x][z]
    return _as_channel(merged, channel, channel.inputs)


def _check_diagonal(channel: Channel, lemma: str) -> Rows:
    rows = _plain_rows(channel)
    if len(channel.inputs) != len(channel.outputs):
        raise ChannelError(
            lemma, f"{len(channel.inputs)} × {len(channel.outputs)}", "is not square", "apply square() first"
        )
    slack = 0 if channel.exact else 1e-12
    for z in range(len(rows)):
        if any(row[z] > rows[z][z] + slack for row in rows):
            raise ChannelError(
                lemma, channel.outputs[z], "is a column whose maximum is off the diagonal", "apply square() first"
            )
    return rows


def equal_diagonal(channel: Channel, databases: Databases) -> Channel:
    """Lemma 2: on ``Val^u``, average all cells at the same distance; the diagonal becomes constant (erratum F7: the
    proof, not the lemma).

    Rows and columns of *channel* must be the databases in their own order.
    """
    rows = _check_diagonal(channel, "Lemma 2")
    names = list(databases)
    if len(names) != len(rows):
        raise ChannelError("databases", len(names), f"do not fit a channel with {len(rows)} inputs")
    distance = [[sum(a != b for a, b in zip(x, z)) for z in names] for x in names]
    # Pairs at one distance are one orbit of the symmetries of Val^u: the mean over them is the mean over the group, and a
    # mean of private channels is private.
    totals: list[Any] = [_zero(channel)] * (databases.individuals + 1)
    counts = [0] * (databases.individuals + 1)
    for row, steps in zip(rows, distance):
        for cell, d in zip(row, steps):
            totals[d] += cell
            counts[d] += 1
    means = [total / many for total, many in zip(totals, counts)]
    return _as_channel([[means[d] for d in steps] for steps in distance], channel, channel.outputs)


def average_over(channel: Channel, automorphism: Sequence[int]) -> Channel:
    """Lemma 5: average over the powers of an automorphism with one orbit (``automorphism[i]`` is where input i goes;
    erratum F22).
    """
    rows = _check_diagonal(channel, "Lemma 5")
    size = len(rows)
    images = [list(range(size))]
    while len(images) < size:
        images.append([automorphism[i] for i in images[-1]])
    if sorted(power[0] for power in images) != list(range(size)):
        raise ChannelError("automorphism", list(automorphism), "does not have a single orbit")
    averaged = [
        [sum((rows[power[h]][power[k]] for power in images), start=_zero(channel)) / size for k in range(size)]
        for h in range(size)
    ]
    return _as_channel(averaged, channel, channel.outputs)


def doubled_even_ring(size: int, inverse_ratio: Fraction) -> Channel:
    """Remark 1's matrix for an even ring: the cell opposite is doubled. Legal only if ``x² ≥ 2``, and never optimal
    (erratum F17).

    It is here to be compared: :func:`optimaldp.channels.optimal_mechanism` needs no doubling and works for every
    epsilon.
    """
    if size < 4 or size % 2:
        raise ChannelError("size", size, "is not an even ring's", "it must be 4, 6, 8, …")
    half = size // 2
    weights = [inverse_ratio ** min(k, size - k) * (2 if k == half else 1) for k in range(size)]
    total = sum(weights, Fraction(0))
    return Channel([[weights[(z - y) % size] / total for z in range(size)] for y in range(size)])
