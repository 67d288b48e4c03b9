"""Marginals: a public list of tables, the best split of epsilon, a fitted model, rows out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.errors import MissingExtraError, QuestionError
from optimaldp.histograms import optimal_error
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.questions.columns import read_columns
from optimaldp.sanitising import planning as fitting
from optimaldp.sanitising.planning import all_pairs, read_marginals, split_epsilon

COLUMNS = {"a": ["x", "y"], "b": ["u", "v", "w"], "c": [0, 1, 2, 3]}


def table(people=3000):
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2, people)
    b = np.where(rng.random(people) < 0.8, a, 2)
    c = (a + rng.integers(0, 2, people)) % 4
    return pa.table({"a": ["xy"[i] for i in a], "b": ["uvw"[i] for i in b], "c": c.tolist()})


@pytest.mark.parametrize("epsilon", ["1", "ln(3)", "0.001", "ln(1000001/1000000)", "7/3"])
@pytest.mark.parametrize("sizes", [[3], [3, 4], [2, 5, 100, 10**6]])
def test_shares_add_up_to_epsilon_at_most(epsilon, sizes):
    level = Epsilon.read(epsilon)
    shares = split_epsilon(level, sizes)
    assert sum(shares, ZERO) <= level
    assert float(sum(shares, ZERO)) > 0.999999 * float(level)
    assert all(share > ZERO for share in shares)


def test_the_split_is_best_for_small_shares():
    """Moving some of the share of one table to another raises the sum of expected errors."""
    sizes = [4, 30, 100]
    shares = [float(share) for share in split_epsilon(Epsilon.read("0.5"), sizes)]

    def total(parts):
        return sum(optimal_error(size, epsilon=part) for size, part in zip(sizes, parts))

    best = total(shares)
    for i in range(3):
        for j in range(3):
            if i != j:
                moved = list(shares)
                moved[i], moved[j] = moved[i] + 0.03, moved[j] - 0.03
                assert total(moved) > best


def test_tables_are_read_and_every_column_is_measured():
    columns = read_columns(COLUMNS)
    assert read_marginals("a,b", columns) == (("a", "b"), ("c",))
    assert read_marginals([["a"], ["b", "c"]], columns) == (("a",), ("b", "c"))
    assert len(all_pairs(columns)) == 6
    for bad in ("a,z", "a,a", "a,b; b,a"):
        with pytest.raises(QuestionError, match="marginals"):
            read_marginals(bad, columns)


def test_a_missing_part_is_named_before_data_is_read(monkeypatch):
    monkeypatch.setattr(fitting, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="sanitise"):
        odp.sanitise(table(10), COLUMNS, epsilon=1, marginals="a,b")


@pytest.mark.long
def test_rows_follow_the_measured_tables():
    pytest.importorskip("mbi")
    data = table()
    clean = odp.sanitise(data, COLUMNS, epsilon=2, marginals="a,b; a,c")
    frame = clean.to_frame()
    assert len(frame) == 3000
    assert [one["columns"] for one in clean.statement["tables"]] == [["a", "b"], ["a", "c"]]
    truth = data.to_pandas()
    for names in (["a"], ["b"], ["a", "b"], ["a", "c"]):
        there, here = truth.groupby(names).size(), frame.groupby(names).size()
        assert abs(there.subtract(here, fill_value=0)).max() < 120
    assert abs(clean.margin("a").count(a="x") - (truth["a"] == "x").sum()) < clean.margin("a").reach("0.999999")
    with pytest.raises(QuestionError, match="not measured together"):
        clean.margin(["b", "c"])
