"""Pairs of columns that are chosen privately: sensitivity, the law of the choice, levels, rows, the ledger."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import optimaldp as odp
from optimaldp.certify.noise import require_selection
from optimaldp.errors import NotCertifiedError, QuestionError
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.columns import read_columns
from optimaldp.sanitising import choosing, releasing
from optimaldp.sanitising.choosing import Selection, joining, scores_of, sensitivity_of

COLUMNS = {"a": ["x", "y"], "b": ["u", "v", "w"], "c": [0, 1, 2, 3], "d": ["s", "t"]}


def table(people: int = 4000) -> pa.Table:
    """b follows a, c and d are on their own."""
    random = np.random.default_rng(3)
    a = random.integers(0, 2, people)
    b = np.where(random.random(people) < 0.85, a, 2)
    c, d = random.integers(0, 4, people), random.integers(0, 2, people)
    return pa.table({"a": ["xy"[i] for i in a], "b": ["uvw"[i] for i in b], "c": c.tolist(), "d": ["st"[i] for i in d]})


@pytest.fixture
def pairs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the 180 cells of all columns together were too many."""
    monkeypatch.setattr(choosing, "_MOST_TOGETHER", 100)


counts = st.lists(st.integers(0, 3), min_size=6, max_size=6)


@settings(max_examples=40, deadline=None)
@given(counts, st.lists(st.integers(0, 9), min_size=5, max_size=5), st.integers(0, 30), st.sampled_from(Neighbours))
def test_one_person_moves_a_score_by_its_sensitivity_at_most(
    cells: list[int], noisy: list[int], people: int, relation: Neighbours
) -> None:
    """Every neighbour of a made-up pair, with released margins that may be anything."""
    first, second = (column.first(column.named - 1) for column in read_columns({"a": ["x", "y"], "b": ["u", "v", "w"]}))
    margins = {"a": np.array(noisy[:2]), "b": np.array(noisy[2:])}

    def score(table: list[int]) -> int:
        occupied = {cell: number for cell, number in enumerate(table) if number}
        pair: Any = (first, second)
        return scores_of({pair: occupied}, margins, people, Fraction(1, 2), relation)[0]

    here = score(cells)
    for left, right in product(range(6), repeat=2):
        moved = list(cells)
        moved[left] += 1
        if relation is Neighbours.SUBSTITUTION:
            if not cells[right]:
                continue
            moved[right] -= 1
        assert abs(score(moved) - here) <= sensitivity_of(relation)


@pytest.mark.long
@pytest.mark.parametrize("relation", Neighbours)
def test_the_choice_is_permute_and_flip(relation: Neighbours) -> None:
    """Two options: the lower one is chosen by half of its coin."""
    wide = sensitivity_of(relation)
    selection = Selection(Fraction(2), wide)
    drawn = Counter(selection.draw([5, 5 + wide], odp.sampling.SystemBits()) for _ in range(4000))
    assert drawn[0] / 4000 == pytest.approx(np.exp(-1) / 2, abs=0.03)
    require_selection(lambda epsilon: Selection(epsilon, wide).draw, lambda cells: sum(cells.values()), relation)


class _Twice(Selection):
    """Coins without the factor 2 in front of the sensitivity."""

    def draw(self, scores: Any, source: Any) -> int:
        return Selection(2 * self.epsilon, self.sensitivity).draw(scores, source)


class _Largest(Selection):
    def draw(self, scores: Any, source: Any) -> int:
        return int(np.argmax(scores))


class _NarrowAgain(Selection):
    def draw(self, scores: Any, source: Any) -> int:
        return Selection(self.epsilon, 1).draw(scores, source)


@pytest.mark.parametrize("twin", [_Twice, _Largest, _NarrowAgain])
def test_a_choice_by_another_law_is_refused_before_data_is_read(twin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releasing, "Selection", twin)
    with pytest.raises(NotCertifiedError, match="chosen"):
        odp.sanitise(table(100), COLUMNS, epsilon=1, marginals="choose")


@pytest.mark.parametrize(
    "twin",
    [
        lambda *given: [2 * score for score in scores_of(*given)],
        lambda tables, *_: [3 * cells.get(0, 0) for cells in tables.values()],
    ],
)
def test_scores_that_move_further_are_refused_before_data_is_read(twin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releasing, "scores_of", twin)
    monkeypatch.setattr(releasing, "count_table", lambda *_: pytest.fail("data was read"))
    with pytest.raises(NotCertifiedError, match="One person moves the score"):
        odp.sanitise(table(100), COLUMNS, epsilon=1, marginals="choose")


def test_the_referee_knows_the_sensitivity_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releasing, "sensitivity_of", lambda _: 1)
    with pytest.raises(NotCertifiedError, match="chosen"):
        odp.sanitise(table(100), COLUMNS, epsilon=1, marginals="choose")


def test_shares_that_add_up_to_more_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releasing, "CHOICE_SHARE", Fraction(2, 10))
    with pytest.raises(NotCertifiedError, match="together cost more"):
        odp.sanitise(table(), COLUMNS, epsilon=1, marginals="choose")


