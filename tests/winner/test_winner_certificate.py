"""The numbers that the finite certificate reads, each rounded in its direction, and the command that finds its brackets."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from optimaldp.certify import winner as brackets
from optimaldp.certify import winner as certificate
from optimaldp.certify import winner as winner_shapes
from optimaldp.certify.winner import LARGEST_SHARE, ONE, _between, _hypotheses, _Numbers, certify, lattice_proof, plain
from optimaldp.errors import CertificateError
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import ball, precision

LOW, HIGH = Fraction(3, 7), Fraction(4, 7)


@pytest.mark.parametrize("far", [0, 1, 3])
def test_numbers_are_enclosed_and_no_wider_than_rounding(far: int) -> None:
    numbers = _Numbers(5, LOW, HIGH, 6, plain())
    lows, highs, shares_low, shares_high, masses, width = numbers.with_far(far)
    assert numbers.row == 6 + 15 + 8
    assert len(lows) == len(highs) == 2 * numbers.row + 1
    for power, (low, high) in enumerate(zip(lows, highs)):
        assert low <= LOW**power * ONE < low + power + 2
        assert high - power - 2 <= HIGH**power * ONE <= high
    assert max(highs) == ONE
    for tops in range(1, LARGEST_SHARE):
        for ones in range(LARGEST_SHARE):
            place = LARGEST_SHARE * tops + ones
            assert shares_low[place] <= ONE / (tops + ones * HIGH) < shares_low[place] + 3
            assert shares_high[place] - 3 < ONE / (tops + ones * LOW) <= shares_high[place]
    rooms = max(3, 6) + 1 if far else 1
    assert len(masses) == rooms * numbers.row
    for room in range(rooms):
        for span in range(numbers.row):
            mass = masses[room * numbers.row + span]
            true = far * HIGH ** math.ceil(Fraction(span + room, 2)) / (1 + LOW)
            assert min(ONE, true * ONE) <= mass <= min(ONE, true * ONE + far * 60 + 1)
    assert width == 62 // 4
    assert numbers.without_far()[4] == numbers.with_far(0)[4]


def test_ends_of_a_bracket_are_rounded_outwards() -> None:
    numbers = _Numbers(3, Fraction(1, 3), Fraction(1, 3), 4, plain())
    lows, highs = numbers.with_far(0)[:2]
    assert lows[1] == ONE // 3 - (times_loss := ONE // 3 - lows[1])
    assert times_loss <= 1
    assert highs[1] >= ONE // 3 + 1
    assert highs[1] <= ONE // 3 + 3


def test_a_reach_that_a_key_cannot_hold() -> None:
    """Of nine options a gap has 62 // 8 = 7 bits: 128 is too many, 127 is not."""
    assert _Numbers(9, LOW, HIGH, 127 - 27 - 8, plain()).row == 127
    with pytest.raises(CertificateError, match="too far"):
        _Numbers(9, LOW, HIGH, 128 - 27 - 8, plain())


def test_what_a_certificate_is_asked() -> None:
    """The close shapes without far options first, then every number of near options with the others far."""
    asked: list[tuple[Any, ...]] = []

    def shapes_hold(near: int, options: int, reach: int, row: int, numbers: Any, known: Any) -> bool:
        asked.append((near, options, reach, max(numbers[4]) > 0))
        return SAID[0](near, reach)

    loops = SimpleNamespace(shapes_hold=shapes_hold, array=list, memory=dict)
    SAID = [lambda near, reach: True]
    assert certify(4, LOW, HIGH, 7, loops=loops)
    assert asked == [(4, 4, 0, False), (1, 4, 7, True), (2, 4, 7, True), (3, 4, 7, True), (4, 4, 7, False)]
    for wrong in ((4, 0), (1, 7), (2, 7), (3, 7), (4, 7)):
        SAID[0] = lambda near, reach, wrong=wrong: (near, reach) != wrong  # type: ignore[misc]
        assert not certify(4, LOW, HIGH, 7, loops=loops)


