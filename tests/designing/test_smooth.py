"""The interior point method beside closed forms and another solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from optimaldp.designing.event_program import GaussianRows, SmoothProgram


def step(s, mu):
    return norm.cdf(norm.ppf(s) + mu)


def one_arc(cost, *, mu: float, tail: float) -> SmoothProgram:
    """Two probabilities that sum to one; the first is at most the step from *tail*, the second that from 1 - tail."""
    given = GaussianRows(np.full(2, mu), np.zeros((2, 2)), np.array([tail, 1 - tail]), np.eye(2), np.zeros(2))
    return SmoothProgram(np.array(cost), -np.eye(2), np.zeros(2), np.ones((1, 2)), given)


@pytest.mark.parametrize(("mu", "tail"), [(1.0, 0.25), (0.1, 0.9), (2.0, 0.01), (3.0, 0.5)])
def test_one_step_is_attained(mu, tail):
    first = one_arc([1.0, 0.0], mu=mu, tail=tail).maximise(np.array([tail, 1 - tail]))
    second = one_arc([0.0, 1.0], mu=mu, tail=tail).maximise(np.array([tail, 1 - tail]))
    assert first.sum() == pytest.approx(1, abs=1e-12)
    assert 0 < step(tail, mu) - first[0] < 1e-9
    assert 0 < step(1 - tail, mu) - second[1] < 1e-9


def test_a_start_outside_has_no_answer():
    assert one_arc([1.0, 0.0], mu=1, tail=0.25).maximise(np.array([0.9, 0.1])) is None
    assert one_arc([1.0, 0.0], mu=1, tail=0.25).maximise(np.array([0.0, 1.0])) is None


def test_linear_rows_bind_too():
    program = one_arc([1.0, 0.0], mu=1, tail=0.25)
    tight = SmoothProgram(
        program.cost, np.vstack([program.rows, [[1.0, 0.0]]]), np.array([0, 0, 0.3]), program.equal, program.gaussian
    )
    assert tight.maximise(np.array([0.25, 0.75]))[0] == pytest.approx(0.3, abs=1e-9)


def test_a_curved_face_as_another_solver_finds_it():
    """Both ends of an arc are free, three answers: weights for which the maximum is no corner."""
    mu, weights = 0.8, np.array([3.0, 2.0, 1.0, 1.0, 2.0, 3.2])
    events = [[a for a in range(3) if mask >> a & 1] for mask in range(1, 7)]
    pick = np.array([[float(a in event) for a in range(3)] for event in events])
    nothing = np.zeros((6, 3))
    rows = GaussianRows(
        np.full(6, mu), np.hstack([pick, nothing]), np.zeros(6), np.hstack([nothing, pick]), np.zeros(6)
    )
    equal = np.kron(np.eye(2), np.ones(3))
    start = np.full(6, 1 / 3)
    point = SmoothProgram(weights, -np.eye(6), np.zeros(6), equal, rows).maximise(start)
    back = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [-1, -1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, -1, -1]])
    base = np.array([0, 0, 1.0, 0, 0, 1.0])

    def room(y):
        x = base + back @ y
        return step(pick @ x[:3], mu) - pick @ x[3:]

    other = minimize(
        lambda y: -weights @ (base + back @ y),
        [0.4, 0.3, 0.35, 0.3],
        method="SLSQP",
        constraints=[{"type": "ineq", "fun": room}, {"type": "ineq", "fun": lambda y: base + back @ y - 1e-9}],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert other.success
    assert weights @ point == pytest.approx(-other.fun, abs=1e-7)
    assert (step(pick @ point[:3], mu) > pick @ point[3:]).all()
