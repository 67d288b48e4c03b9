"""The second calculation confirms the law of every small table, and nothing that is off by a hair."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from made_up import ADD_REMOVE, SUBSTITUTION, MadeUp, level_of, setting

from optimaldp.certify.core.examined import Finding, mint
from optimaldp.certify.core.referee import SecondCalculation, draw, examine_release
from optimaldp.certify.folding import check_fold, check_group_fold
from optimaldp.certify.leaders import _all_heads_differ, _Drawing, _draws_exactly, _follows, _kind, _small, _within
from optimaldp.certify.personal_tables import _held, _least, _sum_of
from optimaldp.certify.quartiles import examine_several_ranks
from optimaldp.certify.votes import count_of, share_of
from optimaldp.errors import NotCertifiedError, SecondCalculationError
from optimaldp.laws.law import Law, Table
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions import parse
from optimaldp.sampling import SystemBits

HALF = Fraction(1, 2)
SUMS = [
    "count(p) >= 2",
    "count(p) < 2",
    "count(p) >= 9",  # never, where nobody comes
    "count(p) >= 0",  # always
    "share(p) > 0.4",
    "share(p) <= 1/3",
    "share(p among q) >= 0.5",
    "compare(v, 'a', 'b')",
    "mean(x, range=[1, 3]) >= 2",
    "mean(x, range=[1, 3]) < 2.5",
]


def made(
    text: str, relation: Neighbours = SUBSTITUTION, epsilon: str = "ln(2)", delta: str = "0", people: int = 3
) -> Any:
    return parse(text).mechanism(
        setting(people if relation is SUBSTITUTION else None, relation, level=level_of(epsilon, delta))
    )


def tables(cells: int, people: int, *, fewer: bool) -> list[dict[int, int]]:
    rows = [
        row for row in product(range(people + 1), repeat=cells) if sum(row) == people or (fewer and sum(row) < people)
    ]
    return [{cell: n for cell, n in enumerate(row) if n} for row in rows]


@pytest.mark.parametrize("delta", ["0", "1/100"])
@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
@pytest.mark.parametrize("text", SUMS)
def test_every_small_table_is_confirmed_and_nothing_next_to_it(text: str, relation: Neighbours, delta: str) -> None:
    own = made(text, relation, delta=delta)
    second = SecondCalculation.of(own)
    assert second is not None
    with precision(second.bits):
        for cells in tables(own.question.cells, 3, fewer=relation is ADD_REMOVE):
            yes, no = own.law(Table(cells)).probabilities()
            assert second.agrees(cells, [yes, no]), cells
            if 0 in (yes, no):
                hair = Fraction(1, 2**100)
                assert not second.agrees(cells, [abs(yes - hair), abs(no - hair)]), cells
                continue
            small = min(float(ball(yes)), float(ball(no)))
            hair = Fraction(small) / 2**60
            for more in (hair, -hair):
                assert not second.agrees(cells, [ball(yes) + ball(more), ball(no) - ball(more)]), cells
            assert not second.agrees(cells, [no, yes]) or yes == no, cells


def test_which_laws_have_a_second_calculation() -> None:
    assert SecondCalculation.of(made("winner(v, ['a', 'b', 'c'])")) is None
    assert SecondCalculation.of(made("share(a) >= 0.4 and share(b) >= 0.6")) is None
    count = {"kind": "count", "comparison": ">=", "bound": 2, "among": False}
    for name, cells, there in (
        ("balanced chain", 1000, True),
        ("balanced chain", 1001, False),
        ("signed distance", 2, True),
        ("made up", 2, False),
    ):
        found = SecondCalculation.of(MadeUp(("yes", "no"), cells, count, setting(3), name=name))
        assert (found is not None) is there
        assert found is None or found.chain is (name == "balanced chain")
    passed = Finding(True, ())
    other = mint(MadeUp(("yes", "no"), 2, count, setting(3)), passed)
    assert draw(other, Table({0: 3}), SystemBits()) in ("yes", "no"), "there is nothing to compare"
    coin = MadeUp(("yes", "no"), 2, count, setting(3), name="balanced chain")
    with pytest.raises(SecondCalculationError):
        draw(mint(coin, passed), Table({0: 3}), SystemBits())


def test_only_what_is_certified_and_confirmed_is_drawn() -> None:
    own = made("count(p) >= 2")
    certified = mint(own, examine_release(own))
    assert draw(certified, Table({0: 1, 1: 2}), SystemBits()) in ("yes", "no")
    with pytest.raises(NotCertifiedError):
        draw(own, Table({0: 1, 1: 2}), SystemBits())

    class Wrong(type(own)):  # type: ignore[misc]
        def law(self, table: Table) -> Law:
            return Law((0, 1), lambda: [HALF])

    with pytest.raises(SecondCalculationError):
        draw(mint(Wrong(own.question, own.setting), certified.finding), Table({0: 1, 1: 2}), SystemBits())


def test_sums_are_counted_in_halves_of_the_finest_difference() -> None:
    for text, values, bound in (
        ("count(p) >= 2", (2, 0), 4),
        ("count(p) >= 3/2", (4, 0), 6),  # halves, counted in quarters
        ("share(p) > 0.4", (6, -4), 0),  # 3/5 and -2/5
        ("all(p)", (0, -2), 0),
        ("compare(v, 'a', 'b')", (2, -2, 0), 0),
        ("mean(x, range=[1, 3]) >= 2", (-2, 0, 2, 0), 0),
        ("mean(x, range=[1, 3], step=2) >= 3", (-2, 0, 0), 0),  # all differences are 2
        ("mean(x, range=[0, 3], step=1.5) > 0", (0, 2, 4, 0), 0),  # all are 3/2
    ):
        own = made(text)
        second = SecondCalculation.of(
            MadeUp(("yes", "no"), own.question.cells, own.question.spec(), own.setting, name="balanced chain")
        )
        assert second is not None
        assert (second.values, second.bound) == (values, bound), text
    two = Fraction(2)  # the only value, and the bound
    nothing = {"kind": "mean", "comparison": ">=", "bound": two, "low": two, "high": two, "step": HALF, "among": False}
    found = SecondCalculation.of(MadeUp(("yes", "no"), 2, nothing, setting(3), name="balanced chain"))
    assert found is not None
    assert found.values == (0, 0), "of sums that are all 0 any unit will do"


def finds(
    values: tuple[int, ...], bound: int, comparison: str, relation: Neighbours, people: dict[int, int]
) -> tuple[int, Fraction | None]:
    """The true answer and the margin that are found: the signed law tells every margin from every other."""
    second = SecondCalculation(values, bound, comparison, False, setting(9, relation), 256)
    found = []
    with precision(256):
        for wanted in (None, *(Fraction(sixths, 6) for sixths in range(1, 60))):
            error = Ball(0) if wanted is None else (-level_of().epsilon.ball() * ball(wanted)).exp() / 2
            for truth in (0, 1):
                law = [1 - error, error] if truth == 0 else [error, 1 - error]
                found += [(truth, wanted)] if second.agrees(people, law) else []
    (only,) = found
    return only


@pytest.mark.parametrize(("comparison", "more"), [(">=", 1), (">", -1), ("<", 1), ("<=", -1)])
def test_how_many_people_are_needed(comparison: str, more: int) -> None:
    """Whoever gains most first, the last one in part; without end where people come from outside."""
    truth = 0 if ">" in comparison else 1
    for values, people, gap, wanted, relation in (
        ((2, 5, 0), {0: 3, 1: 1}, 5, Fraction(1), SUBSTITUTION),
        ((2, 5, 0), {0: 3, 1: 1}, 6, Fraction(3, 2), SUBSTITUTION),
        ((2, 5, 0), {0: 3, 1: 1}, 11, Fraction(4), SUBSTITUTION),
        ((2, 5, 0), {0: 3, 1: 1}, 12, None, SUBSTITUTION),
        ((2, 0), {0: 3, 1: 9}, 7, None, SUBSTITUTION),
        ((5, -3), {0: 1}, 11, Fraction(3), ADD_REMOVE),
        ((2, -3), {0: 9}, 7, Fraction(7, 3), ADD_REMOVE),
        ((2, 5), {0: 3, 1: 1}, 6, Fraction(3, 2), ADD_REMOVE),
        ((2, 5), {0: 3, 1: 1}, 12, None, ADD_REMOVE),
        ((1, 0), {0: 3}, 2, Fraction(2), SUBSTITUTION),
        ((0, 0), {0: 4}, 1, None, SUBSTITUTION),
        ((0, 0), {}, 1, None, ADD_REMOVE),
    ):
        total = sum(values[cell] * n for cell, n in people.items())
        assert finds(values, total - gap + more, comparison, relation, people) == (truth, wanted), (values, gap)
        # The same below the bound: every sign turned round.
        turned = tuple(-value for value in values)
        assert finds(turned, gap + more - total, comparison, relation, people) == (1 - truth, wanted), (values, gap)


def has_error(margin: Fraction, level: Any, error: Fraction, *, chain: bool) -> bool:
    """Whether the law with so many people between the table and another answer errs just so often, and no hair otherwise."""
    second = SecondCalculation((2, 0), int(2 * 9 + 1 - 2 * margin), ">=", chain, setting(9, level=level), 256)
    hair = (error or Fraction(1, 2**20)) / 2**60
    others = [error + hair, abs(error - hair)]
    return second.agrees({0: 9}, [1 - error, error]) and not any(second.agrees({0: 9}, [1 - e, e]) for e in others)


def test_errors_by_their_formulas() -> None:
    """At e^epsilon = 2 and delta = 1/10: 0.9/3 at the boundary, then (c - 0.1)/2."""
    level, none = level_of("ln(2)", "1/10"), Fraction(0)
    wanted = Fraction(3, 10)
    for flips in range(1, 6):
        assert has_error(Fraction(flips), level, max(wanted, none), chain=True), flips
        wanted = (wanted - Fraction(1, 10)) / 2
    for flips, exact in ((1, Fraction(1, 3)), (3, Fraction(1, 12))):
        assert has_error(Fraction(flips), level_of("ln(2)"), exact, chain=True)
        assert has_error(flips - HALF, level_of("ln(2)"), exact, chain=True), "people are whole"
    for flips, exact in ((1, Fraction(9, 20)), (3, Fraction(5, 20)), (9, none)):
        assert has_error(Fraction(flips), level_of("0", "1/10"), exact, chain=True)
    # The signed law: e^(-epsilon W)/2, cut by beta = delta / (e^epsilon - 1 + 2 delta) at both ends.
    assert has_error(Fraction(2), level_of("ln(2)"), Fraction(1, 8), chain=False)
    assert has_error(Fraction(3, 2), level_of("ln(4)"), Fraction(1, 16), chain=False), "the last person in part"
    beta = Fraction(1, 10) / (1 + Fraction(2, 10))
    assert has_error(Fraction(1), level, (Fraction(1, 4) - beta) / (1 - 2 * beta), chain=False)
    assert has_error(Fraction(9), level, none, chain=False)
    assert has_error(Fraction(3), level_of("0", "1/10"), Fraction(2, 10), chain=False)
    assert has_error(Fraction(9), level_of("0", "1/10"), none, chain=False)
    # At e^epsilon = 3: 0.9/4, then (c - 0.1)/3.
    level, beta = level_of("ln(3)", "1/10"), Fraction(1, 10) / (2 + Fraction(2, 10))
    for flips, exact in ((1, Fraction(9, 40)), (2, Fraction(1, 24))):
        assert has_error(Fraction(flips), level, exact, chain=True), flips
    assert has_error(Fraction(1), level, (Fraction(1, 6) - beta) / (1 - 2 * beta), chain=False)


@pytest.mark.parametrize("delta", ["0", "1/10"])
def test_an_enclosure_that_is_too_wide_confirms_nothing(delta: str) -> None:
    """It holds the right number and many others."""
    own = made("count(p) >= 2", delta=delta)
    second = SecondCalculation.of(own)
    assert second is not None
    with precision(second.bits):
        yes, no = map(ball, own.law(Table({0: 3})).probabilities())
        for bits, sharp in ((160, True), (90, False)):
            wide = Ball(no, Ball(2) ** -bits)
            assert wide.overlaps(no)
            assert second.agrees({0: 3}, [yes, wide]) is sharp, bits


# --- the sum behind a question of people's own levels --------------------------------------------------------------------


def test_from_how_many_yes_on() -> None:
    for question, people, least in (
        (count_of(">=", Fraction(3)), 9, 3),
        (count_of(">", Fraction(3)), 9, 4),
        (count_of("<", Fraction(3)), 9, 3),
        (count_of("<=", Fraction(3)), 9, 4),
        (count_of(">=", Fraction(5, 2)), 9, 3),
        (count_of(">", Fraction(5, 2)), 9, 3),
        (share_of(">=", HALF), 9, 5),
        (share_of(">", HALF), 8, 5),
        (share_of(">=", HALF), 8, 4),
        (share_of(">=", Fraction(1)), 8, 8),
    ):
        assert _least(question, people) == least, (question, people)


def test_which_cells_a_sum_is_about() -> None:
    for text, cells, centred in (
        ("count(p) >= 2", (0, 1), True),
        ("share(p among q) >= 0.4", (0, 2, 1), False),
        ("count(p among q) >= 2", (0, 2, 1), True),
        ("all(p among q)", (0, 2, 1), True),
        ("compare(v, 'a', 'b')", (0, 1, 2), False),
        ("compare(v, 'a', 'b' among q)", (0, 2, 4), False),
        ("mean(x, range=[1, 3]) >= 2", (0, 1, 2, 3), False),
        ("mean(x, range=[1, 9]) >= 2", (0, 1, 8, 9), False),
        ("mean(x, range=[1, 9] among q) >= 2", (0, 2, 16, 18), False),
    ):
        found = _sum_of(parse(text).spec())
        assert found is not None
        assert (found.cells, found.centred) == (cells, centred), text
    whole = _sum_of(parse("mean(x, range=[1, 9]) >= 2").spec(), all_values=True)
    assert whole is not None
    assert whole.cells == tuple(range(10))
    assert whole.question.adds == (*(Fraction(value - 2) for value in range(1, 10)), 0)
    assert _sum_of(parse("winner(v, ['a', 'b', 'c'])").spec()) is None
    levels = ((Epsilon.read(0), 0), (Epsilon.read(1), 3), (Epsilon.read(2), 0), (Epsilon.read(3), 4))
    held = _held(MadeUp(("yes", "no"), 2, {}, setting(7, levels=levels)))
    assert held == ([Epsilon.read(1), Epsilon.read(3)], [3, 4])


# --- lists of leaders, drawn --------------------------------------------------------------------------------------------------

TOP = "top(v, 2, ['a', 'b', 'c', 'd'])"


@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
@pytest.mark.parametrize("case", [(2, 1, 0), (2, 2, 1), (3, 1, 2), (3, 1, 3)])
def test_a_list_that_is_drawn_wrongly_in_one_case_alone(relation: Neighbours, case: tuple[int, int, int]) -> None:
    """Two and three options, one leader and two, a tie and a lead: each case is needed."""
    own = parse(TOP).mechanism(setting(9 if relation is SUBSTITUTION else None, relation))
    options, size, which = case
    behind = 2 if relation is SUBSTITUTION else 1
    counts = [{0: behind}, {1: 1}, {1: 1, 2: 1}, {}][which]
    _follows.cache_clear()

    class Off(type(own)):  # type: ignore[misc]
        def draw(self, table: Table, source: Any) -> Any:
            drawn = super().draw(table, source)
            here = len(self.answers) == options and self.question.size == size and dict(table.cells) == counts
            return list(self.answers[: self.question.size]) if here else drawn

    twin = Off(own.question, own.setting, own.chosen)
    _follows.cache_clear()
    assert not _follows(_Drawing(_kind(twin), twin))
    _follows.cache_clear()
    assert _follows(_Drawing(_kind(own), own))
    _follows.cache_clear()


def test_few_options_at_a_level_whose_coins_are_powers_of_a_half() -> None:
    own = parse(TOP).mechanism(setting(9))
    few = _small(own, 2, 1)
    assert few.question.options == ("a", "b")
    assert (few.chosen.options, few.chosen.size, few.chosen.mode) == (2, 1, own.chosen.mode)
    assert few.chosen.epsilon == few.setting.level.epsilon
    assert few.chosen.epsilon.exact_ratio == 2 ** int(1 / few.chosen.rate)
    assert _draws_exactly(few, (2, 0), 3)


def test_between_what_is_drawn_and_what_may_be() -> None:
    with precision(128):
        for chance, drawn, open_, inside in (
            (Fraction(1, 2), Fraction(1, 2), Fraction(0), True),
            (Fraction(1, 2), Fraction(3, 8), Fraction(1, 8), True),
            (Fraction(1, 2), Fraction(3, 8), Fraction(1, 16), False),
            (Fraction(1, 2), Fraction(5, 8), Fraction(1, 8), False),
        ):
            assert _within(ball(chance), drawn, open_) is inside
        for bits, inside in ((101, True), (90, False)):
            for sign in (1, -1):
                assert _within(ball(HALF) + sign * Ball(2) ** -bits, HALF, Fraction(0)) is inside


@pytest.mark.parametrize(
    "wrong",
    [
        lambda drawn, number: drawn[:1],
        lambda drawn, number: [drawn[0], drawn[0]],
        lambda drawn, number: ["a", "b"],
        lambda drawn, number: ["x", *drawn[1:]],
        lambda drawn, number: [*drawn, "d"] if len(set(drawn) | {"d"}) == 3 else [*drawn, "c"],
    ],
)
def test_all_heads_give_different_lists_of_their_size(wrong: Any) -> None:
    own = parse(TOP).mechanism(setting(9))
    assert _all_heads_differ(own)

    class Off(type(own)):  # type: ignore[misc]
        def draw(self, table: Table, source: Any) -> Any:
            return wrong(super().draw(table, source), 0)

    assert not _all_heads_differ(Off(own.question, own.setting, own.chosen))
    one = SimpleNamespace(
        question=SimpleNamespace(answers=("a",)), chosen=SimpleNamespace(size=1), draw=lambda table, source: ["a"]
    )
    assert _all_heads_differ(one), "there is one list"


# --- several quantiles ----------------------------------------------------------------------------------------------------

SEPARATE = "quantiles(age, [0.25, 0.75], bins=[0, 18, 40, 65, 120])"


@pytest.mark.parametrize("text", [SEPARATE, SEPARATE.replace("])", "] among q)")])
def test_several_ranks_printed_wrongly_at_one_table_or_one_number(text: str) -> None:
    own = parse(text).mechanism(setting(9, level=level_of("0.5")))
    assert examine_several_ranks(own).private
    bins, step = own.question.spec()["bins"], 2 if "among" in text else 1
    crowd = {0: 2, bins // 2 * step: 3, (bins - 1) * step: 2}
    for cells in ({}, crowd):
        for word in (Fraction(1, 7), Fraction(9, 10), Fraction(1, 100)):

            class Off(type(own)):  # type: ignore[misc]
                def draw(self, table: Table, source: Any, cells: Any = cells, word: Fraction = word) -> Any:
                    first = source._words[0]
                    drawn = dict(super().draw(table, source))
                    if dict(table.cells) == cells and first == int(word * 2**64) | 1:
                        return dict.fromkeys(drawn, "elsewhere")
                    return drawn

            assert not examine_several_ranks(Off(own.question, own.setting, own.chosen)).private
    other = replace(own.question, ranks=(Fraction(1, 4), HALF)) if hasattr(own.question, "ranks") else None
    if other is not None:
        assert "sampler" in examine_several_ranks(type(own)(other, own.setting, own.chosen)).failure


def test_ranks_are_drawn_by_numbers_that_are_no_end_of_a_bin() -> None:
    """At a rational level a bin may end at 1/2 exactly: a sampler that is given this number never comes to an end."""
    level = level_of("ln(2)", "1/100")
    own = parse(SEPARATE.replace("0.25,", "0.25, 0.5,")).mechanism(setting(30, level=level))
    words: list[int] = []

    class Seen(type(own)):  # type: ignore[misc]
        def draw(self, table: Table, source: Any) -> Any:
            words.extend(source._words)
            assert all(word % 2 for word in words)
            return super().draw(table, source)

    assert examine_several_ranks(Seen(own.question, own.setting, own.chosen)).private
    assert len(set(words)) == 9


# --- folding --------------------------------------------------------------------------------------------------------------


class Folded:
    """Cells to places; of very many cells a twin with few is asked."""

    def __init__(self, cells: int, fold: Any, spec: dict[str, Any], twin: Any = None) -> None:
        self.question, self._twin = SimpleNamespace(cells=cells, fold=fold, spec=lambda: spec), twin

    def small_twin(self) -> Any:
        return self._twin


@pytest.mark.parametrize("values", [2, 4])
def test_two_groups_are_folded_value_by_value(values: int) -> None:
    """One cell for each value and membership, and behind the values one for people without: none of them may move."""
    question = parse(f"mean(x, range=[1, {values}] among a) > mean(x, range=[1, {values}] among b)")
    cells = 4 * (values + 1)
    assert check_group_fold(Folded(cells, question.fold, {})) == ""
    for cell in range(cells):
        for more in (1, -1):

            def fold(counts: Any, cell: int = cell, more: int = more) -> Any:
                return question.fold({place: n + more * (place == cell) for place, n in counts.items()})

            # Who is in both groups, or in none, counts for nothing.
            assert bool(check_group_fold(Folded(cells, fold, {}))) is (cell % 4 in (1, 2)), cell
    exchanged = Folded(cells, lambda counts: question.fold(counts)[::-1], {})
    assert check_group_fold(exchanged)


def test_of_very_many_cells_a_twin_with_few_is_folded() -> None:
    def fold(cells: Any, size: int = 4) -> tuple[int, ...]:
        return tuple(cells.get(cell, 0) for cell in range(size))

    few = Folded(4, fold, {"among": False})
    wrong = Folded(4, lambda cells: (0, *fold(cells)[1:]), {"among": False})
    assert check_fold(few) == ""
    for cells, asked in ((5000, False), (5001, True)):
        many = Folded(cells, lambda shown, cells=cells: fold(shown, cells), {"among": False}, wrong)
        assert bool(check_fold(many)) is asked, cells


@pytest.mark.parametrize("lost", [0, 1, 2, 3, 4, 5])
def test_everybody_in_every_cell_is_counted(lost: int) -> None:
    """Three conditions on the question's own reading, asked or not: cells 0, 2, 4; 1, 3 and 5 stand in the last place."""

    def fold(cells: Any) -> tuple[int, ...]:
        own = [0, 0, 0]
        for cell, people in cells.items():
            if cell != lost or LOST[0] == 0:
                own[2 if cell % 2 else cell // 2] += people
        return tuple(own)

    LOST = [0]
    mechanism = Folded(6, fold, {"among": True})
    assert check_fold(mechanism) == ""
    LOST[0] = 1
    assert check_fold(mechanism)
