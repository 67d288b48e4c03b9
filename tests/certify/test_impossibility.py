"""Certificates of impossibility and of undominated mechanisms: true ones pass, forged ones do not."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest
from raised_vectors import multipliers_of, problem_of, raised, wanted_of, witness_of

from optimaldp.certify.graphs.duals import examine_impossibility, weighing_gap
from optimaldp.certify.graphs.given import given_rows
from optimaldp.errors import InputError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Mechanism, SharedRows
from optimaldp.mechanisms.certificate import (
    impossibility_document,
    ratio_text,
    read_impossibility,
    read_ratio,
    read_weighing,
    weighing_document,
)
from optimaldp.privacy import level


def proven(problem: Problem, document: object) -> bool:
    """Whether the parser reads it and the referee believes it."""
    try:
        return examine_impossibility(problem, read_impossibility(document, problem)).proven
    except InputError:
        return False


@pytest.mark.parametrize("vector", raised("farkas"), ids=lambda v: f"{v['kind']} {v['n']}x{v['q']}")
def test_true_witnesses_are_accepted_and_written_back(vector):
    problem, document = problem_of(vector), witness_of(vector)
    assert proven(problem, document) == vector["accepted"]
    again = impossibility_document(read_impossibility(document, problem), problem)
    assert proven(problem, again)
    assert again == impossibility_document(read_impossibility(again, problem), problem)


FORGERIES = {
    "no mechanism": lambda w: w.update(mechanisms=[]),
    "a row longer than q": lambda w: w["mechanisms"][0]["0"].update(z="0"),
    "a row that sums to more": lambda w: w["mechanisms"][0]["0"].update(a="1", b="1"),
    "a negative probability": lambda w: w["mechanisms"][0]["0"].update(a="-1", b="2", c="0"),
    "an answer without a number": lambda w: w["mechanisms"][0]["0"].pop("a"),
    "a dataset without a row": lambda w: w["mechanisms"][0].pop("0"),
    "a row as a list": lambda w: w["mechanisms"][0].update({"0": ["1", "0", "0"]}),
    "dataset -1": lambda w: w["wanted"][0].update(dataset="-1"),
    "a dataset by number": lambda w: w["wanted"][0].update(dataset=1),
    "k = q": lambda w: w["wanted"][0].update(k=3),
    "k = 0": lambda w: w["wanted"][0].update(k=0),
    "k = true": lambda w: w["wanted"][0].update(k=True),
    "times as a float": lambda w: w["wanted"][0].update(times=0.5),
    "times as a whole number": lambda w: w["wanted"][0].update(times=1),
    "times of 1e400": lambda w: w["multipliers"][0].update(times="1e400"),
    "times of nothing": lambda w: w["multipliers"][0].update(times="1/0"),
    "times of NaN": lambda w: w["multipliers"][0].update(times="nan"),
    "negative times": lambda w: w["multipliers"][0].update(times="-1/2"),
    "an answer twice": lambda w: w["multipliers"][0].update(event=["a", "a"]),
    "an unknown answer": lambda w: w["multipliers"][0].update(event=["z"]),
    "an event that is a word": lambda w: w["multipliers"][0].update(event="a"),
    "a smaller epsilon": lambda w: w["multipliers"][0].update(epsilon="0"),
    "a smaller delta": lambda w: w["multipliers"][0].update(delta="0"),
    "an infinite epsilon": lambda w: w["multipliers"][0].update(epsilon="inf"),
    "a promise between strangers": lambda w: w["multipliers"][0].update({"from": "0", "to": "2"}),
    "an unknown field": lambda w: w["multipliers"][0].update(why="because"),
    "a field too few": lambda w: w["multipliers"][0].pop("delta"),
    "no list": lambda w: w.update(multipliers={}),
    "another kind": lambda w: w.update(kind="infeasible"),
    "an unknown kind": lambda w: w.update(kind="impossible"),
    "no kind": lambda w: w.pop("kind"),
    "kind as a list": lambda w: w.update(kind=["no-optimum"]),
    "nothing wanted": lambda w: w.update(wanted=[]),
    "no multipliers": lambda w: w.update(multipliers=[]),
    "one mechanism of two": lambda w: w.update(mechanisms=w["mechanisms"][:1]),
    "a mechanism that is not private": lambda w: w["mechanisms"][0].update({"0": {"a": "0", "b": "0", "c": "1"}}),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_witnesses_are_refused(name):
    vector = raised("farkas")[2]
    problem, document = problem_of(vector), witness_of(vector)
    assert proven(problem, document)
    forged = copy.deepcopy(document)
    FORGERIES[name](forged)
    assert not proven(problem, forged)


def test_a_stored_mechanism_has_the_fixed_rows():
    vector = raised("farkas")[1]
    problem, document = problem_of(vector), witness_of(vector)
    assert proven(problem, document)
    document["mechanisms"][0] = {name: dict.fromkeys("abcd", "1/4") for name in document["mechanisms"][0]}
    assert not proven(problem, document)


def test_maxima_that_no_stored_mechanism_attains_do_not_count():
    """Two datasets that may do as they like: one mechanism is the greatest, and no list of others proves the contrary."""
    graph = DatasetGraph.from_edges(["u", "v"], [("u", "v", level("ln(2)", 1))])
    problem = Problem(graph, Preferences.read(graph, {"u": ["a", "b", "c"], "v": ["c", "b", "a"]}))
    best = {"u": {"a": "1", "b": "0", "c": "0"}, "v": {"a": "0", "b": "0", "c": "1"}}
    wanted = [{"dataset": name, "k": k, "times": "1"} for name in "uv" for k in (1, 2)]
    document = {"kind": "no-optimum", "mechanisms": [best], "wanted": wanted, "multipliers": []}
    assert not proven(problem, document)


def pair(epsilon: str, u: tuple[str, ...], v: tuple[str, ...]) -> Problem:
    graph = DatasetGraph.from_edges(["u", "v"], [("u", "v", level(epsilon))])
    fixed = {0: tuple(map(Fraction, u)), 1: tuple(map(Fraction, v))}
    return Problem(graph, Preferences.read(graph, {key: ["a", "b", "c"] for key in "uv"}), fixed)


def test_an_irrational_level_is_rounded_up_for_impossibility():
    """A ratio of probabilities one part in 10**50 below e is allowed at epsilon 1, one as much above is not."""
    digits = 10**50
    e_below = 271828182845904523536028747135266249775724709369995
    document = {
        "kind": "infeasible",
        "multipliers": [{"from": "u", "to": "v", "event": ["a"], "epsilon": "1", "delta": "0", "times": "1"}],
    }
    for ratio, infeasible in ((Fraction(e_below - 1, digits), False), (Fraction(e_below + 1, digits), True)):
        start = Fraction(1, 10)
        u, v = (start, Fraction(1, 2), Fraction(4, 10)), (start * ratio, Fraction(1, 2), Fraction(1, 2) - start * ratio)
        problem = pair("1", tuple(map(str, u)), tuple(map(str, v)))
        assert proven(problem, document) == infeasible


def test_a_promise_is_weaker_than_one_promise_not_than_two():
    graph = DatasetGraph.from_edges(["u", "v"], [("u", "v", level("ln(2)", "1/4")), ("u", "v", level("ln(3)", 0))])
    fixed = {0: (Fraction(1, 4), Fraction(3, 4), Fraction(0)), 1: (Fraction(7, 10), Fraction(3, 10), Fraction(0))}
    problem = Problem(graph, Preferences.read(graph, {key: ["a", "b", "c"] for key in "uv"}), fixed)
    document = {"kind": "infeasible", "multipliers": [{"from": "u", "to": "v", "event": ["a"], "times": "1"}]}
    for epsilon, delta, accepted in (("ln(2)", "0", False), ("ln(3)", "1/4", False), ("ln(2)", "0.1", False)):
        document["multipliers"][0] |= {"epsilon": epsilon, "delta": delta}
        assert proven(problem, document) == accepted
    problem.fixed[1] = (Fraction(77, 100), Fraction(23, 100), Fraction(0))
    for epsilon, delta, accepted in (("ln(3)", "0", True), ("ln(2)", "1/4", True), ("ln(2)", "0", False)):
        document["multipliers"][0] |= {"epsilon": epsilon, "delta": delta}
        assert proven(problem, document) == accepted


def test_ratios_are_read_as_they_are_written():
    long = Fraction(3**12000, 2**19000)
    assert read_ratio(ratio_text(long), "times") == long
    assert [ratio_text(Fraction(n, 3)) for n in (1, 3, 0)] == ["1/3", "1", "0"]
    for wrong in ("1e400", "0.5", "1/0", " 1", "1_0", "-1", 1, 0.5, None, "", "1/-2", "٣"):
        with pytest.raises(InputError):
            read_ratio(wrong, "times")


# Undominated.


def weighed(vector, **changes):
    problem = problem_of(vector)
    mechanism = Mechanism(
        problem.graph, problem.preferences, SharedRows.from_rows([tuple(map(Fraction, r)) for r in vector["raised"]])
    )
    document = {"weights": wanted_of(vector["weights"]), "multipliers": multipliers_of(vector)} | changes
    proof = read_weighing(document, problem, within=False)
    assert weighing_document(
        read_weighing(weighing_document(proof, problem), problem, within=False), problem
    ) == weighing_document(proof, problem)
    return weighing_gap(mechanism, proof, given_rows(mechanism, problem.fixed, None))


@pytest.mark.parametrize("vector", raised("raised_many"), ids=lambda v: v["name"])
def test_the_gap_of_the_vectors(vector):
    assert weighed(vector) == Fraction(vector["gap"])
    start = vector | {"raised": vector["start"]}
    assert weighed(start) > 0


@pytest.mark.parametrize("vector", raised("raised_many"), ids=lambda v: v["name"])
def test_weights_below_one_are_refused(vector):
    for weight in ("999999999/1000000000", "0", "1/1000000000000000000000000000000000000000000000000000000000000"):
        weights = wanted_of(vector["weights"])
        weights[-1]["times"] = weight
        with pytest.raises(InputError, match="at least 1"):
            weighed(vector, weights=weights)
    with pytest.raises(InputError, match="at least 1"):
        weighed(vector, weights=wanted_of(vector["weights"])[:-1])
    with pytest.raises(InputError, match="twice"):
        weighed(vector, weights=wanted_of(vector["weights"]) * 2)
    negative = multipliers_of(vector)
    negative[0]["times"] = "-1"
    with pytest.raises(InputError, match="negative"):
        weighed(vector, multipliers=negative)
    assert weighed(vector, multipliers=[]) > 1


def test_classes_count_their_arcs_and_must_be_even():
    """A star of one centre and three leaves: the leaves are one class, and a class needs equally many arcs at each dataset."""
    graph = DatasetGraph.from_edges(["c", "x", "y", "z"], [("c", "x"), ("c", "y"), ("c", "z")], level=level("ln(2)"))
    preferences = Preferences.read(graph, {"c": ["a", "b", "d"], **{key: ["b", "a", "d"] for key in "xyz"}})
    problem = Problem(graph, preferences)
    rows = [tuple(map(Fraction, row)) for row in (("1/3", "2/3", "0"), *(("1/6", "5/6", "0"),) * 3)]
    mechanism = Mechanism(graph, preferences, SharedRows.from_rows(rows))
    one_by_one = {
        "weights": [{"dataset": name, "k": k, "times": "1"} for name in "cxyz" for k in (1, 2)],
        "multipliers": [
            {"from": leaf, "to": "c", "event": ["a"], "epsilon": "ln(2)", "delta": "0", "times": "1/2"}
            for leaf in "xyz"
        ],
    }
    by_class = {
        "classes": [0, 1, 1, 1],
        "weights": [{"dataset": name, "k": k, "times": "1"} for name in "cy" for k in (1, 2)],
        "multipliers": one_by_one["multipliers"][1:2],
    }
    given = given_rows(mechanism, {}, None)
    gaps = [
        weighing_gap(mechanism, read_weighing(each, problem, within=False), given) for each in (one_by_one, by_class)
    ]
    assert gaps[0] == gaps[1] > 0
    for classes, word in (
        ([0, 1, 1, 0], "preference"),
        ([0, 1, 1], "fit"),
        ([0, 2, 2, 2], "without"),
        ([0, 1, 1, "1"], "class"),
    ):
        with pytest.raises(InputError, match=word):
            weighing_gap(mechanism, read_weighing(by_class | {"classes": classes}, problem, within=False), given)
    uneven = DatasetGraph.from_edges(["c", "x", "y", "z"], [("c", "x"), ("c", "y"), ("y", "z")], level=level("ln(2)"))
    other = Mechanism(uneven, preferences, mechanism.rows)
    with pytest.raises(InputError, match="equally many"):
        weighing_gap(other, read_weighing(by_class, Problem(uneven, preferences), within=False), given)
    within = read_weighing(by_class, problem, within=True)
    assert weighing_gap(mechanism, within, given) >= 0
    rows[3] = rows[0]
    other = Mechanism(graph, preferences, SharedRows.from_rows(rows))
    with pytest.raises(InputError, match="two different rows"):
        weighing_gap(other, within, given)
    with pytest.raises(InputError, match="names them"):
        read_weighing(one_by_one, problem, within=True)
    assert np.array_equal(within.classes, [0, 1, 1, 1])