@pytest.mark.parametrize(
    "wrong",
    [
        (1, LOW, HIGH, 5),
        (10, LOW, HIGH, 5),
        (4, HIGH, LOW, 5),
        (4, LOW, HIGH, 0),
        (4, Fraction(0), HIGH, 5),
        (4, LOW, Fraction(1), 5),
    ],
)
def test_what_is_no_bracket(wrong: Any) -> None:
    with pytest.raises(CertificateError):
        certify(*wrong)


def test_two_and_nine_options_are_brackets() -> None:
    loops = SimpleNamespace(shapes_hold=lambda *_: True, array=list, memory=dict)
    for options in (2, 9):
        assert certify(options, LOW, LOW, 1, loops=loops)
    assert certificate.MOST_OPTIONS == 9


# --- shapes -----------------------------------------------------------------------------------------------------------------


def test_a_vote_goes_from_one_option_to_another() -> None:
    for gaps, giver, taker, wanted in (
        ([0, 0, 3], 0, 2, [0, 1, 2]),
        ([0, 2, 3], 0, 3, [0, 1, 2]),  # to somebody far: the top is one lower
        ([0, 1, 3], 3, 0, [0, 2, 4]),  # from somebody far to the top
        ([0, 0, 3], 2, 0, [0, 1, 5]),
        ([0, 1, 1], 0, 2, [0, 1, 1]),
        ([0, 4, 4], 3, 3, [0, 4, 4]),
    ):
        moved = [0] * 3
        winner_shapes.move(gaps, 3, giver, taker, moved)
        assert moved == wanted, (gaps, giver, taker)


def test_an_option_is_lifted_to_the_top() -> None:
    """Votes go one by one from a highest option to the chosen one until it is among the highest."""
    for gaps in ([0, 3], [0, 0, 4], [0, 1, 5], [0, 2, 6], [0, 0, 2, 7], [0, 1, 1, 4, 9], [0, 3, 3, 3, 8]):
        level = sum(gap <= 1 for gap in gaps)
        for chosen in range(level, len(gaps)):
            heights, moves = [-gap for gap in gaps], 0
            while heights[chosen] < max(h for place, h in enumerate(heights) if place != chosen):
                top = max(range(len(heights)), key=lambda place: (heights[place], -place))
                heights[top] -= 1
                heights[chosen] += 1
                moves += 1
            lifted = [0] * len(gaps)
            assert winner_shapes.lift(gaps, len(gaps), level, chosen, lifted) == moves, (gaps, chosen)
            assert lifted == sorted(max(heights) - h for h in heights), (gaps, chosen)


def test_keys_of_shapes_differ() -> None:
    keys = {winner_shapes.encode([0, a, b], 3, 5) for a in range(32) for b in range(32)}
    assert len(keys) == 32 * 32
    assert winner_shapes.encode([0, 3, 7], 3, 5) == (3 << 5) | 7
    assert winner_shapes.encode([0], 1, 5) == 0


def test_shapes_one_after_the_other() -> None:
    """Of three near options the middle one goes from the top to the last, jumps of three or within reach."""
    gaps, seen = [0, 0, 4], [[0, 0, 4]]
    while winner_shapes.next_shape(gaps, 3, 4, 4):
        seen.append(list(gaps))
    assert seen == [[0, middle, 4] for middle in range(5)]
    gaps, seen = [0, 0, 0, 9], [[0, 0, 0, 9]]
    while winner_shapes.next_shape(gaps, 4, 9, 2):
        seen.append(list(gaps))
    assert seen == [[0, a, b, 9] for a in range(4) for b in range(a, max(a + 3, 2) + 1)]


# --- the command that finds the brackets --------------------------------------------------------------------------------


