"""Bits that are written down: what they give, and that a sampler which errs at one number of [0, 1) is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow
import pytest
from made_up import ADD_REMOVE, SUBSTITUTION, MadeUp, level_of, setting

import optimaldp as odp
from optimaldp.certify.core.drawing import CoarseBits, CoinBits, ScriptedBits, Words, draws_follow, flips_its_coins
from optimaldp.certify.core.referee import _sampler
from optimaldp.laws.law import Law, Table
from optimaldp.privacy.balls import Ball

WORD, HALF = 2**64, Fraction(1, 2)


def test_the_bits_of_a_number() -> None:
    bits = ScriptedBits(Fraction(0b1011, 16) + Fraction(1, 64))
    assert [bits.take(1), bits.take(2), bits.take(3), bits.take(5)] == [1, 0b01, 0b101, 0]


def test_words_one_after_the_other() -> None:
    assert [Words([3, 5]).take(64), Words([3, 5]).take(128), Words([3]).take(128)] == [3, (3 << 64) + 5, 3 << 64]
    words = Words([3, 5])
    assert [words.take(1), words.take(64), words.take(63), words.take(64), words.take(64)] == [0, 3, 0, 5, 0]


def test_coarse_bits_are_the_middle_of_what_they_leave_open() -> None:
    bits = CoarseBits(ScriptedBits(Fraction(0b101011, 64)), 2)
    assert [bits.take(64), bits.take(1), bits.take(64)] == [0b101 << 61, 1, 0b011 << 61]


def test_coins_that_are_written_down() -> None:
    bits = CoinBits({1: 77}, 3, heads=False)
    assert [bits.take(64), bits.take(64), bits.take(64)] == [WORD - 1, 77, WORD - 1]
    assert [bits.take(3), bits.take(1), bits.take(2)] == [3, 1, 3]
    assert [CoinBits({}, 0, heads=True).take(64), CoinBits({}, 9, heads=True).take(3)] == [0, 7]


ROW = [Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)]
ABC = ("a", "b", "c")


class Drawn(MadeUp):
    """Draws from its law, but for numbers between *low* and *high* at one table, where it gives the next answer."""

    where: tuple[Fraction, Fraction, Any] = (Fraction(0), Fraction(0), None)

    def draw(self, table: Table, source: Any) -> Any:
        number = Fraction(source.take(256), 2**256)
        low, high, cells = self.where
        ends = [ROW[1], ROW[1] + ROW[2]] if self.law(table).order == (1, 2, 0) else []
        place = sum(number >= end for end in ends)
        off = low <= number < high and cells in (None, dict(table.cells))
        return self.answers[self.law(table).order[(place + off) % 3]]


def drawing(low: Fraction = Fraction(0), high: Fraction = Fraction(0), cells: Any = None) -> Drawn:
    made = Drawn(ABC, 4, {"kind": "x"}, setting(3), lambda cells: ROW)
    object.__setattr__(made, "where", (low, high, cells))
    return made


def test_a_sampler_that_errs_at_the_ends_or_in_the_middle_of_a_stretch() -> None:
    """The stretches are [0, .3), [.3, .8), [.8, 1): a thousandth inside of each end, and the middle."""
    table, hair = Table({}), Fraction(1, 10**6)
    assert draws_follow(drawing(), table)
    assert draws_follow(drawing(), table, near_ends=False)
    for low, high in ((Fraction(0), ROW[1]), (ROW[1], ROW[1] + ROW[2]), (ROW[1] + ROW[2], Fraction(1))):
        step = (high - low) / 1000
        for number, end in ((low + step, True), ((low + high) / 2, False), (high - step, True)):
            off = drawing(number - hair, number + hair)
            assert not draws_follow(off, table)
            assert draws_follow(off, table, near_ends=False) is end


def test_three_small_tables_are_drawn_from() -> None:
    """Nobody; two people in the first cell and one in the last; three in the last."""
    assert not _sampler(drawing())[0]
    for cells in ({}, {0: 2, 3: 1}, {3: 3}):
        for name in ("made up", "flip"):  # of which the ends are tried, and only the middle
            off = drawing(Fraction(0), Fraction(1), cells)
            object.__setattr__(off, "name", name)
            assert "sampler" in _sampler(off)[0]


def test_the_ends_of_bins_are_left_to_the_referee_of_quantiles() -> None:
    """It tries words next to them; of every other law the ends are tried here."""
    hair, number = Fraction(1, 10**6), ROW[1] / 1000
    for name, refused in (("made up", True), ("lattice noise", True), ("smoothed rank", False), ("flip", False)):
        off = drawing(number - hair, number + hair)
        object.__setattr__(off, "name", name)
        assert bool(_sampler(off)[0]) is refused, name


def test_stretches_that_are_too_narrow_to_be_hit_are_left_out() -> None:
    """Of an answer that is less likely than 2^-40 neither ends nor middle are tried; of one that is likelier they are."""

    class Narrow(MadeUp):
        def law(self, table: Table) -> Law:
            width = Fraction(1, 2**self.cells)
            return Law((0, 1), lambda: [width])

        def draw(self, table: Table, source: Any) -> Any:
            return "b"  # never the narrow one

    for bits, follows in ((41, True), (39, False)):
        assert draws_follow(Narrow(("a", "b"), bits, {}, setting(3)), Table({})) is follows


def test_a_law_in_balls_is_followed_up_to_its_enclosure() -> None:
    class Enclosed(MadeUp):
        def law(self, table: Table) -> Law:
            return Law((1, 0), lambda: [Ball(1) / 3])

    assert draws_follow(Enclosed(("a", "b"), 2, {}, setting(3)), Table({}))


# --- very many options, a coin for each ------------------------------------------------------------------------------


class Flipping(MadeUp):
    """One word for each option against its chance, then one of the heads; the leader's coin always shows heads."""

    chance: Callable[[int], Fraction] = staticmethod(lambda option: Fraction(1, 2))  # type: ignore[assignment]
    first_word = 0

    def draw(self, table: Table, source: Any) -> Any:
        size = len(self.answers)
        step = self.cells // (size + 1)
        votes = [table.cells.get(step * option, 0) for option in range(size)]
        top = max(votes)
        heads = []
        for option in range(size):
            word = source.take(64)
            assert 0 <= word < WORD
            chance = Fraction(1) if votes[option] == top else self.chance(option)
            if word < chance * 2**64:
                heads.append(option)
        assert source.take(64) == 0, "what is behind the coins is about delta"
        return self.answers[heads[min(source.take(8), len(heads) - 1)]]


