"""Raised designs: an independent linear program finds nothing that dominates them, and wrong twins are found out."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from command_line import run_cli
from oracle import Oracle, random_problem

import optimaldp as odp
from optimaldp.certify import verify
from optimaldp.certify.graphs import privacy
from optimaldp.designing import Design, Status, raised
from optimaldp.designing import raised as classes
from optimaldp.designing.raised import Classes, class_problem, partitions
from optimaldp.errors import InputError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Mechanism, SharedRows
from optimaldp.mechanisms.certificate import Weighing
from optimaldp.mechanisms.documents import problem_document
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, level


def dominated_by(problem: Problem, found: Design) -> float:
    """How much more all prefix sums together can be while none is smaller: 0 if nothing dominates."""
    from scipy.optimize import linprog

    oracle = Oracle(problem)
    prefixes = np.array(oracle.prefixes())
    mine = np.array([float(p) for row in range(len(problem.graph)) for p in found.mechanism.rows.row(row)])
    total = prefixes.sum(axis=0)
    best = linprog(
        -total,
        np.vstack([oracle.rows, -prefixes]),
        np.concatenate([oracle.bounds, -(prefixes @ mine) + 1e-9]),
        oracle.equal,
        np.ones(len(problem.graph)),
        (0, 1),
        method="highs",
    )
    assert best.status == 0
    return float(-best.fun - total @ mine)


def check(seed: int) -> None:
    problem = random_problem(seed)
    found = odp.solve(problem)
    assert found.status is Status.OPTIMAL
    assert found.claim == "undominated"
    assert found.gap <= 1e-7
    assert found.verdict.private
    assert dominated_by(problem, found) < 1e-6, seed


@pytest.mark.parametrize("seed", range(60))
def test_nothing_dominates(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_nothing_dominates_in_hundreds_of_problems(seed):
    check(seed)


def path_of_the_page() -> tuple[DatasetGraph, dict[str, str]]:
    graph = DatasetGraph.from_edges(list("1023"), [("1", "0"), ("0", "2"), ("2", "3")], level=level("ln(2)"))
    return graph, {"1": "acb", "0": "cba", "2": "cba", "3": "cab"}


def test_one_row_for_each_preference_is_dominated():
    graph, wants = path_of_the_page()
    orders = {name: tuple(order) for name, order in wants.items()}
    old = odp.design(graph, orders, answers="abc", boundary="undominated")
    new = odp.design(graph, orders, answers="abc")
    favourites = [[design.mechanism[name][wants[name][0]] for name in "23"] for design in (old, new)]
    assert favourites == [[Fraction(2, 3), Fraction(5, 6)], [Fraction(5, 6), Fraction(11, 12)]]
    assert dominated_by(old.problem, old) > 0.1
    # What is true of it is said: it is the greatest for the rows that the rule chose, not undominated.
    assert (old.claim, new.claim, new.gap) == ("greatest", "undominated", 0.0)


def plurality(people: int, strict: int) -> Design:
    """Three values; the counts of the people of each of two levels, ties to the earlier value."""
    from itertools import product

    def counts(size: int) -> list[tuple[int, ...]]:
        return [c for c in product(range(size + 1), repeat=3) if sum(c) == size]

    states = [(s, r) for s in counts(strict) for r in counts(people - strict)]
    names = [f"{s}{r}" for s, r in states]
    edges = []
    for place, which in ((0, level("0.2")), (1, level("1"))):
        for state in states:
            for a, b in ((0, 1), (0, 2), (1, 2)):
                moved = list(state[place])
                if moved[a] == 0:
                    continue
                moved[a], moved[b] = moved[a] - 1, moved[b] + 1
                other = list(state)
                other[place] = tuple(moved)
                edges.append((f"{state[0]}{state[1]}", f"{other[0]}{other[1]}", which))
    wants = {}
    for name, (s, r) in zip(names, states):
        total = [x + y for x, y in zip(s, r)]
        wants[name] = tuple("abc"[k] for k in sorted(range(3), key=lambda k: -total[k]))
    return odp.design(DatasetGraph.from_edges(names, edges), wants, answers="abc")


def mean_favourite(found: Design) -> float:
    """Averaged over tables, not over states: a state counts as many tables as have its counts."""
    from math import factorial

    total = weight = 0.0
    for name in found.problem.graph.names:
        s, r = (tuple(map(int, part.split(","))) for part in name.strip("()").replace(" ", "").split(")("))
        own = 1.0
        for group in (s, r):
            own *= factorial(sum(group)) / np.prod([factorial(x) for x in group])
        favourite = found.problem.preferences.words(found.problem.graph.number(name))[0]
        total, weight = total + own * float(found.mechanism[name][favourite]), weight + own
    return total / weight


def test_answers_of_the_page_by_counts():
    """Seven people, one of them strict: .386 with one row for each preference, .627 raised, at least."""
    found = plurality(7, 1)
    assert found.claim == "undominated"
    assert mean_favourite(found) > 0.6


def test_fixed_rows_stay_and_classes_know_them():
    graph = DatasetGraph.from_edges("uvw", [("u", "v"), ("v", "w")], level=level("ln(2)"))
    wants = Preferences.read(graph, {"u": tuple("abc"), "v": tuple("bca"), "w": tuple("abc")}, "abc")
    row = (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
    problem = Problem(graph, wants, {0: row})
    outcome = raised.design_raised(problem)
    assert outcome.rows.row(0) == row
    assert outcome.rows.row(2) != row
    assert len(next(partitions(problem, 100, 100))) == 3
    assert len(next(partitions(Problem(graph, wants), 100, 100))) == 2  # the ends are alike


def test_classes_need_arcs_in_both_directions():
    """A directed edge: its ends differ by what is promised from them and to them."""
    one_way = ApproximateDP((Bound(Epsilon.read("ln(2)"), Fraction(0)),), (Bound(Epsilon.read("ln(3)"), Fraction(0)),))
    graph = DatasetGraph.from_edges("uv", [("u", "v", one_way)])
    same = Preferences.read(graph, {"u": tuple("abc"), "v": tuple("abc")}, "abc")
    assert len(next(partitions(Problem(graph, same), 9, 9))) == 2
    both = DatasetGraph.from_edges("uv", [("u", "v", level("ln(2)"))])
    assert len(next(partitions(Problem(both, same), 9, 9))) == 1


def test_stable_classes_have_equally_many_arcs():
    for seed in range(40):
        problem = random_problem(seed)
        found = next(partitions(problem, 100, 100))
        arcs = problem.graph.arcs
        for v in range(len(problem.graph)):
            for w in np.flatnonzero(found.of == found.of[v]).tolist():
                mine, theirs = (
                    sorted(
                        (int(found.of[h]), int(k))
                        for h, k in zip(
                            arcs.heads[arcs.first[x] : arcs.first[x + 1]],
                            arcs.levels[arcs.first[x] : arcs.first[x + 1]],
                        )
                    )
                    for x in (v, w)
                )
                assert mine == theirs


def test_the_strictest_promises_join_classes():
    edges = [
        ("u", "x", level("ln(3)")),
        ("v", "x", level("ln(2)", "1/10")),
        ("v", "x", level("ln(4)")),
        ("u", "v", level("ln(9)")),
    ]
    graph = DatasetGraph.from_edges("uvx", edges)
    wants = Preferences.read(graph, {"u": tuple("abc"), "v": tuple("abc"), "x": tuple("bca")}, "abc")
    small = class_problem(
        Problem(graph, wants), Classes(np.array([0, 0, 1], dtype=np.int32), np.array([2, 1]), stable=False)
    )
    [(_, _, joined)] = small.graph.edges()
    assert [str(bound) for bound in joined.forward] == ["(ln(2), 0.1)", "(ln(3), 0)"]


@pytest.fixture
def coarse(monkeypatch):
    """Classes that are too many for the program already where there are four."""
    monkeypatch.setattr(raised, "MOST_CLASSES", 3)
    monkeypatch.setattr(raised, "_MOST_COARSE", 6)


def long_path(levels: int) -> tuple[DatasetGraph, dict[str, tuple[str, ...]]]:
    names = [str(v) for v in range(12)]
    edges = [(u, v, level(f"ln({2 + k % levels})")) for k, (u, v) in enumerate(pairwise(names))]
    wants = {name: tuple("abc") if int(name) < 5 else tuple("cab") for name in names}
    return DatasetGraph.from_edges(names, edges), wants


@pytest.mark.usefixtures("coarse")
def test_too_many_classes_are_made_coarser_and_that_is_said():
    graph, wants = long_path(3)
    found = odp.design(graph, wants, answers="abc")
    assert found.status is None
    assert found.claim == "undominated within classes"
    assert found.verdict.private
    assert found.gap == 0.0
    assert "undecided, with a mechanism that is undominated within classes" in repr(found)
    again = Design.from_json(found.to_json())
    assert again.to_json() == found.to_json()
    document = json.loads(found.to_json())
    document["claim"] = document["certificate"]["claim"] = "undominated"
    with pytest.raises(InputError):
        Design.from_json(json.dumps(document))


@pytest.mark.usefixtures("coarse")
def test_more_preferences_than_classes_still_give_a_private_mechanism(monkeypatch):
    monkeypatch.setattr(raised, "_MOST_COARSE", 1)
    graph, wants = long_path(3)
    found = odp.design(graph, wants, answers="abc")
    assert (found.status, found.claim) == (None, None)
    assert verify(found.mechanism).private
    assert "nothing is claimed" in found.witness["reason"]


@pytest.mark.usefixtures("coarse")
def test_one_level_on_a_large_graph_keeps_its_closed_form():
    graph, wants = long_path(1)
    found = odp.design(graph, wants, answers="abc")
    assert (found.route, found.claim) == ("closed-form", "greatest")
    assert found.problem.rule == "undominated"


def test_a_gaussian_level_is_no_inequality():
    graph, wants = long_path(3)
    found = odp.design(graph.with_level(level(mu=1)), wants, answers="abc")
    assert found.problem.rule == "undominated"
    assert found.certificate.proof.weighing is None


def test_irrational_levels_leave_a_gap_that_is_said():
    graph, wants = long_path(1)
    found = odp.design(graph.with_level(level(1)), wants, answers="abc")
    assert found.claim == "undominated"
    assert 0 < found.gap < 1e-30
    assert "by more than" in found.verdict.reason


def test_a_sample_in_floating_point_is_as_good(monkeypatch):
    monkeypatch.setattr(raised, "_EXACT_COLUMNS", 0)
    for seed in range(12):
        check(seed)


def test_hashes_of_codes_differ():
    assert len(np.unique(classes._hashed(np.arange(100_000, dtype=np.uint64)))) == 100_000


@pytest.mark.parametrize(
    "forge",
    [
        lambda c: c["weights"][0].update(times="1/2"),
        lambda c: c["weights"].pop(),
        lambda c: c["multipliers"][0].update(times="-1"),
        lambda c: c["multipliers"][0].update(times="1e400"),
        lambda c: c["multipliers"].clear(),
        lambda c: c["multipliers"][0].update(epsilon="0"),
    ],
)
def test_forged_proofs_are_refused(forge):
    graph, wants = long_path(3)
    document = json.loads(odp.design(graph, wants, answers="abc").to_json())
    Design.from_json(json.dumps(document))
    forge(document["certificate"])
    with pytest.raises(InputError):
        Design.from_json(json.dumps(document))


@pytest.mark.long
def test_levels_that_a_stricter_one_implies_need_no_look(monkeypatch):
    """The referee decides the same with and without leaving them out, on random rows between which many levels hold."""
    for seed in range(40):
        rng = random.Random(seed)
        rows = []
        for _ in range(3):
            weights = [Fraction(rng.randint(4, 9)) for _ in range(3)]
            rows.append(tuple(w / sum(weights) for w in weights))
        names = [str(v) for v in range(12)]
        edges = []
        for _ in range(60):
            u, v = rng.sample(names, 2)
            own = level(
                rng.choice(["0.9", "1", "ln(3)", str(rng.uniform(0.5, 2))]), rng.choice(["0", "0.1", "1/3", "1/30"])
            )
            tilted = odp.directed(forward=level("0.8"), backward=level("1.5"))
            edges.append((u, v, tilted if rng.random() < 0.05 else own))
        graph = DatasetGraph.from_edges(names, edges)
        wants = Preferences.read(graph, dict.fromkeys(names, tuple("abc")), "abc")
        mechanism = Mechanism(graph, wants, SharedRows.from_rows([rows[v % 3] for v in range(12)]))
        findings = []
        for most in (10**9, 0):
            monkeypatch.setattr(privacy, "_MANY_PAIRS", most)
            for few in (0, 10):
                monkeypatch.setattr(privacy, "_FEW_DELTAS", few)
                found = privacy.check_privacy(mechanism)
                findings.append(
                    (found.private, found.epsilon if found.private else None, privacy.is_private(mechanism))
                )
        assert len(set(findings)) == 1, seed


def test_irrational_levels_of_many_classes_are_rounded_to_short_ratios(monkeypatch):
    monkeypatch.setattr(raised, "_EXACT_IRRATIONAL", 0)
    graph, wants = long_path(1)
    found = odp.design(
        graph.with_levels([level(1), level("0.3", "1/10")], [k % 2 for k in range(11)]), wants, answers="abc"
    )
    assert found.claim == "undominated"
    assert 0 < found.gap < 1e-10


def test_a_proof_with_too_large_a_gap_leaves_a_private_mechanism(monkeypatch):
    monkeypatch.setattr(
        raised, "_weighing", lambda *_: Weighing({(v, k): Fraction(1) for v in range(12) for k in (1, 2)}, ())
    )
    graph, wants = long_path(3)
    found = odp.design(graph, wants, answers="abc")
    assert (found.status, found.claim, found.certificate) == (None, None, None)
    assert found.verdict.private
    assert "by more than" in found.witness["reason"]


@pytest.mark.usefixtures("coarse")
def test_undecided_is_no_failure_of_the_command_line():
    graph, wants = long_path(3)
    problem = Problem(graph, Preferences.read(graph, wants, "abc"))
    document = {key: value for key, value in problem_document(problem).items() if key != "fixed"}
    designed = run_cli("design", "-", stdin=json.dumps(document))
    assert designed.code == 0
    assert json.loads(designed.stdout)["status"] is None
    assert run_cli("verify", "-", stdin=designed.stdout).code == 0
    forged = json.loads(designed.stdout)
    forged["claim"] = "undominated"
    assert run_cli("verify", "-", stdin=json.dumps(forged)).code == 1