def test_brackets_are_cut_narrower_until_they_are_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """From large epsilon to small: what is refused is cut to six tenths, after what is accepted the next may be wider."""
    asked: list[tuple[Any, ...]] = []

    def certify(options: int, low: Fraction, high: Fraction, reach: int, *, loops: Any) -> bool:
        asked.append((options, low, high, reach))
        return high - low <= Fraction(2, 100) and reach >= 20

    monkeypatch.setattr(brackets, "certify", certify)
    monkeypatch.setitem(brackets.RANGES, 4, (0.7, 0.5))
    made = list(brackets.find_brackets(4, SimpleNamespace()))
    assert made[0][0] == Fraction(f"{math.exp(-0.7):.6f}")
    assert made[-1][1] == Fraction(f"{math.exp(-0.5):.6f}")
    assert all(first[1] == second[0] for first, second in pairwise(made))
    assert all(high - low <= Fraction(2, 100) and reach >= 20 for low, high, reach in made)
    # The first try is 0.1 wide, with reaches of 8, 10, 12 and 16 units of 1/epsilon.
    assert [one[3] for one in asked[:4]] == [math.ceil(units / 0.6) for units in (8, 10, 12, 16)]
    assert asked[0][1:3] == (Fraction(f"{math.exp(-0.7):.6f}"), Fraction(f"{math.exp(-0.6):.6f}"))
    assert asked[4][2] == Fraction(f"{math.exp(-0.64):.6f}")
    widths = [math.log(float(high / low)) for low, high, _ in made]
    assert widths[1] == pytest.approx(min(0.1, widths[0] * 1.3), rel=0.01) or widths[1] < widths[0]
    monkeypatch.setattr(brackets, "certify", lambda *_, **__: False)
    assert list(brackets.find_brackets(4, SimpleNamespace())) == [], "it gives up where nothing is certified"


def test_the_table_is_written_and_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: Any) -> None:
    table = tmp_path / "table.json"
    monkeypatch.setattr(brackets, "TABLE", table)
    monkeypatch.setattr(brackets, "RANGES", {4: (0.7, 0.6), 5: (0.9, 0.8)})
    monkeypatch.setattr(brackets, "certify", lambda *_, **__: True)
    monkeypatch.setattr(brackets, "compiled", SimpleNamespace)
    assert brackets.main([]) == 0
    made = brackets.read_table()
    assert sorted(made) == [4, 5]
    assert made[4] == [(Fraction("0.496585"), Fraction("0.548812"), 14)]
    assert json.loads(table.read_text())["format"] == "optimaldp-winner-brackets/1"
    assert "4 options: x up to 0.548812" in capsys.readouterr().err
    # One number of options alone: the others stay.
    monkeypatch.setattr(brackets, "RANGES", {4: (0.7, 0.65), 5: (0.9, 0.8)})
    assert brackets.main(["4"]) == 0
    again = brackets.read_table()
    assert again[5] == made[5]
    assert again[4] == [(Fraction("0.496585"), Fraction("0.522046"), 13)]
    # Without a table one is begun.
    table.unlink()
    assert brackets.main(["5"]) == 0
    assert brackets.read_table() == {5: made[5]}


# --- proofs -----------------------------------------------------------------------------------------------------------------


def test_a_bracket_holds_its_ends() -> None:
    for x, inside in ((LOW, True), (HIGH, True), (LOW - Fraction(1, 10**9), False), (HIGH + Fraction(1, 10**9), False)):
        assert _between(LOW, x, HIGH) is inside
        if x not in (LOW, HIGH):
            with precision(128):
                assert _between(LOW, ball(x), HIGH) is inside
    with precision(128):
        assert _between(LOW, ball(Fraction(1, 2)), HIGH)


@pytest.mark.parametrize("options", [4, 5, 7, 9])
def test_hypotheses_by_hand(options: int) -> None:
    for part in range(1, 60):
        x = Fraction(part, 20 * options)
        first = x <= Fraction(1, options - 1)
        second = all(
            (options - r - s) * x * (r + (s + 1) * x) <= r - 1 + (s + 2) * x
            for r in range(2, options + 1)
            for s in range(options + 1)
            if r + s <= options - 1
        )
        assert _hypotheses(options, x) is (first and second), x
        with precision(128):
            if x != Fraction(1, options - 1):
                assert _hypotheses(options, ball(x)) is (first and second), x


def test_which_proof_is_named() -> None:
    for options, epsilon, words in ((3, "0.01", "at most three"), (4, "2", "H1 and H2"), (4, "0.5", "certificate")):
        assert words in str(lattice_proof(options, Epsilon.read(epsilon)))
    for options, epsilon in ((3, "inf"), (9, "inf"), (10, "0.5"), (9, "0.5")):
        assert lattice_proof(options, Epsilon.read(epsilon)) is None
