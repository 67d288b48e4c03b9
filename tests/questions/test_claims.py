"""Each claim of the table is true by a linear program on small tables, and would be false if it said more."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from universe import added_or_removed, replaced, tables

import optimaldp as odp
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Neighbours, approximate
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.questions import parse
from optimaldp.questions.base import Question
from optimaldp.questions.claims import CLAIMS, COMPARISONS, NOT_CLAIMED, claims_table, optimality_sentence
from optimaldp.questions.mechanism import AtDistance, QuestionMechanism

E, DELTA = 2.0, 0.05
LEVEL = approximate(Epsilon.read("ln(2)"), DELTA)


def universe_of(question: Question, people: int, neighbours: Neighbours) -> tuple[list, dict]:
    exact = neighbours is Neighbours.SUBSTITUTION
    known = [t for t in tables(question.cells, people) if not exact or sum(t) == people]
    inside = set(known)
    moves = {t: [s for s in (replaced(t) if exact else added_or_removed(t, people)) if s in inside] for t in known}
    return known, moves


def truth(question: Question, table: tuple[int, ...]) -> int:
    return question.truth(question.fold(dict(enumerate(table))))


def least_true(question: Question, people: int, neighbours: Neighbours) -> list[tuple[float, float]]:
    """(ours, the most that a private mechanism with balanced boundary can give) for every table with another answer near."""
    known, moves = universe_of(question, people, neighbours)
    place = {table: i for i, table in enumerate(known)}
    side = [truth(question, table) for table in known]  # 0 is yes
    rows, bounds_of = [], [(0.0, 1.0)] * len(known)
    balanced = (E + DELTA) / (E + 1)
    for table, around in moves.items():
        for other in around:
            u, v = place[table], place[other]
            row = np.zeros(len(known))
            row[v], row[u] = 1, -E  # p_v <= E p_u + delta; and the same for the other answer below
            rows.append((row, DELTA))
            row = np.zeros(len(known))
            row[v], row[u] = -1, E  # 1 - p_v <= E (1 - p_u) + delta
            rows.append((row, DELTA + E - 1))
            if side[u] != side[v]:
                bounds_of[u] = (balanced, balanced) if side[u] == 0 else (1 - balanced, 1 - balanced)
    matrix, right = np.array([row for row, _ in rows]), [bound for _, bound in rows]
    mechanism = question.mechanism(
        Setting(LEVEL, neighbours, people if neighbours is Neighbours.SUBSTITUTION else None)
    )
    pairs = []
    for table in known:
        if len(set(side)) == 1:
            continue
        sign = -1 if side[place[table]] == 0 else 1
        objective = np.zeros(len(known))
        objective[place[table]] = sign
        solved = linprog(objective, A_ub=matrix, b_ub=right, bounds=bounds_of)
        most = -solved.fun if sign < 0 else 1 - solved.fun
        law = mechanism.law(Table({cell: n for cell, n in enumerate(table) if n})).probabilities()
        pairs.append((float(law[side[place[table]]]), most))
    return pairs


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    "text", ["count(a) >= 2", "share(a) >= 0.5", "share(a among b) >= 0.5", "compare(x, 'p', 'q')"]
)
def test_the_chain_is_the_greatest_with_its_boundary(text: str, neighbours: Neighbours) -> None:
    question = parse(text)
    made = question.mechanism(Setting(LEVEL, neighbours, 4 if neighbours is Neighbours.SUBSTITUTION else None))
    assert made.optimality == CLAIMS["chain"].sentence()
    # Under add-remove the universe ends somewhere: a table at its end may have its nearest other answer outside.
    for ours, most in least_true(question, 4, neighbours):
        assert ours == pytest.approx(most, abs=1e-7) or (
            neighbours is not Neighbours.SUBSTITUTION and most >= ours - 1e-7
        )


def test_the_chain_of_joined_thresholds_is_not_and_does_not_say_so() -> None:
    question = parse("share(a) >= 0.5 and share(b among a) >= 0.6")
    made = question.mechanism(Setting(LEVEL, Neighbours.SUBSTITUTION, 3))
    assert isinstance(made, AtDistance)
    assert made.optimality == NOT_CLAIMED
    assert any(most > ours + 1e-3 for ours, most in least_true(question, 3, Neighbours.SUBSTITUTION))


def test_private_groups_do_not_claim_what_holds_inside_one_of_them() -> None:
    import pyarrow

    table = pyarrow.table({"a": [1, 0] * 4, "g": ["x", "y"] * 4})
    options = {"epsilon": 1, "by": "g", "groups": ["x", "y"]}
    assert odp.release(table, "count(a = 1) >= 2", **options).statement["optimal"] == NOT_CLAIMED
    public = odp.release(table, "count(a = 1) >= 2", **options, public_groups=True)
    assert public.statement["optimal"] == CLAIMS["chain"].sentence()


def test_keys_are_kept_as_often_as_the_path_of_counts_allows() -> None:
    """A category of k people is seen with at most F^k(0): one person after the other, from nobody."""
    question = parse("keys(x)")
    made = question.mechanism(Setting(LEVEL, Neighbours.ADD_REMOVE))
    assert made.optimality == CLAIMS["keys"].sentence()
    assert question.mechanism(Setting(LEVEL, Neighbours.SUBSTITUTION, 5)).optimality == NOT_CLAIMED
    most = 0.0
    for people in range(1, 8):
        most = min(1.0, E * most + DELTA, 1 - (1 - most - DELTA) / E)
        assert float(made.law(Table({0: people})).probabilities()[0]) == pytest.approx(most, abs=1e-12)


def all_mechanisms(cls: type = QuestionMechanism) -> list[type]:
    import optimaldp.questions.kinds as kinds

    assert kinds
    return list(itertools.chain.from_iterable([one, *all_mechanisms(one)] for one in cls.__subclasses__()))


def test_every_sentence_comes_from_the_table() -> None:
    parse("count(a) >= 1")  # all kinds are loaded
    own = [one for one in all_mechanisms() if one.__module__.startswith("optimaldp.")]
    assert len(own) > 8
    assert [one for one in own if "optimality" in vars(one)] == []
    keys = {vars(one)["best"] for one in own if isinstance(vars(one).get("best"), str)}
    assert keys <= {*CLAIMS, *COMPARISONS}
    with pytest.raises(KeyError):
        optimality_sentence("anything else")


def test_every_claim_says_its_class_and_stands_in_the_documentation() -> None:
    from pathlib import Path

    proven = (Path(__file__).parents[2] / "docs" / "proven.md").read_text(encoding="utf-8")
    assert claims_table() in proven
    for claim in CLAIMS.values():
        assert claim.objective
        assert claim.among
        assert claim.reference
