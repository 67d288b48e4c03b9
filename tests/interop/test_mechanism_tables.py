"""A mechanism as a pandas or polars table and as a networkx graph."""

from __future__ import annotations

from fractions import Fraction

import pytest

from optimaldp import Mechanism, design, graphs, level
from optimaldp.interop import to_networkx, to_pandas, to_polars


@pytest.fixture(scope="module")
def majority() -> Mechanism:
    made = design(graphs.votes(3), truth=graphs.majority, epsilon="ln(2)").mechanism
    assert made is not None
    return made


def test_pandas_table_is_the_array(majority: Mechanism) -> None:
    frame = to_pandas(majority)
    assert frame.equals(majority.to_frame())
    assert list(frame.columns) == ["yes", "no"]
    assert frame.loc["111", "yes"] == pytest.approx(5 / 6)


def test_exact_tables_hold_the_rationals(majority: Mechanism) -> None:
    pandas, polars = to_pandas(majority, exact=True), majority.to_polars(exact=True)
    for row in polars.iter_rows(named=True):
        assert {a: Fraction(row[a]) for a in majority.answers} == majority.row(row["dataset"])
        assert pandas.loc[row["dataset"], "no"] == row["no"]


def test_polars_table_agrees_with_pandas(majority: Mechanism) -> None:
    polars = to_polars(majority)
    assert polars.columns == ["dataset", "yes", "no"]
    assert polars["yes"].to_list() == to_pandas(majority)["yes"].to_list()


def test_an_answer_called_dataset_keeps_its_column() -> None:
    even = {name: {"dataset": "1/2", "no": "1/2"} for name in ("0", "1")}
    made = Mechanism.read(graphs.line(2, level=level(1)), {"0": "dataset", "1": "no"}, even)
    assert to_polars(made).columns == ["dataset", "dataset_", "no"]


def test_networkx_graph_holds_probabilities_and_levels(majority: Mechanism) -> None:
    graph = majority.to_networkx()
    assert graph.nodes["111"]["probabilities"] == {"yes": Fraction(5, 6), "no": Fraction(1, 6)}
    assert next(iter(graph.nodes["222"]["prefers"])) == "no"
    assert graph.edges["111", "112"] == {"epsilon": "ln(2)", "delta": "0"}
    assert to_networkx(majority.graph).nodes["111"] == {}
