"""The verdict on a channel: private or not, how useful, and whether anything private is more useful."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimaldp.certify.channels.potentials import by_flows, by_potential, by_theorem
from optimaldp.certify.channels.reading import (
    UNIT,
    AnswerPair,
    ChannelLike,
    Factors,
    FloatArray,
    FloatWorth,
    GraphLike,
    Matrix,
    UtilityBound,
    Worth,
    all_are_neighbours,
    as_floats,
    only_length,
    read_edges,
    read_masses,
    read_matrix,
    read_worth,
    size_of_terms,
)
from optimaldp.certify.core.examined import LeastLevel
from optimaldp.errors import CertificateError
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import fraction_text
from optimaldp.results import Verdict

# Does every edge keep its factor, for every output? Floats say where it is clear, rationals decide where it is not.


_CLEAR = 1e-14  # relative: more than a quotient, two products and two rounded sums can be wrong in floats
_UNDERFLOW = 1e-290  # cells below it are compared as rationals whatever the floats say
_LOGARITHM_ERROR = 2.0**-48  # relative: more than two logarithms, of which one may be that of a long quotient, miss
_MOST_READ = 1500  # answers up to which every output is read by its best guess of all
_BLOCK = 4_000_000  # cells of a block of arcs: 32 MB
Arc = tuple[int, int, Fraction]
Place = tuple[int, int, int]


def check_channel_privacy(matrix: Matrix, edges: list[AnswerPair], factors: Factors) -> LeastLevel[Place]:
    """Both directions of every edge, every output.

    **Guarantee.** ``private`` is decided exactly, of the distributions that the rows are (floats divided by their sum).
    """
    length = only_length(edges)
    if length is not None and all_are_neighbours(len(matrix.names), edges):
        arcs = list(_extreme_pairs(matrix, length, factors))
    else:
        arcs = [(edge.one, edge.other, edge.length) for edge in edges]
        arcs += [(other, one, length) for one, other, length in arcs]
    arcs = list(dict.fromkeys(arcs))
    epsilon, worst = _least_epsilon(_logarithms(matrix), arcs)
    for y, other, z, length in _suspects(matrix, arcs, factors):
        high, low = matrix.cell(y, z) * matrix.total(other), matrix.cell(other, z) * matrix.total(y)
        if not factors.allows(high, low, length):
            return LeastLevel(False, epsilon, worst if epsilon == math.inf else (y, other, z))
    return LeastLevel(True, epsilon, worst)


def _extreme_pairs(matrix: Matrix, length: Fraction, factors: Factors) -> Iterator[Arc]:
    """Every two answers are neighbours: in each column the row of the largest cell against the row of the least.

    Where that pair is clearly fine any row next to an extreme will do; elsewhere rows whose floats are next to the
    extreme may hold it as rationals, and those decide.
    """
    shares = matrix.floats / np.array(matrix.sums)[:, None]
    below = np.inf if factors.epsilon.infinite else _float_below(factors.between(length)[0])
    for z, (most, least) in enumerate(zip(shares.max(axis=0), shares.min(axis=0))):
        column = shares[:, z]
        if (most == 0 and not matrix.exact) or (least >= _UNDERFLOW and most <= below * (1 - 4 * _CLEAR) * least):
            yield int(column.argmax()), int(column.argmin()), length
            continue
        highs = np.flatnonzero(column >= (most * (1 - _CLEAR) if most > _UNDERFLOW else 0.0))
        lows = np.flatnonzero(column <= max(least * (1 + _CLEAR), _UNDERFLOW))
        high = max(highs.tolist(), key=lambda y: matrix.share(y, z))
        yield high, min(lows.tolist(), key=lambda y: matrix.share(y, z)), length


def _suspects(matrix: Matrix, arcs: list[Arc], factors: Factors) -> Iterator[tuple[int, int, int, Fraction]]:
    """The cells that floats do not clear: too close to the factor, or too small to be floats."""
    if factors.epsilon.infinite:
        return
    shares = matrix.floats / np.array(matrix.sums)[:, None]
    nothing = _is_nothing(matrix)
    for part in _blocks(arcs, shares.shape[1]):
        high, low = shares[[arc[0] for arc in part]], shares[[arc[1] for arc in part]]
        below = np.array([_float_below(factors.between(arc[2])[0]) for arc in part])[:, None]
        clear = (high <= below * (1 - _CLEAR) * low) & (low >= _UNDERFLOW)
        clear |= nothing[[arc[0] for arc in part]]
        for a, z in np.argwhere(~clear).tolist():
            yield part[a][0], part[a][1], z, part[a][2]


def _is_nothing(matrix: Matrix) -> NDArray[np.bool_]:
    """Which cells are 0: a float that is 0 is 0, a rational whose float is 0 may be smaller than floats go."""
    nothing: NDArray[np.bool_] = matrix.floats == 0
    if matrix.exact:
        for y, z in np.argwhere(nothing).tolist():
            nothing[y, z] = not matrix.rows[y][z]
    return nothing


def _float_below(factor: Fraction) -> float:
    return float(factor) * (1 - 2.0**-52) if factor < 2**1000 else 2.0**1000


def _blocks(arcs: list[Arc], columns: int) -> Iterator[list[Arc]]:
    block = max(1, _BLOCK // columns)
    for start in range(0, len(arcs), block):
        yield arcs[start : start + block]


def _logarithms(matrix: Matrix) -> FloatArray:
    """The logarithm of every cell's share of its row; −∞ for a cell that is 0."""
    with np.errstate(divide="ignore"):
        logarithms = np.log(matrix.floats) - np.log(np.array(matrix.sums))[:, None]
    if matrix.exact:
        for y, z in np.argwhere(matrix.floats < _UNDERFLOW).tolist():
            cell = matrix.cell(y, z)
            logarithms[y, z] = math.log(cell.numerator) - math.log(cell.denominator) if cell else -math.inf
    return np.asarray(logarithms, dtype=np.float64)


