"""The referee sees that a law for people's own levels is the form of its theorem, at the public sizes and at the draw."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import pytest

from optimaldp.asking.ask import Ask
from optimaldp.certify.core.examined import mint
from optimaldp.certify.core.referee import draw, examine_release
from optimaldp.certify.personal_tables import confirms_form, examine_form
from optimaldp.errors import SecondCalculationError
from optimaldp.laws.law import Law, Table, law_of
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import ball
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.questions.personal import Balanced, FairLevels, HedgedVotes, WeightedVotes
from optimaldp.sampling import SystemBits

SIZES = ((Epsilon.read("0.1"), 21), (Epsilon.read("ln(2)"), 30), (Epsilon.read("1"), 950))
WITH_ZERO = ((Epsilon.read(0), 5), (Epsilon.read("0.1"), 0), (Epsilon.read("0.5"), 21), (Epsilon.read("1"), 75))
SUMS = [
    "count(x) >= 300",
    "count(x) < 300",
    "count(x) >= 5000",
    "share(x) > 0.5",
    "share(x) <= 0.3",
    "any(x)",
    "all(x)",
    "share(x among y) >= 0.4",
    "share(x among y) < 0.4",
    "count(x among y) >= 20",
    "all(x among y)",
    "compare(v, 'a', 'b')",
    "compare(v, 'a', 'b' among y)",
    "mean(s, range=[0, 10], step=1) >= 7",
    "mean(s, range=[1, 5], step=0.5 among y) < 3",
]


def asked(question: str, aim: str = "typical", delta: str = "0", sizes: Any = SIZES) -> QuestionMechanism:
    request = Ask(question, epsilon=1, delta=delta, levels="level", aim=aim).request()
    return request.question.mechanism(request.setting(sum(n for _, n in sizes), sizes))


def some_table(mechanism: QuestionMechanism) -> Table:
    """People of each level over all cells, a few more in the first ones."""
    by_level = []
    total: dict[int, int] = {}
    for epsilon, people in mechanism.setting.levels:
        own = dict.fromkeys(range(mechanism.question.cells), people // mechanism.question.cells)
        own[0] += people - sum(own.values())
        by_level.append((epsilon, own))
        for cell, n in own.items():
            total[cell] = total.get(cell, 0) + n
    return Table(total, tuple(by_level))


@pytest.mark.parametrize("delta", ["0", "0.001"])
@pytest.mark.parametrize("aim", ["typical", "every table"])
@pytest.mark.parametrize("question", SUMS)
def test_the_law_of_a_release_is_the_form_and_is_confirmed_at_the_draw(question: str, aim: str, delta: str) -> None:
    for sizes in (SIZES, WITH_ZERO):
        mechanism = asked(question, aim, delta, sizes)
        finding = examine_form(mechanism)
        assert finding.private, finding.failure
        everybody = " among " not in question and question[:4] not in ("comp", "mean")
        assert bool(finding.checks) is (aim == "typical" or everybody)
        assert confirms_form(mechanism, some_table(mechanism))


def test_both_aims_name_what_was_checked() -> None:
    for aim, words in (("typical", "both layers of the hedge"), ("every table", "alpha is the least level")):
        finding = examine_release(asked("majority(x)", aim))
        assert finding.private
        assert any(words in check for check in finding.checks)


def test_other_kinds_have_no_such_form() -> None:
    for question in ("winner(v, ['a', 'b', 'c'])", "winner(v, ['a', 'b'])"):
        mechanism = asked(question)
        assert examine_form(mechanism).checks == ()
        assert confirms_form(mechanism, some_table(mechanism))
    alone = ((Epsilon.read("0.5"), 100),)
    assert examine_form(asked("share(x among y) >= 0.4", sizes=alone)).checks == ()
    assert examine_form(asked("majority(x)", sizes=alone)).checks, "of one level the fair law has a form too"


@dataclass(frozen=True)
class FarOff:
    """A law that is wrong where few look: far from the border, by one in a million of the smaller probability."""

    def shifted(self, law: Law, people: int, total: int) -> Law:
        if total < 100 or abs(2 * people - total) < total // 2:
            return law
        yes, no = (ball(p) for p in law.probabilities())
        small = min(float(yes), float(no)) / 10**6
        more = Fraction(small) if small else Fraction(0)
        return law_of(lambda: [yes - ball(more), no + ball(more)], 0 if people * 2 > total else 1, 2)


@dataclass(frozen=True)
class FarOffVotes(WeightedVotes):
    def law(self, table: Table) -> Law:
        return FarOff().shifted(super().law(table), table.cells.get(0, 0), table.people)


@dataclass(frozen=True)
class FarOffBalanced(Balanced):
    def law(self, table: Table) -> Law:
        return FarOff().shifted(super().law(table), table.cells.get(0, 0), table.people)


@dataclass(frozen=True)
class HalfWeights(WeightedVotes):
    """Everybody weighs half of what they may: private, and not what the statement says."""

    def law(self, table: Table) -> Law:
        half = tuple((Epsilon.read(str(float(e) / 2)), cells) for e, cells in table.by_level)
        return super().law(replace(table, by_level=half))


@pytest.mark.parametrize("twin", [FarOffVotes, FarOffBalanced, HalfWeights])
def test_wrong_twins_are_refused(twin: type[Any]) -> None:
    own = asked("majority(x)", "every table" if twin is FarOffBalanced else "typical")
    finding = examine_release(twin(own.question, own.setting))
    assert not finding.private
    assert "public sizes" in finding.failure


@dataclass(frozen=True)
class WrongAtOneTable(WeightedVotes):
    """The form everywhere but at one table that nobody tried."""

    def law(self, table: Table) -> Law:
        law = super().law(table)
        return law_of(lambda: law.probabilities()[::-1], 0, 2) if table.cells.get(0) == 700 else law


def test_a_law_that_is_wrong_at_the_very_table_gives_no_answer() -> None:
    own = asked("majority(x)")
    twin = WrongAtOneTable(own.question, own.setting)
    certified = mint(twin, examine_release(twin))

    def table(yes: int) -> Table:
        rest = yes - 25
        own_cells = ({0: 10, 1: 11}, {0: 15, 1: 15}, {0: rest, 1: 950 - rest})
        return Table({0: yes, 1: 1001 - yes}, tuple(zip((e for e, _ in SIZES), own_cells)))

    assert draw(certified, table(699), SystemBits()) in ("yes", "no")
    with pytest.raises(SecondCalculationError):
        draw(certified, table(700), SystemBits())


@pytest.mark.parametrize("kind", [WeightedVotes, Balanced, FairLevels, HedgedVotes])
@pytest.mark.parametrize("question", ["majority(x)", "count(x) < 300", "share(x) <= 0.3"])
def test_a_law_that_is_not_the_form_is_not_confirmed(question: str, kind: type[Any]) -> None:
    aim = "typical" if kind in (WeightedVotes, HedgedVotes) else "every table"
    chosen = asked(question, aim)
    own: Any = kind(chosen.question, chosen.setting)
    if kind is HedgedVotes:
        assert isinstance(chosen, HedgedVotes)
        own = chosen

    class Turned(kind):  # type: ignore[misc, valid-type]
        def law(self, table: Table) -> Law:
            law = super().law(table)
            return law_of(lambda: law.probabilities()[::-1], 0, 2)

    class Nameless(Turned):
        name = "of no theorem"

    assert confirms_form(own, some_table(own))
    turned, nameless = (replace_class(own, twin) for twin in (Turned, Nameless))
    assert not confirms_form(turned, some_table(own))
    assert not examine_form(turned).private
    assert confirms_form(nameless, some_table(own)), "there is no form to compare with"
    assert examine_form(nameless).checks == ()


def replace_class(mechanism: Any, kind: type[Any]) -> Any:
    return kind(**{field.name: getattr(mechanism, field.name) for field in fields(mechanism)})
