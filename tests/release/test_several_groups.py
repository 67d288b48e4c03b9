"""A person in several groups: every neighbour of small files, what is counted by plain Python, and wrong twins of both."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import optimaldp as odp
from optimaldp.asking import releasing, request
from optimaldp.asking.ask import Ask
from optimaldp.certify.core import referee
from optimaldp.errors import NotCertifiedError, QuestionError
from optimaldp.privacy.levels import level_of_each_group
from optimaldp.tables import counting, open_source
from optimaldp.tables.sql import SqlTable

Rows = tuple[tuple[str, str], ...]
"""The rows of one person: ward and whether they smoke there."""

KINDS = list(itertools.product(("a", "b", "é", "z", "x"), ("yes", "no")))
FEW: list[Rows] = [rows for size in range(3) for rows in itertools.combinations_with_replacement(KINDS, size)]
PEOPLE: list[Rows] = [*FEW, *list(itertools.combinations_with_replacement(KINDS, 3))[::17]]
OTHERS: list[Rows] = [(("a", "yes"), ("é", "no"), ("é", "yes")), (("x", "yes"),), (("b", "yes"), ("z", "yes"))]
GROUPS = ["é", "b", "a", "z", "(other)"]  # not in the order of their bytes
LEVEL = {"epsilon": "ln(16)", "delta": "1/10"}  # its halves and quarters are logarithms of whole numbers: all is exact
QUESTION = "count(smokes = 'yes') >= 2"


def _ask(neighbours: str = "substitution", most: int = 2, question: str = QUESTION, **more: Any) -> Ask:
    own = {**LEVEL, "unit": "person", "by": "ward", "groups": GROUPS, "groups_per_person": most, **more}
    return Ask(question, neighbours=neighbours, **own)


def _table(people: Sequence[Rows]) -> pa.Table:
    rows = [(place, *row) for place, own in enumerate(people) for row in own]
    names, types = ("person", "ward", "smokes"), (pa.int64(), pa.string(), pa.string())
    return pa.table({name: pa.array([row[at] for row in rows], types[at]) for at, name in enumerate(names)})


def _chosen(own: Rows, most: int) -> list[str]:
    """By plain Python: the listed wards with most rows, then by bytes; whoever has none is elsewhere."""
    rows = Counter(ward for ward, _ in own if ward in GROUPS)
    best = sorted(rows, key=lambda ward: (-rows[ward], ward.encode()))[:most]
    return best or (["(other)"] if own else [])


def _by_hand(people: Sequence[Rows], most: int) -> dict[str, tuple[int, int]]:
    """People in each group who smoke there, and who do not."""
    found = {name: [0, 0] for name in GROUPS}
    for own in people:
        for name in _chosen(own, most):
            inside = [smokes for ward, smokes in own if ward == name or (name == "(other)" and ward not in GROUPS)]
            found[name]["yes" not in inside] += 1
    return {name: (yes, no) for name, (yes, no) in found.items()}


def _counted(people: Sequence[Rows], ask: Ask) -> tuple[tuple[int, int], ...]:
    opened = open_source(_table(people))
    order = releasing.order_of(ask, opened)
    groups, cells = order.request.groups, order.count(opened).cells
    assert groups is not None
    return tuple((cells.get(2 * at, 0), cells.get(2 * at + 1, 0)) for at in map(groups.place, groups.values))


def _law(ask: Ask) -> Callable[[tuple[tuple[int, int], ...]], list[Fraction]]:
    """From what was counted to the probability of every list of answers."""
    order = releasing.order_of(ask, open_source(_table(OTHERS)))
    prepared, _ = releasing.prepare(order.request, order.count(open_source(_table(OTHERS))))
    known: dict[tuple[int, tuple[int, int]], Sequence[Any]] = {}

    def single(at: int, counts: tuple[int, int]) -> Sequence[Any]:
        if (at, counts) not in known:
            mechanism = prepared.parts[at][1].mechanism
            cells = {cell: number for cell, number in enumerate(counts) if number}
            known[at, counts] = mechanism.law(referee.Table(cells)).probabilities()
        return known[at, counts]

    def law(counted: tuple[tuple[int, int], ...]) -> list[Fraction]:
        alone = [single(at, counts) for at, counts in enumerate(counted)]
        return [math.prod(map(_exact, chances)) for chances in itertools.product(*alone)]

    return law


def _exact(number: Any) -> Fraction:
    made = Fraction(str(number)) if not isinstance(number, Fraction) else number
    assert 0 <= made <= 1
    return made


def _neighbours(neighbours: str, worlds: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """One person's rows replaced by any others; or one person more or less, which is the first world."""
    if neighbours == "substitution":
        return itertools.permutations(worlds[1:], 2)
    return itertools.chain.from_iterable(((worlds[0], one), (one, worlds[0])) for one in worlds[1:])


