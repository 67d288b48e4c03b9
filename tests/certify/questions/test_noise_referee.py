"""The referee of noisy counts: totals, compositions, borders, rows and people who are kept, each with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from made_up import ADD_REMOVE, SUBSTITUTION, level_of, setting
from refusals import refusal

from optimaldp.certify import histogram_draws as referee
from optimaldp.certify.core.drawing import ScriptedBits
from optimaldp.certify.histogram_draws import _border, _kept_by_stream, examine_rows, keeps_by_words
from optimaldp.certify.noise import (
    STREAMS,
    Stream,
    _around,
    _proposed_by,
    _relative_weight,
    _WithWord,
    _Written,
    borders_problem,
    parts_problem,
    put_together,
)
from optimaldp.histograms.noise.recipes import NoiseRecipe, laplace_recipe, lattice_recipe
from optimaldp.histograms.noise.totals import TotalLaw
from optimaldp.histograms.release import thinned
from optimaldp.laws.law import Table
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, precision
from optimaldp.sampling import choose

SHORT = Epsilon.read("ln(6)")


def wrong_total(noise: NoiseRecipe, change: Callable[[Any, Any], Any]) -> Any:
    """The same noise, whose proposed total is changed by its value and by the bits."""

    class Wrong(TotalLaw):
        def propose(self, source: Any, **more: Any) -> Any:
            return change(super().propose(source, **more), source)

    totals = noise.totals
    return replace(noise, totals=Wrong(totals.bins, totals.epsilon, totals.copies, totals.mode, totals.width))


@pytest.mark.parametrize("make", [lattice_recipe, laplace_recipe])
@pytest.mark.parametrize("epsilon", ["ln(6)", "1"])
def test_true_parts_pass(make: Any, epsilon: str) -> None:
    noise = make(3, Epsilon.read(epsilon))
    assert parts_problem(noise) == ""
    assert borders_problem(noise) == ""


def test_a_total_that_is_proposed_too_often_or_not_at_all() -> None:
    """Every total up to two blocks behind the mode; a total below 0 is none."""
    noise = lattice_recipe(3, SHORT)
    plan = noise.totals
    last = plan.mode + 2 * plan.width - 1
    for total in range(last + 1):
        never = wrong_total(noise, lambda number, _, total=total: None if number == total else number)  # type: ignore[misc]
        assert "as often" in parts_problem(never), total
        other = wrong_total(noise, lambda number, _, total=total: total if number == last + 1 else number)  # type: ignore[misc]
        assert "as often" in parts_problem(other), total
    below = wrong_total(noise, lambda number, _: -1 if number == last + 3 else number)
    assert "below 0" in parts_problem(below)
    far = wrong_total(noise, lambda number, _: number + 100 if number is not None and number > last else number)
    assert parts_problem(far) == "", "whatever lies behind is accepted by words"


class Composing(NoiseRecipe):
    change: Callable[[int, Any], Any] = staticmethod(lambda total, made: made)  # type: ignore[assignment]

    def compose(self, total: int, source: Any) -> Any:
        return self.change(total, super().compose(total, source))


def composing(change: Callable[[int, Any], Any]) -> Any:
    noise = lattice_recipe(3, SHORT)
    made = Composing(noise.bins, noise.epsilon, noise.neighbours, noise.totals, noise.shared_total)
    object.__setattr__(made, "change", change)
    return made


def test_compositions_of_nobody_one_and_two() -> None:
    assert parts_problem(composing(lambda total, made: made)) == ""
    adds_up = "does not add up"
    for total in (0, 1, 2):
        for wrong in (
            lambda made: made + np.array([1, 0, 0]),
            lambda made: made + np.array([3, -3, 0]),
            lambda made: made[:-1],
        ):
            twin = composing(lambda n, made, total=total, wrong=wrong: wrong(made) if n == total else made)  # type: ignore[misc]
            assert adds_up in parts_problem(twin), total
    for total in (1, 2):
        first = composing(lambda n, made, total=total: np.array([n, 0, 0]) if n == total else made)  # type: ignore[misc]
        assert "equally likely" in parts_problem(first)
        ordered = composing(lambda n, made, total=total: -np.sort(-made) if n == total else made)  # type: ignore[misc]
        assert "equally likely" in parts_problem(ordered)
        turned = composing(
            lambda n, made, total=total: np.array([0, 0, n]) if n == total and made[0] == n else made  # type: ignore[misc]
        )
        assert "equally likely" in parts_problem(turned)


@pytest.mark.parametrize(
    ("mode", "width", "totals"),
    [(0, 2, [0, 1, 2, 3, 4]), (9, 3, [2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15])],
)
def test_totals_whose_border_is_tried(mode: int, width: int, totals: list[int]) -> None:
    """Next to the mode and at the ends of the two blocks on either side."""
    assert list(_around(mode, width)) == totals


def test_which_bits_propose_a_total() -> None:
    """Read by a sampler: a side, heads for the block, a tail, the offset."""
    plan = SimpleNamespace(mode=9, width=3)
    assert [_proposed_by(plan, number)[0] for number in (9, 11, 12, 15, 8, 6, 5, 0)] == [0, 0, 1, 2, 0, 0, 1, 2]
    for number, bits in ((9, "1000"), (11, "1010"), (13, "11001"), (8, "0000"), (2, "011000")):
        assert _proposed_by(plan, number)[1] == bits
    assert _proposed_by(SimpleNamespace(mode=1, width=1), 2) == (1, "110"), "one total in each block"


@pytest.mark.parametrize(
    "noise",
    [lattice_recipe(3, SHORT), lattice_recipe(40, Epsilon.read("0.5")), laplace_recipe(5, Epsilon.read("0.0007"))],
)
def test_a_border_that_is_off_by_two_words(noise: NoiseRecipe) -> None:
    """Of each total that is tried: accepted a little too often, or a little too rarely."""
    plan = noise.totals
    assert borders_problem(noise) == ""
    for number in _around(plan.mode, plan.width):
        for more in (1, -1):

            class Off(TotalLaw):
                def relative_weight(self, total: int, number: int = number, more: int = more) -> Any:
                    true = super().relative_weight(total)
                    return true * (1 + more * Ball(2) ** -56) if total == number else true

            twin = replace(noise, totals=Off(plan.bins, plan.epsilon, plan.copies, plan.mode, plan.width))
            sure = number == plan.mode and more > 0  # nothing is accepted more often than always
            assert sure or borders_problem(twin), (number, more)


def test_the_weight_of_a_total() -> None:
    with precision(128):
        # C(4, 2)^2 6^-2 over C(3, 1)^2 6^-1: two of three bins, next to one.
        assert abs(float(_relative_weight(3, 2, SHORT, 2, 1)) - 36 / 36 / (9 / 6)) < 1e-12
        assert abs(float(_relative_weight(3, 1, SHORT, 1, 2)) - 3 / 6 / (6 / 36)) < 1e-12
        assert abs(float(_relative_weight(4, 2, SHORT, 0, 0)) - 1) < 1e-12


def test_streams_and_written_bits() -> None:
    assert len(set(STREAMS)) == 4
    one, same = Stream("noise 0"), Stream("noise 0")
    assert [one.take(3), one.take(64), one.take(0)] == [same.take(67) >> 64, Stream("noise 0").take(67) % 2**64, 0]
    empty = Stream("noise 1")
    empty.take(8 * 4096)
    with pytest.raises(ArithmeticError, match="end"):
        empty.take(1)
    whole = Stream("noise 1")
    assert whole.take(8 * 4096).bit_length() > 8 * 4096 - 64
    bits = _Written("101", then="1")
    assert [bits.take(2), bits.take(2), bits.take(3), _Written("", then="0").take(0)] == [0b10, 0b11, 0b111, 0]
    words = _WithWord(ScriptedBits(Fraction(1, 2)), 77)
    assert [words.take(64), words.take(1), words.take(63)] == [77, 1, 0]


def test_what_is_drawn_is_made_of_a_gain_and_a_loss() -> None:
    for make, shared in ((lattice_recipe, True), (laplace_recipe, False)):
        noise = make(3, Epsilon.read(1))
        drawn = [put_together(noise, Stream(name)) for name in STREAMS]
        assert any(any(vector) for vector in drawn)
        assert all((sum(vector) == 0) is shared for vector in drawn) or not shared


# --- rows of a finite optimum -------------------------------------------------------------------------------------------


def histograms(people: int, bins: int) -> list[tuple[int, ...]]:
    return [row for row in product(range(people + 1), repeat=bins) if sum(row) == people]


def finite(
    vertices: Sequence[Any], values: Sequence[Fraction], places: Sequence[Sequence[int]], people: int = 2
) -> Any:
    bins = len(vertices[0])
    question = SimpleNamespace(
        answers=("a", "b", "c")[:bins],
        cells=bins + 1,
        spec=lambda: {"kind": "histogram", "among": False},
        fold=lambda cells: tuple(cells.get(place, 0) for place in range(bins + 1)),
    )

    def draw(table: Table, source: Any) -> dict[int, int]:
        true = vertices.index(tuple(table.dense(len(vertices[0]))))
        return dict(enumerate(vertices[choose([values[place] for place in places[true]], source)]))

    return SimpleNamespace(
        rows=lambda: (vertices, values, places),
        draw=draw,
        question=question,
        setting=setting(people, level=level_of("ln(2)")),
    )


def uniform(vertices: Sequence[Any]) -> tuple[list[Fraction], list[list[int]]]:
    return [Fraction(1, len(vertices))], [[0] * len(vertices) for _ in vertices]


@pytest.mark.parametrize(("people", "bins"), [(2, 3), (3, 2), (1, 3)])
def test_a_row_for_every_histogram(people: int, bins: int) -> None:
    vertices = histograms(people, bins)
    assert examine_rows(finite(vertices, *uniform(vertices), people)).private
    lacking = "row for every histogram"
    assert lacking in refusal(examine_rows(finite(vertices[:-1], *uniform(vertices[:-1]), people)))
    assert lacking in refusal(
        examine_rows(finite([*vertices, vertices[0]], *uniform([*vertices, vertices[0]]), people))
    )
    assert lacking in refusal(examine_rows(finite(vertices[:-1] + vertices[:1], *uniform(vertices), people)))
    for other in ((people + 1, *[0] * (bins - 1)), (people + 1, -1, *[0] * (bins - 2)), (people,), (0,) * bins):
        odd = [*vertices[:-1], other]
        assert "no histogram" in refusal(examine_rows(finite(odd, *uniform(odd), people)))


def test_every_pair_of_neighbours_is_compared() -> None:
    """In clear between two histograms that one replaced record parts: refused, whichever two they are."""
    vertices = histograms(2, 3)
    size = len(vertices)
    # Two rows that are exchanged answers of each other: ratio 3 between them, ratio 1 and 3 to the others.
    values = [Fraction(1, size), Fraction(2, size), Fraction(0)]
    for told in range(size):
        places = [[0] * size for _ in vertices]
        places[told] = [1, 2, *[0] * (size - 2)]
        assert not examine_rows(finite(vertices, values, places)).private, vertices[told]


def test_neighbours_differ_by_one_record_and_not_by_two() -> None:
    """Ratio 2 from one histogram to the next, 4 to the one behind it."""
    vertices = [(0, 2), (1, 1), (2, 0)]
    values = [Fraction(1, 8), Fraction(1, 4), Fraction(3, 8), Fraction(1, 2)]
    chain = [[3, 2, 0], [1, 3, 1], [0, 2, 3]]
    assert examine_rows(finite(vertices, values, chain)).private, "ratio 4 is for two records"
    assert not examine_rows(finite(vertices, values, [chain[0], chain[2], chain[1]])).private


# --- people who are kept by their own levels --------------------------------------------------------------------------


def test_the_border_between_kept_and_not() -> None:
    """A word on either side of (e^own - 1) / (e^epsilon - 1), two words away at most."""
    for own, epsilon, chance in (("ln(2)", "ln(4)", Fraction(1, 3)), ("ln(3/2)", "ln(2)", Fraction(1, 2))):
        below, above = _border(Epsilon.read(own), Epsilon.read(epsilon))
        assert below < chance * 2**64 < above
        assert above - below <= 4
    below, above = _border(Epsilon.read("1e-12"), Epsilon.read("0.5"))
    assert 0 < below < above <= below + 4


def keeps(change: Callable[[dict[int, int], Any, int], dict[int, int]]) -> Any:
    def twin(by_level: Any, epsilon: Any, *, everybody_else: int, source: Any) -> dict[int, int]:
        return change(
            thinned(by_level, epsilon, everybody_else=everybody_else, source=source), by_level, everybody_else
        )

    return twin


READ = Epsilon.read
PAIRS = [(READ("ln(2)"), READ("ln(4)")), (READ("0.1"), READ(1)), (READ(1), READ(1)), (READ(0), READ(1))]


@pytest.mark.parametrize(("own", "epsilon"), PAIRS)
def test_who_is_kept(own: Epsilon, epsilon: Epsilon) -> None:
    assert keeps_by_words(thinned, own, epsilon)
    if own.is_zero or own >= epsilon:
        nobody = keeps(lambda kept, by_level, place: {place: 3})
        everybody = keeps(lambda kept, by_level, place: dict(by_level[0][1]))
        assert keeps_by_words(nobody, own, epsilon) is own.is_zero
        assert keeps_by_words(everybody, own, epsilon) is not own.is_zero
    for wrong in (
        lambda kept, _, place: {cell: n for cell, n in kept.items() if cell != place},
        lambda kept, _, place: {**kept, place: kept.get(place, 0) + 1},
        lambda kept, _, place: {cell + 3: n for cell, n in kept.items()},
        lambda kept, _, place: {5: 1} if not kept.get(place) else kept,
        lambda kept, _, place: {2 - cell: n for cell, n in kept.items()},
    ):
        only = (
            {1: 3} if own.is_zero else {0: 2, 2: 1} if own >= epsilon else None
        )  # nobody or everybody is kept for sure
        right = only is not None and wrong(only, None, 1) == only
        assert keeps_by_words(keeps(wrong), own, epsilon) is right


@pytest.mark.parametrize("off", [1, -1])
def test_a_chance_that_is_a_hair_off(off: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from optimaldp.histograms import release as keeping

    true = keeping.keep_chance
    monkeypatch.setattr(keeping, "keep_chance", lambda own, epsilon: true(own, epsilon) * (1 + off * Ball(2) ** -50))
    keeps_by_words.cache_clear()
    assert not keeps_by_words(thinned, READ("ln(2)"), READ("ln(4)"))
    keeps_by_words.cache_clear()


def test_words_of_the_stream_are_read_in_their_order() -> None:
    """Two people of the first cell, none of the second, three of the last: one word each."""
    own, loosest = READ("ln(2)"), READ("ln(4)")
    for name in STREAMS:
        words = Stream(name)
        border = 2**64 // 3
        expected = [[words.take(64) <= border for _ in range(n)] for n in (2, 0, 3)]
        assert _kept_by_stream([2, 0, 3], own, loosest, Stream(name)) == [sum(one) for one in expected]
    assert _kept_by_stream([2, 0, 3], READ(0), loosest, Stream("noise 0")) == [0, 0, 0]
    assert _kept_by_stream([2, 0, 3], loosest, loosest, Stream("noise 0")) == [2, 0, 3]
    assert _kept_by_stream([2, 0, 3], READ(3), loosest, Stream("noise 0")) == [2, 0, 3]


# --- the draw itself ----------------------------------------------------------------------------------------------------


def counted(**more: Any) -> Any:
    from optimaldp.questions import parse

    asked = parse("histogram(v, ['a', 'b'])")
    return asked.mechanism(setting(300, SUBSTITUTION, level=level_of("0.5"), **more)).small_twin()


def test_a_draw_that_is_not_made_of_the_parts() -> None:
    own = counted()
    assert referee._assembly_problem(own) == ""
    for place in (0, 1, 2):

        class Off(type(own)):  # type: ignore[misc]
            def draw(self, table: Any, source: Any, place: int = place) -> Any:
                drawn = dict(super().draw(table, source))
                name = list(drawn)[place]
                return {**drawn, name: drawn[name] + 1}

        assert "not the counts" in referee._assembly_problem(Off(own.question, own.setting))


LEVELS = ((READ("0.1"), 20), (READ("0.5"), 280))


@pytest.mark.parametrize("cell", [0, 1, 2])
def test_a_draw_that_keeps_one_person_more(cell: int) -> None:
    own = counted(levels=LEVELS)
    assert referee._draws_by_level(own)

    class Off(type(own)):  # type: ignore[misc]
        def draw(self, table: Any, source: Any) -> Any:
            drawn = dict(super().draw(table, source))
            name = list(drawn)[cell]
            return {**drawn, name: drawn[name] + 1}

    assert not referee._draws_by_level(Off(own.question, own.setting))


@pytest.mark.parametrize("epsilon", ["0.5", "0.01", "0.005"])
@pytest.mark.parametrize("wrong", [READ(0), READ("0.01"), None])
def test_people_of_each_level_are_in_the_draw(wrong: Any, epsilon: str) -> None:
    """People at level 0, at a strict one where there is one below the loosest, and at the loosest: each lot may be lost."""
    from optimaldp.questions import parse

    own = (
        parse("histogram(v, ['a', 'b'])")
        .mechanism(setting(300, level=level_of(epsilon), levels=((READ("0.001"), 20), (READ(epsilon), 280))))
        .small_twin()
    )
    assert referee._draws_by_level(own)

    class Lost(type(own)):  # type: ignore[misc]
        def draw(self, table: Any, source: Any) -> Any:
            drop = READ(epsilon) if wrong is None else wrong
            kept = tuple((e, cells if e != drop else {}) for e, cells in table.by_level)
            return super().draw(replace(table, by_level=kept), source)

    there = wrong is None or wrong.is_zero or wrong <= READ(epsilon)
    assert referee._draws_by_level(Lost(own.question, own.setting)) is not there


def test_each_part_of_the_noise_can_refuse_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from optimaldp.questions import parse

    asked = parse("histogram(v, ['a', 'b'])")
    own = asked.mechanism(setting(300, level=level_of("0.5")))
    by_levels = asked.mechanism(setting(300, level=level_of("0.5"), levels=LEVELS))
    monkeypatch.setattr(referee, "_code_problem", lambda sampler: "")
    assert referee.examine_noise(own).private
    assert referee.examine_kept(by_levels).private
    assert len(referee.examine_kept(by_levels).checks) == len(referee.examine_noise(own).checks) + 1
    for name, wrong, words in (
        ("_code_problem", lambda sampler: "its parts", "its parts"),
        ("borders_problem", lambda noise: "its borders", "its borders"),
        ("check_recipe", lambda document: SimpleNamespace(private=False), "does not keep its level"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(referee, name, wrong)
            assert words in refusal(referee.examine_noise(own))
            assert words in refusal(referee.examine_kept(by_levels))
    for name, words in (("keeps_by_words", "as often as their own level"), ("_draws_by_level", "by their own levels")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(referee, name, lambda *_: False)
            assert words in refusal(referee.examine_kept(by_levels))
            assert referee.examine_noise(own).private


def test_the_code_of_the_noise_is_tried_at_three_levels() -> None:
    """Parts at two short levels, the whole at a third with large totals as well."""
    own = counted()
    for epsilon, parts in (("ln(6)", True), ("1", True), ("0.1", False)):

        class Off(type(own)):  # type: ignore[misc]
            def draw(self, table: Any, source: Any, epsilon: str = epsilon) -> Any:
                drawn = dict(super().draw(table, source))
                more = int(self.setting.level.epsilon == READ(epsilon))
                return {name: n + more for name, n in drawn.items()}

            def noise(self, epsilon: str = epsilon, parts: bool = parts) -> Any:
                made = super().noise()
                if not parts or self.setting.level.epsilon != READ(epsilon):
                    return made
                return wrong_total(made, lambda number, _: None if number == 0 else number)

        problem = referee._code_problem(referee._Sampler(("three levels", epsilon), Off(own.question, own.setting)))
        assert problem.startswith("a total" if parts else "what is drawn"), epsilon
    assert referee._code_problem(referee._Sampler(("three levels", "fine"), own)) == ""


def test_the_code_is_tried_once_for_each_kind_of_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The level and the number of people make no other kind; the neighbours, the bins and other code do."""
    kinds: list[Any] = []
    monkeypatch.setattr(referee, "_code_problem", lambda sampler: kinds.append(sampler.kind) or "")
    made, itself = counted(), {"small_twin": lambda self: self}
    own = type("Itself", (type(made),), itself)(made.question, made.setting)
    other = type("Other", (type(made),), itself)
    for mechanism in (
        own,
        replace(own, setting=setting(301, level=level_of("0.7"))),
        replace(own, setting=setting(None, ADD_REMOVE, level=level_of("0.5"))),
        replace(own, question=replace(own.question, options=("a", "b", "c"))),
        replace(own, question=replace(own.question, among="q")),
        other(own.question, own.setting),
    ):
        assert referee.examine_noise(mechanism).private
    assert kinds[0] == kinds[1]
    assert len(set(kinds[1:])) == 5
