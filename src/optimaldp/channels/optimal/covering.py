"""The small program behind the whole one: ``max π·D`` with ``Φ D <= 1``, and its potential λ >= 0 with ``Φ λ >= π``.

The diagonal D of a private channel satisfies it, so λ is a bound. Where every two answers are a few steps apart it is
hardly above the optimum, a few dozen guesses carry all of D, and the columns ``Φ D`` need only be widened until rows sum to
one: that is where the search for a channel begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from optimaldp.channels.numbers import FloatArray
from optimaldp.channels.optimal.floats import IntArray, covering_bound
from optimaldp.channels.optimal.proofs import RoundedPotentialProof
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring

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
    with requiring("scipy"):
        from scipy.optimize import linprog

    guesses = useful_guesses(kernel, masses)
    size = len(masses)
    # priors are about 1/n: in units of that the solver's tolerances mean the same at every size
    solved = linprog(-masses[guesses] * size, A_ub=kernel[:, guesses], b_ub=np.ones(size), method="highs-ds")
    if solved.status != 0:
        raise ChannelError("linear program", solved.message, "was not solved")
    # any λ >= 0 proves a bound once it is stretched to cover (covering_bound): the solver's noise costs, and harms not
    potential = np.maximum(-np.asarray(solved.ineqlin.marginals), 0) / size
    reached = potential @ kernel[:, guesses]
    excess = np.where(masses[guesses] > 0, reached / np.maximum(masses[guesses], np.finfo(float).tiny), np.inf)
    return CoveringGuesses(guesses, np.maximum(solved.x, 0), potential, excess)


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