@functools.cache
def _worlds() -> list[tuple[tuple[int, int], ...]]:
    """What is counted with each person, first with nobody: it depends on no level."""
    return _worlds_of(_ask())


def _worlds_of(ask: Ask) -> list[tuple[tuple[int, int], ...]]:
    assert PEOPLE[0] == ()
    return list(dict.fromkeys(_counted([*OTHERS, own], ask) for own in PEOPLE))


def _worst(ask: Ask, ratio: int = 16, worlds: Sequence[Any] = ()) -> Fraction:
    """The greatest delta that any two neighbouring files need, at the promised epsilon or another one."""
    law = _law(ask)
    laws = [law(world) for world in (worlds or _worlds())]
    pairs = _neighbours(str(ask.neighbours), laws)
    return max(sum(max(p - ratio * q, Fraction(0)) for p, q in zip(one, other)) for one, other in pairs)


@pytest.mark.parametrize("most", [1, 2])
def test_counts_are_those_of_plain_python(most: int) -> None:
    people = [*OTHERS, *PEOPLE]
    assert dict(zip(GROUPS, _counted(people, _ask(most=most)))) == _by_hand(people, most)
    for own in PEOPLE[::19]:
        assert dict(zip(GROUPS, _counted([own, *OTHERS], _ask(most=most)))) == _by_hand([own, *OTHERS], most)


@pytest.mark.long
@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_every_neighbour_of_small_files_keeps_the_level(neighbours: str) -> None:
    assert 0 < _worst(_ask(neighbours)) <= Fraction(1, 10)
    assert _worst(_ask(neighbours, delta=0)) == 0
    assert _worst(_ask(neighbours, delta=0), 15) > 0, "no less would do"


@pytest.mark.long
def test_every_neighbour_of_small_files_stays_within_one_draw_of_all_groups() -> None:
    """What any person's rows gain and lose in all groups together: the noise of one draw covers just that."""
    order = releasing.order_of(_ask(question="count(smokes = 'yes')", delta=0), open_source(_table(OTHERS)))
    prepared, _ = releasing.prepare(order.request, order.count(open_source(_table(OTHERS))))
    noise = prepared.mechanism.noise()  # type: ignore[attr-defined]
    changes = (
        [here[0] - there[0] for here, there in zip(one, other)]
        for one, other in itertools.permutations(_worlds()[1:], 2)
    )
    worst = max(max(sum(c for c in change if c > 0), -sum(c for c in change if c < 0)) for change in changes)
    assert worst == noise.sensitivity * noise.per_person == 2
    assert noise.lattice.epsilon * worst == order.request.level.epsilon
    assert noise.lattice.bins == len(GROUPS) + 1


def _whole_level(*given: Any, **options: Any) -> Any:
    return level_of_each_group(*given, **{**options, "per_person": 1})


