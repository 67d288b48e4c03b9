"""Large mechanisms of floats are written exactly and read back as the same floats; trees by numbers are read strictly."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimaldp.designing import Design, solve
from optimaldp.documents.json_text import json_text
from optimaldp.errors import CertificateError
from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.rows import MANY, SURE_SIDE, FloatRows, TwoSides, decimal_rows, float_rows, written_rows
from optimaldp.privacy import level
from optimaldp.privacy.numbers import read_number

SIDES = st.floats(0, 0.5, allow_subnormal=True).flatmap(lambda p: st.sampled_from([p, -p if p else SURE_SIDE]))


@given(st.lists(SIDES, min_size=1, max_size=6), st.integers(0, 1))
def test_sides_are_written_as_the_rationals_that_they_are(sides, favourite):
    rows = TwoSides(np.array(sides), np.full(len(sides), favourite, dtype=np.int32))
    exact = [rows.row(v) for v in range(len(rows))]
    assert [tuple(read_number(p, name="p") for p in row) for row in written_rows(rows)] == exact
    assert [tuple(map(Fraction, row)) for row in decimal_rows(rows, ())] == exact


@given(st.lists(st.tuples(st.floats(0, 0.4), st.floats(0, 0.3)), min_size=1, max_size=6))
def test_rows_of_floats_are_written_as_the_rationals_that_they_are(pairs):
    table = np.array([(a, 1 - a - b, b) for a, b in pairs])
    likeliest = np.ones(len(table), dtype=np.int32)
    rows = FloatRows(table, likeliest, (), np.full(len(table), -1, dtype=np.int32))
    exact = [rows.row(v) for v in range(len(rows))]
    assert [tuple(read_number(p, name="p") for p in row) for row in written_rows(rows)] == exact
    assert [tuple(map(Fraction, row)) for row in decimal_rows(rows, ())] == exact


def _preferences(size: int, answers: int) -> Preferences:
    orders = tuple(tuple((first + k) % answers for k in range(answers)) for first in range(answers))
    return Preferences(tuple("abc"[:answers]), orders, (np.arange(size) * answers // size).astype(np.int32))


def test_what_is_no_float_is_not_read_as_one():
    rows, of = [(Fraction(1, 3), Fraction(2, 3))], [0] * MANY
    assert float_rows(rows, of, _preferences(MANY, 2)) is None
    assert isinstance(float_rows([(Fraction(1, 4), Fraction(3, 4))], of, _preferences(MANY, 2)), TwoSides)


@pytest.mark.long
@pytest.mark.parametrize("answers", [2, 3])
def test_a_large_design_is_read_back_as_it_is(answers):
    size = 3000
    rng = np.random.default_rng(1)
    tails, heads = rng.integers(0, size, 4000), rng.integers(0, size, 4000)
    kept = tails != heads
    which = rng.integers(0, 2, int(kept.sum()))
    graph = DatasetGraph(
        NumberNames(size), tails[kept], heads[kept], levels=[level("0.3"), level("1")], level_of_edge=which
    )
    found = solve(Problem(graph, _preferences(size, answers), {}, "balanced"), exact=False)
    exact = [found.mechanism.rows.row(v) for v in range(size)]
    for text in (found.to_json(), json_text(found.to_document(digits=17))):
        again = Design.from_json(text)
        assert isinstance(again.mechanism.rows, (TwoSides, FloatRows))
        assert again.verdict
        same = [again.mechanism.rows.row(v) for v in range(size)]
        assert same == exact or answers == 3  # given rows that are no floats are printed with 60 digits
        assert max(abs(a - b) for mine, theirs in zip(same, exact) for a, b in zip(mine, theirs)) < Fraction(1, 10**30)
    document = json.loads(found.to_json())
    for wrong in ([0], [*document["certificate"]["trees"][0]["predecessors"][:-1], size], ["0"] * size, [True] * size):
        document["certificate"]["trees"][0]["predecessors"] = wrong
        with pytest.raises(CertificateError):
            Design.from_json(json.dumps(document))


def test_rows_of_decimals_are_written_as_numbers():
    rows = {"x": {"a": Decimal("0.25"), "b": Decimal("0.75")}, "y": {"a": Decimal(1), "b": Decimal(0)}}
    document = {"edges": [["x", "y"]], "mechanism": rows}
    assert json_text(document) == (
        '{"edges": [["x", "y"]], "mechanism": {"x": {"a": 0.25, "b": 0.75}, "y": {"a": 1, "b": 0}}}'
    )
    assert json_text({"x": {"a": Decimal(1), "b": Fraction(1, 3)}}) == '{"x": {"a": 1, "b": "1/3"}}'
