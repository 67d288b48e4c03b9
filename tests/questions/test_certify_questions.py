"""The referee passes the chain at every level and rejects each named wrong twin."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimaldp.certify import questions as referee
from optimaldp.certify.exponentials import Exponentials, close
from optimaldp.certify.findings import Certified
from optimaldp.certify.questions import certified, examine
from optimaldp.errors import NotCertifiedError
from optimaldp.laws.chain import Chain
from optimaldp.privacy import ApproximateDP, Epsilon, level
from optimaldp.privacy.balls import Ball

LEVELS = [
    ("1", 0),
    ("1", "1e-6"),
    ("ln(2)", "0.1"),
    ("1e-9", 0),
    ("0", 0),
    ("0", "0.01"),
    ("100", 0),
    ("0.5+ln(2)", "1/7"),
]


def approximate(epsilon: object, delta: object = 0) -> ApproximateDP:
    made = level(epsilon, delta)
    assert isinstance(made, ApproximateDP)
    return made


@pytest.mark.parametrize("numbers", LEVELS)
@pytest.mark.parametrize("answers", [1, 2, 3, 6, 40])
def test_passes_the_chain(numbers: tuple[str, object], answers: int) -> None:
    verdict = examine(Chain(approximate(*numbers), answers))
    assert verdict.private, verdict
    assert verdict.checks


@dataclass(frozen=True)
class Twin:
    """A mechanism that was changed a little."""

    level: ApproximateDP
    answers: int
    change: Callable[[Chain, int, int], Sequence[Ball]]

    def enclosures(self, truth: int, distance: int) -> Sequence[Ball]:
        return self.change(Chain(self.level, self.answers), truth, distance)


def nudged(chain: Chain, truth: int, distance: int) -> Sequence[Ball]:
    row = chain.enclosures(truth, distance)
    step = Ball(2) ** -20
    row[truth] = row[truth] + step
    row[1 - min(truth, 1)] = row[1 - min(truth, 1)] - step
    return row


def one_step_further(chain: Chain, truth: int, distance: int) -> Sequence[Ball]:
    return chain.enclosures(truth, distance + 1)


def far_ahead(chain: Chain, truth: int, distance: int) -> Sequence[Ball]:
    return chain.enclosures(truth, distance + 1 if distance > 2**20 else distance)


def rounded_to_zero(chain: Chain, truth: int, distance: int) -> Sequence[Ball]:
    if distance < 2**12:
        return chain.enclosures(truth, distance)
    return [Ball(1) if answer == truth else Ball(0) for answer in range(chain.answers)]


def larger_epsilon(chain: Chain, truth: int, distance: int) -> Sequence[Ball]:
    return Chain(approximate("1.000001", chain.level.delta), chain.answers).enclosures(truth, distance)


def larger_delta(chain: Chain, truth: int, distance: int) -> Sequence[Ball]:
    return Chain(approximate("1", chain.level.delta + Fraction(1, 10**9)), chain.answers).enclosures(truth, distance)


def other_order(chain: Chain, truth: int, distance: int) -> Sequence[Ball]:
    """The prefix sums along one order for all truths: erratum 001-7, answer order in place of preference order."""
    return chain.enclosures(0, distance)


def blurred(chain: Chain, truth: int, distance: int) -> Sequence[Ball]:
    """Enclosures that hold everything prove nothing."""
    return [Ball(0.5, 0.5) for _ in range(chain.answers)]


TWINS = [nudged, one_step_further, far_ahead, rounded_to_zero, larger_epsilon, larger_delta, other_order, blurred]


@pytest.mark.parametrize("change", TWINS, ids=lambda change: change.__name__)
@pytest.mark.parametrize("answers", [2, 4])
def test_rejects_wrong_twins(change: Callable[[Chain, int, int], Sequence[Ball]], answers: int) -> None:
    twin = Twin(approximate(1), answers, change)
    verdict = examine(twin)
    assert not verdict.private
    assert verdict.failure
    with pytest.raises(NotCertifiedError):
        certified(twin)


def test_nothing_uncertified_can_be_wrapped() -> None:
    twin = Twin(approximate(1), 2, nudged)
    with pytest.raises(NotCertifiedError):
        Certified(twin, examine(twin))


def test_the_referee_shares_nothing_with_what_it_judges() -> None:
    source = ast.parse(Path(referee.__file__).read_text("utf-8"))
    imported = {node.module or "" for node in ast.walk(source) if isinstance(node, ast.ImportFrom)}
    assert not [m for m in imported if m.startswith(("optimaldp.questions", "optimaldp.designing", "optimaldp.tables"))]


numbers = st.fractions(-3, 3, max_denominator=6)
sums = st.dictionaries(numbers, numbers, max_size=4).map(Exponentials)


@given(sums, sums, sums)
def test_exponentials_are_a_ring(a: Exponentials, b: Exponentials, c: Exponentials) -> None:
    assert a * (b + c) == a * b + a * c
    assert (a - a).sign() == 0
    assert (a - b).sign() == -(b - a).sign()
    assert abs(float((a * b).ball()) - float(a.ball()) * float(b.ball())) < 1e-6 * (1 + abs(float((a * b).ball())))


def test_closeness_is_decided_at_equality() -> None:
    """Randomised response meets its bound with equality: accepted at e^1, rejected at anything less."""
    e = Exponentials.exp(Epsilon.read(1))
    first, second = [e, Exponentials.of(1)], [Exponentials.of(1), e]
    assert close(e, Exponentials({}), first, second)
    slightly_less = Exponentials.exp(Epsilon.read("0.999999999999"))
    assert not close(slightly_less, Exponentials({}), first, second)