def _unexamined(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(releasing, "require_groups_together", lambda *_, **__: None)
    patch.setattr(referee, "groups_together", lambda *_, **__: True)


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_twin_with_the_level_of_one_group(neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "level_of_each_group", _whole_level)
    with pytest.raises(NotCertifiedError, match="groups together are not certified"):
        odp.release(_table(OTHERS), QUESTION, **_options(neighbours))
    monkeypatch.setattr(releasing, "require_groups_together", lambda *_, **__: None)
    with pytest.raises(NotCertifiedError, match="the groups together spend more"):
        odp.release(_table(OTHERS), QUESTION, **_options(neighbours))
    _unexamined(monkeypatch)
    assert _worst(_ask(neighbours)) > Fraction(1, 10)


def _options(neighbours: str) -> dict[str, Any]:
    ask = _ask(neighbours)
    names = ("epsilon", "delta", "neighbours", "unit", "by", "groups", "groups_per_person")
    return {name: getattr(ask, name) for name in names}


def test_twin_whose_unlisted_groups_compete(monkeypatch: pytest.MonkeyPatch) -> None:
    true = counting.busiest_groups

    def twin(rows: SqlTable, keys: tuple[str, ...], group: str, last: int, most: int) -> SqlTable:
        return true(rows.mutate(**{group: rows[group].fill_null(last)}), keys, group, last + 1, most)

    monkeypatch.setattr(counting, "busiest_groups", twin)
    assert dict(zip(GROUPS, _counted(PEOPLE, _ask()))) != _by_hand(PEOPLE, 2)


@pytest.mark.long
def test_twin_whose_rule_looks_at_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The groups that have most rows of everybody: one person decides in which groups others are."""
    true = counting.busiest_groups

    def twin(rows: SqlTable, keys: tuple[str, ...], group: str, last: int, most: int) -> SqlTable:
        crowd = rows.mutate(crowd=rows.count().over([rows[group]]))
        first = crowd["crowd"].max().over([crowd[key] for key in keys])
        kept = crowd.mutate(first=first)
        return true(kept.filter(kept["crowd"] == kept["first"]).drop("crowd").drop("first"), keys, group, last, most)

    monkeypatch.setattr(counting, "busiest_groups", twin)
    ask = _ask(most=1)
    assert _worst(ask, worlds=_worlds_of(ask)) > Fraction(1, 10)


NUMBERS = {
    "count(*)": {},
    "count(cost >= 3) >= 2": {"reduce": {"cost": "sum"}},
    "sum(cost, range=[0, 10], step=1)": {"reduce": {"cost": "sum"}},
    "mean(cost, range=[0, 10], step=1)": {"reduce": {"cost": "max"}},
    "share(smokes = 'yes') >= 0.3": {},
    "winner(smokes, ['yes', 'no'])": {},
    "median(cost, bins=[0, 3, 10])": {"reduce": "sum"},
}


@pytest.mark.long
@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
@pytest.mark.parametrize("question", NUMBERS)
def test_documents_say_it_and_are_verified(question: str, neighbours: str, tmp_path: Path) -> None:
    table = _table(OTHERS).append_column("cost", pa.array([1, 2, 3, 4, 5, 6]))
    made = odp.release(table, question, **_options(neighbours), **NUMBERS[question])
    document = made.to_document()
    parts = 4 if neighbours == "substitution" else 2
    assert (document["groups_per_person"], list(document["answer"])) == (2, GROUPS)
    together = document["mechanism"]["name"] == "lattice noise by group"
    assert together is (neighbours == "substitution" and question.startswith(("count(*)", "sum")))
    assert document["mechanism"]["epsilon"] == ("ln(16)" if together else {4: "ln(2)", 2: "ln(4)"}[parts])
    said = " ".join(made.statement["notes"])
    assert "at most 2 of the listed groups" in said
    assert ("all groups share one draw" if together else f"1/{parts} of epsilon") in said
    assert odp.verify(made)
    for forged in ({"groups_per_person": 3}, {"groups_per_person": None}, {"public_groups": True}, {"unit": None}):
        assert not odp.verify({**document, **forged})


def test_a_number_counts_the_rows_in_its_group(tmp_path: Path) -> None:
    """At a level where nothing is random any more: what a person costs in a ward is what they cost there."""
    table = _table(OTHERS).append_column("cost", pa.array([1, 2, 3, 4, 5, 6]))
    high = {**_options("add-remove"), "epsilon": 200, "delta": 0, "reduce": {"cost": "sum"}}
    made = odp.release(table, "sum(cost, range=[0, 10], step=1)", **high)
    assert made.answer == {"é": 5, "b": 5, "a": 1, "z": 6, "(other)": 4}
    path = tmp_path / "people.parquet"
    parquet.write_table(table, path)
    book = {"budget": odp.Budget(epsilon=1000), "unit": "person", "neighbours": "add-remove"}
    ledger = odp.open(path, ledger=tmp_path / "people.ledger", **book)
    own = {name: value for name, value in high.items() if name not in ("unit", "neighbours", "delta")}
    first = ledger.ask("sum(cost, range=[0, 10], step=1)", **own)
    assert ledger.ask("sum(cost, range=[0, 10], step=1)", **own).recorded
    assert not ledger.ask("sum(cost, range=[0, 10], step=1)", **own | {"groups_per_person": 3}).recorded
    assert first.answer == made.answer


REFUSED = {
    "is not a whole number": [{"groups_per_person": 0}, {"groups_per_person": True}, {"groups_per_person": 10**4}],
    "goes with groups": [{"by": None, "groups": None}],
    "needs a unit": [{"unit": None}],
    "does not go with public groups": [{"public_groups": True}],
    "does not go with ward=first": [{"reduce": {"ward": "first"}, "reduce_order": "smokes"}],
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_does_not_go_together_is_said_in_a_sentence(words: str) -> None:
    for more in REFUSED[words]:
        with pytest.raises(QuestionError, match=words):
            odp.release(_table(OTHERS), QUESTION, **{**_options("substitution"), **more})