@pytest.mark.long
@pytest.mark.usefixtures("pairs_only")
@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
def test_what_goes_together_is_chosen_and_everything_is_paid(relation: str) -> None:
    data = table()
    clean = odp.sanitise(data, COLUMNS, epsilon=2, marginals="choose", neighbours=relation)
    said = clean.statement
    pairs = [set(one["columns"]) for one in said["tables"] if len(one["columns"]) == 2]
    assert {"a", "b"} in pairs
    assert said["method"] == "chosen"
    assert said["selection"]["pairs"] == len(pairs) <= 3
    spent = sum((Epsilon.read(one["epsilon"]) for one in said["tables"]), ZERO)
    choices = Epsilon.read(said["selection"]["epsilon_of_each_choice"]) * len(pairs)
    assert 1.999 < float(spent + choices) <= 2
    assert spent + choices <= Epsilon.read(2)
    truth, frame = data.to_pandas(), clean.to_frame()
    assert abs(len(frame) - 4000) <= (0 if relation == "substitution" else 60)
    for names in (["a"], ["c"], ["a", "b"]):
        there, here = truth.groupby(names).size(), frame.groupby(names).size()
        assert abs(there.subtract(here, fill_value=0)).max() < 130


@pytest.mark.usefixtures("pairs_only")
def test_columns_of_no_chosen_pair_stay_independent() -> None:
    """Rows keep the independences of the tree: no table of two columns apart strays further than chance."""
    frame = odp.sanitise(table(20_000), COLUMNS, epsilon=50, marginals="choose").to_frame()
    crossed = frame.groupby(["b", "d"]).size().unstack(fill_value=0).to_numpy().astype(float)
    alone = np.outer(crossed.sum(1), crossed.sum(0)) / crossed.sum()
    assert ((crossed - alone) ** 2 / np.maximum(alone, 1)).sum() < 40


@pytest.mark.long
@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
def test_many_people_are_measured_in_all_columns_together(relation: str) -> None:
    """Where their cells are few no pair is chosen: what goes together in a circle is in the rows, too."""
    random = np.random.default_rng(8)
    a, b = random.integers(0, 2, 6000), random.integers(0, 2, 6000)
    data = pa.table({"a": a.tolist(), "b": b.tolist(), "c": (a ^ b).tolist()})
    options = {name: [0, 1] for name in "abc"}
    clean = odp.sanitise(data, options, epsilon=1, marginals="choose", neighbours=relation)
    assert [one["columns"] for one in clean.statement["tables"]] == [["a"], ["b"], ["c"], ["a", "b", "c"]]
    assert 0.9999 < float(sum((Epsilon.read(one["epsilon"]) for one in clean.statement["tables"]), ZERO)) <= 1
    assert odp.verify(json.loads(json.dumps(clean.to_document()))).holds
    rows = clean.to_frame().dropna()
    assert (rows["c"] != rows["a"] ^ rows["b"]).sum() < 120
    assert abs(len(clean.to_frame()) - 6000) <= (0 if relation == "substitution" else 60)


@pytest.mark.parametrize("relation", Neighbours)
def test_the_referee_looks_at_every_way_to_go_on(relation: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up people enough for all columns together, for pairs alone, and for columns alone."""
    ways, real = set(), releasing._said

    def noted(number: int, *rest: Any) -> dict[str, Any]:
        ways.add(number)
        return real(number, *rest)

    together = releasing.joint_codes
    monkeypatch.setattr(releasing, "joint_codes", lambda *given: ways.add("all") or together(*given))
    monkeypatch.setattr(releasing, "_said", noted)
    odp.sanitise(table(60), COLUMNS, epsilon="0.1", marginals="choose", neighbours=relation)
    assert ways >= {"all", 0}
    assert max(way for way in ways if way != "all") > 0


@pytest.mark.long
def test_few_people_are_measured_by_columns_alone() -> None:
    clean = odp.sanitise(table(60), COLUMNS, epsilon="0.1", marginals="choose")
    assert clean.statement["selection"]["pairs"] == 0
    assert {len(one["columns"]) for one in clean.statement["tables"]} == {1}
    # What the pairs would have cost goes to the columns.
    assert 0.0999 < float(sum((Epsilon.read(one["epsilon"]) for one in clean.statement["tables"]), ZERO)) <= 0.1
    assert clean.rows == 60


@pytest.mark.long
@pytest.mark.usefixtures("pairs_only")
def test_the_ledger_gives_the_chosen_table_again(tmp_path: Any) -> None:
    with odp.ledger.open_ledger(tmp_path / "book.db", dataset="people", budget=odp.Budget(epsilon=3)) as book:
        first, again = (odp.sanitise(table(), COLUMNS, epsilon=1, marginals="choose", ledger=book) for _ in range(2))
    assert again.recorded
    assert (first.codes == again.codes).all()
    assert first.statement["tables"] == again.statement["tables"]
    pair = next(one["columns"] for one in first.statement["tables"] if len(one["columns"]) == 2)
    assert (first.margin(pair).counts == again.margin(pair).counts).all()


def test_what_cannot_be_chosen_is_refused() -> None:
    with pytest.raises(QuestionError, match="nothing to choose"):
        odp.sanitise(table(50), {"a": ["x", "y"], "d": ["s", "t"]}, epsilon=1, marginals="choose")
    with pytest.raises(QuestionError, match="while pairs are chosen"):
        odp.sanitise(table(50), COLUMNS, epsilon=1, marginals="choose", levels="c")


def test_chosen_pairs_make_no_circle() -> None:
    columns = read_columns(COLUMNS)
    pairs = choosing.candidate_pairs(columns)
    left = joining(pairs, [(columns[0], columns[1]), (columns[1], columns[2])])
    assert {tuple(column.name for column in pair) for pair in left} == {("a", "d"), ("b", "d"), ("c", "d")}
