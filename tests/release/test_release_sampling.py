"""What is drawn has the stated distribution: exactly by the bit tree, and once by counting."""

from __future__ import annotations

import math

import pytest

import optimaldp as odp
from optimaldp.asking.ask import Ask
from optimaldp.certify.core.referee import certify, draw
from optimaldp.errors import MechanismError, QuestionError
from optimaldp.laws.law import Setting, Table
from optimaldp.sampling import SystemBits


@pytest.mark.parametrize(
    ("question", "counts", "answer", "probability"),
    [
        ("majority(x)", [50, 50], "no", 1 / (1 + math.exp(-1))),
        ("median(x, bins=[0, 1, 2, 3])", [5, 6, 5], "[1, 2)", None),
        ("compare(x, 'a', 'b')", [4, 1], "a", 1 - math.exp(-1) / (1 + math.e)),
    ],
)
def test_simulated_frequencies(question: str, counts: list[int], answer: str, probability: float | None) -> None:
    draws = 400_000
    if probability is None:
        probability = float(odp.questions.quantile_probabilities(counts, epsilon=1)[1])
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


@pytest.mark.long
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
    request = Ask(question, epsilon=1).request()
    setting = Setting(request.level, request.neighbours, sum(counts))
    certified = certify(request.question.mechanism(setting))
    source, draws = SystemBits(), 4000
    found = sum(draw(certified, Table(dict(enumerate(counts))), source) == wrong for _ in range(draws))
    assert abs(found - draws * probability) < 6 * math.sqrt(draws * probability * (1 - probability))
