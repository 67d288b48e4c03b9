"""The finite optimum can be released: exact rows, a referee that rejects wrong ones, draws with exactly their law."""

from __future__ import annotations

from fractions import Fraction

import pytest
from enumerated import measured

from optimaldp.certify.noise import certify_rows, draw_row
from optimaldp.errors import HistogramError, NotCertifiedError
from optimaldp.histograms import finite_optimum
from optimaldp.privacy import Epsilon


@pytest.fixture(scope="module")
def optimum():
    return finite_optimum(3, 2, epsilon="ln(2)")


def test_rows_are_distributions_with_the_least_error(optimum):
    graph = optimum.program.graph
    for true in graph.vertices:
        row = optimum.row(true)
        assert sum(row) == 1
        assert row == tuple(optimum.probability(shown, true) for shown in graph.vertices)


@pytest.mark.long
def test_a_release_has_exactly_its_row(optimum):
    graph, true = optimum.program.graph, (1, 1, 0)
    certified = certify_rows(optimum.values, optimum.program.orbit_of, graph.edges, epsilon=optimum.epsilon)

    class Bits:
        """The sampler begins with a word of 64 bits: give it the first few, then zeros and ones are enumerated."""

        def __init__(self, source):
            self.source, self.first = source, True

        def take(self, count):
            if self.first:
                self.first = False
                return self.source.take(12) << (count - 12) | self.source.take(1) * ((1 << (count - 12)) - 1)
            return self.source.take(count)

    place = graph.vertices.index(true)
    law, undecided = measured(lambda bits: graph.vertices[draw_row(certified, place, Bits(bits))], 16)
    for shown in graph.vertices:
        assert abs(law[shown] - optimum.probability(shown, true)) <= undecided + Fraction(1, 2**11)


def test_a_release_is_a_histogram_of_the_same_total(optimum):
    release = optimum.release([0, 2, 0])
    assert sum(release.counts) == 2
    assert release.expected_error() == pytest.approx(17 / 12)
    assert "optimal" in repr(release)
    for bad in ([1, 0, 0], [1, 1], [3, -1, 0]):
        with pytest.raises(HistogramError, match="no histogram of 2 people"):
            optimum.release(bad)


@pytest.mark.parametrize("flaw", ["another level", "nudged", "impossible", "no distribution"])
def test_the_referee_rejects_wrong_twins(optimum, flaw):
    graph, places = optimum.program.graph, optimum.program.orbit_of
    values, epsilon = list(optimum.values), optimum.epsilon
    if flaw == "another level":
        epsilon = Epsilon.read("ln(199/100)")
    elif flaw == "no distribution":
        values[0] += Fraction(1, 10**6)
    else:
        # Each histogram shown as it is, up to a little: rows are distributions, but neighbours are told apart.
        size = len(graph.vertices)
        share = Fraction(0) if flaw == "impossible" else Fraction(1, 10)
        values = [1 - share * (size - 1), share]
        places = [[0 if h == g else 1 for g in range(size)] for h in range(size)]
    with pytest.raises(NotCertifiedError):
        certify_rows(values, places, graph.edges, epsilon=epsilon)


def test_rows_without_a_certificate_are_not_drawn_from(optimum):
    with pytest.raises(NotCertifiedError):
        draw_row((optimum.row((1, 1, 0)),), 0, None)
