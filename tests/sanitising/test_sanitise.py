"""Sanitised tables: rows of the same kind and number, margins without bias, statements, and what is refused."""

from __future__ import annotations

import datetime
import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.certify.noise import certify_noise
from optimaldp.errors import HistogramError, LevelError, NotCertifiedError, OptimalDPError, QuestionError
from optimaldp.histograms import HistogramNoise, LaplaceNoise, query_error
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.claims import optimality_sentence
from optimaldp.questions.columns import read_columns
from optimaldp.sampling import SystemBits
from optimaldp.sanitising import estimate, planning, releasing
from optimaldp.sanitising.drawing import draw_table, map_back, noise_for
from optimaldp.sanitising.rows import cells_of, generator, placed_codes, rows_error

PEOPLE = 2000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    sex = rng.choice(["m", "f", "x", None], PEOPLE, p=[0.45, 0.45, 0.05, 0.05])
    age = rng.integers(0, 120, PEOPLE)
    return pa.table({"sex": sex.tolist(), "age": age.tolist(), "smokes": (age % 3 == 0).tolist()})


COLUMNS = {"sex": ["m", "f"], "age": odp.bins([0, 18, 65, 120]), "smokes": None}


def test_rows_of_the_same_kind_and_number(table):
    clean = odp.sanitise(table, COLUMNS, epsilon=1)
    frame = clean.to_frame()
    assert len(frame) == clean.rows == PEOPLE
    assert list(frame) == ["sex", "age", "smokes"]
    assert set(frame["sex"].dropna()) <= {"m", "f"}
    ages = frame["age"].dropna()
    assert ages.between(0, 120).all()
    assert (ages == ages.astype(int)).all()
    assert set(frame["smokes"].dropna()) <= {True, False}
    assert "certified" in repr(clean)


def test_the_rows_are_near_the_truth(table):
    clean = odp.sanitise(table, COLUMNS, epsilon=2)
    truth = Counter(table["sex"].to_pylist())
    shown = clean.to_frame()["sex"].value_counts()
    reach = clean.query_error(sex="m").quantile("0.999999") + 60
    assert abs(shown["m"] - truth["m"]) < reach
    assert abs(shown["f"] - truth["f"]) < reach


@pytest.mark.long
def test_margins_are_unbiased_and_cover(table):
    truth = Counter(table["sex"].to_pylist())["m"]
    found = []
    for _ in range(25):
        clean = odp.sanitise(table, {"sex": ["m", "f"], "age": odp.bins(range(0, 125, 5))}, epsilon=1)
        found.append(clean.margin("sex").count(sex="m"))
    error = clean.query_error(sex="m")
    assert abs(np.mean(found) - truth) < 5 * error.standard_deviation / math.sqrt(25)
    assert sum(abs(count - truth) <= error.quantile() for count in found) >= 19
    number, same = clean.query(sex="m")
    assert number == found[-1]
    assert same.quantile() == error.quantile() == query_error(3 * 25, 25, epsilon=1).quantile()


def test_several_values_and_columns_in_one_query(table):
    clean = odp.sanitise(table, COLUMNS, epsilon=1)
    both, error = clean.query(sex=["m", "f"], smokes=True)
    one = sum(clean.query(sex=sex, smokes=True)[0] for sex in ("m", "f"))
    assert both == one
    assert error.chosen == 2 * 4
    margin = clean.margin(["smokes", "sex"])
    assert margin.counts.shape == (clean.columns[2].size, 3)
    assert margin.count(smokes=True, sex="m") + margin.count(smokes=True, sex="f") == both
    low, high = margin.interval(smokes=True, sex="m")
    assert high - low <= 2 * margin.reach()
    with pytest.raises(QuestionError, match="is not one of its values"):
        clean.query(sex="unknown")
    with pytest.raises(QuestionError, match="is not in the table"):
        clean.query(height=3)