def flipping(size: int, chance: Callable[[int], Fraction], relation: Any = SUBSTITUTION, step: int = 1) -> Flipping:
    names = tuple(map(str, range(size)))
    epsilon = "ln(4)" if relation is SUBSTITUTION else "ln(2)"
    made = Flipping(names, step * (size + 1), {}, setting(9, relation, level=level_of(epsilon)))
    object.__setattr__(made, "chance", chance)
    return made


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
def test_coins_of_the_first_a_middle_and_the_last_option(relation: Any, step: int) -> None:
    half, hair = Fraction(1, 2), Fraction(1, 2**60)
    assert flips_its_coins(flipping(70, lambda option: half, relation, step))
    for off in (0, 35, 69):
        for more in (hair, -hair):
            twin = flipping(70, lambda option, off=off, more=more: half + more * (option == off), relation, step)  # type: ignore[misc]
            assert not flips_its_coins(twin), (off, more)


def test_coins_that_always_show_heads() -> None:
    """At epsilon = 0 no word shows tails, and each number draws its own option."""
    fair = replace(flipping(70, lambda option: HALF), setting=setting(9, level=level_of("0")))
    object.__setattr__(fair, "chance", lambda option: Fraction(1))
    assert flips_its_coins(fair)
    for never in (0, 35, 69):
        object.__setattr__(fair, "chance", lambda option, never=never: Fraction(int(option != never)))
        assert not flips_its_coins(fair), never
    options = [f"o{number}" for number in range(70)]
    for delta in (0, 0.01):
        assert (
            odp.release(pyarrow.table({"c": ["o1", "o2"]}), odp.winner("c", options), epsilon=0, delta=delta).answer
            in options
        )


def test_coins_that_are_nearly_sure_and_a_few_options() -> None:
    for size, epsilon, chance in (
        (5, "ln(4)", Fraction(1, 2)),
        (70, "100", Fraction(0)),  # e^-50 of 2^64 words: none is below it
        (70, f"ln({Fraction(2**130, 9)})", Fraction(3, 2**65)),  # one and a half words
    ):
        for step in (1, 2):
            made = replace(flipping(size, lambda option: HALF, step=step), setting=setting(9, level=level_of(epsilon)))
            object.__setattr__(made, "chance", lambda option, chance=chance: chance)
            assert flips_its_coins(made), epsilon
            if chance == Fraction(3, 2**65):
                object.__setattr__(made, "chance", lambda option: Fraction(0))
                assert not flips_its_coins(made), "the first word shows heads"


def test_whoever_shows_heads_is_drawn() -> None:
    """Also where the leader, option 23 of 70, is not the first of them."""
    fine = flipping(70, lambda option: Fraction(1, 2))
    for wrong in (
        lambda name: "23",
        lambda name: name if name != "0" else "1",
        lambda name: name if name != "69" else "68",
    ):

        class Misnamed(Flipping):
            def draw(self, table: Table, source: Any, wrong: Any = wrong) -> Any:
                return wrong(super().draw(table, source))

        twin = Misnamed(fine.answers, fine.cells, fine.asked, fine.setting)
        assert not flips_its_coins(twin)


def test_a_leader_who_is_never_the_only_one() -> None:
    """Somebody else where only the leader shows heads."""

    class Elsewhere(Flipping):
        def draw(self, table: Table, source: Any) -> Any:
            assert sum(table.cells.values()) == 1, "ahead by one vote: then delta takes nobody's chance away wholly"
            name = super().draw(table, source)
            return "24" if name == "23" else name

    fine = flipping(70, lambda option: Fraction(1, 2))
    assert not flips_its_coins(Elsewhere(fine.answers, fine.cells, fine.asked, fine.setting))
    assert flips_its_coins(replace(fine, proof="another"))