def _least_epsilon(logarithms: FloatArray, arcs: list[Arc]) -> tuple[float, Place | None]:
    epsilon, largest, worst = 0.0, 0.0, None
    for part in _blocks(arcs, logarithms.shape[1]):
        high, low = logarithms[[arc[0] for arc in part]], logarithms[[arc[1] for arc in part]]
        lengths = np.array([float(arc[2]) for arc in part])[:, None]
        with np.errstate(invalid="ignore"):
            used: NDArray[np.float64] = np.where(high == -np.inf, 0.0, (high - low) / lengths)  # 0 against 0 passes
            # Added only where something is used at all: a channel of equal rows shows 0.
            error = (1 + np.abs(high) + np.abs(low)) / lengths * _LOGARITHM_ERROR
            epsilon = max(epsilon, float((used + error)[used > 0.0].max(initial=0.0)))
        a, z = np.unravel_index(int(used.argmax()), used.shape)
        if used[a, z] > largest:
            largest, worst = float(used[a, z]), (part[a][0], part[a][1], int(z))
    return epsilon, worst


# How useful the channel is, and what no private channel exceeds: each bound is weak duality on numbers that anyone may give.
#
# A certificate is a document. It cannot lie: whatever numbers it holds, what is computed from them here is a bound.
#
# - *potential* λ ≥ 0 (gain of one for the right answer): ``D_z = M[z,z]`` of any private channel has ``Φ D ≤ 1``, where
#   ``Φ[y,z] = e^(−epsilon d(y,z))``; so ``π·D ≤ s·λᵀΦD ≤ s·Σλ`` with the least s for which ``s·Φλ ≥ π``.
#   On a forest λ may have either sign (see ``forests``), and on any graph if flows beside it show that it may (``weighing``).
# - *flows* w ≥ 0 on (neighbour y, neighbour y', guess z): ``Σ w (M[y,z] − e^epsilon M[y',z]) ≤ 0`` is added to the
#   objective, and every row then gives at most the largest of its coefficients.
# - *theorem*: on a line, for a gain that only falls with the distance, the geometric mechanism read by Bayes guesses
#   (Ghosh, Roughgarden and Sundararajan 2009). Its value is computed here again. Edges may be cut first.


def utility(matrix: Matrix, masses: tuple[Fraction, ...], worth: Worth) -> Fraction:
    """The expected gain of the analyst who reads each output by its best guess, of the distributions that the rows are.

    Exact for rationals; for floats a lower bound that rounding cannot make too large.
    """
    if matrix.exact:
        columns = zip(*(matrix.rows[y] for y in range(len(masses))))
        if worth is None:
            return sum((max(m * p for m, p in zip(masses, column)) for column in columns), Fraction(0))
        worth = worth.exactly() if isinstance(worth, FloatWorth) else worth
        guesses = list(zip(*worth))
        return sum(
            (max(sum(w * p for w, p in zip(guess, column)) for guess in guesses) for column in columns), Fraction(0)
        )
    shares = matrix.floats / np.array(matrix.sums)[:, None]
    if worth is None:
        value, size = float((shares * as_floats(masses)[:, None]).max(axis=0).sum()), 1.0
    else:
        table = worth.table if isinstance(worth, FloatWorth) else np.array([[float(w) for w in row] for row in worth])
        if len(table) > _MOST_READ and shares.shape == table.shape:
            value = float((shares * table).sum())  # each output is read by its own name: no more than by its best guess
        else:
            value = float((shares.T @ table).max(axis=1).sum())
        size = size_of_terms(value, table)
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
        return by_flows(
            certificate.get("flows"),
            edges,
            factors,
            masses,
            worth.exactly() if isinstance(worth, FloatWorth) else worth,
        )
    if kind == "theorem":
        return by_theorem(edges, factors, masses, worth, cut=certificate.get("cut"))
    raise CertificateError(
        "certificate", kind, "is no kind of proof for this problem", "potential, linear-program dual or theorem"
    )


