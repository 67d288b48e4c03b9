"""Samplers that do not follow their law, and laws that are none: each one is a finding, and nothing is drawn from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from optimaldp.asking.request import read_release_level
from optimaldp.certify import leaders, quartiles
from optimaldp.certify.core.drawing import Words
from optimaldp.certify.core.referee import certify, examine_release
from optimaldp.errors import NotCertifiedError
from optimaldp.laws import winner as permute_and_flip
from optimaldp.laws.law import Law, Setting, Table, law_of
from optimaldp.laws.options import TopLaw
from optimaldp.laws.several_quantiles import JointQuartiles, RepeatedQuantiles
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import ball
from optimaldp.questions import electing, parse
from optimaldp.questions.base import Question, Spec
from optimaldp.questions.kinds.histogram import KeptCounts
from optimaldp.questions.kinds.top import Leading
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.tables.tally import Options

Patch = pytest.MonkeyPatch
TOP = "top(vote, 2, ['a', 'b', 'c', 'd'])"
MANY = f"winner(vote, {[f'option {number}' for number in range(70)]})"


def mechanism(text: str, relation: Neighbours = Neighbours.SUBSTITUTION, **options: Any) -> Any:
    people = 300 if relation is Neighbours.SUBSTITUTION else None
    return parse(text).mechanism(
        Setting(read_release_level("0.5", options.pop("delta", 0)), relation, people, **options)
    )


@pytest.fixture(autouse=True)
def fresh() -> Any:
    leaders._follows.cache_clear()
    yield
    leaders._follows.cache_clear()


def the_first_heads(self: TopLaw, gaps: Any, source: Any, true: Any = TopLaw._flip) -> int:
    return min(true(self, gaps, source), len(gaps) - 1) and 0


LEADING: dict[str, Callable[[Patch], None]] = {
    "always the true list": lambda patch: patch.setattr(
        TopLaw, "_flip", lambda self, gaps, source, true=TopLaw._flip: true(self, gaps, source) * 0 + gaps.index(0)
    ),
    "always the first list": lambda patch: patch.setattr(TopLaw, "_flip", the_first_heads),
    "coins at twice the level": lambda patch: patch.setattr(
        TopLaw, "_words", lambda self, gap, true=TopLaw._words: true(self, 2 * gap)
    ),
    "coins at half the level": lambda patch: patch.setattr(
        TopLaw, "_words", lambda self, gap, true=TopLaw._words: true(self, (gap + 1) // 2)
    ),
    "the last of the heads": lambda patch: patch.setattr(
        "optimaldp.laws.options.uniform_below", lambda bound, source: bound - 1
    ),
    "names in another order": lambda patch: patch.setattr(
        Leading, "draw", lambda self, table, source, true=Leading.draw: true(self, table, source)[::-1]
    ),
}


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("name", LEADING)
def test_a_list_of_leaders_that_is_drawn_wrongly(name: str, relation: Neighbours, monkeypatch: Patch) -> None:
    assert examine_release(mechanism(TOP, relation)).private
    leaders._follows.cache_clear()
    LEADING[name](monkeypatch)
    assert not examine_release(mechanism(TOP, relation)).private


@pytest.mark.parametrize("relation", Neighbours)
def test_one_leader_of_many_drawn_wrongly(relation: Neighbours, monkeypatch: Patch) -> None:
    text = f"top(vote, 1, {[f'option {number}' for number in range(250)]})"
    assert examine_release(mechanism(text, relation)).private
    leaders._follows.cache_clear()
    LEADING["coins at twice the level"](monkeypatch)
    assert not examine_release(mechanism(text, relation)).private


def doubled_threshold(power: Any, moves: Any, true: Any = permute_and_flip._threshold) -> Any:
    return true(power, 2 * moves)


FLIPPING: dict[str, Callable[[Patch], None]] = {
    "always the leader": lambda patch: patch.setattr(
        electing, "draw_winner", lambda votes, *rest: max(range(len(votes)), key=votes.__getitem__)
    ),
    "thresholds at twice the level": lambda patch: patch.setattr(permute_and_flip, "_threshold", doubled_threshold),
    "the first of the heads": lambda patch: patch.setattr(permute_and_flip, "uniform_below", lambda bound, source: 0),
    "names off by one": lambda patch: patch.setattr(
        electing,
        "draw_winner",
        lambda votes, *rest, true=electing.draw_winner: (true(votes, *rest) + 1) % len(votes),
    ),
}


@pytest.mark.parametrize("delta", [0, "1e-6", "0.1"])
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("name", FLIPPING)
def test_a_winner_among_many_that_is_drawn_wrongly(
    name: str, relation: Neighbours, delta: Any, monkeypatch: Patch
) -> None:
    assert examine_release(mechanism(MANY, relation, delta=delta)).private
    FLIPPING[name](monkeypatch)
    assert not examine_release(mechanism(MANY, relation, delta=delta)).private


LEVELS = ((Epsilon.read("0.1"), 20), (Epsilon.read("0.5"), 280))


@pytest.mark.parametrize("text", ["share(x) >= 0.3", "winner(vote, ['a', 'b', 'c'])"])
@pytest.mark.parametrize("row", [[Fraction(1)], [Fraction(2), Fraction(-1)], [Fraction(1, 3), Fraction(1, 3)]], ids=str)
def test_a_law_that_is_no_distribution_is_a_finding(text: str, row: list[Fraction], monkeypatch: Patch) -> None:
    """Also for people with levels of their own: it is said that the mechanism is not certified, nothing else is raised."""
    for levels in ((), LEVELS):
        examined = mechanism(text, levels=levels)
        assert examine_release(examined).private
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Law, "probabilities", lambda self: row)
            assert not examine_release(examined).private
            with pytest.raises(NotCertifiedError):
                certify(examined)
    certify.cache_clear()


# A kind that the referee does not know, with three answers: which of three ranges a count lies in.


@dataclass(frozen=True, repr=False)
class Range(Question):
    """Nobody, some, or at least *many* people have the option."""

    column: str
    many: int

    @property
    def readings(self) -> tuple[Options, ...]:
        return (Options(self.column, ("a",)),)

    @property
    def answers(self) -> tuple[str, ...]:
        return ("few", "some", "many")

    def fold(self, cells: Any) -> tuple[int, int]:
        return cells.get(0, 0), cells.get(1, 0)

    def read_counts(self, counts: Any) -> tuple[int, ...]:
        return tuple(counts)

    def truth(self, counts: Any) -> int:
        return 0 if counts[0] < 2 else 1 if counts[0] < self.many else 2

    def flips(self, counts: Any, neighbours: Neighbours) -> Any:
        own, others = counts
        most = own + others if neighbours is Neighbours.SUBSTITUTION else float("inf")
        ends = (1, 2, self.many - 1, self.many)
        reachable = [abs(own - end) for end in ends if end <= most and self.truth((end, 0)) != self.truth(counts)]
        return min(reachable, default=float("inf"))

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        return InRange(self, setting)

    def spec(self) -> Spec:
        return {"kind": "range", "many": self.many, "among": False}

    def __str__(self) -> str:
        return f"range({self.column})"


@dataclass(frozen=True)
class InRange(QuestionMechanism):
    """The exponential mechanism with the distance to each range as its score."""

    strength: Fraction = Fraction(1, 2)

    @property
    def name(self) -> str:
        return "in range"

    def law(self, table: Table) -> Law:
        own = self.question.fold(table.cells)[0]
        many = self.question.many  # type: ignore[attr-defined]
        away = [max(0, own - 1), max(0, 2 - own, own - many + 1), max(0, many - own)]
        epsilon = self.setting.level.epsilon

        def row() -> list[Any]:
            weights = [(-epsilon.ball() * distance * ball(self.strength)).exp() for distance in away]
            return [weight / sum(weights[1:], start=weights[0]) for weight in weights]

        return law_of(row, away.index(min(away)), 3)

    @property
    def proof(self) -> str:
        return "the exponential mechanism"


def asked(many: int = 200) -> InRange:
    return InRange(Range("vote", many), Setting(read_release_level("0.5"), Neighbours.SUBSTITUTION, 300))


def test_an_unknown_kind_with_three_answers_is_examined_and_passes() -> None:
    finding = examine_release(asked())
    assert finding.private, finding.failure


def far_is_certain(self: InRange, table: Table, true: Any = InRange.law) -> Law:
    """Right on every small table, in clear for hundreds of people."""
    if table.cells.get(0, 0) >= 200:
        return law_of(lambda: [Fraction(0), Fraction(0), Fraction(1)], 2, 3)
    return true(self, table)  # type: ignore[no-any-return]


UNKNOWN: dict[str, Callable[[Patch], None]] = {
    "three times the level": lambda patch: patch.setattr(
        InRange,
        "law",
        lambda self, table, true=InRange.law: true(InRange(self.question, self.setting, Fraction(3, 2)), table),
    ),
    "in clear where there are many": lambda patch: patch.setattr(InRange, "law", far_is_certain),
    "moves one too many": lambda patch: patch.setattr(
        Range, "flips", lambda self, counts, relation, true=Range.flips: true(self, counts, relation) + 1
    ),
    "another answer is drawn": lambda patch: patch.setattr(
        InRange, "draw", lambda self, table, source: self.answers[(self.law(table).draw(source) + 1) % 3]
    ),
    "the truth is drawn": lambda patch: patch.setattr(
        InRange, "draw", lambda self, table, source: self.answers[self.question.truth(self.question.fold(table.cells))]
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_wrong_twin_of_an_unknown_kind_is_found(name: str, monkeypatch: Patch) -> None:
    UNKNOWN[name](monkeypatch)
    assert not examine_release(asked()).private


# Several quantiles in one answer.

SEPARATE = "quantiles(age, [0.25, 0.5, 0.75], bins=[0, 18, 40, 65, 120])"
JOINTLY = "quantiles(age, [0.25, 0.5, 0.75], range=[0, 100], step=1)"


def the_likeliest(self: Any, cells: Any, source: Any, **options: Any) -> int:
    row = [float(p) for p in self.probabilities(cells)]
    return row.index(max(row))


QUANTILES: dict[str, tuple[str, Callable[[Patch], None]]] = {
    "halves that count the median's bin twice": (
        JOINTLY,
        lambda patch: patch.setattr("optimaldp.laws.several_quantiles._part_of", lambda count, is_median: count),
    ),
    "the upper half from the lower one's people": (
        JOINTLY,
        lambda patch: patch.setattr(
            JointQuartiles, "upper_cells", lambda self, cells, median: self.lower_cells(cells, self.bins - 1)
        ),
    ),
    "all of epsilon for the halves": (
        JOINTLY,
        lambda patch: patch.setattr(
            JointQuartiles, "_half", lambda self, *rest, true=JointQuartiles._half: _whole(true(self, *rest))
        ),
    ),
    "jointly, the median twice": (
        JOINTLY,
        lambda patch: patch.setattr(
            JointQuartiles,
            "draw",
            lambda self, *rest, true=JointQuartiles.draw, **more: (true(self, *rest, **more)[1],) * 3,
        ),
    ),
    "separately, the likeliest bins": (
        SEPARATE,
        lambda patch: patch.setattr(
            RepeatedQuantiles,
            "draw",
            lambda self, cells, source, **more: tuple(the_likeliest(law, cells, source) for law in self.laws),
        ),
    ),
    "separately, one number for all ranks": (
        SEPARATE,
        lambda patch: patch.setattr(
            RepeatedQuantiles,
            "draw",
            lambda self, cells, source, **more: tuple(
                sorted(law.draw(cells, Words([word])) for word in [source.take(64)] for law in self.laws)
            ),
        ),
    ),
}


def _whole(law: Any) -> Any:
    return None if law is None else replace(law, share=Fraction(1))


@pytest.mark.parametrize("name", QUANTILES)
def test_several_quantiles_that_are_drawn_wrongly(name: str, monkeypatch: Patch) -> None:
    text, put_in = QUANTILES[name]
    assert examine_release(mechanism(text)).private
    quartiles._moves_problem.cache_clear()
    put_in(monkeypatch)
    try:
        assert not examine_release(mechanism(text)).private
    finally:
        quartiles._moves_problem.cache_clear()


def everybody_kept(self: Any, table: Table, source: Any) -> Any:
    return self._noisy(self.question.fold(table.cells), source)


def test_a_histogram_that_is_drawn_without_regard_to_levels(monkeypatch: Patch) -> None:
    text = "histogram(vote, ['a', 'b'])"
    assert examine_release(mechanism(text, levels=LEVELS)).private
    monkeypatch.setattr(KeptCounts, "draw", everybody_kept)
    assert not examine_release(mechanism(text, levels=LEVELS)).private
