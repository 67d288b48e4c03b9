"""Whether two distributions may stand on neighbours, by the step function of the edge."""

from __future__ import annotations

from fractions import Fraction

from optimaldp.designing.rational import Stepper
from optimaldp.mechanisms.rows import Row


def violated_event(step: Stepper, level: int, start: Row, end: Row) -> tuple[int, ...] | None:
    """An event to which *end* gives more than one step from *start* allows; ``None`` if there is none.

    F is concave, so only events that collect answers by falling ratio end/start can be the first to fail; and upper
    bounds on all events in one direction of an edge are the bounds of the other direction on the complements.
    """
    answers = sorted(range(len(end)), key=lambda a: _ratio(end[a], start[a]), reverse=True)
    before = after = Fraction(0)
    event: list[int] = []
    for answer in answers[:-1]:
        before += start[answer]
        after += end[answer]
        event.append(answer)
        if after > step(level, before):
            return tuple(sorted(event))
    return None


def _ratio(end: Fraction, start: Fraction) -> tuple[int, Fraction]:
    """end/start, with anything over 0 above every finite ratio (and 0/0 lowest: it does not matter)."""
    if start == 0:
        return (1, Fraction(0)) if end > 0 else (0, Fraction(-1))
    return 0, end / start