_ROUNDING = Fraction(1, 10**9)  # relative gap that an irrational e^epsilon or floats may leave


@dataclass(frozen=True, repr=False)
class ChannelVerdict(Verdict):
    """What the referee found about a channel on a graph of its inputs, for one epsilon, prior and gain.

    ``epsilon`` is the least that the channel keeps, rounded up. ``optimal`` is ``None`` if no certificate was given;
    it is true if ``bound − utility`` is at most 1e-9 of the bound (0 where everything is rational).
    """

    private: bool
    epsilon: float
    worst_edge: tuple[str, str] | None
    worst_output: str | None
    utility: Fraction
    bound: Fraction | None
    optimal: bool | None
    reason: str

    @property
    def gap(self) -> Fraction | None:
        """What a private channel could gain beyond this one, at most."""
        return None if self.bound is None else self.bound - self.utility

    def __bool__(self) -> bool:
        return self.private and self.optimal is not False

    def summary(self) -> str:
        phrases = ["private" if self.private else "not private"]
        if self.optimal is not None:
            phrases.append("optimal" if self.optimal else "not proven optimal")
        return (
            f"ChannelVerdict({', '.join(phrases)}, least epsilon {self.epsilon:.6g}, utility {float(self.utility):.6g})"
        )

    def details(self) -> list[tuple[str, str]]:
        return [("why", self.reason)]

    def to_document(self) -> dict[str, Any]:
        return {
            "private": self.private,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else "inf",
            "worst_edge": list(self.worst_edge or ()),
            "worst_output": self.worst_output,
            "utility": fraction_text(self.utility),
            "bound": None if self.bound is None else fraction_text(self.bound),
            "optimal": self.optimal,
            "reason": self.reason,
        }


def verify_channel(
    channel: ChannelLike,
    graph: GraphLike,
    *,
    epsilon: object,
    prior: Sequence[Any] | None = None,
    gain: object = None,
    certificate: Mapping[str, Any] | None = None,
) -> ChannelVerdict:
    """Check a channel from its matrix alone: privacy on every edge, its utility, and what the certificate proves.

    **Guarantee.** ``private`` is decided exactly. ``bound`` holds for every channel that is private on this graph,
    whatever numbers the certificate has; so ``optimal`` is never true of a channel that a private one exceeds by more
    than a part in 10⁹. *prior* follows the graph's vertices (``None`` is uniform), *gain* is ``gain[answer][guess]``
    (``None``: one for the right answer).

    >>> from optimaldp.channels import AnswerGraph, Channel
    >>> response = Channel([["2/3", "1/3"], ["1/3", "2/3"]])
    >>> proof = {"kind": "potential", "potential": ["1/3", "1/3"]}
    >>> verify_channel(response, AnswerGraph.clique(2), epsilon="ln(2)", certificate=proof)
    ChannelVerdict(private, optimal, least epsilon 0.693147, utility 0.666667)
    """
    level, matrix, edges = Factors(Epsilon.read(epsilon)), read_matrix(channel, graph), read_edges(graph)
    masses = read_masses(prior, len(matrix.names))
    worth = read_worth(gain, masses, floats=True)
    privacy = check_channel_privacy(matrix, edges, level)
    value = utility(matrix, masses, worth)
    edge = None if privacy.worst is None else (str(matrix.names[privacy.worst[0]]), str(matrix.names[privacy.worst[1]]))
    output = None if privacy.worst is None else str(matrix.outputs[privacy.worst[2]])
    if not privacy.private:
        reason = f"between {edge[0]} and {edge[1]} the output {output} breaks epsilon = {level.epsilon}" if edge else ""
        return ChannelVerdict(
            False, privacy.epsilon, edge, output, value, None, None if certificate is None else False, reason
        )
    if certificate is None:
        reason = "every edge is kept; no certificate of optimality was given"
        return ChannelVerdict(True, privacy.epsilon, edge, output, value, None, None, reason)
    try:
        proven = proven_bound(certificate, edges, level, masses, worth)
    except CertificateError as error:
        return ChannelVerdict(
            True, privacy.epsilon, edge, output, value, None, False, f"the certificate proves nothing: {error}"
        )
    optimal = proven.value - value <= _ROUNDING * abs(proven.value)
    claim = "no private channel exceeds" if optimal else "what it proves leaves room: no private channel exceeds"
    reason = f"by {proven.reason}, {claim} {float(proven.value):.9g}, and this one has {float(value):.9g}"
    return ChannelVerdict(True, privacy.epsilon, edge, output, value, proven.value, optimal, reason)
