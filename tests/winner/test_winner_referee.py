"""The referee: hypotheses, the finite certificate and its table accept what is proven and reject what is not."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise, product
from types import SimpleNamespace

import pytest

from optimaldp.certify import winner as winner_shapes
from optimaldp.certify.winner import (
    ONE,
    RANGES,
    _Numbers,
    certify,
    compiled,
    continuum_proof,
    find_brackets,
    hypotheses_hold,
    inside_bracket,
    lattice_proof,
    plain,
    read_table,
)
from optimaldp.errors import CertificateError
from optimaldp.laws.winner import lattice_probabilities
from optimaldp.privacy import Epsilon

HALF = Fraction(1, 2)


@pytest.fixture(scope="module")
def loops() -> SimpleNamespace:
    return compiled()


@pytest.mark.parametrize(
    ("options", "epsilon"), [(4, "1.0987"), (5, "1.537"), (6, "1.888"), (7, "2.150"), (8, "2.358")]
)
def test_hypotheses_begin_where_they_were_computed_to_begin(options: int, epsilon: str) -> None:
    edge = Fraction(epsilon)
    assert hypotheses_hold(options, Epsilon.read(edge + Fraction(1, 200)))
    assert not hypotheses_hold(options, Epsilon.read(edge - Fraction(1, 200)))


def test_hypotheses_are_evaluated_at_the_x_in_use() -> None:
    """Four options, x = 1/3 exactly: H1 holds with equality, and only just."""
    assert hypotheses_hold(4, Epsilon.read("ln(3)"))
    assert not hypotheses_hold(4, Epsilon.read("ln(2.9999999)"))


def test_enclosures_hold_the_true_value() -> None:
    """Near shapes with far options at random places: the interval that ignores them holds the exact probability of a top."""
    rng = random.Random(1)
    x = Fraction(3, 5)
    for _ in range(300):
        options, reach = rng.randint(3, 6), rng.randint(4, 12)
        near = rng.randint(1, options)
        gaps = [0]
        while len(gaps) < near:
            gaps.append(rng.randint(gaps[-1], max(gaps[-1] + 3, reach)))
        room = max(3, reach - gaps[-1]) - 1
        far = sorted(gaps[-1] + room + 2 + rng.randint(0, 9) for _ in range(options - near))
        numbers = _Numbers(options, x, x, reach, plain())
        row = room * numbers.row if near < options else 0
        low, high = winner_shapes.enclose(gaps, near, row, numbers.with_far(options - near), {})
        exact = lattice_probabilities([-gap for gap in gaps + far], lambda d: x**d)[0]
        assert low <= exact * ONE <= high
        assert near < options or high - low < 2**20  # without far options only rounding is left


def test_products_are_rounded_in_their_direction() -> None:
    rng = random.Random(2)
    for _ in range(500):
        a, b = rng.randint(0, ONE), rng.randint(0, ONE)
        exact = Fraction(a * b, ONE)
        assert winner_shapes.times_down(a, b) <= exact < winner_shapes.times_up(a, b)
        assert winner_shapes.times_down(a, b) == a * b // ONE


@pytest.mark.parametrize(("options", "x", "reach"), [(2, "1/2", 8), (3, "1/2", 10), (4, "1/2", 12), (5, "2/5", 10)])
def test_certificate_accepts(options: int, x: str, reach: int) -> None:
    assert certify(options, Fraction(x), Fraction(x), reach)


def test_certificate_rejects_what_is_false() -> None:
    for reach in (1, 20, 60):
        assert not certify(7, Fraction(9, 10), Fraction(9, 10), reach)
    assert lattice_proof(7, Epsilon.read("ln(10/9)")) is None


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [pytest.param("0.25", marks=pytest.mark.slow), "0.3"])
def test_certificate_rejects_what_is_false_for_eight(epsilon: str, loops: SimpleNamespace) -> None:
    x = 1 / Epsilon.read(epsilon).ratio_above(bits=60)
    assert not certify(8, x, x, int(6 / Fraction(epsilon)) + 1, loops=loops)
    assert lattice_proof(8, Epsilon.read(epsilon)) is None


def test_certificate_rejects_a_bracket_that_is_too_wide() -> None:
    assert not certify(4, Fraction(1, 10), Fraction(9, 10), 12)


def test_certificate_needs_reach() -> None:
    """With hardly any near shapes the far mass swallows every margin: unproven, not accepted."""
    assert not certify(4, Fraction(3, 4), Fraction(3, 4), 1)


def _nothing_joins(gaps, near, level, chosen, lifted):  # type: ignore[no-untyped-def]
    """The wrong twin of lift: overtaken options are left above the water."""
    members = [i for i in range(near) if i < level or i == chosen]
    total = -sum(gaps[i] for i in members)
    top = -((-total) // len(members))
    full = total - (top - 1) * len(members)
    heights = [top - (i >= full) for i in range(len(members))] + [-gaps[i] for i in range(near) if i not in members]
    for place, height in enumerate(sorted(heights, reverse=True)):
        lifted[place] = max(heights) - height
    return top + gaps[chosen]


def _generous(original):  # type: ignore[no-untyped-def]
    """The wrong twin of enclose: a single top gets ten per cent more than what is left."""

    def enclose(gaps, near, far, numbers, known):  # type: ignore[no-untyped-def]
        low, high = original(gaps, near, far, numbers, known)
        alone = near < 2 or gaps[1] > 1
        return (low + low // 10, high + high // 10) if alone else (low, high)

    return enclose


@pytest.mark.parametrize(
    ("part", "twin", "accepted"),
    [
        ("lift", winner_shapes.lift, True),
        ("lift", _nothing_joins, False),
        ("enclose", _generous(winner_shapes.enclose), False),
    ],
    ids=["the true one", "nothing joins", "generous"],
)
def test_certificate_rejects_wrong_twins(part: str, twin, accepted: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """A wrong recursion is not private at x = 3/4, and the certificate of that recursion fails; the right one passes."""
    monkeypatch.setattr(winner_shapes, part, twin)
    assert certify(4, Fraction(3, 4), Fraction(3, 4), 30) is accepted


@pytest.mark.long
def test_compiled_and_plain_loops_agree(loops: SimpleNamespace) -> None:
    for options, x, reach in [
        (3, "7/10", 9),
        (4, "1/2", 12),
        (4, "3/4", 8),
        (4, "3/4", 30),
        (5, "2/5", 6),
        (5, "2/5", 9),
    ]:
        exact = Fraction(x)
        assert certify(options, exact, exact, reach) == certify(options, exact, exact, reach, loops=loops)


@pytest.mark.parametrize(
    "wrong", [(1, HALF, HALF, 5), (10, HALF, HALF, 5), (4, HALF, Fraction(2, 5), 5), (4, HALF, HALF, 0)]
)
def test_certificate_refuses_what_is_no_bracket(wrong: tuple[int, Fraction, Fraction, int]) -> None:
    with pytest.raises(CertificateError):
        certify(*wrong)


def test_table_joins_without_gaps_and_covers_the_range() -> None:
    for options, brackets in read_table().items():
        above, below = RANGES[options]
        assert all(left[1] == right[0] for left, right in pairwise(brackets))
        assert hypotheses_hold(options, Epsilon.read(f"{above}"))
        steps = [Fraction(str(below)) + Fraction(1, 10**4) + Fraction(i, 97) for i in range(400)]
        assert all(lattice_proof(options, Epsilon.read(step)) for step in steps)
        assert not inside_bracket(options, Epsilon.read(Fraction(str(below)) / 2))
    assert set(read_table()) == set(RANGES)


@pytest.mark.long
def test_every_tenth_cheap_bracket_is_certified_anew(loops: SimpleNamespace) -> None:
    cheap = [(k, *b) for k, rows in read_table().items() for b in rows if b[2] ** (k - 1) < 40_000]
    assert len(cheap) > 20
    for options, low, high, reach in cheap[::4]:
        assert certify(options, low, high, reach, loops=loops)


@pytest.mark.slow
@pytest.mark.parametrize("options", sorted(RANGES, reverse=True))
def test_the_whole_table_is_certified_anew(options: int, loops: SimpleNamespace) -> None:
    for low, high, reach in read_table()[options]:
        assert certify(options, low, high, reach, loops=loops), (options, low, high)


@pytest.mark.slow
def test_the_command_finds_the_table_again(loops: SimpleNamespace) -> None:
    for options in (6, 7):
        for found, shipped in zip(find_brackets(options, loops), read_table()[options][:10]):
            assert found == shipped


def test_continuum_stops_at_five_options() -> None:
    assert continuum_proof(5)
    assert [continuum_proof(options) for options in range(6, 13)] == [None] * 7


def test_three_options_rest_on_inequalities_that_hold() -> None:
    """The lemmas behind "a vote goes to none of the options" for three options, at many x.

    ``p[k]`` is the probability of an option k below two tied tops: period three, a factor x^2 each time.
    """
    for x in [Fraction(i, 40) for i in range(1, 40)] + [Fraction(999, 1000), Fraction(1, 1000)]:
        p = [Fraction(1, 3), x / (2 + x), x**2 / (1 + 2 * x)]
        p += [x**2 * p[i] for i in range(3)]
        assert [lattice_probabilities([k, k, 0], lambda d, x=x: x**d)[2] for k in range(6)] == p
        assert all(a >= b for a, b in pairwise(p))
        assert all(x * p[k - 1] <= p[k] for k in range(1, 6))
        assert all(2 * x**2 / (1 + x) * p[k - 2] <= p[k] <= x * p[k - 2] for k in range(2, 6))


WIDE = (0, ONE)  # an interval that proves nothing
FIRM = (ONE // 4, ONE // 4)
TWICE = (ONE // 2 - 8, ONE // 2 - 8)  # just inside the factor 1/x = 2
BEYOND = (ONE // 2 + 8, ONE // 2 + 8)


@pytest.mark.parametrize(
    ("giver", "taker", "z", "y", "holds"),
    [
        *[(giver, 0, FIRM, TWICE, True) for giver in (2, 3, 4)],  # A-upper, from losers and from far
        *[(giver, 0, FIRM, BEYOND, False) for giver in (2, 3, 4)],
        *[(giver, 0, WIDE, FIRM, False) for giver in (2, 3, 4)],
        *[(0, taker, FIRM, TWICE, True) for taker in (3, 4)],  # B-lower, to losers and to far
        *[(0, taker, TWICE, FIRM, False) for taker in (3, 4)],
        *[(2, taker, FIRM, TWICE, True) for taker in (3, 4)],  # C, both directions
        *[(2, taker, TWICE, FIRM, True) for taker in (3, 4)],
        *[(2, taker, FIRM, BEYOND, False) for taker in (3, 4)],
        *[(2, taker, BEYOND, FIRM, False) for taker in (3, 4)],
        (4, 3, FIRM, BEYOND, False),
        (4, 3, BEYOND, FIRM, False),
        (4, 4, WIDE, WIDE, False),
        # What is not known exactly counts by its worse end.
        *[(giver, 0, FIRM, (FIRM[0], BEYOND[1]), False) for giver in (2, 3, 4)],
        *[(0, taker, (FIRM[0], BEYOND[1]), TWICE, False) for taker in (3, 4)],
        *[(2, taker, FIRM, (FIRM[0], BEYOND[1]), False) for taker in (3, 4)],
        *[(2, taker, (FIRM[0], BEYOND[1]), FIRM, False) for taker in (3, 4)],
        (0, 1, WIDE, WIDE, True),  # from top to top: always
        (3, 2, WIDE, WIDE, True),  # to an option one below the top: covered from the other end
    ],
)
def test_each_move_needs_its_own_inequality(
    giver: int, taker: int, z: tuple[int, int], y: tuple[int, int], holds: bool
) -> None:
    gaps = [0, 0, 1, 3]
    assert winner_shapes.pair_holds(gaps, 4, giver, taker, z, y, ONE // 2) is holds


def test_without_a_compiler_the_loops_run_as_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(winner_shapes, "numba_if_installed", lambda: None)
    assert compiled() == plain()


def test_with_one_an_enclosure_is_remembered_by_its_key() -> None:
    pytest.importorskip("numba")
    known = compiled().memory()
    known[7] = (ONE // 4, ONE // 2)
    assert known[7] == (ONE // 4, ONE // 2)


def test_a_single_top_may_give_a_vote_away() -> None:
    assert winner_shapes.pair_holds([0, 3], 2, 0, 1, WIDE, WIDE, ONE // 2)
    assert winner_shapes.pair_holds([0], 1, 0, 1, WIDE, WIDE, ONE // 2)


def test_every_kind_of_move_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pair per pair of distinct gaps, two options of the same gap, and far ones on either side."""
    seen = []
    monkeypatch.setattr(
        winner_shapes, "pair_holds", lambda gaps, near, giver, taker, z, y, x: seen.append((giver, taker)) or True
    )
    numbers = _Numbers(5, HALF, HALF, 6, plain())
    winner_shapes.shape_holds([0, 0, 4], 3, 5, 5 * numbers.row, numbers.with_far(2), {})
    assert seen == [(0, 1), (0, 2), (0, 3), (2, 1), (2, 3), (3, 1), (3, 2), (3, 3)]


@pytest.mark.parametrize(
    ("near", "options", "reach"), [(1, 3, 5), (2, 3, 5), (3, 3, 4), (3, 5, 6), (4, 4, 0), (4, 5, 5)]
)
def test_every_near_shape_is_visited_with_its_own_far_mass(
    near: int, options: int, reach: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}

    def record(gaps, near, options, far, numbers, known):  # type: ignore[no-untyped-def]
        seen[tuple(gaps)] = far
        return True

    monkeypatch.setattr(winner_shapes, "shape_holds", record)
    assert winner_shapes.shapes_hold(near, options, reach, 1000, None, {})
    wanted = {
        (0, *gaps): 1000 * (max(3, reach - (0, *gaps)[-1]) - 1) if near < options else 0
        for gaps in product(range(reach + 3 * near + 3), repeat=near - 1)
        if all(0 <= b - a <= max(3, reach - a) for a, b in pairwise((0, *gaps)))
    }
    assert seen == wanted
