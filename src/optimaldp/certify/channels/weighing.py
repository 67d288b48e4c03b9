"""Bounds by a potential of either sign on any graph whose edges have one length.

For any λ let ``v_z`` be the least of ``Σ λ_y φ(y)`` over all φ that keep every factor and have ``φ(z) = 1``; ``v >= π`` proves
``U <= Σλ`` (see ``forests``). Here ``v_z`` is weighed from below. A *flow* w on (y, neighbour y') moves worth against the
constraint ``φ(y) <= x φ(y')``: y gains w, y' loses ``x w``, and ``Σ λ φ`` is at least what it is after the move. The certificate
has flows after which no answer is below 0. From there, for each guess z, what answers have beyond 0 is moved to z: by the
steps of the graph, each of which keeps ``1/x`` of it, or against flows of before, which gives ``x`` times as much and
undoes them. Every state on the way is a proof, and always moving along the best way left ends at ``v_z`` itself.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from optimaldp.certify.channels.reading import (
    UNIT,
    AnswerPair,
    Factors,
    FloatArray,
    UtilityBound,
    as_floats,
    certificate_number,
    only_length,
)
from optimaldp.certify.graphs.rounding import Loop
from optimaldp.errors import CertificateError

_SWEEPS = 256  # over all answers for each guess: at a small epsilon ways are long (64 lost 4 % of a bound there)
_FAR = 1e-12  # where steps keep less, the certificate's own flows are good enough (1e-6 lost 2 % of some bounds)
Integers = npt.NDArray[np.int64]


def by_weighed_potential(
    potential: list[Fraction], flows: object, edges: list[AnswerPair], factors: Factors, masses: tuple[Fraction, ...]
) -> UtilityBound:
    """``s·Σλ`` with the least s for which ``s·v >= π`` for every guess that a best channel needs."""
    length = only_length(edges)
    if length is None or factors.epsilon.infinite or factors.epsilon.is_zero:
        raise CertificateError("certificate", "flows beside a potential", "speak of edges of one length")
    above = factors.between(length)[1]
    arcs, weights = _read_flows(flows, edges)
    prior = as_floats(masses)
    lifted, reached, guesses = weigh_potential(as_floats(potential), arcs, weights, edges, float(above), prior)
    if (reached <= 0).any():
        return UtilityBound(Fraction(1), "the potential does not reach every answer")
    stretch = max(masses[z] / Fraction(r) for z, r in zip(guesses.tolist(), reached.tolist()))
    total = Fraction(math.fsum(lifted.tolist())) + Fraction(4 * UNIT * float(np.abs(lifted).sum()))
    return UtilityBound(min(Fraction(1), stretch * total), "a potential that covers the prior, weighed for each guess")


def weigh_potential(
    potential: FloatArray,
    arcs: Integers,
    weights: FloatArray,
    edges: list[AnswerPair],
    ratio: float,
    prior: FloatArray,
) -> tuple[FloatArray, FloatArray, Integers]:
    """The potential, lifted where the flows leave it below 0; what it reaches for each useful guess; those guesses.

    *arcs* are rows (y, neighbour), *weights* their flows. What is reached is not above ``v``, in spite of rounding.
    """
    size, x = len(potential), ratio * (1 + 4 * UNIT)
    first, heads, back = _both_directions(size, edges)
    flow = np.zeros(len(heads))
    where = {(int(t), int(h)): k for k, (t, h) in enumerate(zip(np.repeat(np.arange(size), np.diff(first)), heads))}
    np.add.at(flow, [where[int(y), int(other)] for y, other in arcs], weights)
    # reduceat gives an answer without arcs the flow of the next one: the last factor takes it back.
    gained = np.add.reduceat(np.append(flow, 0.0), np.minimum(first[:-1], len(flow))) * (np.diff(first) > 0)
    lost = x * np.bincount(heads, weights=flow, minlength=size)
    degree = int(np.diff(first).max(initial=0))
    surplus = potential + gained - lost - 4 * (degree + 4) * UNIT * (np.abs(potential) + gained + lost)
    # Whatever the certificate holds is mended, not refused: a larger potential is a weaker bound, but a bound.
    lifted = potential + np.maximum(-surplus, 0) * (1 + 4 * UNIT)
    guesses = _useful(edges, ratio, prior)
    targets = prior[guesses] * (1 + 1e-12)
    # each operation is wrong by 2^-53 of what it moves, and nothing is moved more often than this
    kept = 1 - 8 * (degree + 4) * (_SWEEPS + 2) * (size + 4) * UNIT
    powers = (1 / x) ** np.arange(size + 1) * (1 - 8 * UNIT)
    radius = int((powers >= _FAR).sum())
    reached = np.zeros(len(guesses))
    given, scale = (flow, np.maximum(surplus, 0)), (x, powers, radius)
    arcs_of = _Arcs(first, heads, back)
    _WEIGH(len(guesses) * len(heads), arcs_of, given, guesses, targets / kept, scale, reached)
    return lifted, reached * kept, guesses


def _useful(edges: list[AnswerPair], ratio: float, prior: FloatArray) -> Integers:
    """The guesses that a neighbour does not replace: one that is likelier by the whole factor (see ``flows``)."""
    kept = prior > 0
    for edge in edges:
        for y, z in ((edge.one, edge.other), (edge.other, edge.one)):
            # Only what is certainly useless: a guess that is kept in vain costs time, or weakens the bound.
            if prior[z] * ratio * (1 + 16 * UNIT) < prior[y]:
                kept[z] = False
    return np.flatnonzero(kept)


def _both_directions(size: int, edges: list[AnswerPair]) -> tuple[Integers, Integers, Integers]:
    """Where each answer's arcs begin, where they lead, and the place of each arc's reverse."""
    pairs = sorted({pair for edge in edges for pair in ((edge.one, edge.other), (edge.other, edge.one))})
    place = {pair: k for k, pair in enumerate(pairs)}
    tails = np.array([tail for tail, _ in pairs], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=size))])
    back = np.array([place[head, tail] for tail, head in pairs], dtype=np.int64)
    return first, np.array([head for _, head in pairs], dtype=np.int64), back


def _read_flows(flows: object, edges: list[AnswerPair]) -> tuple[Integers, FloatArray]:
    near = {pair for edge in edges for pair in ((edge.one, edge.other), (edge.other, edge.one))}
    if not isinstance(flows, (list, tuple)):
        raise CertificateError("flows", flows, "is not a list of [answer, neighbour, weight]")
    for flow in flows:
        if (
            not isinstance(flow, (list, tuple))
            or len(flow) != 3
            or not all(type(end) is int for end in flow[:2])
            or tuple(flow[:2]) not in near
        ):
            raise CertificateError("flow", flow, "is not [answer, neighbour, weight]")
    arcs = np.array([flow[:2] for flow in flows], dtype=np.int64).reshape(-1, 2)
    return arcs, np.array([float(certificate_number(flow[2], "flow")) for flow in flows])


class _Arcs(NamedTuple):
    """Where each answer's arcs begin, where they lead, and the place of each arc's reverse."""

    first: Integers
    heads: Integers
    back: Integers


def _weigh(
    arcs: _Arcs,
    given: tuple[FloatArray, FloatArray],
    guesses: Integers,
    targets: FloatArray,
    scale: tuple[float, FloatArray, int],
    reached: FloatArray,
) -> None:
    """For each guess: move what answers have beyond 0 to it, sweep by sweep, until its target is reached or nothing moves.

    *given* are the certificate's flows and what they leave to each answer; *scale* is x, its powers downwards, and the radius
    beyond which answers are left as they are. Every state on the way is a proof, so *reached* may keep the best of them.
    """
    x, powers, radius = scale
    size = len(given[1])
    distance, order = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    gain, hops = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for k in range(len(guesses)):
        count, near = _nearest_first(arcs, guesses[k], radius, distance, order)
        flow, surplus = given[0].copy(), given[1].copy()
        reached[k] = _worth(surplus, order[:count], distance, powers)
        for _ in range(_SWEEPS):
            if reached[k] >= targets[k]:
                break
            _best_ways(arcs, guesses[k], radius, distance, order[:near], flow, gain, hops)
            longest = _longest_first(order[:near], hops)
            moved = _move(arcs, guesses[k], radius, distance, longest, gain, hops, flow, surplus, x)
            reached[k] = max(reached[k], _worth(surplus, order[:count], distance, powers))
            if not moved:
                break


def _nearest_first(arcs: _Arcs, guess: int, radius: int, distance: Integers, order: Integers) -> tuple[int, int]:
    """All answers that are joined to the guess, nearest first: how many there are, and how many lie within the radius."""
    distance[:] = -1
    distance[guess] = 0
    order[0] = guess
    count, near = 1, 1
    for at in range(len(order)):
        if at >= count:
            break
        y = order[at]
        for arc in range(arcs.first[y], arcs.first[y + 1]):
            other = arcs.heads[arc]
            if distance[other] < 0:
                distance[other] = distance[y] + 1
                order[count] = other
                count += 1
                if distance[other] < radius:
                    near = count
    return count, near


def _worth(surplus: FloatArray, answers: Integers, distance: Integers, powers: FloatArray) -> float:
    """What everybody's surplus is worth at the guess, each moved along its shortest way."""
    total = 0.0
    for y in answers:
        total += surplus[y] * powers[distance[y]]
    return total


