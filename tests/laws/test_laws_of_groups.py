"""Which categories occur, and many groups in one spend: laws and the arithmetic of levels."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimaldp.errors import LevelError
from optimaldp.laws.options import KeysLaw
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.levels import half_of, level_of_each_group, level_of_each_key, part_of
from optimaldp.sampling import SystemBits

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE

epsilons = st.one_of(
    st.fractions(Fraction(1, 100), 5, max_denominator=100).map(lambda x: Epsilon(x, Fraction(1))),
    st.fractions(Fraction(101, 100), 30, max_denominator=100).map(lambda r: Epsilon(Fraction(0), r)),
)


@given(epsilons)
def test_two_halves_are_never_more_than_the_whole(epsilon: Epsilon) -> None:
    twice = half_of(epsilon) * 2
    assert twice <= epsilon
    with precision(300):
        assert (epsilon.ball() - twice.ball()).abs_upper() <= epsilon.ball() / ball(Fraction(2) ** 120)


@given(epsilons, st.fractions(Fraction(1, 10**6), Fraction(1, 2)))
def test_a_replaced_person_costs_no_more_than_was_promised(epsilon: Epsilon, delta: Fraction) -> None:
    each = level_of_each_group(epsilon, delta, SUBSTITUTION)
    assert each.neighbours is ADD_REMOVE
    with precision(300):
        spent = ball(each.delta) * (1 + each.epsilon.exp())
        assert not spent > ball(delta)
        assert spent >= ball(delta) * ball(1 - Fraction(1, 2**60))


@given(epsilons, st.integers(1, 12))
def test_equal_parts_are_never_more_than_the_whole(epsilon: Epsilon, parts: int) -> None:
    whole = part_of(epsilon, parts) * parts
    assert whole <= epsilon
    with precision(300):
        assert (epsilon.ball() - whole.ball()).abs_upper() <= epsilon.ball() / ball(Fraction(2) ** 120)


@given(epsilons, st.fractions(Fraction(1, 10**6), Fraction(1, 2)), st.integers(1, 6), st.sampled_from(Neighbours))
def test_a_person_in_several_groups_costs_what_was_promised(
    epsilon: Epsilon, delta: Fraction, several: int, neighbours: Neighbours
) -> None:
    """By basic composition over the groups; a replaced person may be twice in each."""
    each = level_of_each_group(epsilon, delta, neighbours, per_person=several)
    assert each.neighbours is ADD_REMOVE
    with precision(300):
        steps = 1 + each.epsilon.exp() if neighbours is SUBSTITUTION else ball(Fraction(1))
        spent = ball(each.delta) * several * steps
        assert not spent > ball(delta)
        assert spent >= ball(delta) * ball(1 - Fraction(1, 2**60))
    assert each.epsilon * (several * (2 if neighbours is SUBSTITUTION else 1)) <= epsilon


def test_public_groups_and_single_people_keep_the_whole_level() -> None:
    epsilon, delta = Epsilon.read("ln(3)"), Fraction(1, 100)
    for neighbours, public in ((SUBSTITUTION, True), (ADD_REMOVE, False), (ADD_REMOVE, True)):
        each = level_of_each_group(epsilon, delta, neighbours, public_groups=public)
        assert (each.epsilon, each.delta, each.neighbours) == (epsilon, delta, neighbours)
    assert level_of_each_key(Epsilon.read("ln(9)"), delta, SUBSTITUTION).epsilon == epsilon


def all_keys(law: KeysLaw, counts: tuple[int, ...]) -> dict[tuple[bool, ...], Fraction]:
    """The joint distribution of which categories are kept."""
    masses = {}
    for kept in itertools.product((True, False), repeat=len(counts)):
        mass = Fraction(1)
        for shown, people in zip(kept, counts):
            mass *= law.kept(people)[0 if shown else 1]
        masses[kept] = mass
    return masses


def excess(
    first: dict[tuple[bool, ...], Fraction], second: dict[tuple[bool, ...], Fraction], ratio: Fraction
) -> Fraction:
    return sum((max(Fraction(0), first[k] - ratio * second[k]) for k in first), Fraction(0))


@pytest.mark.long
@pytest.mark.parametrize("neighbours", Neighbours)
def test_keys_are_private_in_every_event(neighbours: Neighbours) -> None:
    epsilon, delta = Epsilon.read("ln(4)"), Fraction(1, 5)
    law = KeysLaw.at(epsilon, delta, neighbours)
    loose = KeysLaw.at(Epsilon.read("ln(16)"), 2 * delta, neighbours)  # the wrong twin: the whole level for each of two
    breach = False
    for counts in itertools.product(range(4), repeat=3):
        if neighbours is ADD_REMOVE:
            around = [(*counts[:i], counts[i] + 1, *counts[i + 1 :]) for i in range(3)]
        else:
            around = [
                tuple(c - (k == i) + (k == j) for k, c in enumerate(counts))
                for i, j in itertools.permutations(range(3), 2)
                if counts[i]
            ]
        for other in around:
            for a, b in ((counts, other), (other, counts)):
                assert excess(all_keys(law, a), all_keys(law, b), Fraction(4)) <= delta
                breach = breach or excess(all_keys(loose, a), all_keys(loose, b), Fraction(4)) > delta
    assert breach


def test_keys_are_kept_by_whoever_has_enough_people() -> None:
    law = KeysLaw.at(Epsilon.read(1), Fraction(1, 10**6), ADD_REMOVE)
    sure = law.surely_kept()
    assert 20 < sure < 40
    assert law.kept(sure)[1] == 0
    assert law.kept(sure - 1)[1] > 0
    assert law.draw({"a": sure, "b": 0, "c": 10**9}, SystemBits()) == ["a", "c"]


def test_keys_need_a_delta() -> None:
    with pytest.raises(LevelError):
        KeysLaw.at(Epsilon.read(1), Fraction(0), ADD_REMOVE)
    with pytest.raises(LevelError):
        KeysLaw.at(Epsilon.read("inf"), Fraction(1, 100), ADD_REMOVE)
