"""(epsilon, delta)-DP: one bound or several at once, the same or different ones in the two directions of an edge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from optimaldp.errors import LevelError
from optimaldp.privacy import trajectory
from optimaldp.privacy.balls import WORKING_BITS, ball, context, lower, precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.gaussian import read_gaussian
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import TOO_SMALL, fraction_root, fraction_text, read_probability, root_below
from optimaldp.privacy.step_function import Level
from optimaldp.privacy.trajectory import Line, Number, Steps

_KEPT = 8  # precisions for which a level keeps its lines: one or two are in use


@dataclass(frozen=True)
class Bound:
    """One promise in one direction: ``P(S) <= e^epsilon Q(S) + delta`` for every event S."""

    epsilon: Epsilon
    delta: Fraction

    def __post_init__(self) -> None:
        if 0 < self.delta < TOO_SMALL:
            raise LevelError("delta", "below 1e-1000", "is too small to mean anything", "write 0, or more")

    def __str__(self) -> str:
        return f"({self.epsilon}, {fraction_text(self.delta)})"


@dataclass(frozen=True)
class ApproximateDP(Level):
    """(epsilon, delta)-DP: one or several bounds, the same or different ones in the two directions of an edge.

    ``F(s) = min{1, e^a s + delta_a, 1 - e^-b (1 - s - delta_b)}`` over the forward bounds a and the backward bounds b.
    """

    forward: tuple[Bound, ...]
    backward: tuple[Bound, ...]

    # Made once: these are looked at far more often than a level is made.
    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """Those of both directions."""
        return self.forward + self.backward

    @cached_property
    def is_single(self) -> bool:
        """Whether this is plain (epsilon, delta)-DP: one bound, the same in both directions."""
        return len(self.forward) == 1 and self.forward == self.backward

    @cached_property
    def is_rational(self) -> bool:  # type: ignore[override]
        return all(bound.epsilon.infinite or bound.epsilon.exact_ratio is not None for bound in self.bounds)

    @cached_property
    def epsilon(self) -> Epsilon:
        """The epsilon of a level that is a single (epsilon, delta)."""
        return self._single.epsilon

    @cached_property
    def delta(self) -> Fraction:
        """The delta of a level that is a single (epsilon, delta)."""
        return self._single.delta

    @property
    def _single(self) -> Bound:
        if not self.is_single:
            raise LevelError("level", str(self), "is not a single (epsilon, delta)")
        return self.forward[0]

    @property
    def symmetric(self) -> bool:
        return set(self.forward) == set(self.backward)

    def reversed(self) -> ApproximateDP:
        return self if self.forward == self.backward else ApproximateDP(self.backward, self.forward)

    def sides(self, s: Number, t: Steps) -> tuple[Number, Number]:
        trajectory.check(s, t)
        if t == 0:
            return s, 1 - s
        with precision(context.prec + self._slope_bits):
            if s == 0 and self._least_at_zero is not None:
                first = trajectory.first_from_zero(self._lines(), self._least_at_zero)
                # From 0 nothing moves; from anything above it the bounds of infinite epsilon say no more.
                return (first, 1 - first) if t <= 1 or first == 0 else trajectory.follow(self._lines(), first, t - 1)
            return trajectory.follow(self._lines(), s, t)

    def transition(self, s: Number) -> int | float:
        """tau(s): after how many steps the growth ``e^epsilon s + delta`` gives way to the decay of ``1 - s``.

        Papers 000 (Def. 8) and 001 (5.1), (5.4), corrected: clamped at 0, infinite for s = delta = 0.

        >>> level("ln(2)").transition(Fraction(1, 10))
        2
        """
        if self.epsilon.infinite:
            return 0 if s != 0 or self.delta > 0 else math.inf
        with precision(max(context.prec + self._slope_bits, WORKING_BITS)):
            lines = self._lines()
            return trajectory.steps_until_switch(lines, s) if len(lines) == 2 else 0

    def implies(self, other: Level) -> bool:
        if not isinstance(other, ApproximateDP):
            return False
        return _each_covered(self.forward, other.forward) and _each_covered(self.backward, other.backward)

    def __str__(self) -> str:
        if self.is_single:
            return f"{self.forward[0]}-DP"
        ahead = " and ".join(map(str, self.forward))
        if self.forward == self.backward:
            return f"{ahead}-DP"
        return f"{ahead}-DP forward, {' and '.join(map(str, self.backward))}-DP backward"

    def __repr__(self) -> str:
        return f"ApproximateDP({self})"

    def __reduce__(self) -> tuple[type[ApproximateDP], tuple[tuple[Bound, ...], ...]]:
        """Without what is kept for speed: balls cannot be sent elsewhere."""
        return ApproximateDP, (self.forward, self.backward)

    @cached_property
    def _least_at_zero(self) -> Fraction | None:
        """With an infinite epsilon forward, ``F(0)`` is at most its delta, below the limit of F at 0."""
        return min((bound.delta for bound in self.forward if bound.epsilon.infinite), default=None)

    @cached_property
    def _slope_bits(self) -> int:
        """More bits, which tell the slopes ``e^epsilon`` and ``e^-epsilon`` from 1 even when epsilon is tiny."""
        return 32 + 4 * max((bound.epsilon.leading_zeros for bound in self.bounds), default=0)

    @cached_property
    def _kept_lines(self) -> dict[int, tuple[Line, ...]]:
        return {}

    def _lines(self) -> tuple[Line, ...]:
        """The pieces of ``F``: exact at a rational level, else enclosed at the precision of the moment."""
        bits, kept = context.prec, self._kept_lines
        if bits in kept:
            return kept[bits]
        lines = []
        for make, bounds in ((Line.rising, self.forward), (Line.falling, self.backward)):
            for bound in bounds:
                if not bound.epsilon.infinite:
                    ratio = bound.epsilon.exact_ratio if self.is_rational else bound.epsilon.exp()
                    lines.append(make(ratio, bound.delta if self.is_rational else ball(bound.delta)))
        if len(kept) >= _KEPT:
            kept.clear()
        kept[bits] = trajectory.lower_hull(lines)
        return kept[bits]


def _each_covered(strict: tuple[Bound, ...], loose: tuple[Bound, ...]) -> bool:
    return all(any(a.epsilon <= b.epsilon and a.delta <= b.delta for a in strict) for b in loose)


def level(epsilon: object = None, delta: object = 0, *, mu: object = None) -> Level:
    """Make a privacy level: ``level(1)``, ``level("ln(2)", 0.1)`` or ``level(mu=1)`` (Gaussian DP).

    Name *epsilon*, with a *delta* or without, or *mu* alone. There is no default epsilon.

    >>> level("ln(2)", 0.1).step(Fraction(4, 5))
    Fraction(19, 20)
    """
    if isinstance(epsilon, Level):
        return epsilon
    if mu is not None:
        if epsilon is not None:
            raise LevelError("mu", mu, "was given together with epsilon", "give one of them")
        return read_gaussian(mu, name="mu")
    promise = Bound(Epsilon.read(epsilon), read_probability(delta, name="delta", error=LevelError, tiny=False))
    bound = (promise,)
    return ApproximateDP(bound, bound)


def approximate(epsilon: Epsilon, delta: Fraction = Fraction(0)) -> ApproximateDP:
    """The plain (epsilon, delta)-DP of numbers that are read already."""
    bound = (Bound(epsilon, delta),)
    return ApproximateDP(bound, bound)


def single_level(level: Level, user: str) -> ApproximateDP:
    """The level itself where it is one finite (epsilon, delta); otherwise an error that says who needs that: "a quantile"."""
    if not isinstance(level, ApproximateDP) or not level.is_single:
        remedy = f"{user} needs one epsilon and one delta"
        raise LevelError("level", str(level), "is not a single (epsilon, delta)", remedy)
    if level.epsilon.infinite:
        raise LevelError("epsilon", "inf", f"promises nothing that {user} could use", "name a finite epsilon")
    return level


def all_of(*levels: Level) -> ApproximateDP:
    """Several (epsilon, delta) promises, *levels*, at once: the smallest of their step functions.

    >>> all_of(level("ln(2)"), level("ln(3)", 0.1)).step(Fraction(1, 4))
    Fraction(1, 2)
    """
    if not levels:
        raise LevelError("levels", (), "is empty", "name at least one level")
    given = [_approximate(item) for item in levels]
    return ApproximateDP(
        _without_implied([b for item in given for b in item.forward]),
        _without_implied([b for item in given for b in item.backward]),
    )


def directed(*, forward: Level, backward: Level) -> ApproximateDP:
    """An edge whose two directions promise different things.

    Walking the edge forward, ``P_head(S) <= e^epsilon P_tail(S) + delta`` with *forward*; *backward* bounds the tail by the head.

    >>> directed(forward=level("ln(2)"), backward=level("ln(3)")).step(Fraction(1, 4))
    Fraction(1, 2)
    """
    return ApproximateDP(_approximate(forward).forward, _approximate(backward).forward)


def _approximate(item: Level) -> ApproximateDP:
    if not isinstance(item, ApproximateDP):
        raise LevelError("level", str(item), "cannot be combined on one edge", "use parallel edges instead")
    return item


def _without_implied(bounds: list[Bound]) -> tuple[Bound, ...]:
    unique = list(dict.fromkeys(bounds))
    kept = [b for b in unique if not any(a != b and a.epsilon <= b.epsilon and a.delta <= b.delta for a in unique)]
    return tuple(kept)


# A level shared among groups or among categories, of which one person touches several.


_MOST_PARTS = 64  # of epsilon whose root is taken
_BITS = 128  # to which a half that is no level of this form is rounded, towards more privacy


@dataclass(frozen=True)
class GroupLevel:
    """How each group is answered: its level, and the neighbours that its mechanism must be private for."""

    epsilon: Epsilon
    delta: Fraction
    neighbours: Neighbours


def level_of_each_group(
    epsilon: Epsilon, delta: Fraction, neighbours: Neighbours, *, public_groups: bool = False, per_person: int = 1
) -> GroupLevel:
    """The level of each group's answer so that all of them together keep (epsilon, delta).

    *per_person* is how many groups one person may be in; public groups have one for each person.

    >>> level_of_each_group(Epsilon.read("ln(4)"), Fraction(3, 100), Neighbours.SUBSTITUTION)
    GroupLevel(epsilon=Epsilon(ln(2)), delta=Fraction(1, 100), neighbours=<Neighbours.ADD_REMOVE: 'add-remove'>)
    >>> level_of_each_group(Epsilon.read(1), Fraction(3, 100), Neighbours.ADD_REMOVE, per_person=3)
    GroupLevel(epsilon=Epsilon(1/3), delta=Fraction(1, 100), neighbours=<Neighbours.ADD_REMOVE: 'add-remove'>)
    """
    if public_groups:
        return GroupLevel(epsilon, delta, neighbours)
    if neighbours is Neighbours.ADD_REMOVE:
        return GroupLevel(part_of(epsilon, per_person), delta / per_person, neighbours)
    each = part_of(epsilon, 2 * per_person)
    return GroupLevel(each, _shared_delta(each, delta) / per_person, Neighbours.ADD_REMOVE)


def level_of_each_key(epsilon: Epsilon, delta: Fraction, neighbours: Neighbours) -> GroupLevel:
    """The level of "does this category occur" for each category: a replaced person touches two of them."""
    if neighbours is Neighbours.ADD_REMOVE:
        return GroupLevel(epsilon, delta, neighbours)
    return GroupLevel(half_of(epsilon), delta / 2, Neighbours.ADD_REMOVE)


def half_of(epsilon: Epsilon) -> Epsilon:
    """Half of epsilon: exact for numbers and for logarithms of squares, else smaller by less than 2^-128 of it.

    >>> half_of(Epsilon.read("0.3+ln(9/4)")), half_of(Epsilon.read("ln(2)")) * 2 < Epsilon.read("ln(2)")
    (Epsilon(0.15+ln(3/2)), True)
    """
    return part_of(epsilon, 2)


def part_of(epsilon: Epsilon, parts: int) -> Epsilon:
    """One of so many equal parts of epsilon: exact for numbers and for logarithms of powers, else smaller by less than 2^-128.

    >>> part_of(Epsilon.read("0.3+ln(8)"), 3), part_of(Epsilon.read("ln(2)"), 3) * 3 < Epsilon.read("ln(2)")
    (Epsilon(0.1+ln(2)), True)
    """
    if epsilon.infinite:
        return epsilon
    plain, ratio = epsilon.finite_parts
    if (exact := fraction_root(ratio, parts)) is not None:
        return Epsilon(plain / parts, exact)
    if parts > _MOST_PARTS:  # a root would have millions of digits: a plain number below serves as well
        with precision(2 * _BITS + 2 * epsilon.leading_zeros + parts.bit_length()):
            return Epsilon(lower(epsilon.ball() / parts), Fraction(1))
    # ln(r) >= (r - 1)/r: the smaller the logarithm, the more bits its root needs.
    bits = _BITS + (ratio.denominator * parts // (ratio.numerator - ratio.denominator)).bit_length()
    shifted = ratio.numerator * ratio.denominator ** (parts - 1) << (parts * bits)
    root = Fraction(root_below(shifted, parts), ratio.denominator << bits)
    return Epsilon(plain / parts, max(Fraction(1), root))


def _shared_delta(half: Epsilon, delta: Fraction) -> Fraction:
    """``delta/(1 + e^(epsilon/2))``, rounded down where it is not rational."""
    if not delta or half.infinite:
        return Fraction(0)
    if half.exact_ratio is not None:
        return delta / (1 + half.exact_ratio)
    with precision(2 * _BITS + math.ceil(2 * float(half))):
        return lower(ball(delta) / (1 + half.exp()))
