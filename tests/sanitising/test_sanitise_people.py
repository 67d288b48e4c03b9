"""Who is asked: among, where, units and people's own levels, under both relations; nobody is lost and nobody counts twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import optimaldp as odp
from optimaldp.errors import QuestionError
from optimaldp.sanitising import releasing

N = 3000
TABLE = pa.table(
    {
        "who": [i // 2 for i in range(N)],
        "sex": ["m" if i // 2 % 3 else "f" for i in range(N)],
        "age": [20 + i // 2 % 60 for i in range(N)],
        "own": ["0.5" if i // 2 % 4 == 0 else "2" for i in range(N)],
    }
)
COLUMNS = {"sex": ["m", "f"], "age": odp.bins([20, 40, 60, 80])}


def true_cells(monkeypatch, **options):
    """The true cells that are handed to the noise, by table."""
    caught = []
    real = releasing.draw_table
    monkeypatch.setattr(
        releasing, "draw_table", lambda cells, *rest: (caught.append(dict(cells)), real(cells, *rest))[1]
    )
    clean = odp.sanitise(TABLE, COLUMNS, epsilon=2, **options)
    return caught[-len(clean.tables) :], clean  # before them, the referee's made-up people


def by_hand(rows, chosen):
    """Cells of sex (m, f, else) times age (three bins, else); whoever is not chosen is in the last one."""
    cells = {}
    for sex, age, among in rows:
        cell = (0 if sex == "m" else 1) * 4 + (age - 20) // 20 if among and chosen else 11
        cells[cell] = cells.get(cell, 0) + 1
    return cells


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
@pytest.mark.parametrize("unit", [None, "who"])
def test_whoever_is_not_among_those_asked_is_in_the_last_cell(monkeypatch, neighbours, unit):
    (cells,), clean = true_cells(monkeypatch, among="age < 40", neighbours=neighbours, unit=unit, reduce=unit and "min")
    step = 1 if unit is None else 2
    rows = [
        (sex.as_py(), age.as_py(), age.as_py() < 40) for sex, age in zip(TABLE["sex"][::step], TABLE["age"][::step])
    ]
    assert cells == by_hand(rows, chosen=True)
    assert sum(cells.values()) == N // step
    assert clean.statement["among"] == "age < 40"
    if neighbours == "substitution":
        assert clean.rows == N // step
    asked = sum(among for _, _, among in rows)
    count, error = clean.query(age="[20, 40)")
    assert abs(count - asked) <= error.quantile("0.99999999")


def test_among_and_levels_on_a_ledger(tmp_path):
    budget = odp.Budget(epsilon=4)
    with odp.ledger.open_ledger(tmp_path / "b.ledger", dataset="d", budget=budget, unit="who") as book:
        clean = odp.sanitise(TABLE, COLUMNS, epsilon=2, among="sex = 'm'", levels="own", ledger=book, reduce="min")
        assert clean.rows == N // 2
        assert dict(book.history().records[0].spend.personal).keys() == {"0.5", "2"}
        assert "among: sex = 'm'" in book.history().records[0].question


def test_among_marginals_fold_each_table(monkeypatch):
    monkeypatch.setattr(releasing, "fitted_codes", lambda columns, tables, people: np.zeros((people, 2), dtype=int))
    monkeypatch.setattr("optimaldp.sanitising.planning.require_mbi", lambda: None)
    (sexes, ages), _ = true_cells(monkeypatch, among="age < 40", marginals=[["sex"], ["age"]])
    outside = sum(age.as_py() >= 40 for age in TABLE["age"])
    assert sexes[2] == outside
    assert ages[3] == outside
    assert sum(sexes.values()) == sum(ages.values()) == N


def test_a_closed_column_is_open_again_where_people_are_left_out(tmp_path):
    import duckdb

    path = tmp_path / "t.db"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE t (ok BOOLEAN NOT NULL, age INTEGER)")
        database.execute("INSERT INTO t SELECT i % 2 = 0, i FROM range(100) r(i)")
    source = f"duckdb://{path}?table=t"
    assert odp.sanitise(source, {"ok": None}, epsilon=1).columns[0].labels == ("false", "true")
    assert odp.sanitise(source, {"ok": None}, epsilon=1, among="age < 50").columns[0].labels == ("false", "true", None)


@pytest.mark.parametrize("condition", ["age <", "height > 3", "age < 40 among age < 3"])
def test_a_condition_that_is_none_is_refused_before_data_is_read(condition, monkeypatch):
    monkeypatch.setattr(releasing, "count_table", lambda *_: pytest.fail("data was read"))
    with pytest.raises(QuestionError):
        odp.sanitise(TABLE, COLUMNS, epsilon=1, among=condition)


def test_people_whose_own_budget_is_used_up_are_not_asked_any_more(tmp_path, monkeypatch):
    groups = {"own": {0.5: odp.Budget(0.5)}}
    with odp.ledger.open_ledger(
        tmp_path / "b.ledger", dataset="d", budget=odp.Budget(epsilon=8), unit="who", groups=groups
    ) as book:
        odp.sanitise(TABLE, COLUMNS, epsilon=2, levels="own", ledger=book, reduce="min")
        (cells,), _ = true_cells(monkeypatch, levels="own", ledger=book, among="age >= 0", reduce="min")
        strict = len({who.as_py() for who, own in zip(TABLE["who"], TABLE["own"]) if own.as_py() == "0.5"})
        assert cells[11] == strict  # all of them, and nobody else
        assert book.spent(group=("own", 0.5)).epsilon == odp.Epsilon.read("0.5")


def test_a_prior_is_used(monkeypatch):
    few = pa.table({"a": ["x", "x", "y"]})
    counts = [
        odp.sanitise(few, {"a": ["x", "y"]}, epsilon="0.01", prior=["0.98", "0.01", "0.01"]).counts for _ in range(5)
    ]
    assert all(found == {("x",): 3} for found in counts)
    belief = odp.histograms.poisson([2, 1, "0.001"])
    clean = odp.sanitise(few, {"a": ["x", "y"]}, epsilon="0.01", prior=belief, neighbours="add-remove")
    assert sum(clean.counts.values()) <= 4
    assert clean.statement["remap"] == "bayes"
    with pytest.raises(odp.errors.HistogramError, match="prior"):
        odp.sanitise(few, {"a": ["x", "y"]}, epsilon=1, prior=["0.5", "0.5"])
    with pytest.raises(odp.errors.HistogramError, match="no use of a prior"):
        odp.sanitise(few, {"a": ["x", "y"]}, epsilon=1, prior="flat", remap="threshold")


BEYOND = pa.table({"age": [-5, 10, 17, 30, 65, 66, 150, 151] * 5})


def test_values_outside_of_bins_are_empty_cells_unless_the_ends_take_them() -> None:
    """At a level where nothing is random any more. The last bin includes its upper edge."""
    own = {"columns": {"age": odp.bins([0, 18, 65])}, "epsilon": 200}
    apart = odp.sanitise(BEYOND, **own)
    shown = Counter(apart.to_frame("arrow", labels=True)["age"].to_pylist())
    assert shown == {"[0, 18)": 10, "[18, 65]": 10, None: 20}
    ends = odp.sanitise(BEYOND, outside="ends", **own)
    assert Counter(ends.to_frame("arrow", labels=True)["age"].to_pylist()) == {"below 18": 15, "18 and above": 25}
    assert ends.statement["columns"] != apart.statement["columns"]
    with pytest.raises(QuestionError, match="is not a place for values outside"):
        odp.sanitise(BEYOND, outside="nowhere", **own)


def test_a_ledger_tells_the_two_ways_apart(tmp_path: Path) -> None:
    path = tmp_path / "beyond.parquet"
    parquet.write_table(BEYOND, path)
    own = {"columns": {"age": odp.bins(range(2001))}, "epsilon": 1, "neighbours": "add-remove"}
    book = tmp_path / "beyond.ledger"
    odp.open(path, ledger=book, budget=odp.Budget(epsilon=5), neighbours="add-remove").close()
    odp.sanitise(path, ledger=book, **own)
    assert odp.sanitise(path, ledger=book, **own).recorded
    assert not odp.sanitise(path, ledger=book, outside="ends", **own).recorded
