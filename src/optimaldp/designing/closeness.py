"""Whether two distributions may stand on neighbours: decided at the nominal level, exactly, whatever was rounded before."""

from __future__ import annotations

from fractions import Fraction

from optimaldp.certify.closeness import enclosure, ratio_within, within_gaussian
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Bound, GaussianDP, Level
from optimaldp.privacy.balls import Rational, rational

_BITS = 256  # of e^epsilon from below: finer than the slack that boundaries are designed with


def violated_event(level: Level, start: Row, end: Row) -> tuple[int, ...] | None:
    """An event to which *end* gives more than one step from *start* allows; ``None`` if there is none.

    F is concave, so only events that collect answers by falling ratio end/start can be the first to fail; and upper
    bounds on all events in one direction of an edge are the bounds of the other direction on the complements.
    """
    if _certainly_close(level, start, end):
        return None
    answers = sorted(range(len(end)), key=lambda a: _ratio(end[a], start[a]), reverse=True)
    before = after = Fraction(0)
    event: list[int] = []
    for answer in answers[:-1]:
        before += start[answer]
        after += end[answer]
        event.append(answer)
        if not reachable(level, before, after):
            return tuple(sorted(event))
    return None


def _certainly_close(level: Level, start: Row, end: Row) -> bool:
    """Whether ``sum of (P - E Q)_+ <= delta`` holds both ways with E from below: quick, and nearly always it does."""
    if not isinstance(level, ApproximateDP) or any(bound.epsilon.infinite for bound in level.bounds):
        return False
    p, q = [rational(number) for number in start], [rational(number) for number in end]
    return all(_within(bound, q, p) for bound in level.forward) and all(
        _within(bound, p, q) for bound in level.backward
    )


def _within(bound: Bound, above: list[Rational], below: list[Rational]) -> bool:
    ratio = rational(enclosure(bound.epsilon, _BITS)[0])
    excess = (a - ratio * b for a, b in zip(above, below))
    return bool(sum((one for one in excess if one > 0), rational(0)) <= rational(bound.delta))


def reachable(level: Level, before: Fraction, after: Fraction) -> bool:
    """Whether ``after <= F(before)`` for the step F of *level*, decided exactly."""
    if after <= before:
        return True
    if isinstance(level, GaussianDP):
        return within_gaussian((after, 1 - after), (before, 1 - before), level.mu)
    assert isinstance(level, ApproximateDP)
    return all(_covers(bound, after, before) for bound in level.forward) and all(
        _covers(bound, 1 - before, 1 - after) for bound in level.backward
    )


def _covers(bound: Bound, above: Fraction, below: Fraction) -> bool:
    """Whether ``above <= e^epsilon below + delta``."""
    if above <= bound.delta:
        return True
    return below > 0 and ratio_within((above - bound.delta) / below, bound.epsilon)


def _ratio(end: Fraction, start: Fraction) -> tuple[int, Fraction]:
    """end/start, with anything over 0 above every finite ratio (and 0/0 lowest: it does not matter)."""
    if start == 0:
        return (1, Fraction(0)) if end > 0 else (0, Fraction(-1))
    return 0, end / start
