"""Every status without an optimum comes with a witness that the referee accepts; forged ones exit with 1."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest
from command_line import run_cli
from oracle import Oracle, random_problem

import optimaldp as odp
from optimaldp import graphs
from optimaldp.certify.graphs.verdict import verify_status
from optimaldp.designing import Proof, Status, impossibility, solve
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.documents import problem_document
from optimaldp.privacy import level

ABC = ("a", "b", "c")


def with_fixed(seed: int) -> Problem:
    problem, rng = random_problem(seed), random.Random(seed)
    q, fixed = len(problem.answers), {}
    for vertex in range(len(problem.graph)):
        if rng.random() < 0.4:
            weights = [Fraction(rng.choice([1, 2, 3, 5, 8])) for _ in range(q)]
            fixed[vertex] = tuple(w / sum(weights) for w in weights)
    return Problem(problem.graph, problem.preferences, fixed)


def check(seed: int) -> None:
    problem = with_fixed(seed)
    found = solve(problem)
    assert found.status == Oracle(problem).decide()[0]
    if found.status is Status.OPTIMAL:
        return
    assert found.proof is Proof.EXACT
    verdict = verify_status(json.loads(found.to_json()))
    assert verdict, (seed, verdict.reason)
    assert (found.mechanism is None) == (found.status is Status.INFEASIBLE)
    assert len(found.witness["reason"]) < 400
    assert "\n" not in found.witness["reason"]


@pytest.mark.parametrize("seed", range(40))
def test_every_status_is_proven(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2300))
def test_every_status_is_proven_in_hundreds_of_problems(seed):
    check(seed)


def run(*arguments: str, text: str) -> tuple[int, dict]:
    ran = run_cli(*arguments, stdin=text)
    return ran.code, json.loads(ran.stdout)


def no_optimum() -> Problem:
    """Example 1 of 001."""
    rows = {0: ("0.2", "0.1", "0.7"), 3: ("0.4", "0.1", "0.5"), 4: ("0.3", "0.1", "0.6")}
    ring = graphs.ring(5).with_level(level("ln(2)"))
    wants = Preferences.read(ring, {str(k): ABC if k < 4 else ("a", "c", "b") for k in range(5)}, ABC)
    return Problem(ring, wants, {v: tuple(map(Fraction, row)) for v, row in rows.items()})


def infeasible(epsilon: str = "ln(2)") -> Problem:
    path = graphs.line(4).with_level(level(epsilon))
    wants = Preferences.read(path, dict.fromkeys("0123", ABC), ABC)
    sure, never = (Fraction(1), Fraction(0), Fraction(0)), (Fraction(1, 100), Fraction(0), Fraction(99, 100))
    return Problem(path, wants, {0: never, 3: sure})


def clash_of_two() -> Problem:
    graph = DatasetGraph.from_edges("uvw", [("u", "v", level("ln(2)", "1/10")), ("v", "w", level(1))])
    wants = Preferences.read(graph, {"u": "yes", "v": "yes", "w": "no"}, ("yes", "no"))
    return Problem(graph, wants, {0: (Fraction(3, 4), Fraction(1, 4))})


@pytest.mark.parametrize("make", [no_optimum, infeasible, clash_of_two, lambda: infeasible("1")])
@pytest.mark.parametrize("options", [(), ("--exact",)])
def test_design_into_verify(make, options):
    designed = run_cli("design", "-", *options, stdin=json.dumps(problem_document(make())))
    assert designed.code == 1
    document = json.loads(designed.stdout)
    code, verdict = run("verify", "-", text=designed.stdout)
    assert (code, verdict["proven"], verdict["proof"]) == (0, True, "exact"), verdict
    assert verdict["status"] == document["status"] == document["witness"]["kind"]


FORGERIES = {
    "times": lambda d: d["witness"]["multipliers"][0].update(times="0"),
    "1e400": lambda d: d["witness"]["multipliers"][0].update(times="1e400"),
    "negative": lambda d: d["witness"]["multipliers"][0].update(times="-3"),
    "stricter": lambda d: d["witness"]["multipliers"][0].update(epsilon="0"),
    "no multipliers": lambda d: d["witness"].update(multipliers=[]),
    "kind": lambda d: d["witness"].update(kind="infeasible" if d["status"] == "no-optimum" else "no-optimum"),
    "no witness": lambda d: d.pop("witness"),
    "words alone": lambda d: d.update(witness={"reason": "it is so"}),
}


@pytest.mark.parametrize("make", [no_optimum, infeasible, clash_of_two])
@pytest.mark.parametrize("name", FORGERIES)
def test_forged_files_exit_with_one_and_a_sentence(make, name):
    document = json.loads(solve(make()).to_json())
    FORGERIES[name](document)
    code, verdict = run("verify", "-", text=json.dumps(document))
    assert code == 1
    assert not verdict["proven"]
    assert verdict["reason"]


def test_a_status_that_is_false_is_not_proven():
    feasible = infeasible("ln(100)")
    document = json.loads(solve(infeasible()).to_json()) | problem_document(feasible)
    assert run("verify", "-", text=json.dumps(document))[0] == 1
    found = solve(no_optimum())
    document = json.loads(found.to_json()) | {"status": "infeasible"}
    assert run("verify", "-", text=json.dumps(document))[0] == 1


def test_rows_of_the_boundary_are_given_too():
    path = graphs.line(4).with_level(level("ln(2)"))
    rows = {"a>b>c": {"a": "1"}, "c>b>a": {"c": "1"}}
    found = odp.design(path, lambda n: ABC if n < "2" else ABC[::-1], answers=ABC, boundary=rows)
    assert found.status is Status.INFEASIBLE
    assert verify_status(json.loads(found.to_json()))


def test_gaussian_levels_have_no_certificate_and_that_is_said():
    problem = infeasible()
    found = solve(Problem(problem.graph.with_level(level(mu="1/100")), problem.preferences, problem.fixed))
    assert found.status is Status.INFEASIBLE
    assert "Gaussian" in found.witness["certificate"]
    verdict = verify_status(json.loads(found.to_json()))
    assert not verdict
    assert "Gaussian" in verdict.reason


def test_a_mechanism_beside_no_optimum_is_undominated():
    found = solve(no_optimum())
    assert (found.status, found.claim, found.gap) == (Status.NO_OPTIMUM, "undominated", 0.0)
    document = json.loads(found.to_json())
    document["mechanism"]["1"] = {"a": "1"}
    code, verdict = run("verify", "-", text=json.dumps(document))
    assert code == 1
    assert not verdict["mechanism"]["private"]


@pytest.mark.parametrize(("most", "proven"), [(5000, True), (7, False)])
def test_mechanisms_of_a_witness_are_stored_up_to_a_size_and_that_is_said(monkeypatch, most, proven):
    monkeypatch.setattr(impossibility, "MOST_STORED", most)
    fixed = {"0": {"a": "1/2", "b": "1/2"}}
    truth = {str(v): "ab"[v // 2 % 2] for v in range(8)}
    found = odp.design(graphs.line(8, level="ln(2)"), truth, fixed=fixed, exact=False)
    assert found.status is Status.NO_OPTIMUM
    assert bool(verify_status(json.loads(found.to_json()))) is proven
    assert ("are not stored" in found.witness.get("certificate", "")) is not proven


@pytest.mark.parametrize("answers", [2, 3])
def test_what_an_infinite_epsilon_leaves_open_says_why_there_is_no_certificate(answers):
    graph = DatasetGraph.from_edges(list("uvw"), [("u", "v", level("inf")), ("v", "w", level("ln(2)"))])
    orders = {"u": ABC[:answers], "v": ABC[:answers][::-1], "w": ABC[:answers]}
    fixed = {"w": dict(zip(ABC[:answers], [Fraction(1, answers)] * answers))}
    found = odp.design(graph, orders, answers=ABC[:answers], fixed=fixed)
    assert found.status is Status.NO_OPTIMUM
    assert "infinite epsilon" in found.witness["certificate"]