def test_files_and_statement(table, tmp_path):
    clean = odp.sanitise(table, COLUMNS, epsilon="ln(3)", delta=0.001)
    for name in ("clean.csv", "clean.parquet"):
        path = clean.save(tmp_path / name)
        assert path.exists()
        said = json.loads((tmp_path / f"{name}.json").read_text())
        assert said["rows"] == PEOPLE
        assert (said["epsilon"], said["delta"], said["neighbours"]) == ("ln(3)", 0, "substitution")
        assert said["cells"] == 3 * 4 * clean.columns[2].size
        assert all(said["expected_error"][of]["value"] >= 0 for of in ("counts", "rows"))
        low, high = said["expected_error"]["rows"]["interval"]
        assert low <= said["expected_error"]["rows"]["value"] <= high
        assert said["one_way_error_95"]["sex"] == clean.query_error(sex="m").quantile()
    lines = (tmp_path / "clean.csv").read_text().splitlines()
    assert lines[0] == '"sex","age","smokes"'
    assert len(lines) == PEOPLE + 1
    with pytest.raises(HistogramError, match="cannot be written"):
        clean.save(tmp_path / "clean.txt")


def test_every_kind_of_frame(table):
    clean = odp.sanitise(table, COLUMNS, epsilon=1)
    assert clean.to_frame("arrow").num_rows == PEOPLE
    assert clean.to_frame("polars").height == PEOPLE
    labels = set(clean.to_frame(labels=True)["age"].dropna())
    assert labels <= {"[0, 18)", "[18, 65)", "[65, 120]"}
    with pytest.raises(HistogramError, match="kind of table"):
        clean.to_frame("excel")


def test_dates_lie_inside_their_bins():
    day = datetime.date(2020, 1, 1)
    table = pa.table({"day": [day + datetime.timedelta(days=i % 700) for i in range(500)]})
    clean = odp.sanitise(table, {"day": odp.bins(["2020-01-01", "2020-07-01", "2022-01-01"])}, epsilon=1)
    drawn = [value for value in clean.to_frame("arrow")["day"].to_pylist() if value is not None]
    assert all(datetime.date(2020, 1, 1) <= value <= datetime.date(2022, 1, 1) for value in drawn)
    assert len(drawn) > 450


def test_a_type_that_lists_all_values_has_no_cell_for_everybody_else(tmp_path):
    with duckdb.connect(tmp_path / "people.db") as connection:
        connection.execute("CREATE TABLE people (smokes BOOLEAN NOT NULL, drinks BOOLEAN)")
        connection.execute("INSERT INTO people SELECT i % 2 = 0, i % 3 = 0 FROM range(600) t(i)")
    source = f"duckdb:///{tmp_path / 'people.db'}?table=people"
    clean = odp.sanitise(source, {"smokes": None}, epsilon=1)
    assert clean.columns[0].labels == ("false", "true")
    assert clean.statement["cells"] == 2
    assert sum(clean.margin("smokes").counts) == 600
    # With a condition somebody may have no row left, so the cell is needed; and where a value may be missing.
    assert odp.sanitise(source, {"smokes": None}, epsilon=1, where="smokes").statement["cells"] == 3
    assert odp.sanitise(source, {"drinks": None}, epsilon=1).statement["cells"] == 3
    # Not all values listed: somebody may have another one.
    assert odp.sanitise(source, {"smokes": [True]}, epsilon=1).statement["cells"] == 2


def test_a_type_that_is_wrong_about_missing_values_loses_nobody():
    cells = releasing._without_closed({0: 5, 1: 7, 2: 3}, (3,), read_closed())
    assert cells == {0: 8, 1: 7}


def read_closed():
    return tuple(replace(column, closed=True) for column in read_columns({"smokes": [False, True]}))


def test_units_and_conditions(table):
    twice = pa.concat_tables([table, table]).append_column("person", pa.array([*range(PEOPLE)] * 2))
    clean = odp.sanitise(twice, {"sex": ["m", "f"]}, epsilon=1, unit="person", where="age >= 18")
    assert clean.rows == PEOPLE
    assert clean.statement["where"] == "age >= 18"


