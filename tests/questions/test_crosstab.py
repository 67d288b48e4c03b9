"""Cross tables: how they are written, who is counted where, margins, percentages, and broken ones that are refused."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import optimaldp as odp
from optimaldp.certify.core.referee import examine_release
from optimaldp.errors import QuestionError
from optimaldp.histograms.margins import CrossTable, fitted_to_margins, percentages
from optimaldp.histograms.noise.sums import query_error
from optimaldp.laws.law import Setting
from optimaldp.privacy import Neighbours, level
from optimaldp.questions.kinds.crosstab import Crosstab
from optimaldp.questions.text import parse
from optimaldp.sanitising import bins

TEXT = "histogram(sex: ['m', 'f'], age: bins=[0, 18, 65, 120])"
SEX, AGE = ("m", "f", "(everyone else)"), ("[0, 18)", "[18, 65)", "[65, 120]", "(everyone else)")


def people(n: int = 900) -> pyarrow.Table:
    random = np.random.default_rng(4)
    sexes = random.choice(["m", "f", "x"], n, p=[0.5, 0.45, 0.05])
    return pyarrow.table({"sex": sexes.tolist(), "age": random.integers(0, 100, n).tolist()})


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "histogram(sex: ['m', 'f'], age: bins=[0, 18, 65, 120], percent='rows')",
        "histogram(sex: ['m', 'f'], age: bins=[0, 18, 65, 120], outside='ends' among age > 3)",
        "histogram(\"a: b\": ['it''s', 'f'], day: bins=['2020-01-01', '2021-01-01'])",
        "histogram(sex, age)",
    ],
)
def test_the_text_is_read_back(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(text) == parse(text.replace("histogram", "crosstab"))


def test_python_makes_the_same_question() -> None:
    assert odp.crosstab({"sex": ["m", "f"], "age": bins([0, 18, 65, 120])}) == parse(TEXT)
    assert not isinstance(parse("histogram(sex, ['m', 'f'])"), Crosstab)


@pytest.mark.parametrize("wrong", [TEXT[:-1] + ", percent='cells')", TEXT[:-1] + ", outside='middle')", "crosstab()"])
def test_what_is_wrong_is_refused(wrong: str) -> None:
    with pytest.raises(QuestionError):
        parse(wrong)


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_a_release_has_every_cell_in_row_order(neighbours: str) -> None:
    release = odp.release(people(), TEXT, epsilon=1, neighbours=neighbours)
    assert [(row["sex"], row["age"]) for row in release.answer] == list(product(SEX, AGE))
    truth = np.zeros((3, 4), dtype=int)
    for sex, age in zip(*(people()[name].to_pylist() for name in ("sex", "age"))):
        truth[SEX.index(sex) if sex in SEX else 2, np.digitize(age, [18, 65])] += 1
    assert np.abs(np.array([row["count"] for row in release.answer]).reshape(3, 4) - truth).sum() < 80
    document = json.loads(json.dumps(release.to_document(), default=str))
    assert odp.verify(document).holds
    document["answer"][0]["sex"] = "f"
    assert not odp.verify(document).holds


@pytest.mark.long
def test_margins_are_sums_of_noisy_cells_with_intervals_that_hold() -> None:
    held = 0
    for _ in range(12):
        table = odp.release(people(), TEXT, epsilon="0.5").crosstab()
        noisy = np.array(table.noisy).reshape(table.shape)
        assert [one["count"] for one in table.margin("age")] == noisy.sum(axis=0).tolist()
        low, high = table.margin("sex")[0]["interval"]
        held += low <= people()["sex"].to_pylist().count("m") <= high
        body = np.array(table.counts).reshape(table.shape)
        for axis, name in enumerate(table.names):
            differences = [one["difference"] for one in table.margin(name)]
            assert (body.sum(axis=1 - axis) - noisy.sum(axis=1 - axis)).tolist() == differences
    assert held >= 7  # at 95 %: fewer once in a million


def test_the_body_is_fitted_where_that_is_possible() -> None:
    assert fitted_to_margins([5, 5, 5, 5], [8, 2, 6, 4], (2, 2), 20) == (7, 3, 7, 3)
    assert sum(fitted_to_margins([3, 0, 0, 0], [9, -4, 2, 1], (2, 2), 8)) == 8
    assert fitted_to_margins([0, 0], [0, 0], (2, 1), None) == (0, 0)


def test_no_count_is_moved_beyond_its_interval() -> None:
    """A margin over cells that are nearly all empty is mostly their noise, and all of it would go to the only count there is."""
    body = fitted_to_margins([90, 5, 60, 0, 70, 0], [90, 5, 60, 9, 70, 8], (3, 2), None, reach=6)
    assert all(abs(after - before) <= 6 for before, after in zip([90, 5, 60, 9, 70, 8], body) if after)
    for _ in range(4):
        table = odp.release(people(300), TEXT, epsilon="0.5", neighbours="add-remove").crosstab()
        inside = [
            cell["interval"][0] <= cell["count"] <= cell["interval"][1] for cell in table.cells() if cell["count"]
        ]
        assert all(inside)


def test_what_could_not_be_fitted_is_shown() -> None:
    labels, counts, noisy = (("x", "y"), ("u", "v")), (9, 0, 5, 6), (9, 3, 5, 6)
    made = CrossTable(("a", "b"), labels, counts, noisy, lambda cells: query_error(4, cells, epsilon=1))
    _, first, second, last = made.grid()
    assert first[-1].endswith("[counts: 9]")
    assert first[-1].startswith("12 ± ")
    assert "counts" not in second[-1] + last[1]
    assert last[2].endswith("[counts: 6]")
    assert "x,,12," in made.to_csv()
    assert made.to_csv().count("margin") == 4


def test_the_file_of_a_release_is_the_file_of_its_table(tmp_path: Any) -> None:
    release = odp.release(people(), TEXT, epsilon=1)
    lines = list(csv.reader(release.save(tmp_path / "made.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert lines[1][:3] == ["m", "[0, 18)", str(release.answer[0]["count"])]
    assert len(lines) == 1 + 12 + 7


@given(
    st.lists(st.integers(0, 9), min_size=6, max_size=6).filter(any),
    st.lists(st.integers(-9, 30), min_size=6, max_size=6),
)
def test_a_public_total_is_kept_whatever_the_margins_say(counts: list[int], noisy: list[int]) -> None:
    fitted = fitted_to_margins(counts, noisy, (2, 3), sum(counts))
    assert sum(fitted) == sum(counts)
    assert all(after >= 0 and (before or not after) for before, after in zip(counts, fitted))


@pytest.mark.long
@pytest.mark.parametrize(("of", "whole"), [("rows", 1), ("columns", 0), ("all", None)])
def test_percentages_add_up(of: str, whole: int | None) -> None:
    shares = np.array(percentages([1, 2, 3, 4, 5, 6], (2, 3), of)).reshape(2, 3)
    assert np.allclose(shares.sum(axis=whole), 100, atol=0.001)
    release = odp.release(people(), TEXT[:-1] + f", percent='{of}')", epsilon=1)
    assert all(0 <= row["percent"] <= 100 for row in release.answer)
    first = next(csv.DictReader(release.crosstab().to_csv().splitlines()))
    assert float(first["percent"]) == release.answer[0]["percent"]


def test_small_cells_are_flagged_and_zeros_shown(tmp_path: Any) -> None:
    table = odp.release(people(60), TEXT, epsilon="0.2").crosstab()
    assert len(table.cells()) == 12
    assert any(cell["note"].startswith("unreliable: ± ") for cell in table.cells())
    saved = table.save(tmp_path / "table.csv").read_text(encoding="utf-8")
    assert saved.startswith("\ufeffsex,age,count,low,high,note")
    assert table._repr_html_().count("<tr>") == len(table.grid()) == 5


def test_types_list_options_and_close_columns(tmp_path: Any) -> None:
    path = tmp_path / "people.db"
    with duckdb.connect(str(path)) as book:
        book.execute("CREATE TABLE t AS SELECT i % 2 = 0 AS a, i % 3 = 0 AS b FROM range(300) AS r(i)")
        book.execute("ALTER TABLE t ALTER a SET NOT NULL")
    source = f"duckdb:///{path}?table=t"
    release = odp.release(source, "histogram(a, b)", epsilon=3)
    assert [(row["a"], row["b"]) for row in release.answer] == list(
        product(("false", "true"), ("false", "true", "(everyone else)"))
    )
    assert odp.verify(json.loads(json.dumps(release.to_document(), default=str))).holds
    with pytest.raises(QuestionError, match="complete"):
        odp.release(source, "histogram(a, b, complete='b')", epsilon=3)


@dataclass(frozen=True, repr=False)
class Twice(Crosstab):
    """A wrong twin: whoever is in the first cell is counted in the second, too."""

    def fold(self, cells: Any) -> tuple[int, ...]:
        counts = list(super().fold(cells))
        return (counts[0], counts[0] + counts[1], *counts[2:])


def test_a_table_that_counts_somebody_twice_is_refused() -> None:
    right = odp.crosstab({"sex": ["m", "f"], "age": ["a", "b"]})
    wrong = Twice(right.column, None, sides=right.sides)
    setting = Setting(level(1), Neighbours.SUBSTITUTION, people=50)
    assert examine_release(right.mechanism(setting)).private
    assert not examine_release(wrong.mechanism(setting)).private


def test_a_colon_may_belong_to_a_name() -> None:
    assert str(parse('histogram(":", bins=[-1, 0, 1])')) == 'histogram(":", bins=[-1, 0, 1])'
    assert parse("histogram(\":\": ['a', 'b'], x: ['c', 'd'])").sides[0].name == ":"
