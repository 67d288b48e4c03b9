"""What is drawn has the stated distribution: exactly by the bit tree, and once by counting."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from optimaldp.questions.answering import answering, draw_at_distance
from optimaldp.release import read_level

import optimaldp as odp
from optimaldp.certify.questions import certified
from optimaldp.errors import MechanismError, QuestionError
from optimaldp.laws.chain import Chain
from optimaldp.privacy import ApproximateDP, Neighbours, level
from optimaldp.privacy.balls import lower, precision, upper
from optimaldp.sampling import SystemBits, enumerate_bits
from optimaldp.tables.tally import Counted

LEVELS = [("1", 0), ("ln(2)", "0.1"), ("0", 0), ("0.3", "0.01")]


@pytest.mark.parametrize("numbers", LEVELS)
@pytest.mark.parametrize(
    ("answers", "truth", "distance"), [(2, 0, 0), (2, 1, 3), (4, 2, 0), (4, 0, 2), (3, 1, math.inf)]
)
def test_bit_tree(numbers: tuple[str, object], answers: int, truth: int, distance: int) -> None:
    bound = level(*numbers)
    assert isinstance(bound, ApproximateDP)
    mechanism = certified(Chain(bound, answers))
    found = dict.fromkeys(range(answers), Fraction(0))
    undecided = Fraction(0)
    tree = enumerate_bits(lambda bits: draw_at_distance(mechanism, truth, distance, bits, first_bits=1), depth=10)
    for answer, probability in tree:
        if answer is None:
            undecided += probability
        else:
            found[answer] += probability
    assert undecided < Fraction(answers, 2**8)
    with precision(128):
        for answer, row in enumerate(Chain(bound, answers).enclosures(truth, distance)):
            assert found[answer] <= upper(row)
            assert lower(row) <= found[answer] + undecided


@pytest.mark.parametrize(
    ("question", "counts", "answer", "probability"),
    [
        ("majority(x)", [50, 50], "no", 1 / (1 + math.exp(-1))),
        ("median(x, bins=[0, 1, 2, 3])", [5, 6, 5], "[1, 2)", 1 - 2 * math.exp(-2) / (math.e + 2)),
        ("compare(x, 'a', 'b')", [4, 1], "a", 1 - math.exp(-1) / (1 + math.e)),
    ],
)
def test_simulated_frequencies(question: str, counts: list[int], answer: str, probability: float) -> None:
    draws = 400_000
    if question.startswith("median"):  # flips of (5, 6, 5): three persons
        assert odp.questions.flips(question, counts) == 3
    found = odp.release_many(question, counts, draws=draws, epsilon=1)
    spread = math.sqrt(draws * probability * (1 - probability))
    assert abs(found[answer] - draws * probability) < 6 * spread  # p < 1e-8
    assert sum(found.values()) == draws


def test_simulation_takes_counts_and_no_table() -> None:
    assert "NOT a release" in (odp.release_many.__doc__ or "")
    assert odp.release_many("winner(v, ['a', 'b'])", [9, 9], draws=10, epsilon=1).keys() == {"a", "b"}
    with pytest.raises((QuestionError, TypeError)):
        odp.release_many("majority(x)", "survey.csv", draws=1, epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(QuestionError):
        odp.release_many("histogram(x, ['a'])", [1, 2], draws=1, epsilon=1)
    with pytest.raises(MechanismError):
        odp.release_many("majority(x)", [1, 2], draws=-1, epsilon=1)


@pytest.mark.parametrize(
    ("question", "counts", "wrong", "probability"),
    [
        ("count(x) >= 5", (5, 0), "no", 1 / (1 + math.e)),
        ("count(x) >= 5", (4, 3), "yes", 1 / (1 + math.e)),
        ("compare(x, 'a', 'b')", (3, 0, 1), "b", math.exp(-1) / (1 + math.e)),
    ],
)
def test_a_draw_for_a_release_has_the_stated_error(
    question: str, counts: tuple[int, ...], wrong: str, probability: float
) -> None:
    prepared = answering(odp.questions.parse(question), read_level(1), Neighbours.SUBSTITUTION)
    source, draws = SystemBits(), 4000
    found = sum(prepared.draw(Counted.of(counts), source) == wrong for _ in range(draws))
    assert abs(found - draws * probability) < 6 * math.sqrt(draws * probability * (1 - probability))
