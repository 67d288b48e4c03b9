"""Tables too large for memory: margins measured beside them, unbiased, within the same epsilon."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.errors import QuestionError
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.sanitising.planning import split_beside

PEOPLE = 5000
_RANDOM = np.random.default_rng(8)
A, B = _RANDOM.geometric(0.03, PEOPLE) % 300, _RANDOM.integers(0, 9000, PEOPLE)
TABLE = pa.table({"a": [f"a{i}" for i in A], "b": B, "c": ["x" if i % 3 else "y" for i in range(PEOPLE)]})
COLUMNS = {"a": [f"a{i}" for i in range(300)], "b": odp.bins(range(9001)), "c": ["x", "y"]}


@pytest.mark.long
def test_margins_are_unbiased_and_as_far_off_as_they_say():
    truth = np.bincount(A, minlength=301)
    misses, outside = [], 0
    for _ in range(3):
        clean = odp.sanitise(TABLE, COLUMNS, epsilon=2, neighbours="add-remove")
        margin = clean.margin("a")
        misses.append(margin.counts - truth)
        outside += int((np.abs(margin.counts - truth) > margin.reach()).sum())
    deviation = margin.error.standard_deviation
    assert deviation < 40
    assert abs(np.mean(misses)) < 5 * deviation / math.sqrt(3 * 301)
    assert np.std(misses) == pytest.approx(deviation, rel=0.2)
    assert outside <= 0.05 * 3 * 301 + 5 * math.sqrt(0.05 * 3 * 301)
    count, error = clean.query(c="y")
    assert abs(count - len(range(0, PEOPLE, 3))) <= error.quantile("0.99999999")


def test_rows_follow_the_margins_where_no_cell_can_be_told():
    clean = odp.sanitise(TABLE, COLUMNS, epsilon=2, neighbours="add-remove")
    assert clean.rows == pytest.approx(PEOPLE, abs=300)
    assert clean.unplaced > 4000
    assert clean.expected_error() == pytest.approx(PEOPLE, rel=0.15)
    codes = clean.codes[:, 2]
    assert (codes == 0).sum() == pytest.approx(2 * PEOPLE / 3, abs=300)


@pytest.mark.parametrize("epsilon", ["1", "0.003", "ln(7/3)", "12"])
@pytest.mark.parametrize("sizes", [[10**12, 300, 20_001, 3], [10**7, 4, 4_000_000]])
def test_the_shares_add_up_to_epsilon_at_most(epsilon, sizes):
    whole = Epsilon.read(epsilon)
    shares = split_beside(whole, sizes)
    assert sum(shares, ZERO) <= whole
    assert sum(map(float, shares)) == pytest.approx(float(whole))
    assert float(shares[0]) == pytest.approx(0.75 * float(whole))


@pytest.mark.long
def test_margins_that_were_asked_for():
    clean = odp.sanitise(TABLE, COLUMNS, epsilon=2, neighbours="add-remove", margins=[["a", "c"]])
    assert clean.margin(["a", "c"]).counts.shape == (301, 3)
    assert clean.margin("a").counts.shape == (301,)
    with pytest.raises(QuestionError, match="never drawn"):
        clean.margin("b")
    bare = odp.sanitise(TABLE, COLUMNS, epsilon=2, neighbours="add-remove", margins=[])
    assert [str(one.noisy.epsilon) for one in bare.tables] == ["2"]
    with pytest.raises(QuestionError, match="never drawn"):
        bare.margin("a")


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"c": ["x", "y"]}, {"margins": [["c"]]}, "drawn sparsely"),
        (COLUMNS, {"margins": [["height"]]}, "no table of the named columns"),
        (COLUMNS, {"margins": [["a"], ["a"]]}, "names a table twice"),
        (COLUMNS, {"margins": [["a"]], "marginals": [["a", "c"]]}, "goes with the joint table"),
    ],
)
def test_what_makes_no_sense_is_refused(columns, options, words):
    with pytest.raises(QuestionError, match=words):
        odp.sanitise(TABLE, columns, epsilon=2, neighbours="add-remove", **options)


@pytest.mark.long
def test_a_million_million_cells_have_margins():
    columns = {
        "a": COLUMNS["a"],
        "b": odp.bins(range(20_001)),
        "c": [f"c{i}" for i in range(500)],
        "d": [f"d{i}" for i in range(400)],
    }
    table = TABLE.append_column("d", TABLE["c"])
    clean = odp.sanitise(table, columns, epsilon=2, neighbours="add-remove")
    assert clean.statement["cells"] > 10**12
    assert clean.margin("a").reach() < 200
