"""Who is protected: each row, a person, or a person limited in time; as the one text that ledgers and documents keep."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from optimaldp.privacy.balls import ball, precision, upper
from optimaldp.privacy.levels import ApproximateDP, approximate

_PERIODS = {"day": 30, "week": 52, "month": 12, "year": 5}
"""The parts of time that a person can be limited to, and for how many of them the loss is told."""
_WRITTEN = re.compile(rf"({'|'.join(_PERIODS)})\((.+)\)")
_BITS = 256
_TWO_DIGITS = Context(prec=2, rounding=ROUND_CEILING)


def unit_text(columns: Sequence[str]) -> str:
    """A unit as it is written: a column, or a list that begins with the column of the person.

    >>> unit_text(["patient_id"]), unit_text(["patient_id", "month(admitted)"])
    ('patient_id', '["patient_id", "month(admitted)"]')
    """
    return columns[0] if len(columns) == 1 else json.dumps(list(columns), ensure_ascii=False)


def unit_columns(text: str | None) -> tuple[str, ...]:
    """The columns of a unit: none where each row is a person.

    >>> unit_columns('["patient_id", "month(admitted)"]'), unit_columns("patient_id"), unit_columns(None)
    (('patient_id', 'month(admitted)'), ('patient_id',), ())
    """
    if text is None:
        return ()
    try:
        listed = json.loads(text) if text.startswith("[") else None
    except (ValueError, RecursionError):
        listed = None
    if isinstance(listed, list) and len(listed) > 1 and all(isinstance(one, str) and one for one in listed):
        return tuple(listed)
    return (text,)


def canonical_unit(text: str | None) -> str | None:
    """A unit in the one way in which it is kept.

    >>> canonical_unit('["patient_id","month(admitted)"]')
    '["patient_id", "month(admitted)"]'
    """
    return None if text is None else unit_text(unit_columns(text))


def period_of(written: str) -> tuple[str | None, str]:
    """The part of time, or none, and its column.

    >>> period_of("month(admitted)"), period_of("ward")
    (('month', 'admitted'), (None, 'ward'))
    """
    match = _WRITTEN.fullmatch(written)
    return (None, written) if match is None else (match[1], match[2])


@dataclass(frozen=True)
class Limited:
    """A person limited in time (or by other columns): what is protected is one person's month, not the person."""

    columns: tuple[str, ...]

    @property
    def noun(self) -> str:
        """One of the records of a person: ``month``."""
        parts = [period_of(one) for one in self.columns[1:]]
        return " and ".join(period or f"value of {column}" for period, column in parts)

    @property
    def record(self) -> str:
        return f"person's {self.noun}"

    def words(self, level: ApproximateDP) -> str:
        """What is protected, and what a person can lose over all their records.

        >>> from optimaldp.privacy import level
        >>> Limited(("patient_id", "month(admitted)")).words(level(0.5))[50:]
        'each month of a person is protected at (0.5, 0)-DP, someone with 12 months at (6, 0)-DP'
        """
        period = period_of(self.columns[1])[0] if len(self.columns) == 2 else None
        many = _PERIODS.get(period or "", 2)
        several = f"{many} {period}s" if period else f"{many} of them"
        together = level_of_several(level, many)
        lost = "with no promise" if together is None else f"at {together}"
        return (
            f"one {self.record} ({', '.join(self.columns)}): each {self.noun} of a person is protected at {level}, "
            f"someone with {several} {lost}"
        )


def limited_unit(text: str | None) -> Limited | None:
    """How a unit limits a person; ``None`` where it does not."""
    columns = unit_columns(text)
    return Limited(columns) if len(columns) > 1 else None


def level_of_several(level: ApproximateDP, records: int) -> ApproximateDP | None:
    """What is promised to whoever has so many records, each protected at *level*; ``None`` where that is nothing.

    Epsilons add up; every further step multiplies the delta of those before it by e^epsilon. Delta is rounded up to two digits.

    >>> from optimaldp.privacy import level
    >>> level_of_several(level("ln(2)", 0.01), 3)
    ApproximateDP((ln(8), 0.07)-DP)
    """
    delta = _rounded_up(_delta_of_several(level, records)) if level.delta else Fraction(0)
    return None if delta >= 1 else approximate(level.epsilon * records, delta)


def _delta_of_several(level: ApproximateDP, records: int) -> Fraction:
    ratio = level.epsilon.exact_ratio
    if ratio is not None:
        return level.delta * sum(ratio**step for step in range(records))
    with precision(_BITS):
        steps = ball(Fraction(0))
        for _ in range(records):
            steps = 1 + level.epsilon.exp() * steps
        return upper(steps * ball(level.delta))


def _rounded_up(number: Fraction) -> Fraction:
    return Fraction(_TWO_DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator)))


def protected_words(text: str | None) -> str:
    """Who is one person, in words."""
    if text is None:
        return "each row counts as one person"
    if (limited := limited_unit(text)) is not None:
        return f"one {limited.record} ({', '.join(limited.columns)}) counts as one person"
    return f"each value of {text} is one person"
