"""Laws, on random tables and random predicates."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from conformance_cases import Case, holds, options
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres_server import PostgresServer
from postgres_tables import write_postgres

from optimaldp.errors import QuestionError
from optimaldp.tables import Condition, People, Source, Tally, count_people, open_source

CALM = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SCHEMA = pa.schema([("person", pa.int32()), ("vote", pa.string()), ("ok", pa.bool_()), ("day", pa.int32())])


def _rows() -> st.SearchStrategy[list[dict[str, Any]]]:
    row = st.fixed_dictionaries(
        {
            "person": st.sampled_from([0, 1, 2, 3, None]),
            "vote": st.sampled_from(["a", "b", "c", "x", None]),
            "ok": st.sampled_from([True, False, None]),
            "day": st.sampled_from([1, 2, 3, None]),
        }
    )
    return st.lists(row, max_size=24)


def _cases() -> list[Case]:
    found = []
    for where, test in (({}, lambda row: True), ({"where": "ok is true"}, lambda row: row["ok"] is True)):
        person = {"unit": "person", **where}
        ordered = {**person, "reduce": "first", "reduce_order": "day"}
        found += [
            options("vote", ("a", "b", "c"), settings=where, where=test),
            options("vote", ("b", "a"), settings=person, where=test, rule="most-frequent"),
            options("vote", ("c", "b", "a"), settings=ordered, where=test, rule="first"),
        ]
        for rule in ("any", "all", "most-frequent"):
            own = {**person, "reduce": rule}
            found.append(holds("vote = 'a'", lambda row: row["vote"] == "a", settings=own, where=test, rule=rule))
        found.append(holds("vote = 'a'", lambda row: row["vote"] == "a", settings=ordered, where=test, rule="first"))
    return found


@CALM
@given(rows=_rows(), case=st.sampled_from(_cases()))
def test_random_tables_are_counted_as_by_plain_python(rows: list[dict[str, Any]], case: Case) -> None:
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    assert count_people(table, case.tally, People(**case.settings)).counts == case.expected(rows)


@CALM
@given(rows=_rows(), case=st.sampled_from(_cases()), chosen=st.data())
def test_one_person_changes_at_most_two_counts_by_one_each(rows: list[Any], case: Case, chosen: st.DataObject) -> None:
    """What the mechanisms rely on: replacing all rows of a person, or one row without persons, moves one count."""
    unit = case.settings.get("unit")
    other = [dict(row) for row in rows]
    if unit is None:
        if not rows:
            return
        changed = [chosen.draw(st.integers(0, len(rows) - 1))]
    else:
        person = chosen.draw(st.sampled_from([0, 1, 2, 3]))
        changed = [place for place, row in enumerate(rows) if row["person"] == person]
    for place in changed:
        other[place]["vote"] = chosen.draw(st.sampled_from(["a", "b", "c", "x", None]))
        other[place]["ok"] = chosen.draw(st.sampled_from([True, False, None]))
        other[place]["day"] = chosen.draw(st.sampled_from([1, 2, 3, None]))
    before, after = (
        count_people(pa.Table.from_pylist(each, schema=SCHEMA), case.tally, People(**case.settings)).counts
        for each in (rows, other)
    )
    moved = [b - a for a, b in zip(before, after)]
    assert sum(moved) == 0
    assert sum(abs(step) for step in moved) <= 2


EXTREMES = pa.table(
    {
        "small": pa.array([0, 1, -1, 127, -128, None, 3, 100], pa.int32()),
        "long": pa.array([0, 2**63 - 1, -(2**63), 1, -1, None, 10**17, 7], pa.int64()),
        "real": pa.array([0.0, 1e308, -1e308, 5e-324, math.inf, math.nan, None, 0.3], pa.float64()),
        "more": pa.array([1e-200, 1e200, 1e150, -1e-300, -math.inf, 3.5, 2.0, None], pa.float64()),
    }
)


@st.composite
def _numbers(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        literals = ["0", "1", "2.5", "1e80", "1e-80", "4611686018427387904", "9223372036854775807"]
        return draw(st.sampled_from(["small", "long", "real", "more", *literals]))
    inner = _numbers(depth=depth - 1)
    shape = draw(st.sampled_from(["({} + {})", "({} - {})", "({} * {})", "({} / {})", "coalesce({}, {})"]))
    single = draw(st.sampled_from(["{}", "abs({})", "(-{})", "round({}, 2)"]))
    whole = draw(st.sampled_from(["{}", "{}", "(small % 7 + {})"]))
    return whole.format(single.format(shape.format(draw(inner), draw(inner))))


@st.composite
def _predicates(draw: st.DrawFn) -> str:
    sign = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    return f"{draw(_numbers())} {sign} {draw(_numbers())} and small is not null"


@pytest.fixture(scope="module")
def both(postgres: PostgresServer) -> tuple[Source, Source]:
    return open_source(EXTREMES), open_source(write_postgres(postgres, "extremes", EXTREMES, "extremes"))


@pytest.mark.long
@settings(CALM, max_examples=80)
@given(text=_predicates())
def test_arithmetic_never_fails_and_engines_agree(both: tuple[Source, Source], text: str) -> None:
    """An error on some rows but not on others would tell something about them."""
    try:
        embedded, server = (count_people(source, Tally((Condition(text),))).counts for source in both)
    except QuestionError as error:
        assert "divides by zero" in str(error)  # noqa: PT017  (refused by its words alone, before data is read)
        return
    assert embedded == server
    assert sum(embedded) == EXTREMES.num_rows
