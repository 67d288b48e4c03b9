"""Mechanisms made by hand from the closed form: the referee's tests do not ask the designers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from optimaldp.certify import DesignVerdict, verify
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.mechanisms import BoundTree, Certificate, Mechanism, SharedRows
from optimaldp.mechanisms.certificate import FREE, ROOT
from optimaldp.privacy import level


def step(s: Fraction, ratio: Fraction, delta: Fraction) -> Fraction:
    """``F(s) = min{1, E s + delta, 1 - (1 - s - delta) / E}``."""
    return min(Fraction(1), ratio * s + delta, 1 - (1 - s - delta) / ratio)


def printed_step(s: Fraction, ratio: Fraction, delta: Fraction) -> Fraction:
    """What 001 prints as (4.3): delta is added after the complement has decayed."""
    return min(Fraction(1), min(ratio * s, 1 - (1 - s) / ratio) + delta)


def iterate(s: Fraction, steps: int, ratio: Fraction, delta: Fraction, one_step=step) -> Fraction:
    for _ in range(steps):
        s = one_step(s, ratio, delta)
    return s


def line_graph(count: int, ratio: Fraction, delta: Fraction) -> DatasetGraph:
    names = [f"d{i}" for i in range(count)]
    return DatasetGraph.from_edges(names, pairwise(names), level=level(f"ln({ratio})", delta))


def line_of(values, ratio, delta, *, answers=("yes", "no")) -> Mechanism:
    """A line on which everybody wants yes, with these probabilities of yes."""
    graph = line_graph(len(values), ratio, delta)
    preferences = Preferences(tuple(answers), ((0, 1),), np.zeros(len(values), dtype=np.int32))
    return Mechanism(graph, preferences, SharedRows.from_rows([(p, 1 - p) for p in values]))


def line_optimum(start: Fraction, count: int, ratio: Fraction, delta: Fraction, one_step=step) -> Mechanism:
    """The optimum on a line whose first dataset is given: ``F^t(start)`` at distance t."""
    return line_of([iterate(start, t, ratio, delta, one_step) for t in range(count)], ratio, delta)


def line_certificate(count: int) -> Certificate:
    """Each dataset's bound comes from the one before; the first is given."""
    given = np.arange(count) == 0
    return Certificate(given, (BoundTree((0,), np.arange(-1, count - 1, dtype=np.int32)),))


def balanced_line(half: int, ratio: Fraction, delta: Fraction) -> tuple[Mechanism, Certificate]:
    """Yes on the left half, no on the right, balanced in the middle (theory, Section 2.1)."""
    boundary = (ratio + delta) / (ratio + 1)
    values = [iterate(boundary, half - 1 - i, ratio, delta) for i in range(half)]
    rows = [(p, 1 - p) for p in values] + [(1 - p, p) for p in reversed(values)]
    preferences = Preferences.of_truth(("yes", "no"), np.repeat([0, 1], half))
    mechanism = Mechanism(line_graph(2 * half, ratio, delta), preferences, SharedRows.from_rows(rows))
    towards = np.concatenate([np.arange(1, half), [ROOT, ROOT], np.arange(half, 2 * half - 1)]).astype(np.int32)
    given = towards == ROOT
    left, right = towards.copy(), towards.copy()
    left[half:][~given[half:]], right[:half][~given[:half]] = FREE, FREE
    return mechanism, Certificate(given, (BoundTree((0,), left), BoundTree((1,), right)))


def verify_given(mechanism: Mechanism, certificate: Certificate | None = None, **more) -> DesignVerdict:
    """The verdict where the problem fixes what the certificate takes as given (or what *more* says)."""
    if certificate is not None and not more and len(certificate.given) == len(mechanism):
        more = {"fixed": {v: mechanism.rows.row(v) for v in np.flatnonzero(certificate.given).tolist()}}
    return verify(mechanism, certificate, **more)