def test_add_remove_keeps_no_total(table):
    totals = {odp.sanitise(table, COLUMNS, epsilon="0.5", neighbours="add-remove").rows for _ in range(4)}
    assert len(totals) > 1
    assert all(abs(total - PEOPLE) < 500 for total in totals)


@pytest.mark.long
def test_a_hundred_thousand_options_are_counted_by_their_values():
    values = [f"o{i % 50}" for i in range(5000)] + [None, "elsewhere"] * 100
    clean = odp.sanitise(pa.table({"c": values}), {"c": [f"o{i}" for i in range(10**5)]}, epsilon=1)
    assert clean.rows == 5200
    counts = clean.counts
    assert sum(abs(counts.get((f"o{i}",), 0) - 100) for i in range(50)) < 300
    assert abs(clean.margin("c").count(c=None) - 200) < 40
    with pytest.raises(QuestionError):
        odp.sanitise(pa.table({"c": values}), {"c": list(range(1100))}, epsilon=1)


def test_many_numbers_in_a_file_of_text_are_read_as_numbers(tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("c\n" + "\n".join(str(i % 10) for i in range(2000)) + "\n")
    clean = odp.sanitise(path, {"c": list(range(1100))}, epsilon=2)
    assert sum(abs(clean.counts.get((str(i),), 0) - 200) for i in range(10)) < 60


def test_many_cells_are_drawn_sparsely(table):
    columns = {"sex": [f"s{i}" for i in range(600)] + ["m", "f"], "age": odp.bins(range(10**4 + 1))}
    clean = odp.sanitise(table, columns, epsilon=1, neighbours="add-remove")
    assert clean.statement["cells"] == 603 * (10**4 + 1)
    assert "time" in clean.statement["caution"]
    assert clean.margin("sex").counts.shape == (603,)
    with pytest.raises(QuestionError, match=r"never drawn.*margins="):
        clean.margin(["sex", "age"])
    with pytest.raises(HistogramError, match="add-remove"):
        odp.sanitise(table, columns, epsilon=1)


def test_sparse_tables_find_the_occupied_cells():
    table = pa.table({"a": [str(i % 40) for i in range(4000)], "b": [i % 40 for i in range(4000)]})
    columns = {"a": [str(i) for i in range(10**4)], "b": odp.bins(range(1001))}
    clean = odp.sanitise(table, columns, epsilon=1, neighbours="add-remove")
    found = clean.counts
    right = sum(abs(found.get((str(i), f"[{i}, {i + 1})"), 0) - 100) for i in range(40))
    assert right < 200
    assert sum(found.values()) < 4300


def certified(cells, epsilon=1):
    one = odp.Epsilon.read(epsilon)
    noise = noise_for(cells, one, Neighbours.SUBSTITUTION)
    return certify_noise(noise, cells=cells, epsilon=one, neighbours=Neighbours.SUBSTITUTION)


def test_only_certified_noise_is_drawn():
    with pytest.raises(NotCertifiedError):
        draw_table({}, read_columns({"a": ["x", "y"]}), wrong_noise(3, 1), SystemBits())


def test_people_in_cells_too_small_to_tell_follow_the_margins():
    """A 150 × 150 table of 3000 people: most cells hold nobody or one, and the rows still have the right margins."""
    rng = np.random.default_rng(3)
    columns = read_columns({"a": [f"a{i}" for i in range(150)], "b": [f"b{i}" for i in range(150)]})
    a, b = rng.geometric(0.15, 3000) % 150, rng.integers(0, 150, 3000)
    cells = dict(Counter((a * 151 + b).tolist()))
    noise = certified(151 * 151)
    drawn = map_back(draw_table(cells, columns, noise, SystemBits()), noise.mechanism)
    assert drawn.unplaced > 300
    codes = placed_codes(drawn.noisy, drawn.counts, drawn.unplaced, generator(1))
    assert len(codes) == 3000
    truth = np.bincount(a, minlength=151)
    shown = np.bincount(codes[:, 0], minlength=151)
    reach = drawn.noisy.margin(["a"]).reach("0.99999")
    assert abs(shown[truth.argmax()] - truth.max()) < 2 * reach


@pytest.mark.long
def test_the_margins_of_the_rows_are_hardly_pulled():
    """40 × 40 cells: the largest row of rows that follow the margins, beside that of a projected table (the negative control)."""
    rng = np.random.default_rng(4)
    shares = 1 / np.arange(1, 41)
    a, b = (rng.choice(40, 4000, p=shares / shares.sum()) for _ in range(2))
    columns = read_columns({name: [f"{name}{i}" for i in range(40)] for name in "ab"})
    cells, noise = (
        dict(Counter((a * 41 + b).tolist())),
        certified(41 * 41),
    )
    off = {}
    for remap in ("empirical-bayes", "projection"):
        noisy = [draw_table(cells, columns, noise, SystemBits()) for _ in range(12)]
        drawn = [map_back(one, noise.mechanism, remap=remap) for one in noisy]
        placed = [placed_codes(one.noisy, one.counts, one.unplaced, generator(3)) for one in drawn]
        largest = [np.bincount(codes[:, 0])[0] for codes in placed]
        off[remap] = np.mean(largest) - np.bincount(a)[0]
    assert off["projection"] < -45
    assert abs(off["empirical-bayes"]) < 40


@pytest.mark.long
@pytest.mark.parametrize(
    ("side", "people", "epsilon", "stairs"),
    [(81, 374, "2.44", False), (29, 235, "0.29", True), (61, 1500, "1.75", False)],
    ids=["margins say nothing", "margins are mostly noise", "many people"],
)
def test_people_who_follow_noisy_margins_are_not_believed_to_be_right(side, people, epsilon, stairs):
    """The noise of a margin is that of its cells: unless its echo is taken off, each seems to agree with the other."""
    rng = np.random.default_rng(5)
    shares = np.repeat([4, 2, 1, 1], -(-side // 4))[:side] if stairs else np.ones(side)
    a, b = (rng.choice(side, people, p=shares / shares.sum()) for _ in range(2))
    columns = read_columns({name: [str(i) for i in range(side - 1)] for name in "ab"})
    truth, noise = np.bincount(a * side + b, minlength=side**2), certified(side**2, epsilon)
    real, said, covered = _rows_of(truth, columns, noise, "empirical-bayes")
    assert said == pytest.approx(real, rel=0.15)
    assert covered >= 4


def test_people_who_follow_margins_that_order_nothing_are_off_by_what_cells_differ():
    """A dense table in no order: cells of 8 to 33 people that noise hides are not Poisson numbers around what margins say."""
    rng = np.random.default_rng(6)
    columns = read_columns({name: [0, 1, 2] for name in "abcd"})
    shares = rng.permutation(np.repeat([4, 2, 1, 1], 64))
    truth = rng.multinomial(3400, shares / shares.sum())
    real, said, covered = _rows_of(truth, columns, certified(256, "0.26"), "threshold")
    assert said == pytest.approx(real, rel=0.15)
    assert covered >= 5


def _rows_of(truth: np.ndarray, columns: Any, noise: Any, remap: str) -> tuple[float, float, int]:
    """Of 8 draws the error of the rows and what is said of it, on average, and how often it is inside of its interval."""
    real, said, covered = [], [], 0
    for _ in range(8):
        noisy = draw_table({int(i): int(truth[i]) for i in np.flatnonzero(truth)}, columns, noise, SystemBits())
        drawn = map_back(noisy, noise.mechanism, remap=remap)
        codes = placed_codes(noisy, drawn.counts, drawn.unplaced, generator(1))
        value, (low, high) = rows_error(drawn.judge, noisy, drawn.counts, codes)
        real.append(np.abs(cells_of(codes, noisy.shape) - truth).sum())
        said.append(value)
        covered += low <= real[-1] <= high
    return float(np.mean(real)), float(np.mean(said)), covered


def test_two_cells_under_a_prior_are_said_to_be_optimal_at_this_number_of_people():
    table = pa.table({"a": ["x", "y"] * 20})
    said = odp.sanitise(table, {"a": ["x"]}, epsilon=1, prior="uniform").statement
    assert said["optimal"].startswith(
        "under the prior that is named: the least expected L1 error at this number of people"
    )
    assert said["expected_error"]["counts"]["value"] == said["expected_error"]["least_possible"]
    assert said["expected_error"]["rows"]["value"] == said["expected_error"]["least_possible"]
    said = odp.sanitise(table, {"a": ["x", "y"]}, epsilon=1, prior="uniform").statement
    assert said["optimal"].startswith("for large tables")
    assert 0 < said["expected_error"]["least_at_least"] < 4


@pytest.mark.slow
def test_margins_that_are_cut_off_at_nobody_are_believed_by_what_the_cells_say():
    """Their noise is less than that of the cells below 0; and around what they say true means differ by what it hides."""
    rng = np.random.default_rng(9)
    shares = np.array([3.0 ** -(rank * 4 // 200) for rank in range(200)])
    likely = np.multiply.outer(rng.permutation(shares), rng.permutation(shares)).reshape(-1)
    columns = read_columns({name: [str(i) for i in range(199)] for name in "ab"})
    truth, noise = rng.multinomial(5000, likely / likely.sum()), certified(40_000, "1.25")
    real, said, covered = _rows_of(truth, columns, noise, "automatic")
    assert said == pytest.approx(real, rel=0.05)
    assert covered >= 5


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ({}, {}, QuestionError),
        ({"height": ["a"]}, {}, QuestionError),
        ({"sex": None}, {}, QuestionError),
        ({"sex": ["m", "m"]}, {}, QuestionError),
        ({"age": odp.bins([0, 1])}, {"epsilon": 0}, LevelError),
        ({"sex": ["m"]}, {"epsilon": "inf"}, LevelError),
        ({"sex": ["m"]}, {"part": "sex = 'm'"}, QuestionError),
        ({"sex": ["m"]}, {"remap": "none"}, HistogramError),
        ({"sex": ["m"]}, {"remap": "best"}, HistogramError),
        ({"sex": ["m"]}, {"remap": "top-fill", "neighbours": "add-remove"}, HistogramError),
        ({"sex": ["m"]}, {"epsilon": "1e-9", "neighbours": "add-remove"}, HistogramError),
        ({"sex": ["m"]}, {"neighbours": "friends"}, LevelError),
        ({"age": ["m"]}, {}, QuestionError),
    ],
)
def test_what_is_refused_is_refused_before_data_is_read(table, columns, options, error, monkeypatch):
    monkeypatch.setattr(releasing, "count_table", lambda *_: pytest.fail("data was read"))
    with pytest.raises(error):
        odp.sanitise(table, columns, **({"epsilon": 1} | options))


def wrong_noise(cells, epsilon, neighbours="substitution"):
    make = HistogramNoise if neighbours == "substitution" else LaplaceNoise
    return make(cells, odp.Epsilon.read(epsilon))


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        pytest.param(wrong_noise(3, "1.3"), "epsilon 1.3, and 1 was promised", id="too little noise"),
        pytest.param(wrong_noise(3, "0.7"), "epsilon 0.7, and 1 was promised", id="too much noise"),
        pytest.param(wrong_noise(2, 1), "covers 2 of 3 cells", id="one cell without noise"),
        pytest.param(wrong_noise(3, 1, "add-remove"), "add-remove", id="noise for other neighbours"),
    ],
)
def test_noise_that_is_not_certified_is_never_drawn(table, noise, words, monkeypatch):
    monkeypatch.setattr(planning, "noise_for", lambda *_: noise)
    monkeypatch.setattr(releasing, "count_table", lambda *_: pytest.fail("data was read"))
    with pytest.raises(NotCertifiedError, match=words):
        odp.sanitise(table, {"sex": ["m", "f"]}, epsilon=1)


def test_errors_hold_no_data(table, monkeypatch):
    def broken(*_, **__):
        raise ValueError("somebody is 117 years old")

    monkeypatch.setattr(releasing, "map_back", broken)
    monkeypatch.setattr(releasing, "require_drawn", lambda *_: None)  # made-up people may be named
    with pytest.raises(OptimalDPError) as caught:
        odp.sanitise(table, {"sex": ["m", "f"]}, epsilon=1)
    assert "117" not in str(caught.value)


@pytest.mark.long
@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
@pytest.mark.parametrize("options", [["a"], [f"o{i}" for i in range(120)], [f"o{i}" for i in range(2000)]])
@pytest.mark.parametrize("epsilon", [1, 900, "0.01"])
@pytest.mark.parametrize("people", [0, 1, 3])
def test_no_table_is_too_small_and_no_level_too_odd(people, epsilon, options, neighbours):
    """Whatever can be asked for is drawn: an error after the spend would lose budget."""
    data = pa.table({"c": pa.array(["a"] * people, type=pa.string())})
    clean = odp.sanitise(data, {"c": options}, epsilon=epsilon, neighbours=neighbours)
    if neighbours == "substitution":
        assert clean.rows == people
    assert len(clean.to_frame("arrow")) == clean.rows


def test_tiny_levels_have_enormous_noise_and_still_as_many_rows():
    data = pa.table({"c": ["a"] * 40})
    clean = odp.sanitise(data, {"c": ["a", "b"]}, epsilon="1e-30")
    assert clean.rows == 40


def test_estimates_read_nothing():
    made = estimate({"vote": ["a", "b"], "age": odp.bins([0, 30, 60, 90]), "place": list(range(7))}, epsilon=1, n=944)
    document = made.to_document()
    assert document["cells"] == 3 * 4 * 8
    assert document["joint"]["one_way_error"] == pytest.approx(np.mean([made.joint([c.name]) for c in made.columns]))
    split = sum(float(level) for level in made.levels)
    assert 0.999 < split <= 1
    three = estimate(
        {"vote": ["a", "b"], "age": odp.bins([0, 30, 60, 90]), "place": list(range(7))},
        epsilon=1,
        marginals=[["vote"], ["age"], ["place"]],
    )
    better = {tuple(row["columns"]): row["better"] for row in three.compared()}
    assert better["vote",] == "marginals"
    assert better["vote", "age"] == "joint"


@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
def test_an_estimate_says_which_tables_can_be_read(relation: str):
    """The most cells of which a usual one is off by a tenth at most: by the law of one cell, tried around the border."""
    columns = {"sex": ["m", "f"], "age": list(range(9)), "ward": list(range(40))}
    made = estimate(columns, epsilon=1, n=5000, neighbours=relation)
    most = made.readable_cells()
    reach = {
        cells: odp.histograms.query_error(cells, 1, epsilon=1, neighbours=relation).quantile()
        for cells in (most, most + 1)
    }
    assert reach[most] * most <= 500 < reach[most + 1] * (most + 1)
    assert f"tables of up to {most} cells can be read to ± 10 %" in made.words()
    readable = {tuple(shape["columns"]): shape["readable"] for shape in made.shapes()}
    assert [name for name, able in readable.items() if not able] in (
        [("sex", "ward"), ("age", "ward"), ("sex", "age", "ward")],  # 123 cells are too many where counts are off by 6
        [("age", "ward"), ("sex", "age", "ward")],
    )
    assert len(readable) == 7
    assert estimate(columns, epsilon="0.001", n=100).readable_cells() == 0
    assert "readable" not in estimate(columns, epsilon=1).shapes()[0]  # the number of people is not known


def test_the_error_of_a_query_is_known_before_anything_is_spent():
    columns = {"sex": ["m", "f"], "age": ["young", "middle", "old"]}
    table = pa.table({"sex": ["m", "f"] * 50, "age": ["young", "old"] * 50})
    for neighbours in ("substitution", "add-remove"):
        before = estimate(columns, epsilon=1, neighbours=neighbours)
        after = odp.sanitise(table, columns, epsilon=1, neighbours=neighbours)
        for query in ({"sex": "f"}, {"sex": ["m", "f"], "age": "old"}, {"age": ["young", "middle"]}):
            assert before.query_error(**query) == after.query_error(**query)
    with pytest.raises(QuestionError, match="not in the table"):
        before.query_error(town="x")


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"neighbours": "add-remove"}, {"marginals": [["sex"], ["age"]]}], ids=str)
def test_a_statement_is_verified_without_the_data(table, options, tmp_path):
    clean = odp.sanitise(table, {"sex": ["m", "f"], "age": odp.bins([0, 18, 65, 120])}, epsilon="0.7", **options)
    verdict = odp.verify(clean)
    assert verdict.holds, verdict.failure
    assert len(verdict.checked) == len(clean.tables) + 1
    rows = clean.save(tmp_path / "rows.csv")
    assert odp.verify(rows.with_name("rows.csv.json")).holds


