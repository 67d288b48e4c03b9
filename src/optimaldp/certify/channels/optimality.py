"""How useful the channel is, and what no private channel exceeds: each bound is weak duality on numbers that anyone may give.

A certificate is a document. It cannot lie: whatever numbers it holds, what is computed from them here is a bound.

- *potential* λ ≥ 0 (gain of one for the right answer): ``D_z = M[z,z]`` of any private channel has ``Φ D ≤ 1``, where
  ``Φ[y,z] = e^(−epsilon d(y,z))``; so ``π·D ≤ s·λᵀΦD ≤ s·Σλ`` with the least s for which ``s·Φλ ≥ π``.
  On a forest λ may have either sign (see ``forests``), and on any graph if flows beside it show that it may (``weighing``).
- *flows* w ≥ 0 on (neighbour y, neighbour y', guess z): ``Σ w (M[y,z] − e^epsilon M[y',z]) ≤ 0`` is added to the
  objective, and every row then gives at most the largest of its coefficients.
- *theorem*: on a line, for a gain that only falls with the distance, the geometric mechanism read by Bayes guesses
  (Ghosh, Roughgarden and Sundararajan 2009). Its value is computed here again. Edges may be cut first.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from optimaldp.certify.channels.bound import UNIT, UtilityBound, Worth, as_floats
from optimaldp.certify.channels.factors import Factors
from optimaldp.certify.channels.flows import by_flows
from optimaldp.certify.channels.potentials import by_potential
from optimaldp.certify.channels.reading import AnswerPair, Matrix
from optimaldp.certify.channels.theorems import by_theorem
from optimaldp.errors import CertificateError


def utility(matrix: Matrix, masses: tuple[Fraction, ...], worth: Worth) -> Fraction:
    """The expected gain of the analyst who reads each output by its best guess, of the distributions that the rows are.

    Exact for rationals; for floats a lower bound that rounding cannot make too large.
    """
    if matrix.exact:
        columns = zip(*(matrix.rows[y] for y in range(len(masses))))
        if worth is None:
            return sum((max(m * p for m, p in zip(masses, column)) for column in columns), Fraction(0))
        guesses = list(zip(*worth))
        return sum(
            (max(sum(w * p for w, p in zip(guess, column)) for guess in guesses) for column in columns), Fraction(0)
        )
    shares = matrix.floats / np.array(matrix.sums)[:, None]
    if worth is None:
        value, size = float((shares * as_floats(masses)[:, None]).max(axis=0).sum()), 1.0
    else:
        table = np.array([[float(w) for w in row] for row in worth])
        value, size = float((shares.T @ table).max(axis=1).sum()), float(np.abs(table).max(axis=1).sum())
    # From below, while bounds are taken from above: rounding makes the gap larger, never smaller.
    return Fraction(value - 8 * (sum(shares.shape) + 8) * UNIT * size)


def proven_bound(
    certificate: Mapping[str, Any],
    edges: list[AnswerPair],
    factors: Factors,
    masses: tuple[Fraction, ...],
    worth: Worth,
) -> UtilityBound:
    """What the certificate proves."""
    kind = certificate.get("kind")
    if kind == "potential" and worth is None:
        return by_potential(certificate.get("potential"), edges, factors, masses, flows=certificate.get("flows"))
    if kind == "linear-program dual":
        return by_flows(certificate.get("flows"), edges, factors, masses, worth)
    if kind == "theorem":
        return by_theorem(edges, factors, masses, worth, cut=certificate.get("cut"))
    raise CertificateError(
        "certificate", kind, "is no kind of proof for this problem", "potential, linear-program dual or theorem"
    )
