"""Whether the type of a column leaves nobody without one of the public values, so that no bin for everybody else is needed.

Only types are looked at, never a row. A type may promise too much (engines differ in what they enforce), so whoever has none of
the values all the same is counted with the first of them: every person stays in exactly one bin, whatever their record is.
"""

from __future__ import annotations

from optimaldp.questions.literals import answer_text
from optimaldp.tables.schema import ColumnType
from optimaldp.tables.tally import Option, Options, Reading

_ALWAYS_IN_A_BIN = ("whole", "date")  # other numbers and times have values that are in no bin: NaN, or too far away


def leaves_nobody_out(reading: Reading, column: ColumnType) -> bool:
    """Whether every record of this type has one of the values of *reading*, which is no condition."""
    if not column.required:
        return False
    if isinstance(reading, Options):
        return _lists_all(reading.values, column)
    # A value outside of bins is in one of them only where the ends take it.
    return column.kind in _ALWAYS_IN_A_BIN and getattr(reading, "clipped", True)


def _lists_all(values: tuple[Option, ...] | None, column: ColumnType) -> bool:
    if column.options is None:
        return False
    return values is None or {*map(answer_text, column.options)} <= {*map(answer_text, values)}