def test_a_statement_with_equal_bins_is_verified(tmp_path):
    people = pa.table({"age": list(range(20, 60))})
    clean = odp.sanitise(people, {"age": odp.bins(range(101))}, epsilon=1)
    assert odp.verify(clean).holds
    said = json.loads(json.dumps(clean.statement))
    said["columns"][0]["bins"] -= 1
    (tmp_path / "rows.csv.json").write_text(json.dumps(said))
    assert not odp.verify(tmp_path / "rows.csv.json").holds


@pytest.mark.parametrize(
    ("options", "claim"),
    [
        ({}, "lattice noise"),
        ({"neighbours": "add-remove"}, None),
        ({"marginals": [["sex"], ["age"]]}, None),
        ({"levels": "trust"}, None),
    ],
    ids=str,
)
def test_what_is_said_to_be_optimal_stands_in_the_table_of_claims(table, options, claim):
    people = table.append_column("trust", pa.array([0.3] * len(table)))
    clean = odp.sanitise(people, {"sex": ["m", "f"], "age": odp.bins([0, 18, 65, 120])}, epsilon="0.7", **options)
    assert clean.statement["optimal"] == optimality_sentence(claim)


def _forged(statement, path, value):
    *way, last = path
    inner = statement
    for step in way:
        inner = inner[step]
    inner[last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("epsilon",), "0.5"),
        (("delta",), 0.1),
        (("neighbours",), "add-remove"),
        (("neighbours",), "friends"),
        (("columns", 0, "values"), ["m", "f"]),
        (("columns",), 3),
        (("tables",), []),
        (("tables", 0, "cells"), 24),
        (("tables", 0, "columns"), [["sex"]]),
        (("tables", 0, "epsilon"), "0.5"),
        (("tables", 0, "certificate", "bins"), 11),
        (("tables", 0, "certificate", "totals"), 5),
        (("tables", 0, "certificate", "totals", "ratio_epsilon"), "0.7"),
        (("selection",), {"pairs": 1, "epsilon_of_each_choice": "0.1", "sensitivity": 2}),
        (("selection",), {"pairs": -1, "epsilon_of_each_choice": "0.1", "sensitivity": 2}),
        (("selection",), {"pairs": 0, "epsilon_of_each_choice": "0.1", "sensitivity": 1}),
        (("selection",), {"pairs": 0, "epsilon_of_each_choice": "0", "sensitivity": 2}),
        (("epsilon",), "2"),
        (("neighbours_in_words",), "nobody can tell anything"),
        (("levels",), "trust"),
        (("part",), {"column": "ward", "value": "n"}),
        (("optimal",), "the best of all"),
        (("method",), "joint and more"),
        (("cells",), 24),
        (("protected",), "everybody"),
    ],
    ids=str,
)
def test_a_forged_statement_is_refused(stated, path, value):
    forged = json.loads(json.dumps(stated))
    assert odp.verify(forged).holds
    _forged(forged, path, value)
    verdict = odp.verify(forged)
    assert not verdict.holds
    assert verdict.failure


@pytest.fixture(scope="module")
def stated(table):
    return odp.sanitise(table, {"sex": ["m", "f"], "age": odp.bins([0, 18, 65, 120])}, epsilon=1).to_document()
