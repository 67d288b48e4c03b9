"""A linear objective over linear and Gaussian constraints, by an interior point method in floats.

Tangents find a vertex within a few rounds, but where a maximum lies on a curved face they need thousands: there Newton's method
with a logarithmic barrier finds a point that is private with room to spare and a hair below the maximum. How much below is not
believed: tangents at that point bound the maximum, and the linear program with them says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from optimaldp.extras import requiring

Floats = npt.NDArray[np.float64]

_GROWTH = 8.0  # of the weight of the objective from one centre to the next
_GAP = 2e-10  # how far below the maximum the last centre is, in theory
_MOST_STEPS = 60  # of Newton's method for one centre; a handful is usual
_CENTRED_DECREMENT = 1e-9  # half the squared Newton decrement at which a centre is good enough
_SHORTEST_STEP = 1e-12


@dataclass(frozen=True)
class GaussianRows:
    """``head · x + head_constant <= F_mu(tail · x + tail_constant)``, one for each row."""

    mu: Floats
    tail: Floats
    tail_constant: Floats
    head: Floats
    head_constant: Floats


@dataclass(frozen=True)
class SmoothProgram:
    """Maximise ``cost · x`` subject to ``rows · x <= bounds``, ``equal · x`` as at the start, and Gaussian rows."""

    cost: Floats
    rows: Floats
    bounds: Floats
    equal: Floats
    gaussian: GaussianRows

    def maximise(self, start: Floats) -> Floats | None:
        """A point just inside that is nearly maximal; *start* is strictly inside, otherwise there is no answer."""
        if self._barrier(start)[0] == inf:
            return None
        count = len(self.bounds) + len(self.gaussian.mu)
        basis = _null_space(self.equal)
        point, weight = start, 1.0
        while True:
            point = self._centre(point, basis, weight)
            if count / weight <= _GAP:
                return point
            weight *= _GROWTH

    def _centre(self, point: Floats, basis: Floats, weight: float) -> Floats:
        """Newton's method from *point* to the maximum of ``weight cost · x`` and the logarithms of all room."""
        for _ in range(_MOST_STEPS):
            value, gradient, curvature = self._barrier(point)
            gradient = basis.T @ (gradient - weight * self.cost)
            step = -np.linalg.lstsq(basis.T @ curvature @ basis, gradient, rcond=None)[0]
            decrement = float(-gradient @ step)
            if not decrement > 2 * _CENTRED_DECREMENT:
                return point
            length, direction = 1.0, basis @ step
            here = value - weight * float(self.cost @ point)
            while length > _SHORTEST_STEP:
                there = point + length * direction
                if self._room(there) - weight * float(self.cost @ there) <= here - 0.1 * length * decrement:
                    break
                length /= 2
            else:
                return point  # rounding decides from here on
            point = there
        return point

    def _room(self, point: Floats) -> float:
        slacks, steps, _ = self._slacks(point)
        if (slacks.size and slacks.min() <= 0) or not np.all(np.isfinite(steps)) or (steps.size and steps.min() <= 0):
            return inf
        return float(-np.log(slacks).sum() - np.log(steps).sum())

    def _barrier(self, point: Floats) -> tuple[float, Floats, Floats]:
        """Minus the logarithms of all room, with gradient and curvature; infinite outside."""
        room = self._room(point)
        size = len(point)
        if room == inf:
            return inf, np.zeros(size), np.zeros((size, size))
        slacks, steps, quantile = self._slacks(point)
        rows, gaussian = self.rows, self.gaussian
        slope = np.exp(-gaussian.mu * quantile - gaussian.mu**2 / 2)
        density = np.exp(-(quantile**2) / 2) / np.sqrt(2 * np.pi)
        rise = slope[:, None] * gaussian.tail - gaussian.head
        gradient = rows.T @ (1 / slacks) - rise.T @ (1 / steps)
        bend = gaussian.mu * slope / density / steps
        curvature = (rows.T / slacks**2) @ rows + (rise.T / steps**2) @ rise + (gaussian.tail.T * bend) @ gaussian.tail
        return room, gradient, curvature

    def _slacks(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        with requiring("scipy"):
            from scipy.special import ndtr, ndtri

        gaussian = self.gaussian
        with np.errstate(invalid="ignore"):
            quantile = ndtri(gaussian.tail @ point + gaussian.tail_constant)
            steps = ndtr(quantile + gaussian.mu) - gaussian.head @ point - gaussian.head_constant
        return self.bounds - self.rows @ point, steps, quantile


def _null_space(equal: Floats) -> Floats:
    """An orthonormal basis of the directions that keep every equality."""
    _, sizes, directions = np.linalg.svd(equal)
    return np.asarray(directions[int((sizes > 1e-10).sum()) :].T, dtype=np.float64)
