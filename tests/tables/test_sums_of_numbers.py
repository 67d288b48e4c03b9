"""Numbers that are only summed: the sums of steps are those of exact borders, and no long cell counts otherwise than before."""

from __future__ import annotations

import math
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from postgres_tables import write_postgres

from optimaldp.tables import Condition, Options, People, Tally, count_people, open_source
from optimaldp.tables.canonical import LONGEST_CELL
from optimaldp.tables.tally import Grid, Steps

F = Fraction
GRIDS = [
    Grid("v", F(0), F(50), F(10)),
    Grid("v", F(-7), F(7), F(1)),
    Grid("v", F(1, 2), F(5, 2), F(1)),
    Grid("v", F(-1), F(3), F(1, 4)),
    Grid("v", F(0), F(3), F(3, 8)),
    Grid("v", F(0), F(1), F(1, 100)),  # borders that are no doubles
    Grid("v", F(18), F(98), F(1)),
]


def _steps(value: float | None, grid: Grid) -> int | None:
    """How many borders between two steps, as the doubles that people write, lie at or below the value: half goes up."""
    if value is None or math.isnan(value):
        return None
    borders = (float(grid.low + (k + F(1, 2)) * grid.step) for k in range(grid.points - 1))
    return sum(value >= border for border in borders)


def _near(grid: Grid) -> list[float]:
    """The borders between two steps, the ends, and the doubles next to them."""
    borders = [float(grid.low + (k + F(1, 2)) * grid.step) for k in range(min(grid.points, 12))]
    ends = [float(grid.low), float(grid.high), float(grid.high - grid.step / 2), 0.0, -0.0]
    marks = [*borders, *ends]
    return [near for mark in marks for near in (math.nextafter(mark, -math.inf), mark, math.nextafter(mark, math.inf))]


def _summed(values: list[float | None], grid: Grid, dtype: pa.DataType) -> tuple[int, int, int]:
    """People, people with a value, and the sum of their steps."""
    table = pa.table({"v": pa.array(values, dtype)})
    cells = count_people(table, Tally((grid,), summed=True)).cells
    known = {place: people for place, people in cells.items() if place < grid.points}
    return sum(cells.values()), sum(known.values()), sum(place * people for place, people in known.items())


@pytest.mark.long
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_sums_next_to_every_border_are_those_of_fractions(grid: Grid) -> None:
    for value in [*_near(grid), math.inf, -math.inf, math.nan, None, 1e308, 5e-324]:
        steps = _steps(value, grid)
        assert _summed([value], grid, pa.float64()) == (1, int(steps is not None), steps or 0), value
    whole = [*_near(grid), math.inf, -math.inf, math.nan, None, None]
    known = [step for step in (_steps(value, grid) for value in whole) if step is not None]
    assert _summed(whole, grid, pa.float64()) == (len(whole), len(known), sum(known))


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False, width=64)), max_size=30), st.sampled_from(GRIDS))
def test_sums_are_those_of_fractions(values: list[float | None], grid: Grid) -> None:
    known = [step for step in (_steps(value, grid) for value in values) if step is not None]
    assert _summed(values, grid, pa.float64()) == (len(values), len(known), sum(known))


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_whole_numbers(grid: Grid) -> None:
    values = [None, -(2**63), 2**63 - 1, 2**53 + 1, *range(-60, 120, 3)]
    known = [step for step in (_steps(value, grid) for value in values) if step is not None]
    assert _summed(values, grid, pa.int64()) == (len(values), len(known), sum(known))


def test_sums_by_group_and_where() -> None:
    table = pa.table({"g": ["a", "b", "a", None], "v": [1.0, 2.0, None, 5.0]})
    grid = Grid("v", F(0), F(5), F(1))
    tally = Tally((Options("g", ("a", "b")), grid), summed=True)
    assert count_people(table, tally).cells == {1: 1, 6: 1, 9: 1, 19: 1}
    asked = count_people(table, tally, People(where="v >= 2"))
    assert sum(asked.cells.values()) == 4
    assert {cell % grid.size for cell in asked.cells} <= {2, 5, 6}, "a row that does not speak has no value"


def test_a_cell_that_is_too_long_is_missing_in_every_condition() -> None:
    table = pa.table({"s": ["yes", "no", "y" * (LONGEST_CELL + 1), None]})
    for condition, people in {
        "s = 'yes'": 1,
        "not s = 'yes'": 1,
        "s <> 'yes'": 1,
        "s = 'yes' or s = 'no'": 2,
        "not (s = 'yes' and s = 'no')": 2,
        "(s = 'yes') is null": 2,
        "coalesce(s, 'no') = 'no'": 3,
    }.items():
        assert count_people(table, Tally((Condition(condition),))).cells.get(0, 0) == people, condition


@pytest.mark.parametrize("server", ["postgres", pytest.param("spark", marks=pytest.mark.spark)])
def test_one_record_moves_its_own_sum_alone_on_servers(server: str, request: pytest.FixtureRequest) -> None:
    """Groups that differ in one record: no odd double fails, and none moves the sum of another group."""
    odd = [*_near(GRIDS[5]), *_near(GRIDS[1]), math.inf, -math.inf, math.nan, None, 1e308, -1e308, 5e-324, 2.0**63]
    groups = {f"g{place}": [0.5, -3.0, None, value] for place, value in enumerate(odd)}
    rows = [(name, value) for name, values in groups.items() for value in values]
    engine = request.getfixturevalue(server)
    if server == "spark":
        source = open_source(engine.createDataFrame(rows, "g string, v double"))
    else:
        named = {"g": [name for name, _ in rows], "v": pa.array([value for _, value in rows], pa.float64())}
        source = open_source(write_postgres(engine, "sums", pa.table(named), "sums"))
    for grid in GRIDS:
        count_people(source, Tally((Steps("v", grid.low, grid.high, grid.step),)))  # no odd double fails here either
        cells = count_people(source, Tally((Options("g", tuple(groups)), grid), summed=True)).cells
        for place, values in enumerate(groups.values()):
            own = {cell % grid.size: people for cell, people in cells.items() if cell // grid.size == place}
            steps = [step for step in (_steps(value, grid) for value in values) if step is not None]
            known = {at: people for at, people in own.items() if at < grid.points}
            found = sum(own.values()), sum(known.values()), sum(at * people for at, people in known.items())
            assert found == (len(values), len(steps), sum(steps)), (str(grid), values)
