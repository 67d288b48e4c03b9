"""Decimals that are read by their text: rows sum to one and promises are kept, exactly."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.certify import verify
from optimaldp.documents.json_text import json_text, read_json_text
from optimaldp.graphs import DatasetGraph, Preferences, line
from optimaldp.mechanisms import Mechanism, SharedRows
from optimaldp.mechanisms.decimals import printable, rounded_row
from optimaldp.mechanisms.documents import mechanism_document, read_mechanism
from optimaldp.privacy import level


def balanced(count, promise):
    """The optimum on a line with its middle balanced, rounded down where the level is irrational."""
    half = count // 2
    ratio = promise.epsilon.ratio_below(bits=150)
    value, values = (ratio + promise.delta) / (ratio + 1), []
    for _ in range(half):
        values.append(value)
        value = promise.step_below(value, bits=150)
    rows = [(p, 1 - p) for p in reversed(values)] + [(1 - p, p) for p in values]
    preferences = Preferences.of_truth(("yes", "no"), np.repeat([0, 1], half))
    return Mechanism(line(count, level=promise), preferences, SharedRows.from_rows(rows))


def as_read(mechanism, rows):
    text = json_text(mechanism_document(mechanism, rows=rows))
    return read_mechanism(read_json_text(text))[0]


@pytest.mark.parametrize("digits", [17, 30])
@pytest.mark.parametrize("epsilon", ["ln(2)", "1", "0.1", "0.001", "ln(1.0001)", "5", "0"])
@pytest.mark.parametrize("delta", [0, "0.1", "1e-6"])
def test_printed_optima_are_private_and_close(epsilon, delta, digits):
    mechanism = balanced(40, level(epsilon, delta))
    assert verify(mechanism).private
    rows = printable(mechanism, digits=digits)
    again = as_read(mechanism, rows)
    assert verify(again).private
    assert all(isinstance(entry, Decimal) for row in rows for entry in row)
    for vertex in range(40):
        exact = mechanism.rows.row(vertex)
        for printed, entry in zip(again.rows.row(vertex), exact):
            assert (printed == 0) == (entry == 0)
            assert abs(printed - entry) <= Fraction(40, 10 ** (digits - 1))


def test_short_decimals_stay_short():
    mechanism = balanced(4, level("ln(2)", "0.1"))
    assert printable(mechanism)[1] == (Decimal("0.7"), Decimal("0.3"))
    assert json_text(printable(mechanism)[0][0]) == "0.9"


def test_tiny_probabilities_are_not_printed_as_nothing():
    mechanism = balanced(1000, level(1))
    rows = printable(mechanism)
    smallest = min(min(row) for row in rows)
    assert 0 < smallest < Decimal("1e-200")
    assert smallest == pytest.approx(Decimal(float(mechanism.rows.row(0)[1])), rel=Decimal("1e-12"))
    assert all(sum(map(Fraction, row)) == 1 for row in rows)


def test_rounding_alone_would_break_the_promise():
    """The reason for all this: a third and two thirds at ln 2."""
    mechanism = balanced(2, level("ln(2)"))
    naive = [rounded_row(mechanism.rows.row(v), 17) for v in range(2)]
    assert not verify(as_read(mechanism, naive)).private
    assert verify(as_read(mechanism, printable(mechanism))).private


def test_where_no_decimal_is_private_the_rows_stay_exact():
    """At epsilon 0 and delta 0 all rows are equal, and their third is a third: decimals that are equal will do."""
    graph = DatasetGraph.from_edges(["a", "b"], [("a", "b")], level=level(0, "1/3"))
    preferences = Preferences.of_truth(("yes", "no"), np.array([0, 1]))
    rows = SharedRows.from_rows([(Fraction(1), Fraction(0)), (Fraction(2, 3), Fraction(1, 3))])
    mechanism = Mechanism(graph, preferences, rows)
    printed = printable(mechanism)
    assert verify(as_read(mechanism, printed)).private
    not_private = Mechanism(graph.with_level(level(0)), preferences, rows)
    assert printable(not_private) == [rows.row(0), rows.row(1)]


@given(st.lists(st.integers(0, 10**25), min_size=2, max_size=5).filter(any), st.integers(3, 40))
@settings(max_examples=200)
def test_rounded_rows_are_distributions(weights, digits):
    row = tuple(Fraction(w, sum(weights)) for w in weights)
    printed = rounded_row(row, digits)
    assert sum(map(Fraction, printed)) == 1
    assert all((p == 0) == (e == 0) for p, e in zip(printed, row))
    assert all(abs(Fraction(p) - e) <= len(row) * Fraction(1, 10**digits) for p, e in zip(printed, row))
    assert min(printed) >= 0