def _best_ways(
    arcs: _Arcs,
    guess: int,
    radius: int,
    distance: Integers,
    answers: Integers,
    flow: FloatArray,
    gain: Integers,
    hops: Integers,
) -> None:
    """The best way of each answer to the guess: a step keeps 1/x, a step against a flow gives x.

    *gain* is the exponent of what one unit becomes, *hops* the number of steps. Rings may gain for ever, so the search is cut.
    Bad labels cost sharpness alone: every move is a proof by itself.
    """
    size, near = len(distance), len(answers)
    queue, waiting = np.empty(size + 1, dtype=np.int64), np.zeros(size, dtype=np.bool_)
    for at in range(near):
        y = answers[at]
        gain[y], hops[y] = -distance[y], distance[y]
        queue[at], waiting[y] = y, True
    head, length, steps = 0, near, 0
    while length > 0 and steps < 50 * near:
        y = queue[head]
        head = head + 1 if head < size else 0
        length -= 1
        steps += 1
        waiting[y] = False
        if hops[y] >= near:
            continue
        for arc in range(arcs.first[y], arcs.first[y + 1]):
            other = arcs.heads[arc]
            if other == guess or distance[other] >= radius:
                continue
            better = gain[y] + 1 if flow[arcs.back[arc]] > 0 else gain[y] - 1
            if better > gain[other] or (better == gain[other] and hops[y] + 1 < hops[other]):
                gain[other], hops[other] = better, hops[y] + 1
                if not waiting[other]:
                    waiting[other] = True
                    tail = head + length
                    queue[tail if tail <= size else tail - size - 1] = other
                    length += 1


