"""The referee of the least average over a prior: it passes the optimum, and refuses every named fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from optimaldp.certify.core.referee import examine_release
from optimaldp.laws.grid_law import GridLaw, Multiplier
from optimaldp.laws.law import Aim, Law, Setting, Table
from optimaldp.laws.prior import read_prior
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.questions import majority
from optimaldp.questions.base import as_question
from optimaldp.questions.personal import PriorVotes
from optimaldp.sampling import BitSource


def made(
    levels: tuple[Any, ...] = ("ln(2)", "ln(3)"), sizes: tuple[int, ...] = (2, 3), delta: Any = 0, prior: Any = "1/3"
) -> PriorVotes:
    own = tuple((Epsilon.read(e), n) for e, n in zip(levels, sizes))
    aim = read_prior({"prior": prior})
    return PriorVotes.of(
        majority("x"),
        Setting(
            approximate(Epsilon.read(levels[-1]), Fraction(str(delta))), Neighbours.SUBSTITUTION, sum(sizes), own, aim
        ),
    )


@pytest.mark.parametrize(
    "levels", [("ln(2)", "ln(3)"), (0.1, 1), (0, 1), ("ln(2)", 1), ("ln(2)",), (0.1, 0.5, "ln(4)")]
)
@pytest.mark.parametrize("delta", [0, "0.01"])
def test_the_optimum_is_passed(levels: tuple[Any, ...], delta: Any) -> None:
    finding = examine_release(made(levels, (2, 3, 2)[: len(levels)], delta))
    assert finding.private, finding.failure
    assert any("no private law has a smaller average" in words for words in finding.checks)


@pytest.mark.parametrize("prior", ["0", "1", "1/2", [0, "1/2", 0, 0, "1/2", 0]])
@pytest.mark.parametrize(
    "question", ["count(x) >= 2", "count(x) < 4", "share(x) > 0.3", "any(x)", "all(x)", "count(x) >= 9"]
)
def test_any_threshold_and_any_prior(question: str, prior: Any) -> None:
    known = made(prior=prior)
    mechanism = PriorVotes.of(as_question(question), known.setting)
    finding = examine_release(mechanism)
    assert finding.private, finding.failure
    if prior in ("0", "1"):
        assert mechanism.optimum.average_error == 0  # the prior knows the answer


def altered(mechanism: PriorVotes, **changes: Any) -> PriorVotes:
    return replace(mechanism, optimum=replace(mechanism.optimum, **changes))


def shifted(mechanism: PriorVotes, by: Fraction) -> PriorVotes:
    """One probability is different, and the stated average is right for it."""
    (point, chance), *others = mechanism.optimum.yes
    weights = mechanism.setting.aim.weights([n for _, n in mechanism.setting.levels])  # type: ignore[union-attr]
    error = mechanism.optimum.average_error + weights[point] * by
    return altered(mechanism, yes=((point, chance + by), *others), average_error=error)


class Swapped(PriorVotes):
    """The sampler says the other answer."""

    def draw(self, table: Table, source: BitSource) -> Any:
        return {"yes": "no", "no": "yes"}[super().draw(table, source)]


class Above(PriorVotes):
    """Probabilities above one."""

    def law(self, table: Table) -> Law:
        return Law((1, 0), lambda: [Fraction(-1, 5)])


def constant(mechanism: PriorVotes) -> PriorVotes:
    """Private, but far from the best: a fair coin with its own average, and the optimum's multipliers."""
    half = Fraction(1, 2)
    return altered(mechanism, yes=tuple((point, half) for point, _ in mechanism.optimum.yes), average_error=half)


def with_multiplier(mechanism: PriorVotes, *more: Multiplier) -> PriorVotes:
    return altered(mechanism, multipliers=(*mechanism.optimum.multipliers, *more))


def resetting(mechanism: PriorVotes, **changes: Any) -> PriorVotes:
    return replace(mechanism, setting=replace(mechanism.setting, **changes))


FAULTS: dict[str, tuple[Callable[[PriorVotes], Any], str]] = {
    "a probability too small": (lambda m: shifted(m, -m.optimum.yes[0][1] / 2), "not close at that person's own level"),
    "a stricter level": (
        lambda m: resetting(m, levels=((Epsilon.read("ln(3/2)"), 2), (Epsilon.read("ln(3)"), 3))),
        "not close at that person's own level",
    ),
    "a smaller average is stated": (
        lambda m: altered(m, average_error=Fraction(1, 1000)),
        "not the one that is stated",
    ),
    "a coin": (constant, "do not prove"),
    "another prior": (lambda m: resetting(m, aim=read_prior("prior: 0.9")), "not the one that is stated"),
    "no multipliers": (lambda m: altered(m, multipliers=()), "do not prove"),
    "a negative multiplier": (
        lambda m: with_multiplier(m, Multiplier((0, 0), (0, 1), 0, Fraction(-1, 100))),
        "negative or does not belong",
    ),
    "a multiplier of two who are no neighbours": (
        lambda m: with_multiplier(m, Multiplier((0, 0), (1, 1), 0, Fraction(1, 100))),
        "negative or does not belong",
    ),
    "a multiplier of no table": (
        lambda m: with_multiplier(m, Multiplier((0, 3), (0, 4), 0, Fraction(1, 100))),
        "negative or does not belong",
    ),
    "a table without a probability": (lambda m: altered(m, yes=m.optimum.yes[1:]), ""),
    "another number of people": (lambda m: resetting(m, people=6), "not those of a small table"),
    "a level twice": (
        lambda m: resetting(m, levels=((Epsilon.read("ln(3)"), 2), (Epsilon.read("ln(3)"), 3))),
        "named twice",
    ),
    "a level above epsilon": (lambda m: resetting(m, level=approximate(Epsilon.read("ln(2)"))), "above the epsilon"),
    "the other answer": (lambda m: Swapped(m.question, m.setting, m.optimum), "sampler"),
    "no distribution": (lambda m: Above(m.question, m.setting, m.optimum), "no distribution"),
    "another question": (lambda m: replace(m, question=as_question("count(x) >= 1")), "not the one that is stated"),
    "people outside": (lambda m: replace(m, question=as_question("majority(x among y)")), "about everybody"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_refused(fault: str) -> None:
    twin, words = FAULTS[fault]
    finding = examine_release(twin(made()))
    assert not finding.private
    assert words in finding.failure


def test_delta_is_part_of_the_promise() -> None:
    generous = made(delta="0.05")
    assert examine_release(generous).private
    without = replace(generous, setting=replace(generous.setting, level=approximate(Epsilon.read("ln(3)"))))
    assert "not close" in examine_release(without).failure


def test_whoever_weighs_nothing_loses_nothing_with_delta_either() -> None:
    mechanism = made((0, 1), (2, 3), "0.05")
    for strict, loose in ((a, b) for a in range(2) for b in range(4)):
        assert mechanism.optimum.at((strict, loose)) == mechanism.optimum.at((strict + 1, loose))


def test_rounding_leaves_a_law_that_is_short_and_next_to_the_best() -> None:
    law = made((0.1, 1), (4, 12)).optimum
    assert max(chance.denominator.bit_length() for _, chance in law.yes) < 140
    assert isinstance(law, GridLaw)


def test_an_aim_that_is_no_prior_is_none() -> None:
    with pytest.raises(AssertionError):
        PriorVotes.of(majority("x"), replace(made().setting, aim=Aim.TYPICAL))
