"""The linear program part by part: a gadget that needs it does not cost the rest its proof."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq

import optimaldp as odp
from optimaldp.designing import Proof, Status, solve
from optimaldp.designing import large as mending
from optimaldp.designing import many as components
from optimaldp.designing.many import _decided
from optimaldp.errors import ProblemError
from optimaldp.mechanisms.documents import read_problem
from optimaldp.programs.linear import SparseLU

GADGET = {  # R12: the envelope is not private, and yet there is an optimum
    "fixed": {"u": {"a": "0.5", "b": "0.4", "c": "0.1"}, "w": {"a": "0.6", "b": "0.2", "c": "0.2"}},
    "edges": [["u", "v"], ["v", "w"]],
    "prefers": {"u": ["a", "b", "c"], "v": ["a", "b", "c"], "w": ["a", "b", "c"]},
}


def problem_with(pairs: int, gadgets: int):
    document = {"answers": ["a", "b", "c"], "privacy": {"epsilon": "ln(2)"}, "edges": [], "prefers": {}, "fixed": {}}
    for i in range(gadgets):
        document["edges"] += [[f"{u}{i}", f"{v}{i}"] for u, v in GADGET["edges"]]
        document["prefers"] |= {f"{name}{i}": order for name, order in GADGET["prefers"].items()}
        document["fixed"] |= {f"{name}{i}": row for name, row in GADGET["fixed"].items()}
    for i in range(pairs):
        document["edges"].append([f"x{i}", f"y{i}"])
        document["prefers"] |= {f"x{i}": ["c", "a", "b"], f"y{i}": ["c", "b", "a"]}
        document["fixed"][f"x{i}"] = {"a": "0.2", "b": "0.3", "c": "0.5"}
    return read_problem(document)


@pytest.mark.parametrize(("pairs", "gadgets"), [(200, 1), (0, 1), (10, 40)])
def test_a_gadget_beside_pairs_keeps_its_proof(pairs, gadgets):
    found = solve(problem_with(pairs, gadgets))
    assert found.status is Status.OPTIMAL
    assert found.route == "linear-program"
    assert found.proof is Proof.EXACT
    assert found.verdict.optimal
    assert str(found.mechanism["v0"]["a"]) == "7/10"
    if pairs:
        assert str(found.mechanism["y0"]["c"]) == "3/4"


def test_what_counts_is_the_part_that_needs_a_program_not_the_whole(monkeypatch):
    """One free dataset needs a program of three columns, whatever stands beside it."""
    monkeypatch.setattr(components, "MOST_COLUMNS", 3)
    found = solve(problem_with(30, 2), exact=False)
    assert (found.status, found.route) == (Status.OPTIMAL, "linear-program")
    assert found.verdict.optimal
    monkeypatch.setattr(components, "MOST_COLUMNS", 2)
    for exact in (False, True):
        undecided = solve(problem_with(30, 2), exact=exact)  # a private mechanism all the same
        assert (undecided.status, undecided.claim) == (None, "undominated")
        with pytest.raises(ProblemError, match=r"'3 free probabilities' that depend on each other \(those of v0 and 0"):
            _decided(problem_with(30, 2), exact=exact)


def test_too_many_bounds_to_find_again_are_refused_in_words(monkeypatch):
    monkeypatch.setattr(mending, "MOST_EXACT_BOUNDS", 10)
    assert solve(problem_with(30, 1), exact=False).status is Status.OPTIMAL  # one dataset, whatever stands beside it
    with pytest.raises(ProblemError, match=r"bounds on prefix sums' would have to be found again in exact arithmetic"):
        _decided(problem_with(30, 9), exact=False)
    assert solve(problem_with(30, 9), exact=False).status is None


def test_only_the_parts_that_are_not_private_are_found_again(monkeypatch):
    """Of 30 pairs and two gadgets the gadgets go to rationals; the proof of the whole leads through both."""
    sizes, envelope = [], mending.design_envelope

    def counted(problem):
        sizes.append(len(problem.graph))
        return envelope(problem)

    monkeypatch.setattr(mending, "design_envelope", counted)
    found = solve(problem_with(30, 2), exact=False)
    assert sizes == [6]
    assert found.verdict.optimal
    assert len(found.certificate.proof.duals) == 2
    assert str(found.mechanism["v1"]["a"]) == "7/10"
    fine = solve(problem_with(30, 2))
    assert np.abs(found.mechanism.to_array() - fine.mechanism.to_array()).max() < 1e-12


def test_a_part_without_an_optimum_or_without_a_mechanism_decides_for_floats_too():
    """R13 beside a pair, and the star of R15, of which no given row is at fault alone."""
    three = odp.graphs.DatasetGraph.from_edges(
        "sabxy",
        [("s", "a", odp.level("ln(3/2)")), ("s", "b", odp.level("ln(3)")), ("a", "b", odp.level("ln(3)")),
         ("x", "y", odp.level("ln(2)"))],
    )  # fmt: skip
    row = {"1": "0.3", "2": "0.2", "3": "0.5"}
    wants = dict.fromkeys("sabxy", ("1", "2", "3"))
    found = odp.design(three, wants, fixed={"s": row, "x": row}, exact=False)
    assert found.status is Status.NO_OPTIMUM
    assert odp.verify(found.mechanism).private
    star = odp.graphs.DatasetGraph.from_edges("hwxyz", [("h", leaf) for leaf in "wxyz"], level=odp.level("ln(2)"))
    rotated = {leaf: {str((i + k) % 4): "4/7" if k == 0 else "1/7" for k in range(4)} for i, leaf in enumerate("wxyz")}
    assert (
        odp.design(star, dict.fromkeys("hwxyz", tuple("0123")), fixed=rotated, exact=False).status is Status.INFEASIBLE
    )


def test_one_part_without_an_optimum_leaves_none():
    found = odp.design(
        odp.graphs.DatasetGraph.from_edges(
            "sabxy",
            [("s", "a", odp.level("ln(3/2)")), ("s", "b", odp.level("ln(3)")), ("a", "b", odp.level("ln(3)")),
             ("x", "y", odp.level("ln(2)"))],
        ),
        dict.fromkeys("sabxy", ("1", "2", "3")) | {"b": ("1", "3", "2")},
        fixed={"s": {"1": "0.3", "2": "0.2", "3": "0.5"}, "x": {"1": "0.3", "2": "0.2", "3": "0.5"}},
    )  # fmt: skip
    again = odp.solve(found.problem)
    assert found.status is again.status
    assert found.mechanism is None or odp.verify(found.mechanism).private


@pytest.mark.parametrize("seed", range(20))
def test_sparse_elimination_solves_both_ways(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 30))
    rows = [{int(j): fmpq(int(rng.integers(-5, 6)), int(rng.integers(1, 4))) for j in rng.choice(size, min(size, 3), False)}
            for _ in range(size)]  # fmt: skip
    rows = [{j: c for j, c in row.items() if c != 0} | {i: fmpq(40 + i)} for i, row in enumerate(rows)]
    right = [fmpq(int(v)) for v in rng.integers(-9, 9, size)]
    factored = SparseLU(rows)
    x = factored.solve(right)
    assert [sum((c * x.get(j, fmpq(0)) for j, c in row.items()), fmpq(0)) for row in rows] == right
    y = factored.solve_transposed(dict(enumerate(right)))
    columns = [sum((row.get(j, fmpq(0)) * w for row, w in zip(rows, y)), fmpq(0)) for j in range(size)]
    assert columns == right


def test_a_singular_matrix_is_no_basis():
    with pytest.raises(ZeroDivisionError):
        SparseLU([{0: fmpq(1), 1: fmpq(2)}, {0: fmpq(2), 1: fmpq(4)}])