def _longest_first(answers: Integers, hops: Integers) -> Integers:
    """The answers by the steps of their ways, the longest first: counted, not compared."""
    near = len(answers)
    ends = np.zeros(near + 2, dtype=np.int64)
    for y in answers:
        ends[hops[y] + 1] += 1
    for at in range(near + 1):
        ends[at + 1] += ends[at]
    by_hops = np.empty(near, dtype=np.int64)
    for y in answers:
        by_hops[ends[hops[y]]] = y
        ends[hops[y]] += 1
    return by_hops[::-1]


def _move(
    arcs: _Arcs,
    guess: int,
    radius: int,
    distance: Integers,
    answers: Integers,
    gain: Integers,
    hops: Integers,
    flow: FloatArray,
    surplus: FloatArray,
    x: float,
) -> bool:
    """Move every surplus one step along its best ways: first against flows, which gives x; the rest in equal shares for 1/x."""
    moved = False
    for y in answers:
        if surplus[y] <= 0 or y == guess:
            continue
        ways = 0
        for arc in range(arcs.first[y], arcs.first[y + 1]):
            other = arcs.heads[arc]
            if distance[other] >= radius or hops[other] >= hops[y]:
                continue
            if flow[arc] > 0 and gain[y] == gain[other] + 1:
                amount = min(surplus[y], flow[arc])
                surplus[y] -= amount
                flow[arc] -= amount
                surplus[other] += x * amount
                moved = True
            elif gain[y] == gain[other] - 1:
                ways += 1
        if surplus[y] > 0 and ways > 0:
            share = surplus[y] / ways / x
            for arc in range(arcs.first[y], arcs.first[y + 1]):
                other = arcs.heads[arc]
                if distance[other] < radius and hops[other] < hops[y] and gain[y] == gain[other] - 1:
                    surplus[other] += share
                    flow[arcs.back[arc]] += share
            surplus[y] = 0.0
            moved = True
    return moved


_WEIGH = Loop(_weigh, _nearest_first, _worth, _best_ways, _longest_first, _move)
